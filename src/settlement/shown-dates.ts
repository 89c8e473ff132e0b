import type { BankInstruction, BankPayment } from '../bank/records';
import type { EmployerTransaction } from '../database/database';
import { isOtherDate } from '../domain/shown-date';
import { aboutInstruction, raiseUndecided } from '../pay-run/attention.store';
import { rowsById } from '../pay-run/match';
import type { FollowedPayment } from './follow-plan';
import type { Followed } from './followed';

/** What a read showed of a submitted instruction, and of its payments, as they stand after it. */
interface Shown {
  shown?: BankInstruction;
  seen: readonly BankPayment[];
  payments: readonly FollowedPayment[];
}

/**
 * What the bank executes on another day than was approved is told once of a run: it may do so with all its instructions.
 * Nothing is stopped for it, and no sum is in doubt. Of payments only an earlier day is told: they may take longer.
 */
export async function tellOfDates(
  tx: EmployerTransaction,
  { run, planned, instruction }: Followed,
  read: Shown,
): Promise<void> {
  const happened = happenedOf(read, run.executionDate);
  if (happened === undefined) return;
  const about = { ...aboutInstruction(instruction, planned), subjectId: run.id };
  await raiseUndecided(tx, { kind: 'DATE_DIFFERS', ...about, happened });
}

function happenedOf({ shown, seen, payments }: Shown, approved: string): string | undefined {
  const early = seen.flatMap(({ bankPaymentId, settlementDay: day }) =>
    day !== undefined && day < approved ? [{ bankPaymentId, day }] : [],
  );
  // Hardly ever is there one, and each read comes by here.
  if (early.length > 0) {
    const paid = rowsById(payments.filter(({ status }) => status === 'SETTLED'));
    const [first] = early.flatMap(({ bankPaymentId, day }) => (paid.has(bankPaymentId) ? [day] : [])).sort();
    if (first !== undefined)
      return `The bank shows payments of a submitted instruction as settled on ${first}, before the execution date ${approved} that was approved.`;
  }
  const date = shown?.executionDate ?? approved;
  if (!isOtherDate(date, approved)) return undefined;
  return `The bank shows the execution date ${date} for a submitted instruction that was approved for ${approved}.`;
}
