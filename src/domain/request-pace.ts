/** How requests are spread: one every `intervalMs`; who may not wait runs ahead of that by up to `aheadMs`. */
export interface Pace {
  readonly intervalMs: number;
  readonly aheadMs: number;
}

/** No limit is known: every request may leave at once. */
export const UNPACED: Pace = { intervalMs: 0, aheadMs: 0 };

const MINUTE_MS = 60_000;
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

/** Takes turns off a state. A turn that was not used in its time is lost: idle time saves nothing up. */
export function reserveTurns(state: RateState, pace: Pace, request: TurnRequest): Turns {
  const { intervalMs, aheadMs } = pace;
  const dueMs = Math.max(state.dueInMs, state.pausedInMs, 0);
  const inMs = request.urgent ? Math.max(dueMs - aheadMs, state.pausedInMs, 0) : dueMs;
  if (inMs > request.maxWaitMs) return { kind: 'refused', waitMs: Math.ceil(inMs) };
  return { kind: 'reserved', inMs, intervalMs, dueInMs: dueMs + request.turns * intervalMs };
}
