import {
  BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  OnApplicationBootstrap,
} from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { DatabaseAway } from '../database/outage';
import { describeError } from '../config/describe-error';
import { Shutdown } from '../config/shutdown';

/** Work that is done again and again in every process. */
export interface Tick {
  /** Unique; the name of its interval. */
  readonly name: string;
  readonly everyMs: number;
  /** Those after it, and requests, rest on it: they begin once its first run has ended. */
  readonly first?: boolean;
  /** Looks for work once. */
  run(): Promise<unknown>;
  /** Takes no more work and waits for what `run` left under way. May be called more than once. */
  drain?(): Promise<void>;
}

/** Injection token of every tick of the service: `readonly Tick[]`. */
export const TICKS = Symbol('Ticks');

/**
 * Runs every tick once when the application has started and then at its interval. A tick never overlaps itself: one
 * that is due while it still runs is left out. What it throws is logged, and the next one goes on. Before the
 * application shuts down the intervals end and what is under way is waited for, as long as is left.
 */
@Injectable()
export class Ticker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Ticker.name);
  private readonly running = new Map<string, Promise<void>>();
  private stopping = false;

  constructor(
    private readonly registry: SchedulerRegistry,
    @Inject(TICKS) private readonly ticks: readonly Tick[],
    private readonly shutdown: Shutdown,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    for (const tick of this.ticks) {
      const beat = () => this.beat(tick);
      this.registry.addInterval(tick.name, setInterval(beat, tick.everyMs));
      beat();
      if (tick.first) await this.running.get(tick.name);
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    for (const { name } of this.ticks) {
      // The registry's own hook may have been first.
      if (this.registry.doesExist('interval', name)) this.registry.deleteInterval(name);
    }
    const drained = Promise.all(this.ticks.map((tick) => this.drain(tick)));
    if (await isDoneWithin(this.shutdown.leftMs, drained)) return;
    this.logger.warn('some work is left under way; another process takes it up when its lease runs out');
  }

  private beat(tick: Tick): void {
    if (this.stopping || this.running.has(tick.name)) return;
    const run = this.logged(tick, () => tick.run()).finally(() => this.running.delete(tick.name));
    this.running.set(tick.name, run);
  }

  private async drain(tick: Tick): Promise<void> {
    const drain = () => this.logged(tick, async () => tick.drain?.());
    await Promise.all([this.running.get(tick.name), drain()]);
    // A claim that was on its way during the first drain may have begun its work since.
    await drain();
  }

  private async logged(tick: Tick, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // An outage is told once, for all ticks.
      if (error instanceof DatabaseAway) return;
      this.logger.error({ message: 'a tick failed', tick: tick.name, error: describeError(error) });
    }
  }
}

function isDoneWithin(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, timeoutMs, false);
    work.finally(() => clearTimeout(timer)).then(() => resolve(true), reject);
  });
}
