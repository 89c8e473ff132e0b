import { Logger } from '@nestjs/common';
import type { Client } from 'pg';

/** Warns where no commit is durable, because the server does not wait for its disk. */
export async function tellUnlessDurable(client: Pick<Client, 'query'>): Promise<void> {
  const { rows } = await client.query<{ fsync: string }>(`SELECT current_setting('fsync') AS fsync`);
  if (rows[0]?.fsync !== 'off') return;
  new Logger('Database').warn(
    'PostgreSQL runs with fsync = off: a crash of its host can lose commits, and what was sent to the bank with them',
  );
}
