import { ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** The service waits ten seconds for work under way; after a little more nothing good comes of waiting. */
const STOP_TIMEOUT_MS = 15_000;
/** Both programs listen within a second or two; a database that does not answer takes the service longer. */
const START_TIMEOUT_MS = 60_000;
/** Enough of a child's output to see why it ended. */
const KEPT_LINES = 20;

/** A program of this checkout to run beside this process. */
export interface Program {
  /** For people. */
  readonly name: string;
  /** Path of the compiled script. It prints `{"url":…}` once it listens. */
  readonly script: string;
  readonly env: NodeJS.ProcessEnv;
  /** Receives every other line the program prints. */
  readonly onLine?: (line: string) => void;
}

/** A program that runs. */
export interface Child {
  readonly url: string;
  /** Resolves with a sentence when the program ended, asked to or not. */
  readonly ended: Promise<string>;
  /** The last lines it printed. */
  lastLines(): string;
  /** Asks it to end and waits until it has. */
  stop(): Promise<void>;
}

/**
 * Starts a program and waits until it listens. It is in a session of its own, so that Ctrl-C reaches this process
 * alone, which ends its children in the right order; should this process die, the IPC channel closes.
 * @throws Error, with what it printed unless `onLine` had it, when it ends instead or does not listen within a minute.
 */
export async function startChild(program: Program): Promise<Child> {
  const child = fork(program.script, {
    env: program.env,
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const output = new Output(child, program.onLine);
  const ended = endOf(child, program.name);
  const stop = () => stopChild(child);
  const tooLate = setTimeout(() => void stop(), START_TIMEOUT_MS);
  const url = await Promise.race([output.url, ended.then(() => undefined)]);
  clearTimeout(tooLate);
  if (url !== undefined) return { url, ended, stop, lastLines: () => output.lastLines() };
  const shown = program.onLine === undefined ? `\n${output.lastLines()}` : '';
  throw new Error(`${await ended}${shown}`);
}

/** Reads what a child prints: its address once, and lines to keep. */
class Output {
  readonly url: Promise<string>;
  private readonly lines: string[] = [];
  private found: (url: string) => void = () => undefined;

  constructor(
    child: ChildProcess,
    private readonly onLine: (line: string) => void = () => undefined,
  ) {
    this.url = new Promise((resolve) => (this.found = resolve));
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.take(line));
    }
  }

  lastLines(): string {
    return this.lines.join('\n');
  }

  private take(line: string): void {
    const url = /^\{"url":"([^"]+)"\}$/.exec(line)?.[1];
    if (url !== undefined) return this.found(url);
    this.lines.push(line);
    if (this.lines.length > KEPT_LINES) this.lines.shift();
    this.onLine(line);
  }
}

async function endOf(child: ChildProcess, name: string): Promise<string> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return `${name} ended with ${signal ?? `exit code ${code}`}.`;
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const patience = new AbortController();
  const late = sleep(STOP_TIMEOUT_MS, 'late', patience).catch(() => undefined);
  if ((await Promise.race([gone, late])) === 'late') {
    child.kill('SIGKILL');
    await gone;
  }
  patience.abort();
}
