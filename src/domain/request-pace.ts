import { MINUTE_MS } from './durations';

/** How requests are spread: one every `intervalMs`; who may not wait runs ahead of that by up to `aheadMs`. */
export interface Pace {
  readonly intervalMs: number;
  readonly aheadMs: number;
}

/** No limit is known: every request may leave at once. */
export const UNPACED: Pace = { intervalMs: 0, aheadMs: 0 };

/** Two pauses of a minute: who would wait longer for a turn is told instead, and takes none. */
export const LONGEST_WAIT_MS = 2 * MINUTE_MS;
/** A header that asks for a longer pause is a mistake or an outage a person should see. */
export const LONGEST_PAUSE_MS = 60 * MINUTE_MS;
/** Above whatever turns can be due after: the longest wait, the turns it took, and what urgent ones run ahead by. */
const LONGEST_DUE_MS = 2 * LONGEST_WAIT_MS;

/** Below it there is nothing to keep back: every request waits for its turn. */
const SMALLEST_SHARED_OUT = 4;

/**
 * The pace that keeps any 60 seconds within `perMinute` (at least 1): a tenth is kept back for who may not wait, and
 * the rest is sent evenly. As long as nobody draws on it, that tenth also covers what the network delays.
 */
export function paceOf(perMinute: number): Pace {
  const kept = perMinute < SMALLEST_SHARED_OUT ? 1 : Math.max(2, Math.ceil(perMinute / 10));
  const intervalMs = MINUTE_MS / Math.max(perMinute - kept, 1);
  return { intervalMs, aheadMs: (kept - 1) * intervalMs };
}

/** When the next request is due and when a pause ends, in ms from now; what is over is negative. */
export interface RateState {
  readonly dueInMs: number;
  readonly pausedInMs: number;
}

/** So many turns, of which the first may not be further away than `maxWaitMs`; urgent ones run ahead. */
export interface TurnRequest {
  readonly turns: number;
  readonly maxWaitMs: number;
  readonly urgent: boolean;
}

/** Turns in `inMs` from now and every `intervalMs` after that, and the state's new `dueInMs`; or nothing taken. */
export type Turns =
  | {
      readonly kind: 'reserved';
      readonly inMs: number;
      readonly intervalMs: number;
      readonly dueInMs: number;
    }
  | { readonly kind: 'refused'; readonly waitMs: number };

/**
 * A state as its clock may have left it. What nobody can have reserved or asked for was written before the clock was
 * set back: the next turn then comes in a minute, when nothing counts any more, and a pause is for the bank to repeat.
 */
export function plausible({ dueInMs, pausedInMs }: RateState): RateState {
  return {
    dueInMs: dueInMs > LONGEST_DUE_MS ? MINUTE_MS : dueInMs,
    pausedInMs: pausedInMs > LONGEST_PAUSE_MS ? 0 : pausedInMs,
  };
}

/** Takes turns off a state. A turn that was not used in its time is lost: idle time saves nothing up. */
export function reserveTurns(state: RateState, pace: Pace, request: TurnRequest): Turns {
  const { intervalMs, aheadMs } = pace;
  const dueMs = Math.max(state.dueInMs, state.pausedInMs, 0);
  const inMs = request.urgent ? Math.max(dueMs - aheadMs, state.pausedInMs, 0) : dueMs;
  if (inMs > request.maxWaitMs) return { kind: 'refused', waitMs: Math.ceil(inMs) };
  return { kind: 'reserved', inMs, intervalMs, dueInMs: dueMs + request.turns * intervalMs };
}
