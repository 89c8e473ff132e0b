import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { foldedId } from './folded-id';
import { PayRun } from './pay-run.entity';

/**
 * Of payments of a run that would be paid again, those whose account another run of the period pays or holds: the same
 * amount under another employee id, or as another kind of pay since, or, where that is so of most of them, whenever it was;
 * or any amount as the same kind, under an employee id that is the same but for how it is written. An upload holds such rows.
 */
export async function paidAsAnother(
  tx: EmployerTransaction,
  { id, period, kindOfPay }: PayRun,
  paymentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const others = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND period = $2 AND id <> $3
       AND status NOT IN ('DRAFT', 'CANCELLED')`,
    [tx.employerId, period, id],
  );
  if (others.length === 0) return new Set();
  const found = await queryByHash<{ id: string; certain: boolean }>(
    tx,
    `SELECT p.id, bool_or(o.employee_id <> p.employee_id OR o.id > p.id) AS certain
     FROM payment p JOIN payment o ON o.iban_hash = p.iban_hash
     WHERE p.employer_id = $1 AND p.id = ANY ($2)
       AND o.employer_id = $1 AND o.pay_run_id = ANY ($3)
       AND (o.live AND o.returned_at IS NULL OR o.status = 'HELD')
       AND (o.amount_minor = p.amount_minor AND (o.kind_of_pay <> $4 OR o.employee_id <> p.employee_id)
         OR o.kind_of_pay = $4 AND o.employee_id <> p.employee_id
           AND ${foldedId('o.employee_id')} = ${foldedId('p.employee_id')})
     GROUP BY p.id`,
    [tx.employerId, paymentIds, others.map((run) => run.id), kindOfPay],
  );
  const isMost = 2 * found.length > paymentIds.length;
  return new Set(found.flatMap((one) => (one.certain || isMost ? [one.id] : [])));
}
