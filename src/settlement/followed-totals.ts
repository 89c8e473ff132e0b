import { isEndedUnpaid } from '../domain/bank-status';
import {
  type Calculated,
  calculatedBeyond,
  type JudgedTotals,
  judgeGroups,
  type Lacking,
  sumOf,
  type Totals,
  withCalculated,
} from '../pay-run/match';
import { alarmOfStatus } from './follow-plan';
import type { Looked } from './looks';

/** Count and sum as a submitted instruction shows them, and its status. */
export interface ShownTotals extends Calculated {
  status: string;
  groups?: readonly Totals[];
}

/** Payments that ended alike, as they are known. */
export interface Ended extends Totals {
  settled: boolean;
}

/**
 * How the bank may count fewer payments than there are: it puts them into their groups one by one, while the submit is
 * young; later it may never do so in full, or takes out what has failed or what it has processed, which only the end of
 * all shows to be the whole difference. Undefined where it may not.
 * @param read whether it was submitted so long ago that the bank shows it, and whether a read may show what was before its end
 */
export function mayLack(
  { status, totalsCheckedMs }: Pick<Looked, 'status' | 'totalsCheckedMs'>,
  bankStatus: string,
  read: { isOld: boolean; mayBeOlderThanEnd: boolean },
): Lacking | undefined {
  if (!read.isOld) return 'filling';
  const isUnderWay = status === 'SUBMITTED' || (status === 'CLOSED' && read.mayBeOlderThanEnd);
  const wasWhole = status === 'CLOSED' && totalsCheckedMs !== undefined;
  return isUnderWay || wasWhole || isEndedUnpaid(bankStatus) ? 'fewer' : undefined;
}

/** Whether groups lack some payments, so that those that have ended tell what it means. */
export function lacksSome(planned: Totals, { groups = [] }: Pick<ShownTotals, 'groups'>): boolean {
  return groups.length > 0 && judgeGroups(planned, groups, 'fewer') === 'absent';
}

/**
 * What a followed instruction shows against the plan (rule 9).
 * @param ended what is known of its payments, where it `lacksSome`
 */
export function judgeFollowed(
  planned: Totals,
  shown: ShownTotals,
  known: { mayLack: Lacking | undefined; ended: readonly Ended[] },
): JudgedTotals {
  const judged = judgeGroups(planned, shown.groups, known.mayLack);
  const meaning = lacksSome(planned, shown) ? explained(planned, shown.groups ?? [], known.ended) : undefined;
  return withCalculated(meaning ?? judged, planned, shown);
}

/** Whether the count and sum the bank shows of what ended are those of the plan, and no status of it needs a person. */
export function showsAsPlanned(planned: Totals, shown: ShownTotals): boolean {
  if (alarmOfStatus(shown.status) || calculatedBeyond(planned, shown)) return false;
  return judgeGroups(planned, shown.groups) === 'equal';
}

/**
 * What it means that groups lack some payments: `equal` where that is exactly what of them is known to have failed; absent
 * where it is what settled too, since of what was processed such a bank tells nothing, or, once all
 * have ended, only some of what failed, since it may have processed the others. Undefined where it is neither. What ended by
 * the word of people the bank may count still, or not any more; so it may what came back.
 */
function explained(
  planned: Totals,
  groups: readonly Totals[],
  ended: readonly Ended[],
): 'equal' | 'absent' | undefined {
  const shown = sumOf(groups);
  const isLacking = (some: Totals): boolean =>
    some.count === planned.count - shown.count && some.totalMinor === planned.totalMinor - shown.totalMinor;
  const lacking = choicesOf(ended).filter((some) => isLacking(sumOf(some)));
  if (lacking.length > 0)
    return lacking.some((some) => some.every((one) => !one.settled)) ? 'equal' : 'absent';
  const settled = sumOf(ended.filter((one) => one.settled));
  const isSomeOfFailed = shown.count > settled.count && shown.totalMinor > settled.totalMinor;
  return isSomeOfFailed && sumOf(ended).count === planned.count ? 'absent' : undefined;
}

/** Some of several, in every way: at least one of them. */
function choicesOf<T>(all: readonly T[]): T[][] {
  return all.reduce<T[][]>((chosen, one) => [...chosen, ...chosen.map((some) => [...some, one]), [one]], []);
}
