import { EmployerTransaction } from '../database/database';
import { DomainError } from '../domain/errors';
import { INSTRUCTION_UNSENT, InstructionStatus } from '../domain/instruction';
import { isPayRunFinal, PAY_RUN_SUBMITTED } from '../domain/pay-run';
import { assertAllKnown } from '../employer/kill-switch';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { KEEPS_STOPPED } from './attention.store';
import { hasForgotten, repaysForgotten } from './forgotten-pay';
import { lapseOnceClear } from './lapse';
import { PayRun } from './pay-run.entity';
import { KEEP_A_RUN_STOPPED, personsStopOf, RESTORED_UNCLEAR, stopUnclear } from './stop';
import { wakeUnsent } from './unsent';

/** What is worked on towards a submit; a submitted instruction is followed whether its run is stopped or not. */
const UNSUBMITTED: readonly InstructionStatus[] = [...INSTRUCTION_UNSENT, 'SUBMIT_INTENT'];

/**
 * The run's kill switch: from the commit on nothing that changes something at the bank is intended for it; what was
 * intended before may still leave, a submit within five seconds. What the bank has stays there. A stop that the service
 * threw becomes the person's too, so that resolving the attention alone does not take it back; that a restore left the run
 * unclear stays its reason until it is resumed, also after its end.
 * @throws DomainError RUN_IS_FINISHED, ALREADY_STOPPED where a person did it
 */
export async function stopRun(tx: EmployerTransaction, run: PayRun, reason: string): Promise<void> {
  if (isPayRunFinal(run.status) && run.stoppedReason !== RESTORED_UNCLEAR) {
    throw new DomainError('RUN_IS_FINISHED', `The run is ${run.status}: there is nothing left to stop.`);
  }
  if ((await personsStopOf(tx, run)) !== undefined)
    throw new DomainError('ALREADY_STOPPED', 'The run is stopped already.');
  await tx.query(
    // Not finer than the audit's clock, by which the two are put in order.
    `UPDATE pay_run SET stopped_at = date_trunc('milliseconds', clock_timestamp()),
       stopped_reason = CASE WHEN stopped_reason = $4 THEN stopped_reason ELSE $3 END
     WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, run.id, reason, RESTORED_UNCLEAR],
  );
}

/**
 * Lets a stopped run go on, and wakes what waits for it. One that a restore left unclear stays so where a person's stop from
 * before stands beside that, which is what is taken back then. Else it is first approved again, where nothing of it is
 * submitted: what people decided of it since may be forgotten.
 * @param stoppedAt since when it is stopped, as who resumes it knows
 * @throws Problem 409 `ATTENTION_DECIDES` while an open attention leaves the resuming to two people, and where the service
 * alone stopped it, `OTHER_STOPS_STAND`; DomainError NOT_STOPPED, WAS_SUBMITTED where the bank has submits of it, or for its employees, that
 * are not in the record, nor decided where it has ended
 */
export async function resumeRun(tx: EmployerTransaction, run: PayRun, stoppedAt: Date): Promise<void> {
  if (run.stoppedAt === null) throw new DomainError('NOT_STOPPED', 'The run is not stopped.');
  const open = await tx.query<{ id: string }>(
    `SELECT a.id FROM attention a WHERE a.employer_id = $1 AND a.pay_run_id = $2 AND a.resolved_at IS NULL
       AND a.kind = ANY ($3) AND ${KEEPS_STOPPED} ORDER BY a.kind, a.id`,
    [tx.employerId, run.id, KEEP_A_RUN_STOPPED],
  );
  if (open.length > 0) {
    const detail = 'Two people decide this: resolve the open attention instead.';
    throw attentionDecides(
      detail,
      open.map(({ id }) => id),
    );
  }
  await assertNotSubmitted(tx, run);
  const stop = await personsStopOf(tx, run);
  if (stop === undefined) {
    const detail =
      'The service stopped it by itself: two people decide that. Where no attention is open any more, one of them stops the run and another resumes it.';
    throw attentionDecides(detail, []);
  }
  assertAllKnown([stop], run.stoppedAt, { stoppedAt });
  if (run.stoppedReason === RESTORED_UNCLEAR && stop.at < run.stoppedAt) return stopUnclear(tx, [run.id]);
  await tx.query(
    `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, run.id],
  );
  if (run.stoppedReason === RESTORED_UNCLEAR) await lapseOnceClear(tx, run);
  await wakeUnsent(tx, [run.id], UNSUBMITTED);
}

/** Whoever resumes a run that has ended says only that no more of it was submitted than is decided: it sends nothing. */
async function assertNotSubmitted(tx: EmployerTransaction, { id, status }: PayRun): Promise<void> {
  const isForgotten = await hasForgotten(tx, id);
  if (!(isPayRunFinal(status) ? isForgotten : await repaysForgotten(tx, id))) return;
  const next = isPayRunFinal(status)
    ? 'it stays stopped, and sends nothing'
    : PAY_RUN_SUBMITTED.includes(status)
      ? 'what is left of it is released at the cut-off, and it can be resumed once it has ended'
      : isForgotten && status === 'READY'
        ? 'approve the same rows as they were, which takes the submit of it back into the record, or cancel it'
        : 'cancel it, or leave out of it whom an abandoned instruction may have paid';
  const detail = `The bank has, or may have, submits of this run, or of one that pays the same employees, that are not in the record: nobody whom they may have paid is paid by it. Decide its UNRECORDED_SUBMIT where that is asked; else ${next}.`;
  throw new DomainError('WAS_SUBMITTED', detail);
}

function attentionDecides(detail: string, open: readonly string[]): Problem {
  return new Problem(409, 'ATTENTION_DECIDES', detail, { attentionIds: open.map((id) => showId('att', id)) });
}
