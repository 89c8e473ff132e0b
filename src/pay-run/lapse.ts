import { EmployerTransaction } from '../database/database';
import { PAY_RUN_BEFORE_GATE } from '../domain/pay-run';
import { voidApprovals } from './approval';
import { clearBuilding, raise } from './attention.store';
import { mayBeSubmitted } from './forgotten-pay';
import { tellOfPaidAlready } from './paid-already';
import { PayRun } from './pay-run.entity';

export const RESTORE_FORGOT =
  'the database was restored, which may have forgotten that the run was submitted, cancelled, amended or stopped since, or its approval taken back';

const MENDS = {
  amend: 'Amend the run and have it approved again.',
  approve: 'Have the run approved again as it stands.',
  decideFirst:
    'Cancel the run where it was submitted, or its people were paid in another way; otherwise amend it and have it approved again.',
  decide:
    'Cancel or amend the run again where that was done since, cancel it where it was submitted, or its people were paid in another way; otherwise have it approved again as it stands.',
};

/** What is certain of a run after a restore, which may have forgotten a submit of it. */
const BY_THE_RECORD =
  'The restored record has no submit of this run. It waits for a new approval, and for an amendment where its terms changed.';

/** What lets a run be paid all the same: as it is where only its approvals no longer suffice, or are no longer believed. */
export type Mend = Exclude<keyof typeof MENDS, 'decideFirst'>;

/** Marks the approval of a run as lapsed and tells why. Where nothing is at the bank it is READY again at once. */
export async function lapseRun(
  tx: EmployerTransaction,
  run: PayRun,
  reason: string,
  mend: Mend = 'amend',
): Promise<void> {
  const inDoubt = mend === 'decide' || (await mayBeSubmitted(tx, run.id));
  run.lapseReason = reason;
  await tx.manager.update(PayRun, { employerId: tx.employerId, id: run.id }, { lapseReason: reason });
  await raise(tx, {
    kind: 'APPROVAL_LAPSED',
    subjectId: run.id,
    payRunId: run.id,
    happened: `The approval lapsed: ${reason}. ${MENDS[inDoubt && mend === 'amend' ? 'decideFirst' : mend]}`,
    certain: inDoubt ? BY_THE_RECORD : undefined,
    payments: run.rowCount,
    amountMinor: run.totalMinor,
  });
  if (run.status === 'APPROVED') await backToReady(tx, run, reason);
}

/** A lapsed run, of which nothing is at the bank any more, can be approved again; whom it may pay twice is asked still. */
export async function backToReady(tx: EmployerTransaction, run: PayRun, reason: string): Promise<void> {
  await voidApprovals(tx, run, 'service', reason);
  await clearBuilding(tx, run.id, `the approval lapsed: ${reason}`);
  await tellOfPaidAlready(tx, run.id);
}

/** As `lapseRun`, once people resume a run that a restore left unclear, or all: nothing of it is submitted, by their word. */
export async function lapseOnceClear(tx: EmployerTransaction, run: PayRun): Promise<void> {
  if (!PAY_RUN_BEFORE_GATE.includes(run.status) || run.lapseReason !== null) return;
  const older = await tx.query(
    `SELECT FROM approval WHERE employer_id = $1 AND pay_run_id = $2 AND voided_at IS NULL
       AND known_restores < known_restores() LIMIT 1`,
    [tx.employerId, run.id],
  );
  if (older.length > 0) await lapseRun(tx, run, RESTORE_FORGOT, 'decide');
}
