import { LosslessNumber } from 'lossless-json';
import {
  CURRENCY_EXPONENT,
  formatMinor,
  MAX_TOTAL_MINOR,
  parseScaled,
  parseScaledSum,
} from '../domain/money';
import { ContractDrift } from './errors';

/** What one unit of `Amount.value` is (Conventions: not shown): a cent (`minor`) or a euro (`major`). */
export type AmountUnit = 'minor' | 'major';

/** An Amount as read: the value is the decimal text the bank sent. */
export interface AmountText {
  value: string;
  currency: string;
}

/** An Amount as written: a `LosslessNumber` serialises as a number, a string as a string. */
export interface WireAmount {
  value: LosslessNumber | string;
  currency: string;
}

/** As much of a sum as is told: no amount of money is longer, nor what a float makes of it. */
const SHOWN = 40;

/** The one place that knows the unit of the bank's amounts (Conventions: Amount object). Exact both ways. */
export class AmountCodec {
  constructor(
    private readonly unit: AmountUnit,
    private readonly writeAs: 'number' | 'string' = 'number',
    private readonly exponents: Readonly<Record<string, number>> = CURRENCY_EXPONENT,
  ) {}

  /**
   * @param path the field it is read from, for who is told that it cannot be.
   * @returns the amount in the currency's smallest unit; negative for a debit.
   * @throws ContractDrift when the text is no number, holds a part of a smallest unit, is beyond any sum that can be
   * written down, or, counting in whole units, the currency's decimals are not known.
   */
  decode({ value, currency }: AmountText, path = 'amount'): { amountMinor: bigint; currency: string } {
    const amountMinor = parseScaled(value, this.shiftOf(currency, path));
    if (amountMinor === undefined || isBeyondAll(amountMinor)) throw new ContractDrift([`${path}.value`]);
    return { amountMinor, currency };
  }

  /**
   * Of what the bank calculates, a sum or a balance: one added up in binary floats is read past what these leave at its
   * end (Amount object: how it is calculated is not shown).
   * @returns as {@link decode}. @throws ContractDrift as {@link decode}, with the sum beside its message.
   */
  decodeSum({ value, currency }: AmountText, path: string): bigint {
    const sumMinor = parseScaledSum(value, this.shiftOf(currency, path));
    if (sumMinor === undefined || isBeyondAll(sumMinor))
      throw new ContractDrift([`${path}.value`], value.slice(0, SHOWN));
    return sumMinor;
  }

  /** @throws ContractDrift as {@link decode}. */
  encode(amountMinor: bigint, currency: string): WireAmount {
    const value = this.text(amountMinor, currency);
    return { value: this.writeAs === 'string' ? value : new LosslessNumber(value), currency };
  }

  /** For the direct submission, which sends the value as a string (Direct submission, Request body). */
  encodeAsString(amountMinor: bigint, currency: string): AmountText {
    return { value: this.text(amountMinor, currency), currency };
  }

  /** The Amount as JSON text; what {@link encode} serialises to, without building the object. */
  encodeJson(amountMinor: bigint, currency: string): string {
    const value = this.text(amountMinor, currency);
    const written = this.writeAs === 'string' ? `"${value}"` : value;
    return `{"value":${written},"currency":${JSON.stringify(currency)}}`;
  }

  private text(amountMinor: bigint, currency: string): string {
    return formatMinor(amountMinor, this.shiftOf(currency));
  }

  private shiftOf(currency: string, path = 'amount'): number {
    if (this.unit === 'minor') return 0;
    const exponent = Object.hasOwn(this.exponents, currency) ? this.exponents[currency] : undefined;
    if (exponent === undefined) throw new ContractDrift([`${path}.currency`]);
    return exponent;
  }
}

function isBeyondAll(amountMinor: bigint): boolean {
  return amountMinor > MAX_TOTAL_MINOR || amountMinor < -MAX_TOTAL_MINOR;
}
