import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { SilenceBound } from './silence-bound';

/**
 * With `off` a commit is answered before it is on disk, with `local` before a synchronous standby has it: an intent
 * that was acted upon could be forgotten. What waits for a standby in another way stays as it was chosen.
 */
const DURABLE_COMMITS = `SELECT set_config('synchronous_commit', CASE WHEN chosen IN ('off', 'local') THEN 'on'
  ELSE chosen END, false) FROM current_setting('synchronous_commit') AS chosen`;

/**
 * Has every commit of a new connection wait until it is durable, whatever the server, the database or the role are set
 * to, now or by a reload. @throws Error when the server does not answer within `waitMs`.
 */
export async function makeCommitsDurable(client: Client, waitMs: number): Promise<void> {
  const bound = new SilenceBound(client);
  bound.allow(waitMs);
  try {
    await client.query(DURABLE_COMMITS);
  } finally {
    bound.lift();
  }
}

/** Warns where no commit is durable, because the server does not wait for its disk. */
export async function tellUnlessDurable(client: Pick<Client, 'query'>): Promise<void> {
  const { rows } = await client.query<{ fsync: string }>(`SELECT current_setting('fsync') AS fsync`);
  if (rows[0]?.fsync !== 'off') return;
  new Logger('Database').warn(
    'PostgreSQL runs with fsync = off: a crash of its host can lose commits, and what was sent to the bank with them',
  );
}
