import type { BankPayment } from '../bank/records';
import { isEnd, readBankStatus, standingOf, statusesShown } from '../domain/bank-status';
import { mostMoved } from '../domain/replacement';
import type { EndedPayment } from './replaced.store';
import type { MovedPayment } from './second-reading';

/** Instead of a status, in words. */
export const BACK_IN_PART = 'less as returned than was paid';

/** The statuses that records of a payment show. */
export function statusesOf(records: readonly BankPayment[]): string[] {
  return records.flatMap((one) => statusesShown(standingOf(one), one.wasSettled));
}

/** The least that records show as returned of a payment, where that is less than is known to be back; undefined else. */
function lessBackIn({ backMinor }: EndedPayment, records: readonly BankPayment[]): bigint | undefined {
  return records
    .flatMap(({ status, amountMinor }) =>
      readBankStatus(status).kind === 'returned' && amountMinor !== undefined && amountMinor < backMinor
        ? amountMinor
        : [],
    )
    .reduce<bigint | undefined>(
      (least, one) => (least !== undefined && least <= one ? least : one),
      undefined,
    );
}

/**
 * How a payment has moved by records of it; undefined where it has not.
 * @param statuses of those that they show the ones by which it has
 */
export function movedBy(
  payment: EndedPayment,
  records: readonly BankPayment[],
  statuses: readonly string[],
): Pick<MovedPayment, 'bankStatus' | 'backMinor'> | undefined {
  const backMinor = lessBackIn(payment, records);
  const isLess = backMinor !== undefined;
  const bankStatus = mostMoved(isLess ? [...statuses, BACK_IN_PART] : statuses);
  if (bankStatus === undefined) return undefined;
  return isLess ? { bankStatus, backMinor } : { bankStatus };
}

/**
 * Whether what a look before has shown to have moved is not shown as it ended now: a status from before its end may be an
 * older one, and proves nothing. Nor does a return where one has shown less of it.
 * @param hasMoved whether one has shown so
 */
export function isSightLeft(
  { hasMovedInPart }: Pick<EndedPayment, 'hasMovedInPart'>,
  hasMoved: boolean,
  statuses: readonly string[],
): boolean {
  return hasMoved && (hasMovedInPart || statuses.length === 0 || !statuses.every(isEnd));
}
