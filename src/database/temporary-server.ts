import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { BinarySources, defaultSources } from './embedded-binaries';
import { launchServer } from './launcher';
import { canUse, ServerAccount, serverAccount } from './server-account';
import { CLUSTER, ServerDirectory } from './server-directory';

/**
 * Waits for the end of its input, which comes when the starting process closes it or dies in whatever way; then stops
 * the server (without ceremony: its data go too) and removes the directory. PostgreSQL takes its pid file away as the
 * last thing it does; the process itself may stay a zombie. Ten seconds for that.
 */
const CLEAN_UP = `
cat >/dev/null
file="$1/$2/postmaster.pid"
pid=$(head -n 1 "$file" 2>/dev/null)
if [ -n "$pid" ]; then
  kill -QUIT "$pid"
  for step in $(seq 200); do [ -e "$file" ] || break; sleep 0.05; done
fi
rm -rf -- "$1"
`;

/** A server whose data are thrown away. */
export interface TemporaryServer {
  /** Connection of the superuser to the database `postgres`, to make more databases with `initRoles`. */
  readonly superuserUrl: string;
  /** Connections to its database `payrun` as the application's role and as the owner; `urlOfDatabase` gives others. */
  readonly databaseUrl: string;
  readonly databaseAdminUrl: string;
  readonly describe: string;
  /** Stops the server and removes its data; they go as well when this process is killed. */
  stop(): Promise<void>;
}

/** Starts a server in a directory of its own, for tests. `durable` (default false) keeps fsync on. */
export async function startTemporaryServer(
  options: { sources?: BinarySources; durable?: boolean } = {},
): Promise<TemporaryServer> {
  const sources = options.sources ?? (await defaultSources(process.env));
  const server = await makeTemporaryDirectory(sources.sharedDirectories);
  const cleaner = startCleaner(server);
  const stop = () => cleanUp(cleaner, server);
  try {
    const { binaries, port, superuserUrl, databaseUrl, databaseAdminUrl } = await launchServer(
      server,
      sources,
      options.durable ?? false,
    );
    const describe = `temporary PostgreSQL ${binaries.version} (${binaries.origin}) on 127.0.0.1:${port}`;
    return { superuserUrl, databaseUrl, databaseAdminUrl, describe, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function makeTemporaryDirectory(shared: readonly string[]): Promise<ServerDirectory> {
  // The last shared directory is the system's own for what need not survive a restart.
  for (const parent of [...shared].reverse()) {
    const path = await mkdtemp(join(parent, 'payrun-temporary-')).catch(() => undefined);
    if (path === undefined) continue;
    const account = await serverAccount(path);
    if (account !== undefined) await chown(path, account.uid, account.gid);
    if (await canUse(account, path)) return { path, account };
  }
  throw new Error(`No place for a temporary database in ${shared.join(', ')}`);
}

function startCleaner(server: ServerDirectory): ChildProcess {
  const cleaner = spawn('/bin/sh', ['-c', CLEAN_UP, 'sh', server.path, CLUSTER], {
    ...credentialsOf(server.account),
    cwd: '/',
    // A session of its own: Ctrl-C at the terminal must not end it before its work.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  cleaner.unref();
  if (cleaner.stdin instanceof Socket) cleaner.stdin.unref();
  return cleaner;
}

function credentialsOf(account: ServerAccount): { uid?: number; gid?: number } {
  return account ?? {};
}

async function cleanUp(cleaner: ChildProcess, server: ServerDirectory): Promise<void> {
  if (cleaner.exitCode !== null || cleaner.signalCode !== null) return;
  cleaner.ref();
  const gone = once(cleaner, 'exit');
  cleaner.stdin?.end();
  await gone;
  // The server's account may not be allowed to remove a directory from its parent.
  await rm(server.path, { recursive: true, force: true });
}
