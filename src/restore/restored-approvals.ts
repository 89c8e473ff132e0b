import { append } from '../audit/audit';
import { EmployerTransaction } from '../database/database';
import { PAY_RUN_BEFORE_GATE } from '../domain/pay-run';
import { showId } from '../http/prefixed-id';
import { voidApprovals } from '../pay-run/approval';
import { lapseOnceClear, lapseRun, RESTORE_FORGOT } from '../pay-run/lapse';
import { type KeyedRelease, withdrawReleasesBefore } from '../pay-run/pay-release';
import { findRun } from '../pay-run/pay-run.store';
import { RESTORED_UNCLEAR } from '../pay-run/stop';

const RELEASE_FORGOTTEN = 'the database was restored, which may have forgotten that it was withdrawn since';

/** Withdraws the releases of further pay that are older than a restore and that nobody used: once its runs are locked. */
export function withdrawRestored(tx: EmployerTransaction, restoreId: string): Promise<KeyedRelease[]> {
  return withdrawReleasesBefore(tx, restoreId, RELEASE_FORGOTTEN);
}

/** Appends to the audit chain what was withdrawn after a restore, if anything was: last, as the chain asks. */
export async function auditWithdrawn(
  tx: EmployerTransaction,
  restoreId: string,
  releases: readonly KeyedRelease[],
): Promise<void> {
  if (releases.length === 0) return;
  await append(tx, {
    action: 'employer.releases-withdrawn',
    subject: showId('emp', tx.employerId),
    detail: { restoreId, reason: RELEASE_FORGOTTEN, releases: releases.map((one) => ({ ...one })) },
  });
}

/** What may be submitted, and must not be given up to be built again. */
export interface MaybeSubmitted {
  /** Ids of instructions at the bank that it lets nobody read. */
  hidden: readonly string[];
  /** Runs of which the bank shows an instruction, and not whether it is submitted. */
  unclear: readonly string[];
}

/**
 * Of a run whose own submit was forgotten the approval stays: by it that submit is taken back into the record. One that
 * only pays the same employees goes on once that is done, so its approval lapses as every other does.
 */
const IS_FORGOTTEN = `EXISTS (SELECT FROM forgotten_instruction f
  WHERE f.employer_id = r.employer_id AND f.pay_run_id = r.id AND f.adopted_at IS NULL)`;

/**
 * Lets the approvals lapse that are older than a restore, of runs of which nothing is submitted, there or at the bank; of
 * those that lack approvals still, the ones they have. Approved runs stay as they are that a restore left unclear: people
 * decide each of them; and those of hidden instructions, until people resume.
 * @returns the runs
 */
export async function lapseRestored(
  tx: EmployerTransaction,
  restoreId: string,
  { hidden, unclear }: MaybeSubmitted,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT r.id FROM pay_run r
     WHERE r.employer_id = $1 AND (r.status = 'READY' OR r.status = ANY ($3) AND r.lapse_reason IS NULL
         AND r.stopped_reason IS DISTINCT FROM $4 AND r.id <> ALL ($6) AND NOT ${IS_FORGOTTEN}
         AND NOT EXISTS (SELECT FROM instruction i
           WHERE i.employer_id = $1 AND i.pay_run_id = r.id AND i.bank_instruction_id = ANY ($5)))
       AND EXISTS (SELECT FROM approval a WHERE a.employer_id = $1 AND a.pay_run_id = r.id AND a.voided_at IS NULL
         AND a.known_restores < (SELECT nth FROM database_restore WHERE id = $2))
     ORDER BY r.id FOR NO KEY UPDATE`,
    [tx.employerId, restoreId, PAY_RUN_BEFORE_GATE, RESTORED_UNCLEAR, hidden, unclear],
  );
  for (const { id } of rows) {
    const run = await findRun(tx, id);
    if (run.status === 'READY') await voidApprovals(tx, run, 'service', RESTORE_FORGOT);
    else await lapseRun(tx, run, RESTORE_FORGOT, 'decide');
  }
  return rows.map(({ id }) => id);
}

/**
 * As `lapseRestored`, of what the bank lets nobody read, once people resume by its word that nobody submitted it: with the
 * last restore that they decide, since the word on one says nothing of another.
 */
export async function lapseHidden(tx: EmployerTransaction, restoreId: string): Promise<void> {
  const runs = await tx.query<{ id: string }>(
    `SELECT r.id FROM pay_run r WHERE r.employer_id = $1 AND r.status = ANY ($2)
       AND r.stopped_reason IS DISTINCT FROM $3 AND NOT ${IS_FORGOTTEN}
     ORDER BY r.id FOR NO KEY UPDATE`,
    [tx.employerId, PAY_RUN_BEFORE_GATE, RESTORED_UNCLEAR],
  );
  // Of two restores that are decided at once, who comes second waited for the runs, and sees that the first is.
  const others = await tx.query(
    `SELECT FROM attention WHERE employer_id = $1 AND kind = 'RESTORED' AND subject_id <> $2 AND resolved_at IS NULL LIMIT 1`,
    [tx.employerId, restoreId],
  );
  if (others.length > 0) return;
  for (const { id } of runs) await lapseOnceClear(tx, await findRun(tx, id));
}
