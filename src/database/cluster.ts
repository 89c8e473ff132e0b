import { randomBytes } from 'node:crypto';
import { appendFile, chown, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { PostgresBinaries } from './embedded-binaries';
import { runAs, ServerAccount } from './server-account';
import { CLUSTER, removeAbandoned, ServerDirectory, UNFINISHED } from './server-directory';

/** The bootstrap superuser: it makes the roles and the database, and serves nothing else. */
export const SUPERUSER = 'postgres';

const CREDENTIALS = 'payrun-credentials.json';
/** initdb takes a second; a machine under load is given a hundred times that. */
const INITDB_TIMEOUT_MS = 120_000;

/**
 * One door (TCP on the loopback address), and a server log that holds no statement and no value of a row: both can
 * carry names and IBANs.
 */
const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
timezone = 'UTC'
log_timezone = 'UTC'
log_min_error_statement = panic
log_error_verbosity = terse
`;

const credentials = z.object({
  superuserPassword: z.string().min(1),
  ownerPassword: z.string().min(1),
  appPassword: z.string().min(1),
});

/** The passwords of one cluster; generated with it, kept beside its data, readable by the server's account alone. */
export type Credentials = Readonly<z.infer<typeof credentials>>;

/** The major version that made the data in `server`, or undefined where there is none yet. */
export async function majorOf(server: ServerDirectory): Promise<number | undefined> {
  const stamp = await readFile(join(server.path, CLUSTER, 'PG_VERSION'), 'utf8').catch(absent);
  if (stamp === undefined) return undefined;
  const major = Number(stamp.trim());
  if (Number.isInteger(major)) return major;
  throw new Error(
    `${join(server.path, CLUSTER)} is not a PostgreSQL data directory: its PG_VERSION cannot be read`,
  );
}

/** Reads the passwords of the cluster in `server`. */
export async function readCredentials(server: ServerDirectory): Promise<Credentials> {
  const path = join(server.path, CLUSTER, CREDENTIALS);
  try {
    return credentials.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    // The parser's own message would quote the file.
    throw new Error(`The passwords of the database cannot be read from ${path}`);
  }
}

/**
 * Makes the cluster in `server`. It is built beside its place and renamed when complete, so a crash leaves none, and of
 * two starts at once the first rename stands.
 * @throws Error with the output of initdb when that fails.
 */
export async function createCluster(
  server: ServerDirectory,
  binaries: PostgresBinaries,
  durable: boolean,
): Promise<void> {
  await removeAbandoned(server.path);
  const name = UNFINISHED + randomBytes(6).toString('hex');
  const unfinished = join(server.path, name);
  const secrets: Credentials = {
    superuserPassword: newPassword(),
    ownerPassword: newPassword(),
    appPassword: newPassword(),
  };
  try {
    await writePrivate(`${unfinished}.password`, secrets.superuserPassword, server.account);
    await initdb(server, binaries, name, durable);
    await appendFile(join(unfinished, 'postgresql.conf'), SETTINGS);
    await writePrivate(join(unfinished, CREDENTIALS), JSON.stringify(secrets), server.account);
    await rename(unfinished, join(server.path, CLUSTER));
  } catch (error) {
    if ((await majorOf(server)) === undefined) throw error;
  } finally {
    await rm(`${unfinished}.password`, { force: true });
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function initdb(
  server: ServerDirectory,
  binaries: PostgresBinaries,
  name: string,
  durable: boolean,
): Promise<void> {
  const { ok, output } = await runAs(
    server.account,
    join(binaries.directory, 'initdb'),
    [
      `--pgdata=${name}`,
      `--username=${SUPERUSER}`,
      '--auth=scram-sha-256',
      `--pwfile=${name}.password`,
      '--encoding=UTF8',
      '--locale=C',
      ...(durable ? [] : ['--no-sync']),
    ],
    { cwd: server.path, timeoutMs: INITDB_TIMEOUT_MS },
  );
  if (!ok) throw new Error(`initdb of PostgreSQL ${binaries.version} failed: ${output.trim()}`);
}

/** 192 random bits in characters that need no quoting in a URL. */
function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

async function writePrivate(path: string, content: string, account: ServerAccount): Promise<void> {
  await writeFile(path, content, { mode: 0o600, flag: 'wx', flush: true });
  if (account !== undefined) await chown(path, account.uid, account.gid);
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}
