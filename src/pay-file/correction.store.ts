import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { inParts } from '../database/in-parts';
import { IdPrefix } from '../http/prefixed-id';
import { KEPT_BACK } from '../pay-run/kept-back';
import { LINE_OF_ANOTHER_FILE } from './file-rows';

/** What both sides of a comparison with the payment of a corrected row pay. */
const SAME_PAY = `(u.employee_id, u.name_hash, u.iban_hash, u.amount_minor, u.currency)
    = (p.employee_id, p.name_hash, p.iban_hash, p.amount_minor, p.currency)
  AND (u.bic, u.remittance) IS NOT DISTINCT FROM (p.bic, p.remittance)`;

/**
 * Whether the payment `p` was left out or ended unpaid, and none made instead of it pays or waits for a person. What
 * is in a condition joins nothing: the price that servers before 18 set for a loop would hide what else one costs.
 */
const NOT_PAID = `(NOT p.live AND p.status <> 'HELD' AND NOT EXISTS (
  WITH RECURSIVE stead AS (
    SELECT p.id
    UNION SELECT unnest(ARRAY(SELECT s.id FROM payment s WHERE s.employer_id = $1 AND s.replaces_payment_id = stead.id))
    FROM stead)
  SELECT FROM stead
  WHERE (SELECT s.live OR s.status = 'HELD' FROM payment s WHERE s.employer_id = $1 AND s.id = stead.id)))`;

/** An id as `showId` shows it. */
const shown = (prefix: IdPrefix, id: string): string => `'${prefix}_' || replace(${id}::text, '-', '')`;

/**
 * Finds the faulty row that each copied row corrects: the one its errors column names, or else that of its employee. Of
 * a row out of the corrections of another file neither is believed.
 * Rows that correct none are noted as faulty; those that were corrected before are taken out of the row table when they
 * are the same again, and noted as faulty when they are not, or when what they became is not paid.
 * @returns how many were the same
 */
