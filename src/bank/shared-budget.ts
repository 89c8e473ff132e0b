import { Logger } from '@nestjs/common';
import { describeError } from '../config/describe-error';
import { paceOf, type TurnRequest, type Turns } from '../domain/request-pace';
import { GivenUp, RateLimited } from './errors';
import {
  heeded,
  outlastPauses,
  pauseOf,
  type BankClock,
  type RateBudget,
  type RateSignal,
  SYSTEM_CLOCK,
  teaches,
  type TurnAsked,
} from './rate-budget';

/** What all replicas have in common, by one clock: the limit the bank taught them, the next turn, a pause. */
export interface SharedRate {
  /** Takes turns under the `configured` limit, or else the learned one, and answers with it. */
  reserve(
    configured: number | undefined,
    request: TurnRequest,
  ): Promise<{ perMinute: number | undefined; turns: Turns }>;
  /** Nobody sends for so long from now. */
  pause(ms: number): Promise<void>;
  /** How long nobody may send from now, in ms; 0 where there is no pause. */
  pauseLeftMs(): Promise<number>;
  /** The bank named this limit; a higher one than was learned changes nothing. */
  learn(perMinute: number): Promise<void>;
}

/** Injection token of the {@link SharedRate}; without one each process keeps a budget of its own. */
export const SHARED_RATE = Symbol('SharedRate');

interface Waiter {
  /** The latest moment at which a turn is of use, in ms of the clock. */
  untilMs: number;
  givenUp: AbortSignal | undefined;
  resolve(): void;
  reject(error: RateLimited | GivenUp): void;
}

/** Turns are taken for so long ahead: more would make other replicas, and a submit, wait for nothing. */
const BATCH_MS = 1_000;
/** A turn that comes this late is lost, or a process that hung would send many at once. */
const STALE_MS = 1_000;
/** Who may wait no longer than this is urgent. */
const URGENT_WAIT_MS = 5_000;
/** Nothing may be sent while the shared rate cannot be read or written; it is tried again after so long. */
const UNREACHABLE_PAUSE_MS = 5_000;
/** Answers that were under way together tell the same pause. */
const SAME_PAUSE_MS = 1_000;

/**
 * The budget that all replicas share. Requests of this process queue here and take turns in batches of a second;
 * urgent ones pass by the queue. A pause or limit that one replica is told holds for the others from their next batch
 * on. Where no limit is configured and the bank named none, nothing is shared and nothing is asked.
 */
export class SharedBudget implements RateBudget {
  private readonly logger = new Logger(SharedBudget.name);
  private readonly waiting: Waiter[] = [];
  private serving = false;
  private pausedUntilMs = 0;
  /** The limit in force as far as this process knows. */
  private perMinute: number | undefined;

  constructor(
    private readonly rate: SharedRate,
    private readonly configured: number | undefined,
    private readonly clock: BankClock = SYSTEM_CLOCK,
  ) {
    this.perMinute = configured;
  }

  async take(maxWaitMs = Infinity, asked: TurnAsked = {}): Promise<void> {
    const { urgent = maxWaitMs <= URGENT_WAIT_MS, turns = 1, givenUp } = asked;
    const pauseMs = this.pauseLeftMs();
    if (pauseMs > maxWaitMs) throw new RateLimited(Math.ceil(pauseMs));
    const untilMs = this.clock.nowMs() + maxWaitMs;
    if (this.perMinute === undefined) return this.outlastPauses(untilMs);
    return urgent ? this.takeUrgently(untilMs, turns) : this.queue(untilMs, givenUp);
  }

  observe(told: RateSignal): void {
    const signal = heeded(told, this.configured, this.perMinute);
    if (teaches(signal, this.configured, this.perMinute)) {
      this.perMinute = signal.limit;
      this.share(this.rate.learn(signal.limit));
    }
    const ms = pauseOf(signal, this.configured);
    const leftMs = this.pauseLeftMs();
    if (ms <= (leftMs > 0 ? leftMs + SAME_PAUSE_MS : 0)) return;
    this.pausedUntilMs = this.clock.nowMs() + ms;
    this.share(this.rate.pause(ms));
  }

  /** Turns of its own, ahead of those that queue. What was waited for too long, or is paused, is lost. */
  private async takeUrgently(untilMs: number, turns: 1 | 2): Promise<void> {
    const maxWaitMs = untilMs - this.clock.nowMs();
    const reserved = await this.reserve({ turns, maxWaitMs, urgent: true });
    if (reserved.kind === 'refused') throw new RateLimited(reserved.waitMs);
    const restMs = (turns - 1) * reserved.intervalMs;
    const waitMs = reserved.inMs + restMs;
    const dueMs = this.clock.nowMs() + waitMs;
    if (waitMs > 0) await this.clock.sleep(waitMs);
    if (waitMs > STALE_MS) await this.hearOfPause();
    const lateMs = this.clock.nowMs() - Math.min(untilMs + restMs, dueMs + STALE_MS);
    if (lateMs > 0 || this.pauseLeftMs() > 0)
      throw new RateLimited(Math.ceil(Math.max(this.pauseLeftMs(), 0)));
  }

