import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { compiled } from './compiled';

/** A command that runs or has ended, and what it printed. */
export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<number | null>;
  output(): string;
}

/** Starts `node args`; the environment has no setting of a service or bank. */
export function launch(args: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): Running {
  const { PATH, HOME, TMPDIR } = process.env;
  const child = spawn(process.execPath, args, {
    cwd: options.cwd,
    env: { PATH, HOME, TMPDIR, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => (text += data.toString()));
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { process: child, ended, output: () => text };
}

/** Waits until a condition holds; fails after `timeoutMs` with what was printed. */
export async function until(running: Running, holds: () => boolean, timeoutMs = 30_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!holds()) {
    if (running.process.exitCode !== null || Date.now() > deadline) throw new Error(running.output());
    await sleep(50);
  }
}

/** Command lines of living processes that run a script of the compiled product, or `path`. */
export function processesOf(path: string): string[] {
  const lines = execFileSync('ps', ['axo', 'stat=,args='], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => !line.startsWith('Z') && (line.includes(compiled()) || line.includes(path)));
}

/** Whether anything listens on a port of this machine. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => socket.destroy() && resolve(true));
    socket.once('error', () => resolve(false));
  });
}
