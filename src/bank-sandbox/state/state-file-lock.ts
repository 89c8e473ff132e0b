import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** More processes that try at the same moment than any test starts. */
const MAX_TRIES = 20;

/** A state file belongs to one bank: two would write their lines between one another's. */
export class StateFileLock {
  private held = true;

  private constructor(
    private readonly path: string,
    private readonly owner: string,
  ) {}

  /**
   * Takes the lock file beside `stateFile`, from its owner too when that is dead. Throws one line with the file and
   * the process that uses it.
   */
  static take(stateFile: string): StateFileLock {
    const path = `${realPathOf(stateFile)}.lock`;
    const owner = ownerOf(process.pid);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (created(path, owner)) return new StateFileLock(path, owner);
      const other = read(path);
      if (other === undefined) continue;
      if (isAlive(other))
        throw new Error(`${stateFile} is in use by process ${pidOf(other)}: stop it, or use another file`);
      takeAway(path, other);
    }
    throw new Error(`${stateFile} is in use: too many processes try to take ${path}`);
  }

  /** Once: what another bank of this process takes later is not given away. */
  release(): void {
    if (this.held && read(this.path) === this.owner) rmSync(this.path, { force: true });
    this.held = false;
  }
}

/** A link is made with its content and never over a file that is there. */
function created(path: string, owner: string): boolean {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, owner, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    rmSync(draft);
  }
}

/** Moved away before it is deleted: what was meanwhile put there by a living process is put back. */
function takeAway(path: string, stale: string): void {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const taken = read(aside);
  if (taken !== undefined && taken !== stale) created(path, taken);
  rmSync(aside, { force: true });
}

/** A process as its lock names it: its number, and when it started, for numbers are used again. */
function ownerOf(pid: number): string {
  return `${pid} ${startOf(pid) ?? ''}\n`;
}

function pidOf(owner: string): number {
  return Number(/^[1-9]\d{0,9}(?= )/.exec(owner)?.[0] ?? 0);
}

function isAlive(owner: string): boolean {
  const pid = pidOf(owner);
  return pid > 0 && exists(pid) && ownerOf(pid) === owner;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process.
    return hasCode(error, 'EPERM');
  }
}

/** Where the system tells it: the start of a process; none for a dead one whose parent has not looked. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before may hold anything; then the state is the third field, the start the twenty-second.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : fields[19];
  } catch {
    return undefined;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
