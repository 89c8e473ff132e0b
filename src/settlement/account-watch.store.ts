import { FindOneOptions, In } from 'typeorm';
import { EmployerTransaction } from '../database/database';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { PAY_RUN_FINALS, PAY_RUN_GOING_ON } from '../domain/pay-run';
import { PayRun } from '../pay-run/pay-run.entity';
import { wakeUnsent } from '../pay-run/unsent';

/** The approved runs that an account which is not open holds back: of those being submitted, where something is left. */
async function runsHeldBy(
  tx: EmployerTransaction,
  accountId: string,
  lock?: FindOneOptions<PayRun>['lock'],
): Promise<PayRun[]> {
  const { employerId } = tx;
  const runs = await tx.manager.find(PayRun, {
    where: { employerId, accountId, status: In(PAY_RUN_GOING_ON) },
    order: { id: 'ASC' },
    lock,
  });
  const unsent = await tx.query<{ id: string }>(
    'SELECT DISTINCT pay_run_id AS id FROM instruction WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND status = ANY ($3)',
    [employerId, runs.map(({ id }) => id), INSTRUCTION_UNSENT],
  );
  const left = new Set(unsent.map(({ id }) => id));
  return runs.filter(({ id, status }) => status !== 'SUBMITTING' || left.has(id));
}

/** Locks the approved runs that an account which is not open holds back, and reads them as they then are. */
export function lockRunsHeldBy(tx: EmployerTransaction, accountId: string): Promise<PayRun[]> {
  return runsHeldBy(tx, accountId, { mode: 'for_no_key_update' });
}

/** Wakes the approved runs of an account that is open again, and what is ready to be sent of them. */
export async function wakeRunsOf(tx: EmployerTransaction, accountId: string): Promise<void> {
  const runIds = (await runsHeldBy(tx, accountId)).map(({ id }) => id);
  await wakeUnsent(tx, runIds);
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
