import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A command that runs or has ended, and what it printed. */
export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<number | null>;
  output(): string;
}

const launched: ChildProcess[] = [];

/** Ends what a failed test left running: for `afterAll`. */
export function endAll(): void {
  for (const child of launched) child.kill('SIGTERM');
}

/** Starts `node args`; the environment has no setting of a service or bank. */
export function launch(args: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): Running {
  const { PATH, HOME, TMPDIR } = process.env;
  const child = spawn(process.execPath, args, {
    cwd: options.cwd,
    env: { PATH, HOME, TMPDIR, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  launched.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => (text += data.toString()));
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { process: child, ended, output: () => text };
}

/** Waits until a condition holds; fails after `timeoutMs` with what was printed. */
export async function until(running: Running, holds: () => boolean, timeoutMs = 180_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!holds()) {
    if (running.process.exitCode !== null || Date.now() > deadline) throw new Error(running.output());
    await sleep(50);
  }
}

/** A process as `ps` shows it; the command line tells it from a later one of the same number. */
interface Process {
  pid: number;
  parent: number;
  command: string;
}

/** What a running command started, and what that started. */
export function descendantsOf({ process: { pid } }: Running): Process[] {
  const family = new Set([pid]);
  const all = living();
  const found = all.filter((one) => {
    const isOfFamily = family.has(one.parent);
    if (isOfFamily) family.add(one.pid);
    return isOfFamily;
  });
  if (found.length === 0) throw new Error('the command has started nothing yet');
  return found;
}

/** Those of the processes that are left. */
export function leftOf(processes: readonly Process[]): string[] {
  const all = living();
  const isLeft = ({ pid, command }: Process) => all.some((one) => one.pid === pid && one.command === command);
  return processes.filter(isLeft).map(({ pid, command }) => `${pid} ${command}`);
}

/** Every process but zombies, which only wait for a parent to collect them; the oldest first. */
function living(): Process[] {
  const lines = execFileSync('ps', ['axo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  const parsed = lines.map((line) => /^ *(\d+) +(\d+) +([^Z ]\S*) +(.*)$/.exec(line));
  return parsed
    .flatMap((match) => (match ? [match] : []))
    .map(([, pid, parent, , command = '']) => ({ pid: Number(pid), parent: Number(parent), command }))
    .sort((a, b) => a.pid - b.pid);
}

/** The port of the database a command says it uses. */
export function databasePort(output: string): number {
  return Number(/PostgreSQL .* on 127\.0\.0\.1:(\d+)/.exec(output)?.[1]);
}

/** Whether anything listens on a port of this machine. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => socket.destroy() && resolve(true));
    socket.once('error', () => resolve(false));
  });
}
