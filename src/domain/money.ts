export type Currency = 'EUR';

/** An amount in the smallest unit of its currency (cents for EUR), never a float. */
export interface Money {
  amountMinor: bigint;
  currency: Currency;
}

/** Digits after the dot in one unit of each currency. */
export const CURRENCY_EXPONENT: Readonly<Record<Currency, number>> = { EUR: 2 };

/** Whether a currency is one whose decimals are known, and in which sums are drawn up. */
export function isCurrency(code: string): code is Currency {
  return Object.hasOwn(CURRENCY_EXPONENT, code);
}

/** Whether an amount belongs in sums: what the bank does not name the currency of is taken for theirs. */
export function isSummed(currency: string | undefined): boolean {
  return currency === undefined || isCurrency(currency);
}

/** The SEPA credit transfer scheme's bounds of one payment: 0.01 to 999,999,999.99 euro. */
export const MIN_AMOUNT_MINOR = 1n;
export const MAX_AMOUNT_MINOR = 99_999_999_999n;

/** The bound of the columns: ninety trillion euro, more than any payroll or account and safe in every sum. */
export const MAX_TOTAL_MINOR = 9_000_000_000_000_000n;

export type AmountFault =
  'EMPTY' | 'NOT_PLAIN_DECIMAL' | 'TOO_MANY_DECIMALS' | 'BELOW_MINIMUM' | 'ABOVE_MAXIMUM';
export type ParsedAmount = { ok: true; amountMinor: bigint } | { ok: false; reason: AmountFault };

export interface AmountBounds {
  minMinor: bigint;
  maxMinor: bigint;
}

export const PAYMENT_BOUNDS: AmountBounds = { minMinor: MIN_AMOUNT_MINOR, maxMinor: MAX_AMOUNT_MINOR };

// The largest payment has 12 characters; the rest is room for totals and leading zeros, and a bound on BigInt's work.
const MAX_AMOUNT_TEXT = 32;
const PLAIN_DECIMAL = /^([0-9]+)(?:\.([0-9]+))?$/;

/**
 * Reads a euro amount a person wrote: ASCII digits, optionally a dot and one or two decimals. Signs, exponents,
 * currency marks, thousands signs, commas and spaces are refused rather than interpreted. Bounds are those of one
 * payment unless others are given (a control total, a balance).
 */
export function parseDecimalAmount(text: string, bounds: AmountBounds = PAYMENT_BOUNDS): ParsedAmount {
  if (text === '') return { ok: false, reason: 'EMPTY' };
  const match = text.length <= MAX_AMOUNT_TEXT ? PLAIN_DECIMAL.exec(text) : null;
  if (!match) return { ok: false, reason: 'NOT_PLAIN_DECIMAL' };
  const [, whole = '', decimals = ''] = match;
  if (decimals.length > 2) return { ok: false, reason: 'TOO_MANY_DECIMALS' };
  const amountMinor = BigInt(whole + decimals.padEnd(2, '0'));
  if (amountMinor < bounds.minMinor) return { ok: false, reason: 'BELOW_MINIMUM' };
  if (amountMinor > bounds.maxMinor) return { ok: false, reason: 'ABOVE_MAXIMUM' };
  return { ok: true, amountMinor };
}

/** Prints minor units with a dot and all decimals: 123456n is `1234.56`, -5n is `-0.05`. */
export function formatMinor(amountMinor: bigint, exponent = 2): string {
  const sign = amountMinor < 0n ? '-' : '';
  const digits = (amountMinor < 0n ? -amountMinor : amountMinor).toString().padStart(exponent + 1, '0');
  if (exponent === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/**
 * An amount in the smallest unit of a currency, for people: `12.34 EUR`; `1234 of the smallest unit of JPY` where its
 * decimals are not known, or of a currency that is not named.
 */
export function formatMoney(amountMinor: bigint, currency: string | undefined): string {
  if (currency === undefined) return `${amountMinor} of the smallest unit of a currency that is not named`;
  if (!isCurrency(currency)) return `${amountMinor} of the smallest unit of ${currency}`;
  return `${formatMinor(amountMinor, CURRENCY_EXPONENT[currency])} ${currency}`;
}

// A bank's amount needs some 20 characters; more digits or a larger power of ten is not an amount of money.
const MAX_SCALED_TEXT = 64;
const MAX_POWER = 40;
const SCALED_DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/;

/**
 * Reads the exact decimal text of a bank's number and multiplies it by ten to the `exponent`: 2 where the bank
 * counts in euro, 0 where it counts in cents. Undefined when the text is no number or the result is not a whole
 * number of minor units.
 */
export function parseScaled(text: string, exponent: number): bigint | undefined {
  return scaled(text, exponent, restOfWhole);
}

/**
 * As {@link parseScaled}, of a sum the bank calculates, which may end in what adding up binary floats leaves: within a
 * hundredth of a minor unit it is the whole number next to it. A hundred thousand additions up to ten million euro err by
 * less, even where each errs by all it can the same way; four decimals of a euro, which are no such noise, are not taken.
 */
export function parseScaledSum(text: string, exponent: number): bigint | undefined {
  return scaled(text, exponent, restOfSum);
}

/** What the digits after those of whole minor units add to these, their first `absent` ones being noughts not written. */
type Rest = (digits: string, absent: number) => bigint | undefined;

function scaled(text: string, exponent: number, rest: Rest): bigint | undefined {
  const match = text.length <= MAX_SCALED_TEXT ? SCALED_DECIMAL.exec(text) : null;
  if (!match) return undefined;
  const [, sign = '', whole = '', decimals = '', power = '0'] = match;
  const digits = whole + decimals;
  const shift = Number.parseInt(power, 10) - decimals.length + exponent;
  if (Math.abs(shift) > MAX_POWER + MAX_SCALED_TEXT) return undefined;
  const magnitude = shiftDigits(digits, shift, rest);
  return magnitude !== undefined && sign === '-' ? -magnitude : magnitude;
}

function shiftDigits(digits: string, shift: number, rest: Rest): bigint | undefined {
  if (shift >= 0) return BigInt(digits) * 10n ** BigInt(shift);
  const kept = digits.slice(0, shift);
  const added = rest(digits.slice(shift), Math.max(0, -shift - digits.length));
  return added === undefined ? undefined : BigInt(kept === '' ? '0' : kept) + added;
}

function restOfWhole(digits: string): bigint | undefined {
  return /^0*$/.test(digits) ? 0n : undefined;
}

function restOfSum(digits: string, absent: number): bigint | undefined {
  const fraction = '0'.repeat(absent) + digits;
  if (/^(?:00|0$)/.test(fraction)) return 0n;
  return /^99(?!0*$)/.test(fraction) ? 1n : undefined;
}

/** The sum of amounts in minor units; 0n of none. */
export function sumMinor(amounts: Iterable<bigint>): bigint {
  let total = 0n;
  for (const amountMinor of amounts) total += amountMinor;
  return total;
}
