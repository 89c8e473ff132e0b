import { AmountBounds, parseDecimalAmount, ParsedAmount, PAYMENT_BOUNDS } from './money';

export const DECIMAL_SIGNS = ['dot', 'comma'] as const;
export const THOUSANDS_SIGNS = ['none', 'dot', 'comma', 'space', 'apostrophe'] as const;

/** How amounts are written in a file. A space may be a no-break space, plain or narrow; an apostrophe may be curly. */
export interface AmountStyle {
  decimalSign: (typeof DECIMAL_SIGNS)[number];
  thousandsSign: (typeof THOUSANDS_SIGNS)[number];
}

/** What can be the thousands sign of an amount, as a class of a regular expression. */
const THOUSANDS: Readonly<Record<AmountStyle['thousandsSign'], string | undefined>> = {
  none: undefined,
  dot: '[.]',
  comma: '[,]',
  space: '[ \u00a0\u202f]',
  apostrophe: "['’]",
};

// As many characters as the digits and signs of the largest total take, and a bound on what is looked at.
const MAX_STYLED_TEXT = 40;

interface Pattern {
  whole: RegExp;
  sign: RegExp | undefined;
  decimal: '.' | ',';
}

const PATTERNS = new Map<string, Pattern>(
  DECIMAL_SIGNS.flatMap((decimalSign) =>
    THOUSANDS_SIGNS.map((thousandsSign) => [
      `${decimalSign} ${thousandsSign}`,
      patternOf({ decimalSign, thousandsSign }),
    ]),
  ),
);

function patternOf({ decimalSign, thousandsSign }: AmountStyle): Pattern {
  const sign = THOUSANDS[thousandsSign];
  return {
    // Either every group of three is marked off, by one and the same sign, or none is.
    whole: new RegExp(
      sign === undefined ? '^[0-9]+$' : `^(?:[0-9]+|[0-9]{1,3}(${sign})[0-9]{3}(?:\\1[0-9]{3})*)$`,
    ),
    sign: sign === undefined ? undefined : new RegExp(sign, 'g'),
    decimal: decimalSign === 'dot' ? '.' : ',',
  };
}

/**
 * Reads a euro amount in a declared style: ASCII digits, thousands marked off everywhere or nowhere, at most two
 * decimals. Nothing else is taken: no sign, space around it, exponent or currency mark.
 */
export function parseStyledAmount(
  text: string,
  { decimalSign, thousandsSign }: AmountStyle,
  bounds: AmountBounds = PAYMENT_BOUNDS,
): ParsedAmount {
  if (text === '') return { ok: false, reason: 'EMPTY' };
  const pattern = PATTERNS.get(`${decimalSign} ${thousandsSign}`);
  if (!pattern || text.length > MAX_STYLED_TEXT) return { ok: false, reason: 'NOT_PLAIN_DECIMAL' };
  const [whole = '', decimals, more] = text.split(pattern.decimal);
  if (more !== undefined || decimals === '' || !pattern.whole.test(whole)) {
    return { ok: false, reason: 'NOT_PLAIN_DECIMAL' };
  }
  const digits = pattern.sign ? whole.replace(pattern.sign, '') : whole;
  return parseDecimalAmount(decimals === undefined ? digits : `${digits}.${decimals}`, bounds);
}

/** Whether the text is a thousand or more in one country and a few units with three decimals in another: `1.234`. */
export function isAmbiguousAmount(text: string): boolean {
  return /^[1-9][0-9]{0,2}[.,][0-9]{3}$/.test(text);
}

const THOUSANDS_EXAMPLE: Readonly<Record<AmountStyle['thousandsSign'], string>> = {
  none: '',
  dot: '.',
  comma: ',',
  space: ' ',
  apostrophe: "'",
};

/** An amount as a file of this style may write it, such as `1234,56` or `1.234,56`. */
export function exampleAmount({ decimalSign, thousandsSign }: AmountStyle): string {
  const decimal = decimalSign === 'dot' ? '.' : ',';
  const plain = `1234${decimal}56`;
  if (thousandsSign === 'none') return plain;
  return `${plain} or 1${THOUSANDS_EXAMPLE[thousandsSign]}234${decimal}56`;
}
