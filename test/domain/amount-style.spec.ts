import fc from 'fast-check';
import {
  AmountStyle,
  DECIMAL_SIGNS,
  isAmbiguousAmount,
  parseStyledAmount,
  THOUSANDS_SIGNS,
} from '../../src/domain/amount-style';
import { formatMinor, MAX_AMOUNT_MINOR, parseDecimalAmount } from '../../src/domain/money';

const MARKS: Readonly<Record<AmountStyle['thousandsSign'], readonly string[]>> = {
  none: [''],
  dot: ['.'],
  comma: [','],
  space: [' ', '\u00a0', '\u202f'],
  apostrophe: ["'", '’'],
};
const STYLES: AmountStyle[] = DECIMAL_SIGNS.flatMap((decimalSign) =>
  THOUSANDS_SIGNS.filter((thousandsSign) => thousandsSign !== (decimalSign as string)).map(
    (thousandsSign) => ({
      decimalSign,
      thousandsSign,
    }),
  ),
);
const GERMAN: AmountStyle = { decimalSign: 'comma', thousandsSign: 'dot' };
const ENGLISH: AmountStyle = { decimalSign: 'dot', thousandsSign: 'comma' };

/** An amount as somebody prints it: thousands marked off or not, decimals left out where there are none, or not. */
function print(
  amountMinor: bigint,
  style: AmountStyle,
  mark: string,
  grouped: boolean,
  short: boolean,
): string {
  const [whole = '', decimals = ''] = formatMinor(amountMinor).split('.');
  const digits = grouped ? whole.replace(/\B(?=(\d{3})+$)/g, mark) : whole;
  const kept = short ? decimals.replace(/0{1,2}$/, '') : decimals;
  return kept === '' ? digits : `${digits}${style.decimalSign === 'dot' ? '.' : ','}${kept}`;
}

const reasonOf = (text: string, style: AmountStyle): string => {
  const read = parseStyledAmount(text, style);
  return read.ok ? `read as ${read.amountMinor}` : read.reason;
};

describe('an amount in a declared style', () => {
  it('is read back to the cent, whichever amount and style', () => {
    const printed = fc.constantFrom(...STYLES).chain((style) =>
      fc.record({
        style: fc.constant(style),
        mark: fc.constantFrom(...MARKS[style.thousandsSign]),
        amountMinor: fc.oneof(
          fc.bigInt({ min: 1n, max: MAX_AMOUNT_MINOR }),
          fc.integer({ min: 0, max: 10 }).map((power) => 10n ** BigInt(power)),
        ),
        grouped: fc.boolean(),
        short: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(printed, ({ style, mark, amountMinor, grouped, short }) => {
        const text = print(amountMinor, style, mark, grouped, short);
        expect([text, parseStyledAmount(text, style)]).toEqual([text, { ok: true, amountMinor }]);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['de-DE', GERMAN],
    ['en-GB', ENGLISH],
    ['fr-FR', { decimalSign: 'comma', thousandsSign: 'space' }],
    ['de-CH', { decimalSign: 'dot', thousandsSign: 'apostrophe' }],
    ['pl-PL', { decimalSign: 'comma', thousandsSign: 'space' }],
    ['es-ES', GERMAN],
    ['nl-NL', GERMAN],
    ['pt-PT', { decimalSign: 'comma', thousandsSign: 'space' }],
  ] as const)('is read back as %s prints it', (locale, style) => {
    const format = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: MAX_AMOUNT_MINOR }), (amountMinor) => {
        const text = format.format(formatMinor(amountMinor) as never);
        expect([text, parseStyledAmount(text, style)]).toEqual([text, { ok: true, amountMinor }]);
      }),
      { numRuns: 200 },
    );
  });

  it('never means two amounts: one of two styles refuses it, or both read the same', () => {
    expect(reasonOf('1.234', GERMAN)).toBe('read as 123400');
    expect(reasonOf('1.234', ENGLISH)).toBe('TOO_MANY_DECIMALS');
    expect(reasonOf('1,234', ENGLISH)).toBe('read as 123400');
    expect(reasonOf('1,234', GERMAN)).toBe('TOO_MANY_DECIMALS');
    expect(reasonOf('12,50', ENGLISH)).toBe('NOT_PLAIN_DECIMAL');
  });

  it.each([
    '12.34,00',
    '1.2345,00',
    '.234,00',
    '1..234,00',
    '1.234.56',
    '1234.567,00',
    '1.234567,00',
    '1,',
    ',50',
    '1,2,3',
    '-1,00',
    '+1,00',
    '1,00 €',
    'EUR 1,00',
    ' 1,00',
    '1,00 ',
    '1e5',
    '١٢,٠٠',
    '1 234,00',
    "1'234,00",
    '1'.repeat(41),
  ])('refuses %j in the German style', (text) => {
    expect(reasonOf(text, GERMAN)).toBe('NOT_PLAIN_DECIMAL');
  });

  it('refuses two thousands signs that are not the same', () => {
    expect(reasonOf('1 234\u00a0567,00', { decimalSign: 'comma', thousandsSign: 'space' })).toBe(
      'NOT_PLAIN_DECIMAL',
    );
  });

  it('keeps the bounds of one payment', () => {
    expect(reasonOf('', GERMAN)).toBe('EMPTY');
    expect(reasonOf('0,00', GERMAN)).toBe('BELOW_MINIMUM');
    expect(reasonOf('999.999.999,99', GERMAN)).toBe(`read as ${MAX_AMOUNT_MINOR}`);
    expect(reasonOf('1.000.000.000,00', GERMAN)).toBe('ABOVE_MAXIMUM');
    expect(reasonOf('1,005', GERMAN)).toBe('TOO_MANY_DECIMALS');
  });
});

describe('an amount without a declared style', () => {
  it('is ambiguous exactly where one country reads thousands and another three decimals', () => {
    expect(['1.234', '1,234', '12.345', '999,000'].filter((text) => !isAmbiguousAmount(text))).toEqual([]);
    const clear = ['0.123', '1234.567', '1.23', '1,23', '1.2345', '1.234,00', '1.234.567', '', '1234'];
    expect(clear.filter(isAmbiguousAmount)).toEqual([]);
  });

  it('is never read where it is ambiguous', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999 }), fc.integer({ min: 0, max: 999 }), (whole, rest) => {
        for (const sign of ['.', ',']) {
          const text = `${whole}${sign}${String(rest).padStart(3, '0')}`;
          expect(isAmbiguousAmount(text)).toBe(true);
          expect(parseDecimalAmount(text).ok).toBe(false);
        }
      }),
    );
  });
});
