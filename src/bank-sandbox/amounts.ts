import type { Amount } from '../bank/types';
import { RawNumber } from './json';
import { unprocessable } from './refusal';
import type { Variants } from './variants';

/** An amount as it is written: the number is kept as text. */
export interface WireAmount {
  value: RawNumber | string;
  currency: string;
}

/** A record of the interface with its amounts in wire form. */
export type Wire<T> = T extends Amount ? WireAmount : T extends object ? { [K in keyof T]: Wire<T[K]> } : T;

export const CURRENCY = 'EUR';

/** 999,999,999.99 EUR: the largest instant or batch credit transfer a SEPA message can carry. */
const MINOR_FORM = /^\d{1,11}$/;
const MAJOR_FORM = /^(\d{1,9})(?:\.(\d{1,2}))?$/;

/** Reads and writes `Amount.value` in the unit and type the variants ask for; inside, cents as bigint. */
export class AmountCodec {
  constructor(private readonly variants: Pick<Variants, 'amountUnit' | 'amountType' | 'sums'>) {}

  /** Cents of a value in the bank's unit. Throws a 422 refusal for anything but a plain positive or zero decimal. */
  read(value: number | string | RawNumber): bigint {
    const text = value instanceof RawNumber ? value.text : String(value);
    const minor = this.variants.amountUnit === 'minor' ? minorOfInteger(text) : minorOfDecimal(text);
    if (minor === undefined) throw unprocessable('AMOUNT_INVALID', 'amount value is not valid');
    return minor;
  }

  write(minor: bigint): WireAmount {
    return this.written(this.variants.amountUnit === 'minor' ? minor.toString() : decimalOf(minor));
  }

  /** What cents come to, added up as the variants ask for. */
  writeSum(parts: readonly bigint[]): WireAmount {
    if (this.variants.sums === 'exact') return this.write(parts.reduce((sum, minor) => sum + minor, 0n));
    const euro = parts.reduce((sum, minor) => sum + Number(minor) / 100, 0);
    return this.written(String(this.variants.amountUnit === 'minor' ? euro * 100 : euro));
  }

  private written(text: string): WireAmount {
    return { value: this.variants.amountType === 'string' ? text : new RawNumber(text), currency: CURRENCY };
  }
}

/** `250000.00` for 25000000 cents. */
export function decimalOf(minor: bigint): string {
  const digits = (minor < 0n ? -minor : minor).toString().padStart(3, '0');
  return `${minor < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function minorOfInteger(text: string): bigint | undefined {
  return MINOR_FORM.test(text) ? BigInt(text) : undefined;
}

function minorOfDecimal(text: string): bigint | undefined {
  const match = MAJOR_FORM.exec(text);
  if (!match) return undefined;
  return BigInt(match[1] ?? '') * 100n + BigInt((match[2] ?? '').padEnd(2, '0'));
}
