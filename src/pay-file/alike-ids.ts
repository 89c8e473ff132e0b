import { EmployerTransaction } from '../database/database';
import { HoldCode } from '../domain/hold';
import { foldedId } from '../pay-run/folded-id';
import { RunOfKey } from '../pay-run/pay-key';
import { Compared, rowsOfRun } from '../pay-run/same-rows';
import { note, otherRuns } from './found-hold';

const FOLDED = foldedId('employee_id');

/**
 * Rows of one name, beside an earlier one under an id that folds to the same, with another account. Only ids that several
 * rows fold to are sorted: as a rule there are few.
 */
export async function findAlikeNames(tx: EmployerTransaction, compared: Compared): Promise<void> {
  await note(
    tx,
    'EMPLOYEE_ID_ALIKE',
    'line, beside_line',
    `WITH pay AS NOT MATERIALIZED (${rowsOfRun(compared)}),
     several AS (SELECT ${FOLDED} AS folded FROM pay GROUP BY 1 HAVING min(employee_id) <> max(employee_id)),
     compared AS MATERIALIZED (
       SELECT line, added, first_value(line) OVER of_id AS first_line,
         employee_id <> first_value(employee_id) OVER of_id AS other_id,
         iban_hash <> first_value(iban_hash) OVER of_id AS other_account
       FROM pay JOIN several ON several.folded = ${FOLDED}
       WINDOW of_id AS (PARTITION BY ${FOLDED}, name_hash ORDER BY added, line))
     SELECT $1, line, first_line FROM compared
     WHERE added AND other_id AND other_account
       AND NOT EXISTS (SELECT FROM pg_temp.found_hold h WHERE h.code = $1 AND h.line = compared.line)`,
    [tx.employerId, compared.joined],
  );
}

/**
 * Rows whose account, or somebody of whose name, another run of the period and kind of pay pays, holds or may have paid
 * under an id that folds to the same. The same amount to the same account is held as that.
 */
export async function findAlikeIds(
  tx: EmployerTransaction,
  { id, period, kindOfPay }: RunOfKey,
  rows: string,
  inDoubt: readonly string[],
): Promise<void> {
  const others = await otherRuns(tx, { period, kindOfPay }, inDoubt);
  const besides = others.filter((one) => one !== id);
  if (besides.length === 0) return;
  await note(
    tx,
    'EMPLOYEE_ID_ALIKE',
    'line, beside_run_id, beside_line',
    `SELECT DISTINCT ON (u.line) $1, u.line, p.pay_run_id, p.line
     FROM ${rows} AS u
     JOIN payment p ON ${foldedId('p.employee_id')} = ${foldedId('u.employee_id')} AND p.employee_id <> u.employee_id
       AND CASE WHEN p.iban_hash = u.iban_hash THEN p.amount_minor <> u.amount_minor ELSE p.name_hash = u.name_hash END
     WHERE p.employer_id = $2 AND p.pay_run_id = ANY ($3)
       AND (p.live AND p.returned_at IS NULL OR p.status = 'HELD' OR p.pay_run_id = ANY ($4))
     ORDER BY u.line, p.id`,
    [tx.employerId, besides, inDoubt],
  );
  // Told is the run that pays, rather than a line of the same file that may be left out.
  await tx.query(
    `DELETE FROM pg_temp.found_hold h USING pg_temp.found_hold o
     WHERE h.code = $1 AND h.beside_run_id IS NULL AND o.code = $1 AND o.line = h.line AND o.beside_run_id IS NOT NULL`,
    ['EMPLOYEE_ID_ALIKE' satisfies HoldCode],
  );
}
