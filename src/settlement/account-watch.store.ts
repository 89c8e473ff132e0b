import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { PAY_RUN_FINALS, PayRunStatus } from '../domain/pay-run';

/** States in which something of an approved run is still to be sent. */
const HELD: readonly PayRunStatus[] = ['APPROVED', 'BUILDING', 'VERIFIED', 'SUBMITTING'];

/** The approved runs that an account which is not open holds back. */
export async function runsHeldBy(
  tx: EmployerTransaction,
  accountId: string,
): Promise<{ runIds: string[]; payments: number; amountMinor: bigint }> {
  const [row] = await tx.query<{ ids: string[]; payments: number; amount: string }>(
    `SELECT coalesce(array_agg(id::text ORDER BY id), '{}') AS ids, coalesce(sum(row_count), 0)::int AS payments,
       coalesce(sum(total_minor), 0)::text AS amount
     FROM pay_run WHERE employer_id = $1 AND account_id = $2 AND status = ANY ($3)`,
    [tx.employerId, accountId, HELD],
  );
  return {
    runIds: row?.ids ?? [],
    payments: row?.payments ?? 0,
    amountMinor: BigInt(row?.amount ?? 0),
  };
}

/** Wakes the approved runs of an account that is open again, and what is ready to be sent of them. */
export async function wakeRunsOf(tx: EmployerTransaction, accountId: string): Promise<void> {
  const { runIds } = await runsHeldBy(tx, accountId);
  const instructions = await tx.query<{ id: string }>(
    `SELECT id FROM instruction WHERE employer_id = $1 AND pay_run_id = ANY ($2)
       AND status IN ('PLANNED', 'BUILDING', 'VERIFIED')`,
    [tx.employerId, runIds],
  );
  wake(tx, 'RUN', tx.employerId, runIds);
  wake(
    tx,
    'INSTRUCTION',
    tx.employerId,
    instructions.map(({ id }) => id),
  );
}

/** What makes an account worth reading: a run that has not ended, and how long ago an event named it. */
export async function reasonsToRead(
  tx: EmployerTransaction,
  accountId: string,
): Promise<{ openRun: boolean; newsMs: number | undefined }> {
  const [row] = await tx.query<{ open: boolean; ms: number | null }>(
    `SELECT EXISTS (SELECT FROM pay_run WHERE employer_id = $1 AND account_id = $2 AND status <> ALL ($3)) AS open,
       (SELECT extract(epoch FROM clock_timestamp() - max(last_received_at))::float8 * 1000
        FROM bank_event WHERE employer_id = $1 AND last_received_at > clock_timestamp() - interval '1 day'
          AND $2 = ANY (account_ids)) AS ms`,
    [tx.employerId, accountId, PAY_RUN_FINALS],
  );
  return { openRun: row?.open ?? false, newsMs: row?.ms ?? undefined };
}