  /** One that began while a turn was waited for, of which another replica was told. */
  private async hearOfPause(): Promise<void> {
    try {
      const leftMs = await this.rate.pauseLeftMs();
      this.pausedUntilMs = Math.max(this.pausedUntilMs, this.clock.nowMs() + leftMs);
    } catch (error) {
      this.complain(error);
      throw new RateLimited(UNREACHABLE_PAUSE_MS);
    }
  }

  private queue(untilMs: number, givenUp: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ untilMs, givenUp, resolve, reject });
      if (!this.serving) void this.serve();
    });
  }

  private async serve(): Promise<void> {
    this.serving = true;
    while (this.waiting.length > 0) {
      try {
        await this.serveBatch();
      } catch (error) {
        const refusal = error instanceof RateLimited ? error : new RateLimited(UNREACHABLE_PAUSE_MS);
        for (const waiter of this.waiting.splice(0)) waiter.reject(refusal);
      }
    }
    this.serving = false;
  }

  private async serveBatch(): Promise<void> {
    this.refuseLate(this.pausedUntilMs, 0);
    const turns = Math.min(this.waiting.length, this.batchSize());
    if (turns === 0) return;
    await this.outlastPauses(Infinity);
    this.refuseLate(this.clock.nowMs(), 0);
    if (this.waiting.length === 0) return;
    const maxWaitMs = Math.max(...this.waiting.map(({ untilMs }) => untilMs)) - this.clock.nowMs();
    const reserved = await this.reserve({ turns, maxWaitMs, urgent: false });
    if (reserved.kind === 'refused') throw new RateLimited(reserved.waitMs);
    const firstMs = this.clock.nowMs() + reserved.inMs;
    this.refuseLate(firstMs, reserved.intervalMs);
    for (let n = 0; n < turns && this.waiting.length > 0; n += 1) {
      const dueMs = firstMs + n * reserved.intervalMs;
      const waitMs = dueMs - this.clock.nowMs();
      if (waitMs > 0) await this.clock.sleep(waitMs);
      if (this.pauseLeftMs() > 0) return;
      this.dropGivenUp();
      if (this.clock.nowMs() - dueMs <= STALE_MS) this.waiting.shift()?.resolve();
    }
  }

  private dropGivenUp(): void {
    for (const waiter of this.waiting.splice(0)) {
      if (waiter.givenUp?.aborted) waiter.reject(new GivenUp());
      else this.waiting.push(waiter);
    }
  }

  /** Tells those whose turn would come too late, when the first is served at `firstMs`. */
  private refuseLate(firstMs: number, intervalMs: number): void {
    this.dropGivenUp();
    const nowMs = this.clock.nowMs();
    const all = this.waiting.splice(0);
    for (const waiter of all) {
      const dueMs = Math.max(firstMs + this.waiting.length * intervalMs, nowMs);
      if (dueMs <= waiter.untilMs) this.waiting.push(waiter);
      else waiter.reject(new RateLimited(Math.ceil(dueMs - nowMs)));
    }
  }

  private async reserve(request: TurnRequest): Promise<Turns> {
    try {
      const { perMinute, turns } = await this.rate.reserve(this.configured, request);
      this.perMinute = perMinute;
      return turns;
    } catch (error) {
      this.complain(error);
      throw new RateLimited(UNREACHABLE_PAUSE_MS);
    }
  }

  private batchSize(): number {
    if (this.perMinute === undefined) return this.waiting.length;
    return Math.max(1, Math.floor(BATCH_MS / paceOf(this.perMinute).intervalMs));
  }

  /** Here it holds already; what could not be shared, another replica is told by the bank itself. */
  private share(told: Promise<void>): void {
    told.catch((error: unknown) => this.complain(error));
  }

  private complain(error: unknown): void {
    const message = 'the rate shared by all replicas could not be reached';
    this.logger.warn({ message, error: describeError(error) });
  }

  private outlastPauses(untilMs: number): Promise<void> {
    return outlastPauses(() => this.pauseLeftMs(), untilMs, this.clock);
  }

  pauseLeftMs(): number {
    return this.pausedUntilMs - this.clock.nowMs();
  }
}
