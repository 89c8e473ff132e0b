import { EmployerTransaction } from '../database/database';
import { RunOfKey } from './pay-key';

/**
 * The other runs of a period whose payments count as paid whatever their state: a restored database has forgotten a
 * submit of them, or they were in it and are cancelled, be it because the bank said that it had paid them.
 */
export async function runsThatMayHavePaid(
  tx: EmployerTransaction,
  { id, period }: Pick<RunOfKey, 'id' | 'period'>,
): Promise<string[]> {
  const runs = await tx.query<{ id: string }>(
    `SELECT r.id FROM pay_run r WHERE r.employer_id = $1 AND r.period = $2 AND r.id <> $3
       AND (EXISTS (SELECT FROM forgotten_instruction f
           WHERE f.employer_id = r.employer_id AND f.pay_run_id = r.id AND f.adopted_at IS NULL)
         OR r.status = 'CANCELLED' AND EXISTS (SELECT FROM database_restore d WHERE d.noticed_at > r.created_at))`,
    [tx.employerId, period, id],
  );
  return runs.map((run) => run.id);
}

/** Whether the run pays whom a submit that a restored database has forgotten, of it or of another run, may have paid. */
export async function repaysForgotten(tx: EmployerTransaction, payRunId: string): Promise<boolean> {
  const [run] = await tx.query<{ repays: boolean }>('SELECT repays_forgotten($1, $2) AS repays', [
    tx.employerId,
    payRunId,
  ]);
  return run?.repays ?? true;
}
