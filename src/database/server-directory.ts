import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { canUse, ownUser, ServerAccount, serverAccount } from './server-account';

/** How the names of directories begin that are renamed once they are complete. */
export const UNFINISHED = '.unfinished-';
/** initdb and the copy of the binaries take seconds: what is older than this was left by a crash. */
const ABANDONED_AFTER_MS = 10 * 60_000;

/** Name of the PostgreSQL data directory (PGDATA) within the directory of a server. */
export const CLUSTER = 'cluster';

/** The directory of a server and the account that owns it. */
export interface ServerDirectory {
  readonly path: string;
  readonly account: ServerAccount;
}

/** Directories that every user may enter on an ordinary system, the one that survives a restart first. */
export function sharedDirectories(): readonly string[] {
  return ['/var/tmp', tmpdir()];
}

/**
 * Makes a directory that everybody may enter and only we may change, in a place where anybody can make one first.
 * @returns whether it is ours: neither a link, nor someone else's, nor writable by others.
 */
export async function makeOwnDirectory(directory: string): Promise<boolean> {
  try {
    await mkdir(directory);
    // The umask may have taken the others' right to enter.
    await chmod(directory, 0o755);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
  }
  const made = await lstat(directory);
  return made.isDirectory() && made.uid === ownUser().uid && (made.mode & 0o022) === 0;
}

/** Removes what a crash left unfinished in `directory`, and nothing that may still be worked on. */
export async function removeAbandoned(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const path = join(directory, name);
    const made = await stat(path).catch(() => undefined);
    if (made !== undefined && Date.now() - made.mtimeMs > ABANDONED_AFTER_MS) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

/**
 * Chooses the directory of the server: `wanted` where the server's account can work in it, else one of this checkout
 * in a shared directory. One that already holds data is taken first, so that data never seems to vanish.
 * @throws Error when neither can be used.
 */
export async function placeServer(wanted: string, shared: readonly string[]): Promise<ServerDirectory> {
  const places = placesFor(wanted, shared);
  const chosen = (await findServer(wanted, shared)) ?? (await makeFirst(places));
  if (chosen !== undefined) return chosen;
  const tried = places.map(({ path }) => path).join(', ');
  throw new Error(`No place for the database: tried ${tried}. Set DATABASE_URL instead.`);
}

/** Finds the directory `placeServer` chose before, without making one. */
export async function findServer(
  wanted: string,
  shared: readonly string[],
): Promise<ServerDirectory | undefined> {
  for (const { path } of placesFor(wanted, shared)) {
    const cluster = await lstat(join(path, CLUSTER)).catch(() => undefined);
    if (cluster === undefined) continue;
    const account = await serverAccount(path);
    if (await canUse(account, path)) return { path, account };
  }
  return undefined;
}

interface Place {
  readonly path: string;
  /** The directory of ours in a shared one; undefined for the place in the checkout. */
  readonly base?: string;
}

function placesFor(wanted: string, shared: readonly string[]): Place[] {
  const inCheckout = resolve(wanted);
  const key = createHash('sha256').update(inCheckout).digest('hex').slice(0, 16);
  const bases = shared.map((parent) => join(parent, `payrun-${ownUser().uid}`));
  return [{ path: inCheckout }, ...bases.map((base) => ({ base, path: join(base, `database-${key}`) }))];
}

async function makeFirst(places: readonly Place[]): Promise<ServerDirectory | undefined> {
  for (const { path, base } of places) {
    if (base !== undefined && !(await makeOwnDirectory(base))) continue;
    const made = await makeServerDirectory(path).catch(() => undefined);
    if (made !== undefined) return made;
  }
  return undefined;
}

/** Makes a directory that only the server's account may enter; undefined when that account cannot work there. */
async function makeServerDirectory(path: string): Promise<ServerDirectory | undefined> {
  const created = await mkdir(dirname(path), { recursive: true });
  // The umask may have taken the right to enter from the account that is to work below.
  if (created !== undefined) await chmod(dirname(path), 0o755);
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const account = await serverAccount(path);
  const made = await lstat(path);
  if (!made.isDirectory()) return undefined;
  const toHandOver = account !== undefined && made.uid === 0 && (await readdir(path)).length === 0;
  if (toHandOver) await chown(path, account.uid, account.gid);
  const owner = toHandOver ? account.uid : made.uid;
  const ours = owner === (account?.uid ?? ownUser().uid);
  return ours && (await canUse(account, path)) ? { path, account } : undefined;
}
