import { type BankClientError, RateLimited } from '../bank/errors';
import type { Config } from '../config/env';
import { isAtLastDelay, readDelayMs } from '../config/read-delay';
import type { EmployerTransaction } from '../database/database';
import type { WakeIn } from '../database/lease-worker';
import { DAY_MS } from '../domain/durations';
import { INSTRUCTION_GIVEN_UP, type InstructionStatus } from '../domain/instruction';
import { lastMovedAt } from '../pay-run/history';
import type { Instruction } from '../pay-run/instruction.entity';
import { dateOf } from '../pay-run/instruction.store';
import { contradictedForMs } from './contradiction';
import { mayMoveOnItsDate } from './follow.store';
import type { Followed } from './followed';
import { nextLookMs, watchOf } from './looks';
import { mayCompareYet } from './taken-since';

/** What ended is not read again sooner than this where a read of it failed. */
const TRY_AGAIN_MS = 5_000;

/** What ended, and is read for a while longer. */
const WATCHED: readonly InstructionStatus[] = ['CLOSED', ...INSTRUCTION_GIVEN_UP];

type Delays = Pick<Config, 'FOLLOW_DELAYS_MS' | 'FOLLOW_STEP_MS' | 'SUBMIT_DOUBT_MS' | 'WATCH_DAYS'>;

/** Whether an instruction has ended, and is read for a while longer. */
export function hasEnded({ status }: Instruction): boolean {
  return WATCHED.includes(status);
}

/** In how long something is read again by the delay that is used for good. */
export function soonMs(config: Delays): number {
  return readDelayMs(config, Infinity);
}

/** What ended is read again when it would have been, or sooner: the bank, or how much it is, and not what it keeps, was the obstacle. */
export function nextTryMs(config: Delays, nextMs: WakeIn, error: BankClientError | undefined): WakeIn {
  if (nextMs === 'never') return nextMs;
  const tryMs = Math.max(soonMs(config), TRY_AGAIN_MS);
  return Math.min(nextMs, error instanceof RateLimited ? Math.max(error.retryAfterMs, tryMs) : tryMs);
}

/**
 * Open instructions, and what never was submitted from its end on, by the configured delays, what closed once more soon
 * after; then once a day as long as it is watched, by its end or its date, or its balance waits to be compared. What people
 * declare not executed may be days old, and move yet: while an open CONTRADICTION says so, it is read by these delays too.
 */
export async function nextReadMs(
  tx: EmployerTransaction,
  followed: Followed,
  { begunMs, nowMs }: { begunMs: number; nowMs: number },
  config: Delays,
): Promise<WakeIn> {
  const { instruction, planned } = followed;
  const { WATCH_DAYS } = config;
  const watched = hasEnded(instruction);
  if (!watched && instruction.status !== 'SUBMITTED') return 'never';
  const since = watched
    ? (instruction.closedAt ?? (await lastMovedAt(tx, instruction)))
    : (instruction.submittedAt ?? instruction.createdAt);
  const ageMs = Math.max(0, nowMs - since.getTime());
  const dueMs = Date.parse(await dateOf(tx, planned));
  const mayMove = dueMs > since.getTime() && (await mayMoveOnItsDate(tx, instruction, planned));
  const watchedFrom = mayMove ? new Date(dueMs) : since;
  const isOver = watched && nowMs - watchedFrom.getTime() > WATCH_DAYS * DAY_MS;
  if (isOver && !(await mayCompareYet(tx, followed, watchedFrom, new Date(nowMs), WATCH_DAYS)))
    return 'never';
  if (instruction.status === 'CLOSED') {
    const lookMs = nextLookMs(instruction.closedAt?.getTime() ?? 0, nowMs, watchOf(config), begunMs);
    const forMs = await contradictedForMs(tx, instruction);
    return forMs === undefined ? lookMs : Math.min(lookMs, readDelayMs(config, forMs));
  }
  return watched && isAtLastDelay(config, ageMs) ? DAY_MS : readDelayMs(config, ageMs);
}
