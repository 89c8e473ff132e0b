import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { DomainError } from '../domain/errors';
import { mayMove } from '../domain/state-table';
import { PAY_RUN_TRANSITIONS } from '../domain/pay-run';
import { insteadOf, liveInstructions } from './amendment';
import { clear, clearBuilding } from './attention.store';
import { Actor } from './history';
import { markCancelled } from './hold.store';
import { PayRun } from './pay-run.entity';
import { moveRun } from './pay-run.store';
import { movePaymentSet } from './payment.store';

/**
 * Begins to cancel a run: nothing more is sent. It is CANCELLED at once where nothing is at the bank, otherwise
 * when its last instruction has been abandoned.
 * @throws DomainError NOT_CANCELLABLE once submitting has begun.
 */
export async function cancelRun(
  tx: EmployerTransaction,
  run: PayRun,
  actor: Actor,
  reason: string,
): Promise<void> {
  if (!mayMove(PAY_RUN_TRANSITIONS, run.status, 'CANCELLING')) {
    throw new DomainError(
      'NOT_CANCELLABLE',
      `The run is ${run.status}: it can no longer be cancelled.${insteadOf(run)}`,
    );
  }
  await moveRun(tx, run, 'CANCELLING', actor, reason);
  const alive = await liveInstructions(tx, run);
  if (alive.length === 0) await finishCancelling(tx, run, actor);
  else
    wake(
      tx,
      'INSTRUCTION',
      alive.map((instruction) => instruction.id),
    );
}

/** What is asked about a run that is to pay somebody, amended or lapsed as it may be: pointless once it is cancelled. */
const OF_A_RUN_THAT_PAYS = ['PERIOD_OVERDUE', 'APPROVAL_LAPSED', 'REPLACED_PAYMENT_MOVED'] as const;

/** Ends the cancelling of a run none of whose instructions is alive: its file may be uploaded again. */
export async function finishCancelling(tx: EmployerTransaction, run: PayRun, actor: Actor): Promise<void> {
  for (const from of ['READY', 'HELD', 'APPROVED'] as const) {
    await movePaymentSet(tx, { payRunId: run.id, from, to: 'CANCELLED', actor });
  }
  await tx.query(
    `UPDATE approval SET voided_at = clock_timestamp(), voided_reason = 'the run was cancelled'
    WHERE employer_id = $1 AND pay_run_id = $2 AND voided_at IS NULL`,
    [tx.employerId, run.id],
  );
  await markCancelled(tx, run.id);
  await forgetUpload(tx, run);
  await clearBuilding(tx, run.id, 'the run was cancelled');
  await clear(tx, OF_A_RUN_THAT_PAYS, run.id, 'the run was cancelled');
  await tx.query(`UPDATE schedule_period SET pay_run_id = NULL WHERE employer_id = $1 AND pay_run_id = $2`, [
    tx.employerId,
    run.id,
  ]);
  await moveRun(tx, run, 'CANCELLED', actor);
}

/** Nobody was paid by the run: the same file is a new upload from now on. */
export async function forgetUpload(tx: EmployerTransaction, run: PayRun): Promise<void> {
  await tx.query(`UPDATE pay_file SET replayable = false WHERE employer_id = $1 AND pay_run_id = $2`, [
    tx.employerId,
    run.id,
  ]);
}
