import type { EmployerTransaction } from '../database/database';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { PAY_RUN_FINALS, PAY_RUN_UNSUBMITTED } from '../domain/pay-run';
import { tellOfPaidAlready } from '../pay-run/paid-already';
import { RESTORED_UNCLEAR, stopUnclear } from '../pay-run/stop';
import { type Finding, isKept, isWhole } from './restore-words';
import type { Sweep } from './restore-sweep';
import { ASKED_OF } from './unrecorded-submits';

/**
 * The runs from before a restore that are still to be submitted, where the bank shows a submit, or what may be one, of a run
 * that was forgotten too, or an instruction that may be of one, or does not let its list be read: nobody knows whom what
 * was forgotten paid, and whether it was one of them, or took the place of one.
 */
export async function runsInDoubt(
  tx: EmployerTransaction,
  restoreId: string,
  sweep: Sweep,
  findings: readonly Finding[],
): Promise<string[]> {
  const isOfNoRun = ({ payRunId, submitted, isUnclear }: Finding): boolean =>
    payRunId === null && (submitted || isUnclear);
  if (isWhole(sweep) && !findings.some(isOfNoRun)) return [];
  const runs = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run r WHERE employer_id = $1
       AND (status = ANY ($2) OR status = 'SUBMITTING' AND EXISTS (SELECT FROM instruction i
         WHERE i.employer_id = $1 AND i.pay_run_id = r.id AND i.status = ANY ($4)))
       AND known_restores < (SELECT nth FROM database_restore WHERE id = $3)
     ORDER BY id`,
    [tx.employerId, ['DRAFT', ...PAY_RUN_UNSUBMITTED], restoreId, INSTRUCTION_UNSENT],
  );
  return runs.map(({ id }) => id);
}

/** The runs of which something was taken back into the record that is not certain to be of the version that stands. */
export async function runsInPart(tx: EmployerTransaction, restoreId: string): Promise<string[]> {
  const runs = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run r WHERE employer_id = $1 AND status = 'SUBMITTING' AND stopped_reason = $3
       AND EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = $1 AND f.pay_run_id = r.id
         AND f.restore_id = $2 AND f.adopted_at IS NOT NULL)
     ORDER BY id`,
    [tx.employerId, restoreId, RESTORED_UNCLEAR],
  );
  return runs.map(({ id }) => id);
}

/**
 * Runs of which something submitted could not be taken back into the record, or may have been submitted, and others that
 * pay the same employees as what was: people are asked about each of those.
 */
export async function stopRuns(
  tx: EmployerTransaction,
  findings: readonly Finding[],
  unclear: readonly string[],
): Promise<void> {
  if (unclear.length === 0 && findings.every(({ isUnclear, refusal }) => !isUnclear && refusal === undefined))
    return;
  const runs = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND status <> ALL ($2)
       AND (id = ANY ($3) OR repays_forgotten(employer_id, id))
     ORDER BY id FOR NO KEY UPDATE`,
    [tx.employerId, PAY_RUN_FINALS, unclear],
  );
  const ids = runs.map(({ id }) => id);
  await stopUnclear(
    tx,
    ids.filter((id) => unclear.includes(id)),
  );
  await tx.query(
    `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = 'RESTORED'
     WHERE employer_id = $1 AND id = ANY ($2) AND stopped_at IS NULL`,
    [tx.employerId, ids],
  );
  // Those of which something was forgotten are in the question about the restore.
  const own = new Set(findings.flatMap((one) => (isKept(one) && one.payRunId) || []));
  for (const id of ids) if (!own.has(id)) await tellOfPaidAlready(tx, id);
}

/** Marks what is of runs that can be neither approved nor cancelled any more. */
export async function markPast(tx: EmployerTransaction, findings: readonly Finding[]): Promise<void> {
  const runs = await tx.query<{ id: string }>(
    'SELECT id FROM pay_run WHERE employer_id = $1 AND id = ANY ($2) AND status = ANY ($3)',
    [tx.employerId, findings.flatMap(({ payRunId }) => payRunId ?? []), ASKED_OF],
  );
  const past = new Set(runs.map(({ id }) => id));
  for (const finding of findings) finding.isPast = past.has(finding.payRunId ?? '');
}

/** The runs that take nothing back any more, such as one that was cancelled since, with what people have not decided of it. */
export async function undecidedOf(tx: EmployerTransaction): Promise<string[]> {
  const runs = await tx.query<{ id: string }>(
    `SELECT DISTINCT r.id FROM forgotten_instruction f
     JOIN pay_run r ON r.employer_id = f.employer_id AND r.id = f.pay_run_id
     WHERE f.employer_id = $1 AND f.adopted_at IS NULL AND f.action_id IS NULL AND r.status = ANY ($2)`,
    [tx.employerId, ASKED_OF],
  );
  return runs.map(({ id }) => id);
}
