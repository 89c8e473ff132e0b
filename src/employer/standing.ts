import type { KnownIds } from '../bank/payment-ids';
import type { BankInstruction, BankPayment } from '../bank/records';
import { isEndedUnpaid, isPastSubmit, statusesShown } from '../domain/bank-status';
import { notAmong, type PaymentsRead, withoutFees } from './instruction-at-bank';

/** What a bank may fail to show for good. */
export type Failing = 'instruction' | 'payments';

/** What the bank shows of whether an instruction was submitted. */
export interface Standing {
  /** Undefined where the bank does not show it. */
  shown?: BankInstruction;
  /** Whether the bank says that there is none, which is more than that it does not show it, and fails in nothing for good. */
  isGone: boolean;
  /** What the bank fails to show for good: that says neither that it was submitted nor not. */
  failing?: Failing;
  statuses: string[];
  /** Whether each of its known payments is shown, where they were read. */
  isWhole?: boolean;
  /** Whether nobody can tell: where the bank says that there is none as `restAsBefore`, and where it fails as `isLeftOpen`. */
  isUnclear: boolean;
}

/**
 * Whether payments are shown without their instruction, and as if it had never been submitted: a bank may show it no more
 * once it was, and its payments as before while it waits for an approval, so that nobody can tell.
 * @param statuses of the payments
 */
export function restAsBefore(statuses: readonly string[]): boolean {
  return !statuses.some(isPastSubmit) && statuses.some((status) => !isEndedUnpaid(status));
}

/**
 * Whether what the bank fails to show for good, be it the instruction or payments of it, leaves open that it was submitted: all
 * but one of which each known payment is shown, and ended unpaid, unless one is past its submit.
 * @param isWhole whether each known payment is shown
 */
function isLeftOpen(statuses: readonly string[], isWhole: boolean): boolean {
  if (statuses.some(isPastSubmit)) return false;
  return statuses.length === 0 || restAsBefore(statuses) || !isWhole;
}

/** The statuses by which payments of an instruction tell whether it was submitted: what the bank books by itself does not. */
export function statusesIn(found: readonly BankPayment[], bankIds: readonly KnownIds[]): string[] {
  return withoutFees(found, bankIds).flatMap((one) => statusesShown(one.status, one.wasSettled));
}

/**
 * What was read, judged.
 * @param isNone whether the bank says that there is no such instruction
 * @param isFailing whether it fails for good to show it
 * @param bankIds of its known payments
 */
export function standingOf(
  { shown, isNone, isFailing }: { shown?: BankInstruction; isNone: boolean; isFailing: boolean },
  { found, untold }: PaymentsRead,
  bankIds: readonly KnownIds[],
): Standing {
  const statuses = [...(shown ? [shown.status] : []), ...statusesIn(found, bankIds)];
  const failing = isFailing ? 'instruction' : untold && 'payments';
  const isWhole = !untold && notAmong(found, bankIds).length === 0;
  const isGone = isNone && !failing;
  const isUnclear = failing ? isLeftOpen(statuses, isWhole) : isGone && restAsBefore(statuses);
  return { shown, isGone, ...(failing && { failing }), isWhole, statuses, isUnclear };
}
