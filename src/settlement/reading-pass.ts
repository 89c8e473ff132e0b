import type { Claim } from '../database/leases';
import { DAY_MS } from '../domain/durations';
import { ENDED } from '../pay-run/ended-reads';
import type { Instruction } from '../pay-run/instruction.entity';

/** Reads one after the other that together try each payment of an instruction, where one does not try all of them. */
export interface Pass {
  /** When its first read began: of all that is in neither of the following each was shown since. */
  readonly begunAt: Date;
  /** Payments that were not tried yet, by the bank's ids. */
  readonly left: ReadonlySet<string>;
  /** Those that were tried, and were not shown. */
  readonly unshown: ReadonlySet<string>;
}

/** What one read showed of the payments of an instruction. */
export interface Reading {
  begunAt: Date;
  /** The ids of those that it did not show, */
  lacking: readonly string[];
  /** and of these of what it did not try; undefined where it tried all. */
  untried: readonly string[] | undefined;
}

/** Adds a read to those before it, if any: one that tries all is a pass by itself. */
export function passOf(before: Pass | undefined, { begunAt, lacking, untried }: Reading): Pass {
  if (untried === undefined) return { begunAt, left: new Set(), unshown: new Set(lacking) };
  const isUntried = new Set(untried);
  if (before === undefined) {
    const unshown = lacking.filter((id) => !isUntried.has(id));
    return { begunAt, left: isUntried, unshown: new Set(unshown) };
  }
  return {
    begunAt: before.begunAt,
    left: new Set(untried.filter((id) => before.left.has(id))),
    unshown: new Set(lacking.filter((id) => !isUntried.has(id) || before.unshown.has(id))),
  };
}

/** Whether each payment was shown by one of its reads. */
export function isWhole({ left, unshown }: Pass): boolean {
  return left.size + unshown.size === 0;
}

/**
 * Whether a pass says something of a read that begins now: not one that began before its instruction ended, or before
 * something of that was missing; nor a day ago, which another process will have completed.
 */
export function goesOn(
  { begunAt }: Pass,
  { closedAt }: Pick<Instruction, 'closedAt'>,
  { missing }: Pick<Claim, 'missing'>,
  now: Date,
): boolean {
  if (closedAt !== null && begunAt < closedAt) return false;
  const forMs = now.getTime() - begunAt.getTime();
  return forMs < DAY_MS && (missing?.what !== ENDED || forMs <= missing.forMs);
}
