import type { Client } from 'pg';
import { SilenceBound } from './silence-bound';

/**
 * What a session of the service is, whatever the server, the database or the role are set to.
 *
 * - `jit`: the price of a plan decides whether its statement is compiled first, and a plan that may not loop is priced as if
 *   it took hours (see `joiningByHash`): seconds of compiling for milliseconds of work.
 * - Isolation: what is read behind a lock is what others committed before it was had, not what stood when it was asked for.
 * - `client_min_messages`: that a commit might not have been replicated is said by a warning alone.
 * - The rest is how times and bytes are written, in answers, in reports and under the hashes of the audit.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  jit: 'off',
  default_transaction_isolation: 'read committed',
  client_min_messages: 'warning',
  TimeZone: 'UTC',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
};

/**
 * With `off` a commit is answered before it is on disk, with `local` before a synchronous standby has it: an intent
 * that was acted upon could be forgotten. What waits for a standby in another way stays as it was chosen.
 */
const SETTLE = `SELECT set_config('synchronous_commit', CASE WHEN chosen IN ('off', 'local') THEN 'on'
    ELSE chosen END, false), ${Object.entries(SETTINGS)
      .map(([name, value]) => `set_config('${name}', '${value}', false)`)
      .join(', ')}
  FROM current_setting('synchronous_commit') AS chosen`;

/**
 * Has every commit of a new connection wait until it is durable, and its statements read and written as they are tested.
 * @throws Error when the server does not answer within `waitMs`.
 */
export async function settleSession(client: Client, waitMs: number): Promise<void> {
  const bound = new SilenceBound(client);
  bound.allow(waitMs);
  try {
    await client.query(SETTLE);
  } finally {
    bound.lift();
  }
}