export async function matchRows(tx: EmployerTransaction, faultyFileId: string): Promise<number> {
  const of = [tx.employerId, faultyFileId];
  await tx.query('ANALYZE pg_temp.uploaded_row (line, corrects, employee_id)');
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET corrects = NULL
     WHERE corrects <> ${LINE_OF_ANOTHER_FILE} AND NOT EXISTS (SELECT FROM faulty_row k
       WHERE k.employer_id = $1 AND k.faulty_file_id = $2 AND k.line = u.corrects)`,
    of,
  );
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET corrects = own.line
     FROM (SELECT DISTINCT ON (k.employee_id) k.employee_id, k.line FROM faulty_row k
           WHERE k.employer_id = $1 AND k.faulty_file_id = $2 AND k.employee_id IS NOT NULL
           ORDER BY k.employee_id, ${KEPT_BACK} DESC, k.line) AS own
     WHERE u.corrects IS NULL AND u.employee_id = own.employee_id`,
    of,
  );
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET corrects = NULL
     FROM (SELECT line, row_number() OVER (PARTITION BY corrects ORDER BY line) AS n
           FROM pg_temp.uploaded_row WHERE corrects <> ${LINE_OF_ANOTHER_FILE}) AS again
     WHERE again.line = u.line AND again.n > 1`,
  );
  const same = await tx.query<{ count: number }>(
    `WITH same AS (
       DELETE FROM pg_temp.uploaded_row u USING faulty_row k, ${byKey('payment', 'k.payment_id')} p
       WHERE k.employer_id = $1 AND k.faulty_file_id = $2 AND k.line = u.corrects AND NOT ${KEPT_BACK}
         AND ${SAME_PAY} AND NOT ${NOT_PAID}
       RETURNING 1)
     SELECT count(*)::int AS count FROM same`,
    of,
  );
  await tx.query(
    `INSERT INTO pg_temp.noted_fault (line, code, said)
     SELECT u.line, CASE WHEN k.line IS NULL THEN 'CORRECTS_NO_ROW'
         WHEN ${NOT_PAID} THEN 'CORRECTED_ROW_NOT_PAID' ELSE 'ROW_ALREADY_CORRECTED' END,
       CASE WHEN u.corrects = ${LINE_OF_ANOTHER_FILE} THEN 'The row comes from the corrections file of another run.'
         WHEN ${NOT_PAID} THEN 'The row became ' || ${shown('pay', 'p.id')} || ' of ' || ${shown('run', 'p.pay_run_id')}
           || CASE p.status WHEN 'EXCLUDED' THEN ', which was left out.' ELSE ', which ended ' || p.status || '.' END END
     FROM pg_temp.uploaded_row u
     LEFT JOIN faulty_row k ON k.employer_id = $1 AND k.faulty_file_id = $2 AND k.line = u.corrects
     LEFT JOIN ${byKey('payment', 'k.payment_id')} p ON true
     WHERE k.line IS NULL OR NOT ${KEPT_BACK}`,
    of,
  );
  return same[0]?.count ?? 0;
}

/**
 * Gives the rows that are still faulty their new cells, whom these are of, and their faults, under the line they had. Who
 * sends a row back as it was has written nothing of it.
 */
export async function keepStillFaulty(
  tx: EmployerTransaction,
  faultyFileId: string,
  personId: string,
): Promise<void> {
  await tx.query(
    `UPDATE faulty_row k SET cells_sealed = u.cells_sealed, faults_sealed = u.faults_sealed,
       fault_count = u.fault_count, employee_id = u.employee_id, amount_minor = u.amount_minor,
       rewritten_by = CASE WHEN u.cells_sealed = k.cells_sealed THEN k.rewritten_by
         ELSE array_append(array_remove(k.rewritten_by, $3::uuid), $3::uuid) END
     FROM pg_temp.uploaded_row u
     WHERE k.employer_id = $1 AND k.faulty_file_id = $2 AND k.line = u.corrects AND u.fault_count IS NOT NULL
       AND ${KEPT_BACK}`,
    [tx.employerId, faultyFileId, personId],
  );
}

/** Gives the payable rows the lines of those they correct, and their numbers or, in a run of their own, new ones. */
export async function numberCorrected(
  tx: EmployerTransaction,
  faultyFileId: string,
  ownRun: boolean,
): Promise<number> {
  const [row] = await tx.query<{ last: number }>(
    `WITH numbered AS (
       UPDATE pg_temp.uploaded_row u SET line = n.line, row_no = CASE WHEN $3 THEN n.new_no ELSE n.row_no END
       FROM (SELECT k.line, k.row_no, row_number() OVER (ORDER BY k.line) AS new_no
             FROM faulty_row k JOIN pg_temp.uploaded_row c ON c.corrects = k.line
             WHERE k.employer_id = $1 AND k.faulty_file_id = $2 AND c.payable) AS n
       WHERE u.corrects = n.line AND u.payable
       RETURNING u.row_no)
     SELECT coalesce(max(row_no), 0)::int AS last FROM numbered`,
    [tx.employerId, faultyFileId, ownRun],
  );
  return row?.last ?? 0;
}

/** Writes down with each faulty row the payment of its correction. */
export async function markCorrected(
  tx: EmployerTransaction,
  faultyFileId: string,
  lastRow: number,
): Promise<void> {
  await inParts(lastRow, (first, last) =>
    tx.query(
      `UPDATE faulty_row k SET payment_id = u.id, employee_id = u.employee_id, amount_minor = u.amount_minor
       FROM pg_temp.uploaded_row u
       WHERE k.employer_id = $1 AND k.faulty_file_id = $2 AND k.line = u.corrects
         AND u.row_no BETWEEN $3 AND $4 AND u.payable`,
      [tx.employerId, faultyFileId, first, last],
    ),
  );
}
