import fc from 'fast-check';
import {
  formatMinor,
  formatMoney,
  MAX_AMOUNT_MINOR,
  MIN_AMOUNT_MINOR,
  parseDecimalAmount,
  parseScaled,
  parseScaledSum,
  sumMinor,
} from '../../src/domain/money';

const anyPayable = fc.bigInt({ min: MIN_AMOUNT_MINOR, max: MAX_AMOUNT_MINOR });

/** Reads digits and one dot by hand, as an oracle that shares no code with the parser. */
function centsByHand(text: string): bigint {
  const dot = text.indexOf('.');
  const whole = dot < 0 ? text : text.slice(0, dot);
  const decimals = dot < 0 ? '' : text.slice(dot + 1);
  let cents = 0n;
  for (const digit of whole) cents = cents * 10n + BigInt(digit);
  return cents * 100n + BigInt(decimals[0] ?? '0') * 10n + BigInt(decimals[1] ?? '0');
}

describe('an amount in a pay file', () => {
  it.each([
    ['1234.56', 123456n],
    ['1234.5', 123450n],
    ['1234', 123400n],
    ['0.01', 1n],
    ['007.10', 710n],
    ['999999999.99', 99_999_999_999n],
  ])('reads %s', (text, amountMinor) => {
    expect(parseDecimalAmount(text)).toEqual({ ok: true, amountMinor });
  });

  it.each([
    ['', 'EMPTY'],
    ['1,234.56', 'NOT_PLAIN_DECIMAL'],
    ['1234,56', 'NOT_PLAIN_DECIMAL'],
    ['1.234.56', 'NOT_PLAIN_DECIMAL'],
    ['+1.00', 'NOT_PLAIN_DECIMAL'],
    ['-1.00', 'NOT_PLAIN_DECIMAL'],
    ['1e5', 'NOT_PLAIN_DECIMAL'],
    ['0x10', 'NOT_PLAIN_DECIMAL'],
    ['€12', 'NOT_PLAIN_DECIMAL'],
    ['12 EUR', 'NOT_PLAIN_DECIMAL'],
    [' 12', 'NOT_PLAIN_DECIMAL'],
    ['12\n', 'NOT_PLAIN_DECIMAL'],
    ['1 000', 'NOT_PLAIN_DECIMAL'],
    ['1\u00A0000', 'NOT_PLAIN_DECIMAL'],
    ['.5', 'NOT_PLAIN_DECIMAL'],
    ['5.', 'NOT_PLAIN_DECIMAL'],
    ['１２', 'NOT_PLAIN_DECIMAL'],
    ['١٢', 'NOT_PLAIN_DECIMAL'],
    ['NaN', 'NOT_PLAIN_DECIMAL'],
    ['1'.repeat(100_000), 'NOT_PLAIN_DECIMAL'],
    ['1.005', 'TOO_MANY_DECIMALS'],
    ['1.000', 'TOO_MANY_DECIMALS'],
    ['0', 'BELOW_MINIMUM'],
    ['0.00', 'BELOW_MINIMUM'],
    ['1000000000.00', 'ABOVE_MAXIMUM'],
  ])('refuses %j as %s', (text, reason) => {
    expect(parseDecimalAmount(text)).toEqual({ ok: false, reason });
  });

  it('survives printing and reading again', () => {
    fc.assert(
      fc.property(anyPayable, (amountMinor) => {
        expect(parseDecimalAmount(formatMinor(amountMinor))).toEqual({ ok: true, amountMinor });
      }),
    );
  });

  it('is never taken for another value, whatever stands in the cell', () => {
    const nearlyAmounts = fc.string({ unit: fc.constantFrom(...'0123456789.,-+eE €\u0660１') });
    fc.assert(
      fc.property(fc.oneof(fc.string(), nearlyAmounts), (text) => {
        const parsed = parseDecimalAmount(text);
        if (!parsed.ok) return;
        expect(text).toMatch(/^\d+(\.\d{1,2})?$/);
        expect(parsed.amountMinor).toBe(centsByHand(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes other bounds for a control total', () => {
    const bounds = { minMinor: 0n, maxMinor: 10n ** 15n };
    expect(parseDecimalAmount('0', bounds)).toEqual({ ok: true, amountMinor: 0n });
    expect(parseDecimalAmount('1000000000.00', bounds)).toEqual({ ok: true, amountMinor: 100_000_000_000n });
  });
});

describe('printing minor units', () => {
  it.each([
    [0n, 2, '0.00'],
    [5n, 2, '0.05'],
    [-5n, 2, '-0.05'],
    [-123456n, 2, '-1234.56'],
    [123n, 0, '123'],
    [1234n, 3, '1.234'],
  ])('prints %s with %s decimals as %s', (amountMinor, exponent, text) => {
    expect(formatMinor(amountMinor, exponent)).toBe(text);
  });
});

describe('an amount of the bank', () => {
  it.each([
    ['1234.56', 2, 123456n],
    ['1234.5600', 2, 123456n],
    ['-50', 2, -5000n],
    ['1.2e3', 2, 120000n],
    ['12E-1', 2, 120n],
    ['123456', 0, 123456n],
    ['123456.00', 0, 123456n],
    ['0.00', 0, 0n],
    ['-0', 2, 0n],
    ['9007199254740993', 0, 9007199254740993n],
  ])('reads %s with exponent %s', (text, exponent, amountMinor) => {
    expect(parseScaled(text, exponent)).toBe(amountMinor);
  });

  it.each([
    ['1.005', 2],
    ['0.5', 0],
    ['1e-3', 2],
    ['', 2],
    ['+1', 2],
    ['1,00', 2],
    ['.5', 2],
    ['1e', 2],
    ['1e999', 2],
    ['1e-999', 2],
    ['Infinity', 2],
    ['9'.repeat(65), 2],
  ])('has no whole minor units in %j with exponent %s', (text, exponent) => {
    expect(parseScaled(text, exponent)).toBeUndefined();
  });

  it('survives printing and reading again, in either unit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (amountMinor) => {
        expect(parseScaled(formatMinor(amountMinor), 2)).toBe(amountMinor);
        expect(parseScaled(amountMinor.toString(), 0)).toBe(amountMinor);
      }),
    );
  });

  it('says the same with the power of ten written out or not', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        fc.integer({ min: 0, max: 6 }),
        (digits, power) => {
          const shifted = digits * 10n ** BigInt(power);
          expect(parseScaled(`${digits}e${power}`, 2)).toBe(shifted * 100n);
          expect(parseScaled(`${shifted}e-${power}`, 2)).toBe(digits * 100n);
        },
      ),
    );
  });
});

