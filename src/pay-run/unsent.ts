import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { INSTRUCTION_SENT, INSTRUCTION_UNSENT } from '../domain/instruction';
import type { PayRun } from './pay-run.entity';

/**
 * Wakes runs, and what is left to be sent of them.
 * @param statuses of the instructions that are woken with them
 */
export async function wakeUnsent(
  tx: EmployerTransaction,
  runIds: readonly string[],
  statuses = INSTRUCTION_UNSENT,
): Promise<void> {
  const unsent = await tx.query<{ id: string }>(
    'SELECT id FROM instruction WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND status = ANY ($3)',
    [tx.employerId, runIds, statuses],
  );
  wake(tx, 'RUN', runIds);
  wake(
    tx,
    'INSTRUCTION',
    unsent.map(({ id }) => id),
  );
}

/**
 * What of a run that is being submitted no submit may have left for; in minor units.
 * @param besideIds instructions that count as well, whatever became of their submits
 */
export async function unsentOf(
  tx: EmployerTransaction,
  { id, runVersion }: Pick<PayRun, 'id' | 'runVersion'>,
  besideIds: readonly string[] = [],
): Promise<{ payments: number; amountMinor: bigint }> {
  const [row] = await tx.query<{ payments: number; amount: string }>(
    `SELECT coalesce(sum(n.row_count), 0)::int AS payments, coalesce(sum(n.total_minor), 0) AS amount
     FROM planned_instruction n WHERE n.employer_id = $1 AND n.pay_run_id = $2 AND n.run_version = $3
       AND NOT EXISTS (SELECT FROM instruction i WHERE i.employer_id = $1 AND i.planned_instruction_id = n.id
         AND i.status = ANY ($4) AND i.id <> ALL ($5::uuid[]))`,
    [tx.employerId, id, runVersion, ['SUBMIT_INTENT', ...INSTRUCTION_SENT], besideIds],
  );
  return { payments: row?.payments ?? 0, amountMinor: BigInt(row?.amount ?? 0) };
}
