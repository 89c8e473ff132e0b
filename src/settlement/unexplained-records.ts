import { isNeverDebited } from '../domain/bank-status';
import { sameIban } from '../domain/party';
import { Asked, broughtBack, Returned } from '../pay-run/came-back';
import { FollowedPayment } from './follow-plan';

/** Named by what names a payment that its instruction does not have: no payment of that explains it. */
export const NO_ROW = 0;

/** What a record of money that came in says of it; absent where it does not. Amounts in minor units. */
export interface CameIn {
  rowNo?: number;
  amountMinor?: bigint;
  currency?: string;
}

/** A record by what tells it from others. */
export type Recorded = [record: string, cameIn: CameIn];
export type OfPayment = [record: string, cameIn: CameIn, payment: FollowedPayment];

/** What came in for an instruction, and what is known of it. */
export interface Reading {
  payments: readonly FollowedPayment[];
  /** As the read shows them, in order. */
  records: readonly Recorded[];
  /** What people are asked about, or decided, the last first. */
  asked: readonly Asked[];
  /** The payments that came back, the latest last. */
  returned: readonly Returned[];
  /** The record that names each payment, by row, as far as one was seen. */
  cameBackAs: ReadonlyMap<number, string>;
  /** The IBANs of the employer's accounts. */
  own: readonly string[];
}

/** Of the records of a read those that name a payment, with it. */
export function namingOf({ payments, records }: Pick<Reading, 'payments' | 'records'>): OfPayment[] {
  const byRow = new Map(payments.map((one) => [one.rowNo, one] as const));
  return records.flatMap<OfPayment>(([record, cameIn]) => {
    const payment = byRow.get(cameIn.rowNo ?? 0);
    return payment ? [[record, cameIn, payment]] : [];
  });
}

/**
 * The records that no payment explains whose money is not kept: what was asked about before a payment came back is what
 * it brought, and of others of as much as many are left as lack a payment, the latest.
 */
export function unexplained(reading: Reading): Recorded[] {
  const { payments, records, asked, returned, cameBackAs, own } = reading;
  const explained = broughtBack(asked, returned);
  const done = new Set([...explained.keys()].map(({ id }) => id));
  const spent = new Set([...explained.values()].map(({ rowNo }) => rowNo));
  // What is paid to an account of the employer comes in there by itself.
  const isToOwn = ({ iban }: FollowedPayment): boolean => own.some((one) => sameIban(one, iban));
  const mayBring = (payment: FollowedPayment): boolean =>
    (!isKept(payment) || isToOwn(payment)) && !isNeverDebited(payment.bankStatus ?? '');
  const naming = namingOf(reading);
  for (const [record, cameIn, payment] of naming.filter(([record]) => !done.has(record))) {
    const { rowNo } = payment;
    const isOfOther = (cameBackAs.get(rowNo) ?? record) !== record;
    if (!mayBring(payment) || !isAsMuch(cameIn, payment) || spent.has(rowNo) || isOfOther) continue;
    spent.add(rowNo);
    done.add(record);
  }
  const named = new Set(naming.map(([, , { rowNo }]) => rowNo));
  const isFree = ({ rowNo }: FollowedPayment): boolean =>
    !named.has(rowNo) && !spent.has(rowNo) && !cameBackAs.has(rowNo);
  const givers = payments.filter((one) => isFree(one) && mayBring(one));
  const unnamed = records.filter(([record, { rowNo }]) => rowNo === undefined && !done.has(record));
  for (const record of givenBy(givers, unnamed, reading)) done.add(record);
  return records.filter(([record]) => !done.has(record));
}

/** Whether it was paid and has not come back. */
export function isKept({ status, returned }: FollowedPayment): boolean {
  return status === 'SETTLED' && !returned;
}

/** What a payment brings back: all of it, unless the bank shows less. */
export function broughtMinor({ amountMinor, returnedMinor }: FollowedPayment): bigint {
  return returnedMinor ?? amountMinor;
}

/** Whether it is as much as a payment brings back, as far as it says. */
export function isAsMuch({ amountMinor, currency }: CameIn, payment: FollowedPayment): boolean {
  return (
    amountMinor === undefined || (amountMinor === broughtMinor(payment) && currency === payment.currency)
  );
}

/**
 * Of records that name no payment those that one of the givers brought, each one: what nobody was asked about first, since
 * what they were asked about only a payment explains that came back after that, and what does not say its amount last.
 */
function givenBy(
  givers: readonly FollowedPayment[],
  unnamed: readonly Recorded[],
  { asked, returned }: Reading,
): string[] {
  const askedAt = new Map(asked.map((one) => [one.id, one.askedAt] as const));
  const returnedAt = new Map(returned.map((one) => [one.rowNo, one.returnedAt] as const));
  const left = new Givers([...givers].sort((a, b) => Number(b.returned) - Number(a.returned)));
  const isSilent = ([, { amountMinor }]: Recorded): number => Number(amountMinor === undefined);
  const wasAsked = ([record]: Recorded): number => Number(askedAt.has(record));
  return [...unnamed]
    .sort((a, b) => isSilent(a) - isSilent(b) || wasAsked(a) - wasAsked(b))
    .filter(([record, cameIn]) => {
      const since = askedAt.get(record);
      return left.take(cameIn, ({ rowNo }) => {
        return since === undefined || (returnedAt.get(rowNo) ?? since) > since;
      });
    })
    .map(([record]) => record);
}

/** Payments that may have brought something, by their amount. */
class Givers {
  private readonly byAmount = new Map<string, FollowedPayment[]>();

  constructor(givers: readonly FollowedPayment[]) {
    for (const giver of givers) {
      const amount = amountOf({ amountMinor: broughtMinor(giver), currency: giver.currency });
      const others = this.byAmount.get(amount);
      if (others) others.push(giver);
      else this.byAmount.set(amount, [giver]);
    }
  }

  /** @returns whether there was one left */
  take(cameIn: CameIn, may: (giver: FollowedPayment) => boolean): boolean {
    const { amountMinor } = cameIn;
    const ofAmount =
      amountMinor === undefined ? [...this.byAmount.values()] : [this.byAmount.get(amountOf(cameIn)) ?? []];
    for (const givers of ofAmount) {
      const index = givers.findIndex(may);
      if (index >= 0) return givers.splice(index, 1).length > 0;
    }
    return false;
  }
}

function amountOf({ amountMinor, currency }: Pick<CameIn, 'amountMinor' | 'currency'>): string {
  return `${amountMinor} ${currency}`;
}
