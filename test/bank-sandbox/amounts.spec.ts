import fc from 'fast-check';
import { AmountCodec, decimalOf } from '../../src/bank-sandbox/amounts';
import { parseJson, RawNumber, writeJson } from '../../src/bank-sandbox/json';

const units = ['minor', 'major'] as const;
const types = ['number', 'string'] as const;

it.each(units.flatMap((unit) => types.map((type) => [unit, type] as const)))(
  'reads back every amount it writes in %s units as a %s',
  (amountUnit, amountType) => {
    const codec = new AmountCodec({ amountUnit, amountType, sums: 'exact' });
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 99_999_999_999n }), (minor) => {
        const { value } = parseJson(writeJson(codec.write(minor))) as { value: number | string | RawNumber };
        expect(codec.read(value)).toBe(minor);
      }),
    );
  },
);

it('reads euros with up to two decimals and nothing finer', () => {
  const codec = new AmountCodec({ amountUnit: 'major', amountType: 'number', sums: 'exact' });
  expect(codec.read(new RawNumber('0.1'))).toBe(10n);
  expect(codec.read('1234.56')).toBe(123_456n);
  expect(codec.read(7)).toBe(700n);
  for (const value of ['1.234', '1e3', '-1', '', '.5', '1,5', ' 1'])
    expect(() => codec.read(value)).toThrow('amount value is not valid');
});

it.each([
  ['major', 'exact', '0.30'],
  ['major', 'float', '0.30000000000000004'],
  ['minor', 'exact', '30'],
  ['minor', 'float', '30.000000000000004'],
] as const)('adds up in %s units, %s', (amountUnit, sums, text) => {
  const codec = new AmountCodec({ amountUnit, amountType: 'number', sums });
  expect(writeJson(codec.writeSum([10n, 20n]))).toBe(`{"value":${text},"currency":"EUR"}`);
});

it('writes cents as a decimal, negative ones too', () => {
  expect([25_000_000n, 5n, -5n, -12_345n, 0n].map(decimalOf)).toEqual([
    '250000.00',
    '0.05',
    '-0.05',
    '-123.45',
    '0.00',
  ]);
});

it('takes no text of a client for a number', () => {
  const text = '{"a":1.50,"b":"number-x:1.50","c":12345678901234567890}';
  expect(writeJson(parseJson(text))).toBe(text);
});
