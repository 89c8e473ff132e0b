import fc from 'fast-check';
import { LosslessNumber, stringify } from 'lossless-json';
import { AmountCodec } from '../../src/bank/amount-codec';
import { ContractDrift } from '../../src/bank/errors';
import { amount, readAs } from '../../src/bank/schema';

const LARGEST = 9_000_000_000_000_000n;
const minorUnits = fc.bigInt({ min: -LARGEST, max: LARGEST });

describe('the amount codec', () => {
  it.each(['minor', 'major'] as const)('gives back every amount it wrote, counting in %s units', (unit) => {
    fc.assert(
      fc.property(
        minorUnits,
        fc.constantFrom('number' as const, 'string' as const),
        (amountMinor, writeAs) => {
          const codec = new AmountCodec(unit, writeAs);
          const onTheWire = stringify(codec.encode(amountMinor, 'EUR')) ?? '';
          expect(codec.decode(readAs(amount, onTheWire))).toEqual({ amountMinor, currency: 'EUR' });
          expect(codec.encodeJson(amountMinor, 'EUR')).toBe(onTheWire);
        },
      ),
    );
  });

  it('reads the same euro from every spelling of the same number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: LARGEST / 100n }), fc.nat(4), (euro, zeros) => {
        const decimals = zeros === 0 ? '' : `.${'0'.repeat(zeros)}`;
        const codec = new AmountCodec('major');
        for (const body of [`${euro}${decimals}`, `"${euro}${decimals}"`]) {
          const read = readAs(amount, `{"value":${body},"currency":"EUR"}`);
          expect(codec.decode(read).amountMinor).toBe(euro * 100n);
        }
      }),
    );
  });

  it('writes 1234.56 euro as 123456 cents or as 1234.56 euro, a number that is raw text', () => {
    expect(stringify(new AmountCodec('minor').encode(123456n, 'EUR'))).toBe(
      '{"value":123456,"currency":"EUR"}',
    );
    expect(stringify(new AmountCodec('major').encode(123456n, 'EUR'))).toBe(
      '{"value":1234.56,"currency":"EUR"}',
    );
    expect(new AmountCodec('major').encode(10n, 'EUR').value).toEqual(new LosslessNumber('0.10'));
  });

  it('always writes a string for the direct submission', () => {
    expect(new AmountCodec('major', 'number').encodeAsString(123456n, 'EUR')).toEqual({
      value: '1234.56',
      currency: 'EUR',
    });
  });

  it('keeps an amount that a float would round', () => {
    const read = readAs(amount, '{"value":87654321098765.43,"currency":"EUR"}');
    expect(new AmountCodec('major').decode(read).amountMinor).toBe(8765432109876543n);
  });

  it.each(['9000000000000001', '-9000000000000001', '1e20', '9223372036854775808'])(
    'refuses %s, which nobody could write down',
    (value) => {
      expect(() => new AmountCodec('minor').decode({ value, currency: 'EUR' })).toThrow(ContractDrift);
    },
  );

  it('refuses a part of a cent, a text that is no number, and a currency whose decimals it does not know', () => {
    const minor = new AmountCodec('minor');
    const major = new AmountCodec('major');
    expect(() => minor.decode({ value: '12.34', currency: 'EUR' })).toThrow(ContractDrift);
    expect(() => major.decode({ value: '12.345', currency: 'EUR' })).toThrow(ContractDrift);
    expect(() => major.decode({ value: '12,34', currency: 'EUR' })).toThrow(ContractDrift);
    expect(() => major.decode({ value: '12', currency: 'XXX' })).toThrow(ContractDrift);
    expect(() => major.encode(1n, 'toString')).toThrow(ContractDrift);
    expect(minor.decode({ value: '12.00', currency: 'JPY' })).toEqual({ amountMinor: 12n, currency: 'JPY' });
  });

  it('reads what a bank adds up in floats past their noise as a sum, and as the amount of no payment', () => {
    const noisy = { value: '0.30000000000000004', currency: 'EUR' };
    expect(new AmountCodec('major').decodeSum(noisy, 'calculatedAmount')).toBe(30n);
    expect(new AmountCodec('minor').decodeSum({ ...noisy, value: '30.000000000000004' }, 'balance')).toBe(
      30n,
    );
    expect(() => new AmountCodec('major').decode(noisy)).toThrow(ContractDrift);
  });

  it('names the field that cannot be read, and carries a sum beside its message', () => {
    const codec = new AmountCodec('major');
    const odd = { value: '1234.567', currency: 'EUR' };
    const drift = (field: string) => new ContractDrift([field]);
    expect(() => codec.decode(odd, 'instructedAmount')).toThrow(drift('instructedAmount.value'));
    const driftOf = (value: string): unknown => {
      try {
        return codec.decodeSum({ value, currency: 'EUR' }, 'calculatedAmount');
      } catch (error) {
        return error;
      }
    };
    const { message } = drift('calculatedAmount.value');
    expect(driftOf('1234.567')).toMatchObject({ message, shown: '1234.567' });
    expect(driftOf('9'.repeat(60))).toMatchObject({ message, shown: '9'.repeat(40) });
    expect(() => codec.decodeSum({ ...odd, currency: 'XXX' }, 'calculatedAmount')).toThrow(
      drift('calculatedAmount.currency'),
    );
  });
});
