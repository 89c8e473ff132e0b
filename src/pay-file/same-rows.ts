import { EmployerTransaction } from '../database/database';
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
  const { besideRunId, rows } = found;
  await note(tx, SAME_ROWS, 'beside_run_id, same_rows', 'SELECT $1, $2::uuid, $3::integer', [
    besideRunId,
    rows,
  ]);
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
 * Rows whose account gets the same amount from another run of the period, of whatever kind of pay, as somebody else's:
 * as when a payroll comes in several files and a person is in two of them under two employee ids. The run is a DRAFT
 * here. Of rows alike in one file the first stands for all, and what is held for the rows of that run needs no second hold:
 * not until an amendment ends that (`unasked_rows`). What the run was held for before was so of the rows it had then.
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
         WHERE h.code = 'ROWS_OF_ANOTHER_RUN' AND h.beside_run_id = p.pay_run_id AND coalesce(h.line, u.line) = u.line)
     ORDER BY u.line, p.id`,
    [tx.employerId, others, inDoubt],
  );
}
