import { ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinarySources, defaultSources } from '../../src/database/embedded-binaries';
import { LaunchOptions, ResolvedDatabase, resolveDatabase, stopDatabase } from '../../src/database/launcher';
import { makeOwnDirectory } from '../../src/database/server-directory';
import { startTemporaryServer } from '../../src/database/temporary-server';
import { eventually } from '../support/eventually';
import {
  ask,
  CHECKOUT,
  compileLauncher,
  launchInChild,
  makeBarePackage,
  PACKAGE,
} from '../support/launched-server';

const NOBODY = 65_534;

const isRoot = process.getuid?.() === 0;
const hasSystem =
  spawnSync('sh', ['-c', 'command -v pg_ctl || ls /usr/lib/postgresql/*/bin/pg_ctl']).status === 0;
const nobodyCanRun =
  isRoot &&
  spawnSync(process.execPath, ['-e', 'require("pg")'], { uid: NOBODY, gid: NOBODY, cwd: CHECKOUT }).status ===
    0;
const whenRoot = isRoot ? it : it.skip;
const withSystem = hasSystem ? it : it.skip;
const whenNobodyCanRun = nobodyCanRun ? it : it.skip;

let root: string;
let sources: BinarySources;
const lines: string[] = [];
const launched: Pick<LaunchOptions, 'dataDirectory' | 'sources'>[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'launcher-spec-'));
  await chmod(root, 0o755);
  await openDirectory('shared', 0o1777);
  sources = { ...(await defaultSources(process.env)), sharedDirectories: [join(root, 'shared')] };
  compileLauncher(root);
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const options of launched.splice(0)) await stopDatabase(options);
});

afterAll(() => rm(root, { recursive: true, force: true }));

