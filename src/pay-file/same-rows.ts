import { EmployerTransaction } from '../database/database';
import { DAYS_NEARBY, HoldCode } from '../domain/hold';
import { PayKey, RunOfKey } from '../pay-run/pay-key';
import { Compared, note, otherRuns, rowsOfRun } from './found-hold';

/** A run that other rows are compared with. */
interface ComparedRun {
  id: string;
  period: string;
}

/** The other runs of the period, and those executed about the same day: for what month such a run pays may be a slip. */
function runsToCompare(tx: EmployerTransaction, { id, period }: RunOfKey): Promise<ComparedRun[]> {
  return tx.query<ComparedRun>(
    `SELECT r.id, r.period FROM pay_run r
     JOIN pay_run mine ON mine.employer_id = r.employer_id AND mine.id = $2
     WHERE r.employer_id = $1 AND r.id <> $2
       AND (r.period = $3 OR abs(r.execution_date - mine.execution_date) <= ${DAYS_NEARBY})`,
    [tx.employerId, id, period],
  );
}

/**
 * That other runs of the period or of about the same day, of whatever kind of pay, pay or hold most of the rows of the run
 * already, with those that join it, whoever they are said to be and in whatever order: as when a file comes again with new
 * employee ids, as another kind of pay, or for another month. Told is the run that has most of them. What came back and is
 * paid again, by a row or before, counts for nothing. Both sides are counted first, so that equal rows never meet one by one.
 */
export async function findSameRows(
  tx: EmployerTransaction,
  run: RunOfKey,
  compared: Compared,
  inDoubt: readonly string[],
): Promise<void> {
  const { rows } = compared;
  const others = await runsToCompare(tx, run);
  if (others.length === 0) return;
  const joined = (await isReleased(tx, compared.joined)) ? null : compared.joined;
  await note(
    tx,
    'ROWS_OF_ANOTHER_RUN',
    'beside_run_id, same_rows',
    `WITH theirs AS (
       SELECT pay_run_id, iban_hash, amount_minor, count(*) AS rows
       FROM (SELECT pay_run_id, iban_hash, amount_minor FROM payment
             WHERE employer_id = $2 AND pay_run_id = ANY ($4) AND live AND (returned_at IS NULL
               OR id NOT IN (SELECT u.replaces_payment_id FROM ${rows} AS u WHERE u.replaces_payment_id IS NOT NULL
                 UNION ALL SELECT s.replaces_payment_id FROM payment s
                 WHERE s.employer_id = $2 AND s.replaces_payment_id IS NOT NULL AND s.period = ANY ($5) AND s.live))
             UNION ALL SELECT pay_run_id, iban_hash, amount_minor FROM payment
             WHERE employer_id = $2 AND pay_run_id = ANY ($6) AND NOT live
             UNION ALL SELECT p.pay_run_id, p.iban_hash, p.amount_minor
             FROM (SELECT DISTINCT h.payment_id AS id FROM pay_run r
                   JOIN pay_hold h ON h.employer_id = r.employer_id AND h.pay_run_id = r.id AND h.outcome IS NULL
                   WHERE r.employer_id = $2 AND r.id = ANY ($4) AND r.id <> ALL ($6)) AS held
             JOIN LATERAL (SELECT * FROM payment WHERE employer_id = $2 AND id = held.id LIMIT 1) p
               ON p.status = 'HELD') AS paid
       GROUP BY 1, 2, 3),
     mine AS (
       SELECT iban_hash, amount_minor, count(*) AS rows FROM (${rowsOfRun({ rows, joined })}) AS u
       WHERE EXISTS (SELECT FROM theirs) GROUP BY 1, 2),
     alike AS MATERIALIZED (
       SELECT t.pay_run_id, m.iban_hash, m.amount_minor, least(t.rows, m.rows) AS rows, m.rows AS most
       FROM theirs t JOIN mine m USING (iban_hash, amount_minor)),
     first AS (SELECT pay_run_id FROM alike GROUP BY 1 ORDER BY sum(rows) DESC, 1 LIMIT 1)
     SELECT $1, (SELECT pay_run_id FROM first), sum(rows)
     FROM (SELECT least(sum(rows), most) AS rows FROM alike GROUP BY iban_hash, amount_minor, most) AS taken
     HAVING 2 * sum(rows) > (SELECT sum(rows) FROM mine)`,
    [tx.employerId, joined, others.map(({ id }) => id), others.map(({ period }) => period), inDoubt],
  );
}

/** Whether it was decided that most rows of a run are in other runs: what joins it then is compared by itself. */
async function isReleased(tx: EmployerTransaction, payRunId: string | null): Promise<boolean> {
  const code: HoldCode = 'ROWS_OF_ANOTHER_RUN';
  const released = await tx.query(
    `SELECT FROM pay_hold WHERE employer_id = $1 AND pay_run_id = $2 AND row_no = 0 AND code = $3 AND outcome IS NOT NULL`,
    [tx.employerId, payRunId, code],
  );
  return released.length > 0;
}

/**
 * Rows whose account gets the same amount from another run of the period, of whatever kind of pay, as somebody else's:
 * as when a payroll comes in several files and a person is in two of them under two employee ids. The run is a DRAFT
 * here. Of rows alike in one file the first stands for all, and what the whole run is held for needs no second hold.
 */
export async function findPaidToOthers(
  tx: EmployerTransaction,
  { period }: PayKey,
  rows: string,
  inDoubt: readonly string[],
): Promise<void> {
  const others = await otherRuns(tx, { period }, inDoubt);
  if (others.length === 0) return;
  await note(
    tx,
    'IBAN_AND_AMOUNT_TWICE',
    'line, beside_run_id, beside_line',
    `SELECT DISTINCT ON (u.line) $1, u.line, p.pay_run_id, p.line
     FROM ${rows} AS u
     JOIN payment p ON p.iban_hash = u.iban_hash AND p.amount_minor = u.amount_minor
       AND p.employee_id <> u.employee_id
     WHERE p.employer_id = $2 AND p.pay_run_id = ANY ($3) AND (p.live OR p.status = 'HELD' OR p.pay_run_id = ANY ($4))
       AND NOT EXISTS (SELECT FROM pg_temp.found_hold h WHERE h.code = $1 AND h.line = u.line)
       AND NOT EXISTS (SELECT FROM pg_temp.found_hold h
         WHERE h.code = 'ROWS_OF_ANOTHER_RUN' AND h.beside_run_id = p.pay_run_id)
     ORDER BY u.line, p.id`,
    [tx.employerId, others, inDoubt],
  );
}
