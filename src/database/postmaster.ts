import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { SUPERUSER } from './cluster';
import { PostgresBinaries } from './embedded-binaries';
import { CommandResult, runAs } from './server-account';
import { CLUSTER, ServerDirectory } from './server-directory';

const LOG = 'server.log';
const PORT = 'port';
/** Ten megabytes of lines about starts and stops; one older log is kept. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;
/** Recovery after a kill -9 replays at most max_wal_size, which takes seconds. */
const START_TIMEOUT_S = 60;
const STEP_MS = 100;
const STEPS = (START_TIMEOUT_S * 1000) / STEP_MS;
/** Each failed attempt was a port taken in between, or another start under way. */
const START_ATTEMPTS = 5;
const CONNECT_TIMEOUT_MS = 5_000;
/** A server that says it is ready answers at once; ten times no is a stranger, or one that cannot be used. */
const MAX_UNANSWERED = 10;
/** Lines of the server's log shown when it does not start; they hold no statement and no password. */
const LOG_TAIL_LINES = 12;

/** A running server: its port on 127.0.0.1, and whether the call that returned it started it. */
export interface RunningServer {
  readonly port: number;
  readonly started: boolean;
}

/**
 * Uses the server that runs in this directory, or starts one. PostgreSQL's own lock on its data directory decides
 * between two starts at once: the loser finds the winner's server.
 * @param durable false gives up crash safety for speed (tests only).
 * @throws Error with the end of the server's log when it does not start.
 */
export async function startServer(
  server: ServerDirectory,
  binaries: PostgresBinaries,
  superuserPassword: string,
  durable: boolean,
): Promise<RunningServer> {
  await rotateLog(server);
  let output = '';
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt += 1) {
    const running = await waitUntilReady(server, superuserPassword);
    if (running !== undefined) return { port: running, started: false };
    await removeStalePidFile(server);
    const port = await choosePort(server, attempt === 1);
    const result = await pgCtlStart(server, binaries, port, durable);
    // A server that recovers to a point in time is started for pg_ctl, and takes no change yet.
    if (result.ok && (await waitUntilReady(server, superuserPassword)) !== undefined) {
      await rememberPort(server, port);
      return { port, started: true };
    }
    output = result.output;
    await sleep(STEP_MS);
  }
  throw new Error(
    `PostgreSQL ${binaries.version} did not start in ${server.path}: ${await logTail(server, output)}`,
  );
}

/**
 * Stops whatever server runs in this directory: finishes no transaction, loses no commit (pg_ctl's mode "fast").
 * @returns false when none was running.
 * @throws Error when it is still running after a minute.
 */
export async function stopServer(server: ServerDirectory): Promise<boolean> {
  const found = await postmaster(server);
  if (found === undefined) return false;
  process.kill(found.pid, 'SIGINT');
  for (let step = 0; step < STEPS; step += 1) {
    if ((await postmaster(server))?.pid !== found.pid) return true;
    await sleep(STEP_MS);
  }
  throw new Error(`PostgreSQL (process ${found.pid}) is still stopping after ${START_TIMEOUT_S} s`);
}

interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: string;
}

/** Reads postmaster.pid: process (line 1), port (line 4), status (line 8). Undefined when that server is not alive. */
async function postmaster(server: ServerDirectory): Promise<Postmaster | undefined> {
  const text = await readFile(pidFile(server), 'utf8').catch(() => '');
  const [pid, , , port, , , , status] = text.split('\n');
  const found = { pid: Number(pid), port: Number(port), status: (status ?? '').trim() };
  return (await processKind(found.pid)) === 'server' ? found : undefined;
}

/**
 * After a crash the number in postmaster.pid can belong to another program, or to a zombie nobody collects (usual in
 * a container); PostgreSQL takes either for a server and would refuse to start.
 */
async function removeStalePidFile(server: ServerDirectory): Promise<void> {
  const pid = Number((await readFile(pidFile(server), 'utf8').catch(() => '')).split('\n')[0]);
  if ((await processKind(pid)) === 'other') await rm(pidFile(server), { force: true });
}

async function processKind(pid: number): Promise<'server' | 'other' | 'none'> {
  if (!Number.isInteger(pid) || pid < 1) return 'none';
  const line = await processLine(pid);
  if (line === undefined) return 'none';
  const zombie = line.state.startsWith('Z');
  return !zombie && line.name.includes('postgres') ? 'server' : 'other';
}

