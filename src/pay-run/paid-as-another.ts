import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { foldedId } from './folded-id';
import { PayRun } from './pay-run.entity';
import { repaidRuns } from './repaid-runs';

const COMPARED = 'id, employee_id, kind_of_pay, name_hash, iban_hash, amount_minor';

/**
 * Of payments of a run that would be paid again, those whose account another run of the period pays or holds, none that it repays: the same
 * amount under another employee id, or as another kind of pay since, or, where that is so of most of them, whenever it was;
 * or any amount as the same kind, to the same account or to somebody of the same name, under an employee id that is the
 * same but for how it is written. An upload holds such rows.
 */
export async function paidAsAnother(
  tx: EmployerTransaction,
  { id, period, kindOfPay }: PayRun,
  paymentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const others = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND period = $2 AND id <> ALL (ARRAY(${repaidRuns('$3')}))
       AND status NOT IN ('DRAFT', 'CANCELLED')`,
    [tx.employerId, period, id],
  );
  if (others.length === 0) return new Set();
  const found = await queryByHash<{ id: string; certain: boolean }>(
    tx,
    `WITH owed AS MATERIALIZED (SELECT ${COMPARED} FROM payment WHERE employer_id = $1 AND id = ANY ($2)),
     other AS MATERIALIZED (
       SELECT ${COMPARED} FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($3)
         AND (live AND returned_at IS NULL OR status = 'HELD'))
     SELECT id, bool_or(certain) AS certain
     FROM (SELECT p.id, o.employee_id <> p.employee_id OR o.id > p.id AS certain
           FROM owed p JOIN other o ON o.iban_hash = p.iban_hash AND o.amount_minor = p.amount_minor
             AND (o.kind_of_pay <> $4 OR o.employee_id <> p.employee_id)
           UNION ALL SELECT p.id, true
           FROM owed p JOIN other o ON ${foldedId('o.employee_id')} = ${foldedId('p.employee_id')}
             AND o.employee_id <> p.employee_id AND o.kind_of_pay = $4
             AND (o.iban_hash = p.iban_hash OR o.name_hash = p.name_hash)) AS found
     GROUP BY id`,
    [tx.employerId, paymentIds, others.map((run) => run.id), kindOfPay],
  );
  const isMost = 2 * found.length > paymentIds.length;
  return new Set(found.flatMap((one) => (one.certain || isMost ? [one.id] : [])));
}