describe('a server of our own', () => {
  it('starts, answers as the application, and stops', async () => {
    const database = await launch('plain');
    expect(database).toMatchObject({ origin: 'embedded', started: true });
    expect(await ask(database.databaseUrl, 'SELECT current_user AS a')).toBe('payrun_app');
    expect(await ask(database.databaseAdminUrl, 'SELECT current_user AS a')).toBe('payrun_owner');
    await database.stop();
    await expect(ask(database.databaseUrl, 'SELECT 1 AS a')).rejects.toThrow();
  });

  it('finds its data, passwords and port again at the next start', async () => {
    const first = await launch('plain');
    await ask(first.databaseAdminUrl, 'CREATE TABLE kept AS SELECT 42 AS a');
    await first.stop();
    const second = await launch('plain');
    expect(second).toMatchObject({ started: true, databaseUrl: first.databaseUrl });
    expect(await ask(second.databaseAdminUrl, 'SELECT a FROM kept')).toBe(42);
  });

  it('is stopped by the launch that started it, and not by one that found it running', async () => {
    const first = await launch('plain');
    const second = await launch('plain');
    expect(second).toMatchObject({ started: false, databaseUrl: first.databaseUrl });
    await second.stop();
    expect(await ask(first.databaseUrl, 'SELECT 1 AS a')).toBe(1);
    await first.stop();
    await expect(ask(first.databaseUrl, 'SELECT 1 AS a')).rejects.toThrow();
  });

  it('is stopped by stopDatabase whoever started it', async () => {
    await launch('plain');
    const options = { dataDirectory: join(root, 'plain'), sources };
    expect(await stopDatabase(options)).toBe(true);
    expect(await stopDatabase(options)).toBe(false);
  });

  it('is one and the same for launches at once, of one process or several', async () => {
    const elsewhere = childLaunch('at-once');
    const here = await Promise.all([launch('at-once'), launch('at-once'), launch('at-once')]);
    const all = [...here, await elsewhere.resolved];
    expect(new Set(all.map(({ databaseUrl }) => databaseUrl)).size).toBe(1);
    expect(all.filter(({ started }) => started)).toHaveLength(1);
    expect((await readdir(join(root, 'at-once'))).filter((name) => name.startsWith('.unfinished'))).toEqual(
      [],
    );
  });

  it('takes another port when its own is taken', async () => {
    const first = await launch('plain');
    await first.stop();
    const squatter = createServer().listen(Number(new URL(first.databaseUrl).port), '127.0.0.1');
    await once(squatter, 'listening');
    try {
      const second = await launch('plain');
      expect(new URL(second.databaseUrl).port).not.toBe(new URL(first.databaseUrl).port);
      expect(await ask(second.databaseUrl, 'SELECT 1 AS a')).toBe(1);
    } finally {
      squatter.close();
    }
  });

  it('works in a directory whose name a shell would expand', async () => {
    const database = await launch('a "$HOME" `b` directory');
    expect(await ask(database.databaseUrl, 'SELECT 1 AS a')).toBe(1);
    expect(database.describe).toContain('a "$HOME" `b` directory');
  });

  it('keeps its passwords from the log, the terminal and other users', async () => {
    const database = await launch('plain');
    await expect(ask(database.databaseUrl.replace(/:[^:@]+@/, ':wrong@'), 'SELECT 1 AS a')).rejects.toThrow();
    const file = join(root, 'plain', 'cluster', 'payrun-credentials.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const passwords = Object.values<string>(JSON.parse(await readFile(file, 'utf8')));
    expect(passwords).toHaveLength(3);
    const shown = [
      ...lines,
      database.describe,
      await readFile(join(root, 'plain', 'server.log'), 'utf8'),
    ].join('\n');
    expect(passwords.filter((password) => shown.includes(password))).toEqual([]);
  });

  it('leaves no value of a row in its log when a statement fails', async () => {
    const database = await launch('plain');
    await ask(database.databaseAdminUrl, 'CREATE TABLE once_only (iban text PRIMARY KEY)');
    const insert = `INSERT INTO once_only VALUES ('NL91ABNA0417164300') RETURNING 1 AS a`;
    await ask(database.databaseAdminUrl, insert);
    await expect(ask(database.databaseAdminUrl, insert)).rejects.toThrow('duplicate key');
    const log = await readFile(join(root, 'plain', 'server.log'), 'utf8');
    expect(log).toContain('duplicate key');
    expect(log).not.toContain('NL91ABNA');
  });
});

describe('after a crash', () => {
  it('finds the server that a killed process left running', async () => {
    const child = childLaunch('orphaned');
    const before = await child.resolved;
    child.process.kill('SIGKILL');
    const after = await launch('orphaned');
    expect(after).toMatchObject({ started: false, databaseUrl: before.databaseUrl });
  });

  it('starts again with every commit after the server itself was killed', async () => {
    const before = await launch('server-killed');
    await ask(before.databaseAdminUrl, 'CREATE TABLE kept AS SELECT 42 AS a');
    process.kill(postmasterPid('server-killed'), 'SIGKILL');
    const after = await launch('server-killed');
    expect(after.started).toBe(true);
    expect(await ask(after.databaseAdminUrl, 'SELECT a FROM kept')).toBe(42);
  });

  it('starts when the process number in a stale postmaster.pid now belongs to another program', async () => {
    await (await launch('plain')).stop();
    const cluster = join(root, 'plain', 'cluster');
    const { uid, gid } = await stat(cluster);
    const stranger = spawn('sleep', ['60'], { uid, gid, cwd: '/' });
    children.push(stranger);
    await writeFile(
      join(cluster, 'postmaster.pid'),
      `${stranger.pid}\n/nowhere\n1\n1\n\n127.0.0.1\n\nready\n`,
    );
    expect((await launch('plain')).started).toBe(true);
  });

  it('makes the cluster anew when the first start was killed in the middle of initdb', async () => {
    const child = childLaunch('half-made');
    child.resolved.catch(() => undefined);
    await eventually(
      () => existsSync(join(root, 'half-made')) && readdirSync(join(root, 'half-made')).length > 1,
      10_000,
    );
    child.process.kill('SIGKILL');
    expect(existsSync(join(root, 'half-made', 'cluster'))).toBe(false);
    const database = await launch('half-made');
    expect(await ask(database.databaseUrl, 'SELECT 1 AS a')).toBe(1);
  });

  it('removes what an old crash left unfinished, and leaves alone what may still be in work', async () => {
    const [old, fresh] = ['.unfinished-old', '.unfinished-fresh'].map((name) =>
      join(root, 'swept', name),
    ) as [string, string];
    await openDirectory('swept', 0o777, isRoot ? NOBODY : undefined);
    await mkdir(old);
    await mkdir(fresh);
    await utimes(old, new Date(0), new Date(0));
    await launch('swept');
    expect([existsSync(old), existsSync(fresh)]).toEqual([false, true]);
  });
});

describe('the binaries', () => {
  it('are repaired in a copy when the symlinks and executable bits are missing', async () => {
    const bare = join(root, 'bare');
    await makeBarePackage(bare);
    const database = await launch('from-bare', { embedded: join(bare, 'native'), system: [] });
    expect(database.origin).toBe('embedded');
    expect(await ask(database.databaseUrl, 'SELECT 1 AS a')).toBe(1);
    expect(existsSync(join(bare, 'native', 'lib', 'libpq.so.5'))).toBe(false);
  });

  it('are copied again when a cleaner took a file of the copy', async () => {
    const bare = join(root, 'bare-again');
    await makeBarePackage(bare);
    const only = { embedded: join(bare, 'native'), system: [] };
    await (await launch('cleaned', only)).stop();
    const copies = join(root, 'shared', `payrun-${process.getuid?.() ?? 0}`);
    const copy = readdirSync(copies).find((name) => name.startsWith(`${process.platform}-`)) ?? 'none';
    const taken = join(copies, copy, 'share', 'postgresql', 'postgresql.conf.sample');
    rmSync(taken);
    expect((await launch('cleaned', only)).started).toBe(true);
    expect(existsSync(taken)).toBe(true);
  });

  withSystem('are the system’s when the embedded package is not installed', async () => {
    const database = await launch('system', { embedded: undefined });
    expect(database.origin).toBe('system');
    expect(await ask(database.databaseUrl, 'SELECT current_user AS a')).toBe('payrun_app');
  });

  withSystem('are those of the version that made the data', async () => {
    await (await launch('system', { embedded: undefined })).stop();
    expect((await launch('system')).origin).toBe('system');
  });

  withSystem('that cannot read the data are refused, saying what to do', async () => {
    await (await launch('system', { embedded: undefined })).stop();
    await expect(launch('system', { system: [] })).rejects.toThrow(
      /was made by PostgreSQL \d+, which only that version can read.*move that directory away/s,
    );
  });

  it('that are nowhere are an error that names DATABASE_URL', async () => {
    await expect(launch('nowhere', { embedded: undefined, system: [] })).rejects.toThrow('set DATABASE_URL');
  });
});

describe('users and places', () => {
  whenRoot('runs as another user for root', async () => {
    const database = await launch('plain');
    expect(database.started).toBe(true);
    const { uid } = await stat(`/proc/${postmasterPid('plain')}`);
    expect(uid).not.toBe(0);
  });

  whenRoot(
    'works when the checkout lies where other users cannot enter, and finds its data again',
    async () => {
      const checkout = join(root, 'locked', 'checkout');
      await mkdir(checkout, { recursive: true });
      await cp(PACKAGE, join(checkout, 'package'), { recursive: true, verbatimSymlinks: true });
      await chmod(join(root, 'locked'), 0o700);
      const inside = { embedded: join(checkout, 'package', 'native'), system: [] };
      const first = await launch('locked/checkout/.payrun/postgres', inside);
      expect(first.describe).toContain(`data in ${join(root, 'shared')}`);
      await ask(first.databaseAdminUrl, 'CREATE TABLE kept AS SELECT 42 AS a');
      await first.stop();
      await chmod(join(root, 'locked'), 0o755);
      const second = await launch('locked/checkout/.payrun/postgres', inside);
      expect(await ask(second.databaseAdminUrl, 'SELECT a FROM kept')).toBe(42);
    },
  );

  whenNobodyCanRun('works for a user who is not root, and root finds that user’s server', async () => {
    await openDirectory('of-nobody', 0o755, NOBODY);
    const child = childLaunch('of-nobody/.payrun/postgres', { uid: NOBODY });
    const theirs = await child.resolved;
    expect(theirs).toMatchObject({ origin: 'embedded', started: true });
    const ours = await launch('of-nobody/.payrun/postgres');
    expect(ours).toMatchObject({ started: false, databaseUrl: theirs.databaseUrl });
  });

  it('trusts no shared directory that another could have prepared', async () => {
    await mkdir(join(root, 'writable'));
    await chmod(join(root, 'writable'), 0o777);
    await symlink(root, join(root, 'link'));
    expect(await makeOwnDirectory(join(root, 'writable'))).toBe(false);
    expect(await makeOwnDirectory(join(root, 'link'))).toBe(false);
    expect(await makeOwnDirectory(join(root, 'new'))).toBe(true);
    expect(await makeOwnDirectory(join(root, 'new'))).toBe(true);
  });
});

describe('a given database', () => {
  it('is used as it is, and shown without its password', async () => {
    const url = 'postgresql://someone:opensesame@db.example:5433/payroll';
    const database = await resolveDatabase({
      env: { DATABASE_URL: url, DATABASE_ADMIN_URL: `${url}_admin` },
      dataDirectory: join(root, 'unused'),
      log: (line) => lines.push(line),
    });
    expect(database).toMatchObject({
      databaseUrl: url,
      databaseAdminUrl: `${url}_admin`,
      origin: 'DATABASE_URL',
    });
    expect(database.describe).toContain('db.example:5433/payroll');
    expect(database.describe).not.toContain('opensesame');
    await database.stop();
    expect(existsSync(join(root, 'unused'))).toBe(false);
  });
});

describe('a temporary server', () => {
  it('leaves nothing behind when it is stopped', async () => {
    const parent = await openDirectory('temporary', 0o1777);
    const server = await startTemporaryServer({ sources: { ...sources, sharedDirectories: [parent] } });
    expect(await ask(server.superuserUrl, `SELECT current_setting('fsync') AS a`)).toBe('off');
    expect(serversIn(parent)).toHaveLength(1);
    await server.stop();
    expect(serversIn(parent)).toEqual([]);
    await expect(ask(server.superuserUrl, 'SELECT 1 AS a')).rejects.toThrow();
  });

  it('leaves nothing behind when its process is killed', async () => {
    const parent = await openDirectory('temporary-killed', 0o1777);
    const child = childLaunch('temporary-killed', { kind: 'temporary' });
    const { databaseUrl } = await child.resolved;
    expect(await ask(databaseUrl, 'SELECT 1 AS a')).toBe(1);
    child.process.kill('SIGKILL');
    await eventually(() => serversIn(parent).length === 0, 10_000);
    await expect(ask(databaseUrl, 'SELECT 1 AS a')).rejects.toThrow();
  });
});

function launch(name: string, other: Partial<BinarySources> = {}): Promise<ResolvedDatabase> {
  const options = { dataDirectory: join(root, name), sources: { ...sources, ...other } };
  launched.push(options);
  return resolveDatabase({ ...options, env: {}, log: (line) => lines.push(line) });
}

/** Directories of temporary servers; a copy of the binaries may stand beside them and stays. */
function serversIn(parent: string): string[] {
  return readdirSync(parent).filter((name) => name.startsWith('payrun-temporary-'));
}

function postmasterPid(name: string): number {
  return Number(readFileSync(join(root, name, 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

async function openDirectory(name: string, mode: number, owner?: number): Promise<string> {
  const path = join(root, name);
  await mkdir(path, { recursive: true });
  await chmod(path, mode);
  if (owner !== undefined) spawnSync('chown', [String(owner), path]);
  return path;
}

function childLaunch(name: string, other: { uid?: number; kind?: 'temporary' } = {}) {
  const options = { dataDirectory: join(root, name), sources };
  if (other.kind === undefined) launched.push(options);
  const child = launchInChild(root, { ...options, ...other });
  children.push(child.process);
  return child;
}
