import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { PayRun } from './pay-run.entity';

/**
 * Of payments of a run that would be paid again, those whose account another run of the period pays the same amount: under
 * another employee id, or, where that is so of most of them, as another kind of pay. An upload holds such rows.
 */
export async function paidAsAnother(
  tx: EmployerTransaction,
  { id, period, kindOfPay }: PayRun,
  paymentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = await queryByHash<{ id: string; same_kind: boolean }>(
    tx,
    `SELECT p.id, bool_or(o.kind_of_pay = $5) AS same_kind
     FROM payment p JOIN payment o ON o.iban_hash = p.iban_hash AND o.amount_minor = p.amount_minor
     WHERE p.employer_id = $1 AND p.id = ANY ($2)
       AND o.employer_id = $1 AND o.period = $3 AND o.live AND o.returned_at IS NULL AND o.pay_run_id <> $4
       AND (o.kind_of_pay <> $5 OR o.employee_id <> p.employee_id)
     GROUP BY p.id`,
    [tx.employerId, paymentIds, period, id, kindOfPay],
  );
  const isMost = 2 * found.length > paymentIds.length;
  return new Set(found.flatMap((one) => (one.same_kind || isMost ? [one.id] : [])));
}
