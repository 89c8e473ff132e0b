import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** Far above what the PostgreSQL tools print. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
const PROBE_TIMEOUT_MS = 20_000;

/** The operating system user that runs PostgreSQL; `undefined` is the user of this process. */
export type ServerAccount = { readonly uid: number; readonly gid: number } | undefined;

/** What a command answered: whether it exited with 0, and its output and error text. */
export interface CommandResult {
  readonly ok: boolean;
  readonly output: string;
}

/** The user and primary group of this process; 0 is root (also where the platform has no such numbers). */
export function ownUser(): { uid: number; gid: number } {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

/**
 * Runs a command as `account`, with an environment of its own: a PGPORT or PGDATA of the caller, or its secrets,
 * must not reach the server.
 */
export async function runAs(
  account: ServerAccount,
  command: string,
  args: readonly string[],
  options: { cwd: string; timeoutMs: number },
): Promise<CommandResult> {
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  try {
    const { stdout, stderr } = await execFileAsync(command, args, {
      ...account,
      env,
      cwd: options.cwd,
      timeout: options.timeoutMs,
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    return { ok: true, output: stdout + stderr };
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    return { ok: false, output: stdout + stderr || message };
  }
}

/** Whether `account` can work in `directory`: reach it through every parent, list it and write to it. */
export async function canUse(account: ServerAccount, directory: string): Promise<boolean> {
  const script = 'cd -- "$1" && test -r . && test -w .';
  const result = await runAs(account, '/bin/sh', ['-c', script, 'sh', directory], {
    cwd: '/',
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  return result.ok;
}

/**
 * Who runs the server whose files are, or will be, in `directory`. PostgreSQL refuses to run as root, so root hands
 * over to the owner of that directory, or else to `postgres` or `nobody`.
 */
export async function serverAccount(directory: string): Promise<ServerAccount> {
  if (process.getuid?.() !== 0) return undefined;
  const existing = await stat(directory).catch(() => undefined);
  if (existing !== undefined && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid };
  for (const name of ['postgres', 'nobody']) {
    const uid = await numberOf('-u', name);
    const gid = await numberOf('-g', name);
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error(
    'PostgreSQL does not run as root, and this system has neither a user "postgres" nor "nobody" to run it. ' +
      'Start as another user, or set DATABASE_URL.',
  );
}

async function numberOf(flag: '-u' | '-g', name: string): Promise<number | undefined> {
  const { ok, output } = await runAs(undefined, 'id', [flag, name], {
    cwd: '/',
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  const id = Number(output.trim());
  return ok && Number.isInteger(id) && id > 0 ? id : undefined;
}
