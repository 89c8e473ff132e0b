import type { Ages } from '../config/ages';
import type { Database, EmployerTransaction } from '../database/database';
import { DAY_MS } from '../domain/durations';
import { DomainError } from '../domain/errors';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { isWritten } from '../submission/written-word';
import type { Restore } from './restore-check';

/** A restore that somebody is still stopped for. */
interface Pending extends Restore {
  /** Null also where that is dated ahead, by a clock that was put right since: the data end before, and nobody knows when. */
  dataUntil: Date | null;
  noticedAt: Date;
  /** How long ago it was noticed by the database's clock: less than nothing where that was put right since. */
  agoMs: number;
  /** Whether the list is known to show what is not submitted: the check itself deletes what showed it. */
  showsUnsubmitted: boolean;
  employerIds: string[];
}

/** A restore for some of whose employers the check is to be passed yet. */
export interface Unpassed extends Pending {
  unpassed: string[];
}

/**
 * Restores that somebody is still stopped for; those noticed less than `youngMs` ago wait for what was under way.
 * @param ages of whoever asks again and again
 */
export async function pendingRestores(database: Database, youngMs: number, ages: Ages): Promise<Pending[]> {
  const all = await database.outsideEmployers((tx) =>
    tx.query<Pending>(
      `SELECT r.id, r.what, least(r.noticed_at, clock_timestamp()) AS "noticedAt",
         CASE WHEN r.data_until <= least(r.noticed_at, clock_timestamp()) THEN r.data_until END AS "dataUntil",
         extract(epoch FROM clock_timestamp() - r.noticed_at)::float8 * 1000 AS "agoMs",
         r.unsubmitted_shown_at IS NOT NULL AS "showsUnsubmitted",
         array_agg(s.employer_id::text) AS "employerIds"
       FROM service_stop s JOIN database_restore r ON r.id = s.subject_id
       WHERE s.kind = 'RESTORED' AND s.lifted_at IS NULL AND r.told_at IS NOT NULL
         AND (r.noticed_at < clock_timestamp() - make_interval(secs => $1::double precision / 1000)
           OR r.noticed_at > clock_timestamp())
       GROUP BY r.id ORDER BY r.noticed_at`,
      [youngMs],
    ),
  );
  return all.filter(({ id, agoMs }) => !(agoMs < 0 && ages.of(id, agoMs) < youngMs));
}

/** Those for some of whose employers the check is to be passed yet, with these. */
export async function unpassedRestores(database: Database, youngMs: number, ages: Ages): Promise<Unpassed[]> {
  const all: Unpassed[] = [];
  for (const pending of await pendingRestores(database, youngMs, ages)) {
    const unpassed: string[] = [];
    for (const employerId of pending.employerIds)
      if (!(await database.inEmployer(employerId, (tx) => hasPassed(tx, pending.id))))
        unpassed.push(employerId);
    if (unpassed.length > 0) all.push({ ...pending, unpassed });
  }
  return all;
}

/**
 * From when on the bank is read: a day before the data end, for the two clocks; where that is not known, as long as anything is
 * watched, and a day before the oldest run was made that may have been submitted since.
 */
export async function sinceOf(
  database: Database,
  { dataUntil, noticedAt, unpassed }: Unpassed,
  watchDays: number,
): Promise<Date> {
  if (dataUntil !== null) return new Date(dataUntil.getTime() - DAY_MS);
  let since = noticedAt.getTime() - watchDays * DAY_MS;
  for (const employerId of unpassed) {
    const oldest = await database.inEmployer(employerId, oldestUnsubmitted);
    if (oldest !== null) since = Math.min(since, oldest.getTime() - DAY_MS);
  }
  return new Date(since);
}

async function hasPassed(tx: EmployerTransaction, restoreId: string): Promise<boolean> {
  const passed = await tx.query(
    'SELECT FROM restore_check WHERE employer_id = $1 AND restore_id = $2 AND passed_at IS NOT NULL',
    [tx.employerId, restoreId],
  );
  return passed.length > 0;
}

/** When the oldest run was made that is not submitted whole; null where there is none. */
async function oldestUnsubmitted(tx: EmployerTransaction): Promise<Date | null> {
  const [found] = await tx.query<{ oldest: Date | null }>(
    'SELECT min(created_at) AS oldest FROM pay_run WHERE employer_id = $1 AND status <> ALL ($2)',
    [tx.employerId, [...PAY_RUN_FINALS, 'FOLLOWING']],
  );
  return found?.oldest ?? null;
}

/**
 * Whether two people may let things go on after a restore.
 * @throws DomainError NOT_RECONCILED, EVIDENCE_REQUIRED where the bank did not show everything
 */
export async function assertReconciled(
  tx: EmployerTransaction,
  restoreId: string,
  evidence: string | null,
): Promise<void> {
  const [check] = await tx.query<{ passed: boolean; needs_evidence: boolean; waits_for: string | null }>(
    `SELECT passed_at IS NOT NULL AS passed, needs_evidence, waits_for FROM restore_check
     WHERE employer_id = $1 AND restore_id = $2`,
    [tx.employerId, restoreId],
  );
  if (!check?.passed) {
    throw new DomainError(
      'NOT_RECONCILED',
      `The bank was not yet read and held against the record after the restore (${check?.waits_for ?? 'it is about to be'}). It is tried again and again.`,
    );
  }
  if (check.needs_evidence && !isWritten(evidence)) {
    throw new DomainError(
      'EVIDENCE_REQUIRED',
      'The bank did not show everything. Have it say in writing what was submitted, withdraw this proposal, and propose it anew with its reference as evidence.',
    );
  }
}