async function processLine(pid: number): Promise<{ state: string; name: string } | undefined> {
  const args = ['-o', 'state=,comm=', '-p', String(pid)];
  const text =
    process.platform === 'linux'
      ? await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      : (await runAs(undefined, 'ps', args, { cwd: '/', timeoutMs: CONNECT_TIMEOUT_MS })).output;
  const [, linuxName, linuxState] = /^\d+ \((.*)\) (\S)/s.exec(text) ?? [];
  if (linuxName !== undefined && linuxState !== undefined) return { state: linuxState, name: linuxName };
  const [, state, name] = /^\s*(\S+)\s+(.+)$/s.exec(text) ?? [];
  return state === undefined || name === undefined ? undefined : { state, name };
}

/** Waits while a server is starting, recovering or stopping. Undefined when none is alive. */
async function waitUntilReady(
  server: ServerDirectory,
  superuserPassword: string,
): Promise<number | undefined> {
  let unanswered = 0;
  for (let step = 0; step < STEPS && unanswered < MAX_UNANSWERED; step += 1) {
    const found = await postmaster(server);
    if (found === undefined) return undefined;
    if (found.status === 'ready') {
      const says = await ask(found.port, superuserPassword);
      if (says === 'takes changes') return found.port;
      if (says === 'no answer') unanswered += 1;
    }
    await sleep(STEP_MS);
  }
  throw new Error(`A PostgreSQL server runs in ${server.path} but does not answer; see ${LOG} there`);
}

/** Asks the server on `port` that knows our password: SCRAM proves it both ways, so a stranger is told apart. */
async function ask(
  port: number,
  superuserPassword: string,
): Promise<'takes changes' | 'recovers' | 'no answer'> {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: SUPERUSER,
    database: 'postgres',
    password: superuserPassword,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ recovers: boolean }>('SELECT pg_is_in_recovery() AS recovers');
    return rows[0]?.recovers === false ? 'takes changes' : 'recovers';
  } catch {
    return 'no answer';
  } finally {
    await client.end().catch(() => undefined);
  }
}

function pgCtlStart(
  server: ServerDirectory,
  binaries: PostgresBinaries,
  port: number,
  durable: boolean,
): Promise<CommandResult> {
  const unsafe = durable ? '' : ' -F -c synchronous_commit=off -c full_page_writes=off';
  const args = [
    'start',
    '-w',
    '-s',
    '-t',
    String(START_TIMEOUT_S),
    '-D',
    CLUSTER,
    '-l',
    LOG,
    '-o',
    `-p ${port}${unsafe}`,
  ];
  // Relative names, because pg_ctl hands them to a shell: a checkout's path may hold what a shell would expand.
  return runAs(server.account, join(binaries.directory, 'pg_ctl'), args, {
    cwd: server.path,
    timeoutMs: (START_TIMEOUT_S + 10) * 1000,
  });
}

/** The port of the last start, if it is free, so that addresses written down stay good; else any free one. */
async function choosePort(server: ServerDirectory, useRemembered: boolean): Promise<number> {
  const text = await readFile(join(server.path, PORT), 'utf8').catch(() => '');
  const remembered = Number(text.trim());
  const wanted = useRemembered && Number.isInteger(remembered) && remembered < 65_536 ? remembered : 0;
  return (await freePort(wanted)) ?? (await freePort(0)) ?? 0;
}

function freePort(wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(wanted, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      probe.close(() => resolve(port));
    });
  });
}

async function rememberPort(server: ServerDirectory, port: number): Promise<void> {
  const path = join(server.path, PORT);
  await writeFile(`${path}.new`, `${port}\n`);
  await rename(`${path}.new`, path);
}

async function rotateLog(server: ServerDirectory): Promise<void> {
  const path = join(server.path, LOG);
  const log = await stat(path).catch(() => undefined);
  if (log !== undefined && log.size > MAX_LOG_BYTES) await rename(path, `${path}.1`);
}

async function logTail(server: ServerDirectory, otherwise: string): Promise<string> {
  const log = await readFile(join(server.path, LOG), 'utf8').catch(() => otherwise);
  return log.trim().split('\n').slice(-LOG_TAIL_LINES).join('\n');
}

function pidFile(server: ServerDirectory): string {
  return join(server.path, CLUSTER, 'postmaster.pid');
}
