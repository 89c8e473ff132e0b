import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { defaultDataDirectory, resolveDatabase, ResolvedDatabase } from '../database/launcher';
import { CommandContext } from './database';

/** Waits for the end of its input, which comes when this process closes it or dies in whatever way. */
const STOP_AFTERWARDS = 'cat >/dev/null; exec "$0" "$1" db:stop';

/**
 * The database of this checkout. A server started here is stopped by a process of its own, because PostgreSQL would
 * outlive this one if it were killed.
 */
export async function guardedDatabase(context: CommandContext): Promise<ResolvedDatabase> {
  const dataDirectory = defaultDataDirectory(context.checkout);
  const database = await resolveDatabase({ env: context.env, dataDirectory, log: () => undefined });
  return database.started ? { ...database, stop: guard(context.checkout) } : database;
}

function guard(checkout: string): () => Promise<void> {
  const command = join(__dirname, 'main.js');
  const watcher = spawn('/bin/sh', ['-c', STOP_AFTERWARDS, process.execPath, command], {
    cwd: checkout,
    // A session of its own: Ctrl-C at the terminal must not end it before its work.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const gone = once(watcher, 'exit');
  return async () => {
    watcher.stdin.end();
    const [code] = (await gone) as [number | null];
    if (code !== 0) throw new Error('The database could not be stopped: try "npm run db:stop".');
  };
}
