import { constants } from 'node:os';
import { join } from 'node:path';
import { Child, startChild } from './child';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Somebody asked this process to end. */
export class Interrupted extends Error {
  constructor(readonly signal: (typeof SIGNALS)[number]) {
    super(`Interrupted by ${signal}.`);
  }

  /** What a shell expects of a process ended by this signal. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

/** Something that was started and must be stopped; `ended` resolves when it ends by itself. */
export interface Started {
  stop(): Promise<void>;
  readonly ended?: Promise<string>;
}

/** What one command started, to be stopped in the opposite order. */
export class Stage {
  /** Rejects when something on the stage ended unasked. */
  readonly broken: Promise<never>;
  /** Resolves when the stage is being cleared. */
  readonly closing: Promise<void>;
  private readonly started: Started[] = [];
  private cleared = false;
  private close: () => void = () => undefined;
  private fail: (error: Error) => void = () => undefined;

  constructor() {
    this.broken = new Promise((_, reject) => (this.fail = reject));
    this.broken.catch(() => undefined);
    this.closing = new Promise((resolve) => (this.close = resolve));
  }

  /** Takes charge of what is being started. @throws when the stage was cleared meanwhile; then it is stopped at once */
  async own<T extends Started>(starting: Promise<T>): Promise<T> {
    const started = await starting;
    if (this.cleared) {
      await started.stop();
      throw new Error('stopped while it was starting');
    }
    this.started.push(started);
    void started.ended?.then((how) => this.fail(new Error(how)));
    return started;
  }

  /** Stops everything, the last first; one that cannot be stopped does not keep the others. */
  async clear(): Promise<void> {
    this.cleared = true;
    this.close();
    const failures: string[] = [];
    for (const one of this.started.splice(0).reverse()) {
      await one.stop().catch((error: unknown) => failures.push(String(error)));
    }
    if (failures.length > 0) throw new Error(`Not everything could be stopped: ${failures.join('; ')}`);
  }
}

/**
 * Gives `work` a stage and clears it whatever happens.
 * @throws what `work` throws; Interrupted on a signal; Error when something on the stage ends unasked
 */
export async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
  const stage = new Stage();
  const { interrupted, ignore } = listenForSignals();
  const working = work(stage);
  try {
    return await Promise.race([working, stage.broken, interrupted]);
  } finally {
    await stage.clear();
    await working.catch(() => undefined);
    ignore();
  }
}

/** The sandbox bank as a process of its own. @param settings `SANDBOX_*` */
export function startBank(settings: NodeJS.ProcessEnv): Promise<Child> {
  return startChild({
    name: 'The sandbox bank',
    script: join(__dirname, '..', 'bank-sandbox', 'main.js'),
    env: { ...settings, SANDBOX_PARENT_PID: String(process.pid) },
  });
}

/** The service as a process of its own. @param settings those of `readConfig` */
export function startServiceProcess(
  settings: NodeJS.ProcessEnv,
  onLine?: (line: string) => void,
): Promise<Child> {
  const script = join(__dirname, '..', 'main.js');
  return startChild({ name: 'The service', script, env: settings, onLine });
}

function listenForSignals(): { interrupted: Promise<never>; ignore: () => void } {
  let interrupt: (signal: NodeJS.Signals) => void = () => undefined;
  const interrupted = new Promise<never>((_, reject) => {
    interrupt = (signal) => reject(new Interrupted(signal as Interrupted['signal']));
  });
  interrupted.catch(() => undefined);
  // Once: the second Ctrl-C of somebody who will not wait ends this process, and its children see that.
  for (const signal of SIGNALS) process.once(signal, interrupt);
  const ignore = () => SIGNALS.forEach((signal) => process.off(signal, interrupt));
  return { interrupted, ignore };
}
