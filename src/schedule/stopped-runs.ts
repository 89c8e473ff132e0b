import { EmployerTransaction } from '../database/database';
import type { BankHours } from '../domain/business-day';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { PAY_RUN_GOING_ON, PayRunStatus } from '../domain/pay-run';
import { sendingOpens } from '../domain/send-window';
import { showId } from '../http/prefixed-id';
import { approvedVersion } from '../pay-run/approval';
import { clearOthers, raiseNaming } from '../pay-run/attention.store';
import { findRun } from '../pay-run/pay-run.store';
import { RESTORED_UNCLEAR } from '../pay-run/stop';
import { unsentOf } from '../pay-run/unsent';

const KIND = 'DUE_BUT_STOPPED';

/** What is certain of a run that is stopped while it is being submitted. */
const IN_MID_RUN =
  'What of this run was submitted before the stop is followed, or asked about by itself, and is not sent again; the rest is not submitted. The rest goes on by itself once everything named here is resumed; what is not submitted by the cut-off of its execution date becomes VOID, and its STALE_DATE says what can pay it.';

/** What is certain, and what the stop of the run is told with, where the bank may have submits that are not in the record. */
const FORGOTTEN = {
  why: ', and the bank has, or may have, submits of it that are not in the record',
  certain:
    'The bank has, or may have, submits of this run that are not in the record: it pays nobody of these again. Where the bank has them it is not resumed, but cancelled, or decided by its UNRECORDED_SUBMIT where that is asked.',
} as const;
const UNCLEAR = {
  why: ', as it may have been submitted or amended, or its people paid, before a restore',
  certain:
    'A run that was forgotten with its submits may have paid its people, the bank may have submits of this run itself that are not in the record, or what is submitted of it may be of a later version than the record has. It goes on once it is certain that none of this is so, and one person then stops it and another resumes it; otherwise it is cancelled, or stays stopped where a part of it is submitted.',
} as const;

interface StoppedRun {
  id: string;
  status: PayRunStatus;
  submitAt: Date | null;
  /** When the last of its approvals was given. */
  approvedAt: Date;
  installation: boolean;
  employer: boolean;
  run: boolean;
  /** When it, its employer or everything was stopped, whichever was last; null where nobody stopped any. */
  stoppedAt: Date | null;
  /** Whether the bank has, or may have, submits of it that a restored database has forgotten. */
  forgotten: boolean;
  stoppedReason: string | null;
}

/**
 * Tells people of each approved run of the transaction's employer that is due while a switch holds it back, at which
 * level, and closes what goes on again or waits for a new approval. Why another employer's breach stopped everything is
 * not told. An APPROVED run is due when its sending may begin.
 */
export async function tellOfStoppedRuns(tx: EmployerTransaction, now: Date, hours: BankHours): Promise<void> {
  const held = await heldBack(tx);
  const stopped = held.filter(
    ({ status, submitAt, approvedAt }) =>
      status !== 'APPROVED' || sendingOpens(submitAt, approvedAt, now, hours) <= now,
  );
  for (const one of stopped) await tell(tx, one);
  const lasting = stopped.map(({ id }) => id);
  await clearOthers(tx, KIND, lasting, 'the run is not held back any more');
}

async function tell(tx: EmployerTransaction, stopped: StoppedRun): Promise<void> {
  const run = await findRun(tx, stopped.id);
  const version = await approvedVersion(tx, run, showId('run', run.id));
  const doubt = doubtOf(stopped);
  // What is acknowledged of a run of which nothing is submitted says nothing of those that are left in mid-run.
  const isMidRun = stopped.status === 'SUBMITTING';
  const held = `held back${isMidRun ? ' in mid-run' : ''}: ${levelsOf(stopped, doubt?.why).join(', ')}.`;
  const alarm = {
    kind: KIND,
    subjectId: run.id,
    payRunId: run.id,
    happened: `${version} is due for ${run.executionDate} and ${held}`,
    ...(isMidRun ? await unsentOf(tx, run) : { payments: run.rowCount, amountMinor: run.totalMinor }),
    certain: doubt?.certain ?? (isMidRun ? IN_MID_RUN : undefined),
    since: stopped.stoppedAt,
    // A submit that provably never left counts again.
    isAboutAll: true,
  } as const;
  await raiseNaming(tx, alarm, [version, held]);
}

function doubtOf({ forgotten, stoppedReason }: StoppedRun) {
  if (forgotten) return FORGOTTEN;
  return stoppedReason === RESTORED_UNCLEAR ? UNCLEAR : undefined;
}

function levelsOf({ installation, employer, run }: StoppedRun, why = ''): string[] {
  return [
    ...(installation ? ['every submit of the installation is stopped'] : []),
    ...(employer ? ['the employer is stopped'] : []),
    ...(run ? [`the run itself is stopped${why}`] : []),
  ];
}

/** By the switches of `run_state`, of all runs at once. After a restore `RESTORED` says more, and nothing lapses. */
function heldBack(tx: EmployerTransaction): Promise<StoppedRun[]> {
  return tx.query<StoppedRun>(
    `SELECT * FROM (
       SELECT r.id, r.status, r.submit_at AS "submitAt", coalesce(
           (SELECT max(a.approved_at) FROM approval a
             WHERE a.employer_id = $1 AND a.pay_run_id = r.id AND a.voided_at IS NULL), r.created_at) AS "approvedAt",
         s.submits_off OR NOT database_is_known() AS installation,
         e.stopped_at IS NOT NULL AS employer, r.stopped_at IS NOT NULL AS run,
         greatest(r.stopped_at, e.stopped_at, CASE WHEN s.submits_off THEN s.off_since END) AS "stoppedAt",
         r.stopped_reason AS "stoppedReason", may_be_forgotten($1, r.id) OR EXISTS (
           SELECT FROM forgotten_instruction f
           WHERE f.employer_id = $1 AND f.pay_run_id = r.id AND f.adopted_at IS NULL) AS forgotten
       FROM pay_run r JOIN employer e ON e.id = r.employer_id CROSS JOIN service_switch s
       WHERE r.employer_id = $1 AND r.status = ANY ($2) AND r.lapse_reason IS NULL
         AND (r.status <> 'SUBMITTING' OR EXISTS (SELECT FROM instruction i
           WHERE i.employer_id = $1 AND i.pay_run_id = r.id AND i.status = ANY ($3)))) held
     WHERE (installation OR employer OR run) AND NOT EXISTS (
       SELECT FROM attention a WHERE a.employer_id = $1 AND a.kind = 'RESTORED' AND a.resolved_at IS NULL)
     ORDER BY id`,
    [tx.employerId, PAY_RUN_GOING_ON, INSTRUCTION_UNSENT],
  );
}
