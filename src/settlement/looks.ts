import type { Config } from '../config/env';
import { DAY_MS } from '../domain/durations';
import type { InstructionStatus } from '../domain/instruction';

/** When what ended is looked at again, in milliseconds: first so long after its end, and then each so long. */
export interface Watch {
  doubtMs: number;
  againMs: number;
}

/** What ended is looked at again once a submit's doubt has passed, and then each day. */
export function watchOf({ SUBMIT_DOUBT_MS: doubtMs }: Pick<Config, 'SUBMIT_DOUBT_MS'>): Watch {
  return { doubtMs, againMs: DAY_MS };
}

/** A followed instruction by what decides when it is looked at again, in milliseconds. */
export interface Looked {
  status: InstructionStatus;
  /** Undefined until it ends. */
  closedMs: number | undefined;
  /** Undefined until its count and sum were read and compared. */
  totalsCheckedMs: number | undefined;
}

/** Once more soon after the end: a bank may have taken an add after the submit, and paid it too. */
export function isSecondLook(
  { status, closedMs, totalsCheckedMs }: Looked,
  nowMs: number,
  { doubtMs }: Watch,
): boolean {
  const dueMs = (closedMs ?? 0) + doubtMs;
  return status === 'CLOSED' && (totalsCheckedMs ?? 0) < dueMs && dueMs <= nowMs;
}

/**
 * Whether count and sum are to be read and compared: until they were (rule 9), at the second look, and of what ended each
 * `againMs`, since a list need not show whose an added payment is.
 */
export function areTotalsDue(looked: Looked, nowMs: number, watch: Watch): boolean {
  const { status, totalsCheckedMs } = looked;
  if (totalsCheckedMs === undefined || isSecondLook(looked, nowMs, watch)) return true;
  return status === 'CLOSED' && nowMs - totalsCheckedMs >= watch.againMs;
}

/** In how many milliseconds the second look is due; 0 where it was due before. */
function untilSecondLookMs(closedMs: number, nowMs: number, { doubtMs }: Watch): number {
  return Math.max(0, closedMs + doubtMs - nowMs);
}

/**
 * When what ended is read next: at its second look, and then each `againMs`. A look that came due while it was read is
 * still to come.
 * @param begunMs when that read began
 */
export function nextLookMs(closedMs: number, nowMs: number, watch: Watch, begunMs = nowMs): number {
  if (untilSecondLookMs(closedMs, begunMs, watch) === 0) return watch.againMs;
  return Math.max(1, untilSecondLookMs(closedMs, nowMs, watch));
}

/** So many times `againMs` what ended may be waited for whose charges are not known. */
const MOST_LOOKS = 3;

/**
 * Whether the balance is to be compared with what the payments of a run took, by the end of its last instruction: soon
 * after it, and for the `last` time once `againMs` have passed, or where charges are waited for, soon. Once that is `over`
 * other traffic of the account says more than a submit.
 */
export function balanceLookAt(
  closedMs: number | undefined,
  nowMs: number,
  { doubtMs, againMs }: Watch,
): 'early' | 'repeated' | 'last' | 'over' {
  if (closedMs === undefined || nowMs < closedMs + doubtMs) return 'early';
  if (nowMs < closedMs + againMs) return 'repeated';
  return nowMs < closedMs + MOST_LOOKS * againMs ? 'last' : 'over';
}

/** For how long after it was sent, or after its date, a bank may execute a submit that people have declared not executed. */
export const MAY_STILL_EXECUTE_DAYS = 7;

/**
 * The same of a run none of whose submits was executed, as people declared: `daily` from `againMs` after the last of these
 * words on, also where nothing lacks yet, and `over` once the bank executes it no more.
 * @param declaredMs when the last of its submits was declared not executed
 * @param dueMs when the last of them was sent, or its execution date where that is later
 */
export function declaredLookAt(
  { declaredMs, dueMs }: { declaredMs: number; dueMs: number },
  nowMs: number,
  { againMs }: Watch,
): 'early' | 'daily' | 'over' {
  if (nowMs < declaredMs + againMs) return 'early';
  return nowMs < dueMs + MAY_STILL_EXECUTE_DAYS * DAY_MS ? 'daily' : 'over';
}
