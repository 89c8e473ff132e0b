import { DateTime } from 'luxon';
import { paceOf, reserveTurns, UNPACED } from '../domain/request-pace';
import { RateLimited } from './errors';
import type { HttpAnswer } from './http';

/** Time for the client; a test passes its own. */
export interface BankClock {
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export const SYSTEM_CLOCK: BankClock = {
  nowMs: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** What an answer said about the rate limit (Limits: not shown; `Retry-After` and `X-RateLimit-*` are honoured). */
export interface RateSignal {
  status: number;
  retryAfterMs?: number;
  limit?: number;
  remaining?: number;
}

/** Who may send now. The in-process {@link MinuteBudget} serves one replica, `SharedBudget` all of them. */
export interface RateBudget {
  /**
   * Resolves when a request may be sent.
   * @throws RateLimited when that would take longer than `maxWaitMs`; nothing is taken then.
   */
  take(maxWaitMs?: number): Promise<void>;
  observe(signal: RateSignal): void;
}

const MINUTE_MS = 60_000;
/** A header that asks for more is a mistake or an outage a person should see. */
const LONGEST_PAUSE_MS = 60 * MINUTE_MS;

/** A bank that turns requests away and asks for no wait is not asked again without one. */
const SHORTEST_PAUSE_MS = 1_000;

/** How long an answer asks everybody to wait, in ms: 0 where it does not. */
export function pauseOf(signal: RateSignal): number {
  const told = signal.status === 429 || signal.remaining === 0;
  return told ? Math.min(signal.retryAfterMs ?? MINUTE_MS, LONGEST_PAUSE_MS) : 0;
}

/**
 * Waits until no pause is left: one may begin, or grow, while a request waits for its turn.
 * @throws RateLimited where it would outlast `untilMs`, in ms of the clock
 */
export async function outlastPauses(leftMs: () => number, untilMs: number, clock: BankClock): Promise<void> {
  for (let ms = leftMs(); ms > 0; ms = leftMs()) {
    if (clock.nowMs() + ms > untilMs) throw new RateLimited(Math.ceil(ms));
    await clock.sleep(ms);
  }
}

/**
 * Spreads requests so that no 60 seconds hold more than `requestsPerMinute`: a burst of a tenth, and the rest
 * evenly. Pauses while the bank says that nothing remains.
 */
export class MinuteBudget implements RateBudget {
  /** The moment the next request is due when sent evenly, in ms of the clock. */
  private dueMs = 0;
  private pausedUntilMs = 0;

  constructor(
    private perMinute: number | undefined,
    private readonly clock: BankClock = SYSTEM_CLOCK,
  ) {}

  async take(maxWaitMs = Infinity): Promise<void> {
    const nowMs = this.clock.nowMs();
    const state = { dueInMs: this.dueMs - nowMs, pausedInMs: this.pauseLeftMs() };
    const pace = this.perMinute === undefined ? UNPACED : paceOf(this.perMinute);
    const turn = reserveTurns(state, pace, { turns: 1, maxWaitMs, urgent: true });
    if (turn.kind === 'refused') throw new RateLimited(turn.waitMs);
    this.dueMs = nowMs + turn.dueInMs;
    if (turn.inMs > 0) await this.clock.sleep(turn.inMs);
    await outlastPauses(() => this.pauseLeftMs(), nowMs + maxWaitMs, this.clock);
  }

  observe(signal: RateSignal): void {
    if (signal.limit !== undefined && signal.limit > 0 && signal.limit < (this.perMinute ?? Infinity)) {
      this.perMinute = signal.limit;
    }
    this.pausedUntilMs = Math.max(this.pausedUntilMs, this.clock.nowMs() + pauseOf(signal));
  }

  private pauseLeftMs(): number {
    return this.pausedUntilMs - this.clock.nowMs();
  }
}

/**
 * Reads the rate headers of an answer. `Retry-After` is seconds or an HTTP date (RFC 9110), a second at least; any other
 * is absent.
 */
export function rateSignalOf(answer: HttpAnswer, clock: BankClock): RateSignal {
  return {
    status: answer.status,
    retryAfterMs: retryAfterMs(answer.header('retry-after'), clock),
    limit: wholeNumber(answer.header('x-ratelimit-limit')),
    remaining: wholeNumber(answer.header('x-ratelimit-remaining')),
  };
}

function retryAfterMs(value: string | undefined, clock: BankClock): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return withinBounds(Number.parseInt(value, 10) * 1_000);
  const at = DateTime.fromHTTP(value);
  return at.isValid ? withinBounds(at.toMillis() - clock.nowMs()) : undefined;
}

function withinBounds(pauseMs: number): number {
  return Math.min(Math.max(pauseMs, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
}

function wholeNumber(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number.parseInt(value, 10) : undefined;
}