/** What a bank that adds up euro in binary floats writes. */
function floatSumOf(cents: readonly number[]): number {
  return cents.reduce((sum, cent) => sum + cent / 100, 0);
}

function exactSumOf(cents: readonly number[]): bigint {
  return sumMinor(cents.map(BigInt));
}

describe('a sum the bank calculates', () => {
  it.each([
    ['0.30000000000000004', 2, 30n],
    ['430567.2500000001', 2, 43056725n],
    ['430567.2499999999', 2, 43056725n],
    ['0.9999999999999999', 2, 100n],
    ['-0.30000000000000004', 2, -30n],
    ['1e-10', 2, 0n],
    ['-5.551115123125783e-17', 2, 0n],
    ['4.3056725000000001e5', 2, 43056725n],
    ['43056725.00000001', 0, 43056725n],
    ['43056724.99999999', 0, 43056725n],
    ['1234.56', 2, 123456n],
    ['1234.5600', 2, 123456n],
    ['9007199254740993', 0, 9007199254740993n],
    ['12.34009', 2, 1234n],
    ['12.33990001', 2, 1234n],
  ])('reads %s with exponent %s past what a float leaves at its end', (text, exponent, amountMinor) => {
    expect(parseScaledSum(text, exponent)).toBe(amountMinor);
  });

  it.each([
    ['1.005', 2],
    ['12.345', 2],
    ['12.341', 2],
    ['12.3401', 2],
    ['12.3399', 2],
    ['12.339900', 2],
    ['0.5', 0],
    ['0.9', 0],
    ['12.34', 0],
    ['1e-3', 2],
    ['1e-4', 2],
    ['', 2],
    ['1,00', 2],
    ['1e999', 2],
    ['9'.repeat(65), 2],
  ])('has no whole minor units in %j with exponent %s', (text, exponent) => {
    expect(parseScaledSum(text, exponent)).toBeUndefined();
  });

  it('is what the payments come to, whichever they are', () => {
    const cents = fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 1, maxLength: 1_000 });
    fc.assert(
      fc.property(cents, (list) => {
        expect(parseScaledSum(JSON.stringify(floatSumOf(list)), 2)).toBe(exactSumOf(list));
        expect(parseScaledSum(JSON.stringify(floatSumOf(list) * 100), 0)).toBe(exactSumOf(list));
      }),
    );
  });

  it('is what a hundred thousand payments of ten million euro come to, also where each errs the same way', () => {
    const largest = (cent: number) => 1_000_000_000 - 99_999 * cent;
    const runs = fc
      .integer({ min: 1, max: 9_999 })
      .map((cent) => [largest(cent), ...Array<number>(99_999).fill(cent)]);
    fc.assert(
      fc.property(runs, (list) => {
        expect(parseScaledSum(JSON.stringify(floatSumOf(list)), 2)).toBe(exactSumOf(list));
      }),
      { numRuns: 50 },
    );
  });

  it('is refused from a hundredth of a minor unit on, and nothing is taken for another amount', () => {
    const place = fc.integer({ min: 0, max: 99_999_999 });
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 13n }), place, (minor, millionths) => {
        const text = `${minor}.${String(millionths).padStart(8, '0')}`;
        const expected = millionths < 1_000_000 ? minor : millionths > 99_000_000 ? minor + 1n : undefined;
        expect(parseScaledSum(text, 0)).toBe(expected);
        expect(parseScaledSum(`${text}e-2`, 2)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is, where it is exact, what a payment of the same text is', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (amountMinor) => {
        expect(parseScaledSum(formatMinor(amountMinor), 2)).toBe(amountMinor);
        expect(parseScaledSum(amountMinor.toString(), 0)).toBe(amountMinor);
      }),
    );
  });
});

it('sums exactly beyond what a float holds', () => {
  expect(sumMinor([])).toBe(0n);
  expect(sumMinor([9007199254740993n, 1n, -2n])).toBe(9007199254740992n);
});

it.each([
  ['EUR', '12.34 EUR'],
  ['JPY', '1234 of the smallest unit of JPY'],
  [undefined, '1234 of the smallest unit of a currency that is not named'],
])('tells people an amount of the currency %s without guessing its decimals', (currency, told) => {
  expect(formatMoney(1234n, currency)).toBe(told);
});
