import { DateTime } from 'luxon';
import { MINUTE_MS } from '../domain/durations';
import { LONGEST_PAUSE_MS, paceOf, reserveTurns, UNPACED } from '../domain/request-pace';
import { RateLimited } from './errors';
import type { HttpAnswer } from './http';

/** Time for the client; a test passes its own. What it tells is compared with itself only, and is no time of day. */
export interface BankClock {
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export const SYSTEM_CLOCK: BankClock = {
  nowMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** What an answer said about the rate limit (Limits: not shown; `Retry-After` and `X-RateLimit-*` are honoured). */
export interface RateSignal {
  status: number;
  retryAfterMs?: number;
  limit?: number;
  remaining?: number;
  /** Of an endpoint that no payment passes: the limit may be its own. */
  isApart?: boolean;
}

/** How a turn is asked for. */
export interface TurnAsked {
  /** It does not queue behind the others. */
  urgent?: boolean;
  /** Two that follow one another, of urgent ones: both wait for the second, so that a minute has one too many at most. */
  turns?: 1 | 2;
  /** Says that it is of no use any more: it keeps no other waiting from then on. */
  givenUp?: AbortSignal;
}

/** Who may send now. The in-process {@link MinuteBudget} serves one replica, `SharedBudget` all of them. */
export interface RateBudget {
  /**
   * Resolves when a request may be sent.
   * @throws RateLimited when that would take longer than `maxWaitMs`; nothing is taken then.
   */
  take(maxWaitMs?: number, asked?: TurnAsked): Promise<void>;
  observe(signal: RateSignal): void;
  /** How long nobody may send from now, in ms; 0 or less where there is no pause. */
  pauseLeftMs(): number;
}

/** A bank that turns requests away and asks for no wait is not asked again without one. */
const SHORTEST_PAUSE_MS = 1_000;

/** How long an answer asks everybody to wait, in ms: 0 where it does not. A limit of 0 is none, of which nothing remains. */
export function pauseOf(signal: RateSignal, configured: number | undefined): number {
  if (signal.status === 429) return Math.min(signal.retryAfterMs ?? MINUTE_MS, LONGEST_PAUSE_MS);
  if (signal.remaining !== 0 || signal.limit === 0) return 0;
  const pauseMs = countsSeconds(signal, configured) ? SHORTEST_PAUSE_MS : MINUTE_MS;
  return Math.min(signal.retryAfterMs ?? pauseMs, LONGEST_PAUSE_MS);
}

/**
 * What an answer says for everybody: a 429 and its wait; the rest where payments pass its endpoint, or its limit is the one
 * in force. Where a limit is configured nothing else would show that it is too high, so that all counts.
 */
export function heeded(
  signal: RateSignal,
  configured: number | undefined,
  known: number | undefined,
): RateSignal {
  const { status, retryAfterMs, limit } = signal;
  const isOwn = signal.isApart && configured === undefined && limit !== undefined && limit !== known;
  return isOwn ? { status, retryAfterMs } : signal;
}

/** A limit of a minute is lowered now and then, and hardly ever so far below what is configured. */
const SECONDS_AT_LEAST = 20;

/**
 * Whether a limit is one of less than a minute: the bank is known to take many times more in a minute than it names.
 * Any other is taken for one of a minute, since a 429 would leave a submit in doubt.
 */
function countsSeconds({ limit }: RateSignal, configured: number | undefined): boolean {
  return configured !== undefined && limit !== undefined && limit * SECONDS_AT_LEAST <= configured;
}

/** Whether an answer names a limit to keep: a lower one than is known, where none is configured, which would win. */
export function teaches(
  signal: RateSignal,
  configured: number | undefined,
  known: number | undefined,
): signal is RateSignal & { limit: number } {
  const { limit } = signal;
  return configured === undefined && limit !== undefined && limit > 0 && limit < (known ?? Infinity);
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

  private perMinute: number | undefined;

  constructor(
    private readonly configured: number | undefined,
    private readonly clock: BankClock = SYSTEM_CLOCK,
  ) {
    this.perMinute = configured;
  }

  async take(maxWaitMs = Infinity, { turns = 1 }: TurnAsked = {}): Promise<void> {
    const nowMs = this.clock.nowMs();
    const state = { dueInMs: this.dueMs - nowMs, pausedInMs: this.pauseLeftMs() };
    const pace = this.perMinute === undefined ? UNPACED : paceOf(this.perMinute);
    const turn = reserveTurns(state, pace, { turns, maxWaitMs, urgent: true });
    if (turn.kind === 'refused') throw new RateLimited(turn.waitMs);
    this.dueMs = nowMs + turn.dueInMs;
    const restMs = (turns - 1) * turn.intervalMs;
    if (turn.inMs + restMs > 0) await this.clock.sleep(turn.inMs + restMs);
    await outlastPauses(() => this.pauseLeftMs(), nowMs + maxWaitMs + restMs, this.clock);
  }

  observe(told: RateSignal): void {
    const signal = heeded(told, this.configured, this.perMinute);
    if (teaches(signal, this.configured, this.perMinute)) this.perMinute = signal.limit;
    this.pausedUntilMs = Math.max(this.pausedUntilMs, this.clock.nowMs() + pauseOf(signal, this.configured));
  }

  pauseLeftMs(): number {
    return this.pausedUntilMs - this.clock.nowMs();
  }
}

/**
 * Reads the rate headers of an answer. `Retry-After` is seconds, or an HTTP date, which counts from the answer's own
 * `Date` (RFC 9110): our clock may be wrong, and a pause is one for all replicas. A second at least; any other is absent.
 */
export function rateSignalOf(answer: HttpAnswer): RateSignal {
  return {
    status: answer.status,
    retryAfterMs: retryAfterMs(answer),
    limit: wholeNumber(answer.header('x-ratelimit-limit')),
    remaining: wholeNumber(answer.header('x-ratelimit-remaining')),
  };
}

function retryAfterMs(answer: HttpAnswer): number | undefined {
  const value = answer.header('retry-after');
  // Hardly any answer has one, and to read a moment costs as much as to read the payment.
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return withinBounds(Number.parseInt(value, 10) * 1_000);
  const pauseMs = httpMs(value) - httpMs(answer.header('date') ?? '');
  return Number.isNaN(pauseMs) ? undefined : withinBounds(pauseMs);
}

/** A moment in ms; NaN for what is no HTTP date. */
function httpMs(date: string): number {
  return DateTime.fromHTTP(date).toMillis();
}

function withinBounds(pauseMs: number): number {
  return Math.min(Math.max(pauseMs, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
}

function wholeNumber(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number.parseInt(value, 10) : undefined;
}
