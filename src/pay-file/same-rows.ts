import { EmployerTransaction } from '../database/database';
import { HoldCode } from '../domain/hold';
import { PayKey, RunOfKey } from '../pay-run/pay-key';
import { Compared, runsToCompare, SAME_ROWS, sameRows } from '../pay-run/same-rows';
import { note, otherRuns } from './found-hold';

/**
 * That most rows of the run, with those that join it, are in other runs already. What came back and is paid again, by a row
 * or before, counts for nothing.
 */
export async function findSameRows(
  tx: EmployerTransaction,
  run: RunOfKey,
  compared: Compared,
  inDoubt: readonly string[],
): Promise<void> {
  const others = await runsToCompare(tx, run);
  if (others.length === 0) return;
  const joined = (await isReleased(tx, compared.joined)) ? null : compared.joined;
  const found = await sameRows(tx, others, { rows: compared.rows, joined }, inDoubt);
  if (found === undefined) return;
  await note(
    tx,
    SAME_ROWS,
    'beside_run_id, same_rows, also_beside_run_ids',
    'SELECT $1, $2::uuid, $3::integer, $4::uuid[]',
    [found.besideRunId, found.rows, found.alsoBesideRunIds],
  );
}

/** Whether it was released that most rows of a run are in other runs: what joins it then is compared by itself. */
async function isReleased(tx: EmployerTransaction, payRunId: string | null): Promise<boolean> {
  const released = await tx.query(
    `SELECT FROM pay_hold WHERE employer_id = $1 AND pay_run_id = $2 AND row_no = 0 AND code = $3 AND outcome = 'RELEASED'`,
    [tx.employerId, payRunId, SAME_ROWS],
  );
  return released.length > 0;
}

/**
 * Rows whose account gets the same amount from other runs of the period, of whatever kind of pay, as somebody else's:
 * as when a payroll comes in several files and a person is in two of them under two employee ids. The run is a DRAFT
 * here. A row is held once and names all these runs, also beside a line of its own file; what is held for the rows of a
 * run needs no second hold: not until an amendment ends that (`unasked_rows`). What the run was held for before was so of
 * the rows it had then. Of what a run pays alike the first payment stands for all, and for its own employee the first of
 * another one: equal rows never meet one by one.
 */
export async function findPaidToOthers(
  tx: EmployerTransaction,
  { period }: PayKey,
  rows: string,
  inDoubt: readonly string[],
): Promise<void> {
  const others = await otherRuns(tx, { period }, inDoubt);
  if (others.length === 0) return;
  await tx.query(
    `WITH mine AS MATERIALIZED (SELECT line, employee_id, iban_hash, amount_minor FROM ${rows} AS u),
     theirs AS (
       SELECT id, pay_run_id, line, employee_id, iban_hash, amount_minor,
         employee_id <> first_value(employee_id) OVER (
           PARTITION BY pay_run_id, iban_hash, amount_minor ORDER BY id) AS of_another
       FROM payment
       WHERE employer_id = $2 AND pay_run_id = ANY ($3) AND (live OR status = 'HELD' OR pay_run_id = ANY ($4))
         AND (iban_hash, amount_minor) IN (SELECT iban_hash, amount_minor FROM mine)),
     first AS (
       SELECT DISTINCT ON (pay_run_id, iban_hash, amount_minor, of_another) * FROM theirs
       ORDER BY pay_run_id, iban_hash, amount_minor, of_another, id),
     hides AS (SELECT DISTINCT line, beside_run_id FROM pg_temp.found_hold WHERE code = $5),
     alike AS (
       SELECT DISTINCT ON (u.line, p.pay_run_id) u.line, p.id, p.pay_run_id, p.line AS beside_line,
         coalesce(whole.beside_run_id, by_line.beside_run_id) IS NOT NULL AS hidden
       FROM mine u
       JOIN first p ON p.iban_hash = u.iban_hash AND p.amount_minor = u.amount_minor AND p.employee_id <> u.employee_id
       LEFT JOIN hides whole ON whole.beside_run_id = p.pay_run_id AND whole.line IS NULL
       LEFT JOIN hides by_line ON by_line.beside_run_id = p.pay_run_id AND by_line.line = u.line
       ORDER BY u.line, p.pay_run_id, p.id),
     beside AS MATERIALIZED (
       SELECT line, bool_and(hidden) AS hidden, array_agg(pay_run_id ORDER BY hidden, id) AS runs,
         (array_agg(beside_line ORDER BY hidden, id))[1] AS first_line
       FROM alike GROUP BY line),
     held AS (
       UPDATE pg_temp.found_hold h SET also_beside_run_ids = b.runs FROM beside b
       WHERE h.code = $1 AND h.line = b.line RETURNING h.line)
     INSERT INTO pg_temp.found_hold (code, line, beside_run_id, beside_line, also_beside_run_ids)
     SELECT $1, line, runs[1], first_line, runs[2:] FROM beside
     WHERE NOT hidden AND line NOT IN (SELECT line FROM held)`,
    ['IBAN_AND_AMOUNT_TWICE' satisfies HoldCode, tx.employerId, others, inDoubt, SAME_ROWS],
  );
}
