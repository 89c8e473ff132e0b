import { EmployerTransaction } from '../database/database';
import { raise } from '../pay-run/attention.store';
import { PayRun } from '../pay-run/pay-run.entity';

/** Why an approval lapses whose execution date became a closed day of the bank. */
export const DATE_CLOSED = 'the bank is closed on the execution date';

/** Marks the approval of a run as lapsed and tells why. */
export async function lapseRun(tx: EmployerTransaction, run: PayRun, reason: string): Promise<void> {
  run.lapseReason = reason;
  await tx.manager.update(PayRun, { employerId: tx.employerId, id: run.id }, { lapseReason: reason });
  await raise(tx, {
    kind: 'APPROVAL_LAPSED',
    subjectId: run.id,
    payRunId: run.id,
    happened: `The approval lapsed: ${reason}. Amend the run and have it approved again.`,
    payments: run.rowCount,
    amountMinor: run.totalMinor,
  });
}
