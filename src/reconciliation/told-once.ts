import { sumMinor } from '../domain/money';
import { add, CountAndSum, NOTHING } from '../domain/reconciliation';

/** What was decided of money beside the rows of a run, by what showed it. */
export interface Shown extends CountAndSum {
  /**
   * Totals and the balance show what was executed beyond the approved payments, a list payments that were never sent, and a
   * move what was given up, or declared not executed, and may be executed all the same.
   */
  by: 'totals' | 'balance' | 'list' | 'move' | 'else';
  payRunId: string;
  /** The account of the run, by its id at the bank. */
  bankAccountId: string;
  /** Null where the balance shows it of more than one instruction of the run. */
  instructionId: string | null;
  /** What was approved of the instruction, or of all of the run. */
  approved: CountAndSum;
  /** Of a balance: the loss that those of other runs tell of too; null where none does, or that is not known. */
  loss: SharedLoss | null;
}

/** What an account lost at once, of which each of several runs tells what it may be of it. */
interface SharedLoss extends CountAndSum {
  id: string;
}

/**
 * Tells each loss once, and never less than the account lost. What an account lost again is told by its balance, which
 * counts no payment that moved nothing; totals that show the same tell only what they have besides. What is listed by
 * itself is taken off that, and the rest of it off the balance: an account that lost to the cent what was executed again
 * has not lost both. Nor has one that lost to the cent what moved, which may be told of the run that pays it again. What it
 * lost at once, and may be of any of several runs, is told of these together.
 */
export function toldOnce<T extends Shown>(all: readonly T[]): T[] {
  const losses = lossesOf(all);
  const moved = movedInBalances(losses, all);
  const shares = new Map(losses.flatMap((loss) => [...sharesOf(loss, all)]));
  return all.flatMap((one) => {
    if (moved.has(one)) return [];
    const share = shares.get(one);
    if (one.by === 'balance') return share === undefined ? [] : [{ ...one, ...share }];
    if (one.by !== 'totals') return [one];
    const besides = besidesBalance(one, all);
    if (besides.count === 0 && besides.amountMinor === 0n) return [];
    return [{ ...one, ...less(besides, listedOf(one.instructionId, all)) }];
  });
}

/** What an account lost, and the balances that tell of it, each of a run of its own. */
interface Loss {
  balances: readonly Shown[];
  /** What it is of these runs. */
  total: CountAndSum;
}

function lossesOf(all: readonly Shown[]): Loss[] {
  const byLoss = new Map<Shown | string, Shown[]>();
  for (const one of all.filter(({ by }) => by === 'balance')) {
    const key = one.loss?.id ?? one;
    byLoss.set(key, [...(byLoss.get(key) ?? []), one]);
  }
  return [...byLoss.values()].map((balances) => ({ balances, total: lostOf(balances, all) }));
}

/** All that balances of one loss tell, but no more than it was, unless totals show more of it. */
function lostOf(balances: readonly Shown[], all: readonly Shown[]): CountAndSum {
  const told = add(balances);
  const loss = balances[0]?.loss ?? told;
  return mostOf(leastOf(told, loss), add(balances.filter((one) => isInTotals(one, all))));
}

/** What each balance tells of a loss: first of what totals show too, then what goes into it whole, the most first. */
function sharesOf({ balances, total }: Loss, all: readonly Shown[]): ReadonlyMap<Shown, CountAndSum> {
  const own = balances.map((one) => ({
    one,
    isSure: isInTotals(one, all),
    rest: less(one, listedIn(one, all)),
  }));
  const inOrder = own.toSorted(
    (a, b) => Number(b.isSure) - Number(a.isSure) || Number(b.rest.amountMinor - a.rest.amountMinor),
  );
  const shares = new Map<Shown, CountAndSum>();
  let left = less(total, add(own.map(({ one, rest }) => less(one, rest))));
  for (const isWhole of [true, false]) {
    for (const { one, rest } of inOrder) {
      if (shares.has(one) || (isWhole && rest.amountMinor > left.amountMinor)) continue;
      if (left.amountMinor === 0n && shares.size > 0) break;
      const share = leastOf(rest, left);
      shares.set(one, share);
      left = less(left, share);
    }
  }
  return shares;
}

/** Whether totals show the execution again that the balance tells of. */
function isInTotals(balance: Shown, all: readonly Shown[]): boolean {
  return all.some((one) => one.by === 'totals' && standsFor(balance, one) && isShownToo(one, balance, all));
}

/**
 * What moved that balances show too: each by itself where it is all that was lost, or that divided by how often it was, or
 * all of an account together. What merely divides a loss may have nothing to do with it.
 */
function movedInBalances(losses: readonly Loss[], all: readonly Shown[]): ReadonlySet<Shown> {
  const told = new Set<Shown>();
  for (const { balances, total } of losses) {
    const accountId = balances[0]?.bankAccountId;
    const moved = all.filter((one) => one.by === 'move' && one.bankAccountId === accountId && !told.has(one));
    const lost = [total, ...balances].map(({ amountMinor }) => amountMinor);
    const isAll = lost.includes(sumMinor(moved.map((one) => one.amountMinor)));
    let leftMinor = total.amountMinor;
    for (const one of moved) {
      const isItsShare =
        lost.includes(one.amountMinor) || balances.some((balance) => isShareOf(balance, one));
      const isShown = isItsShare && leftMinor >= one.amountMinor;
      if (!isAll && !isShown) continue;
      told.add(one);
      leftMinor -= one.amountMinor;
    }
  }
  return told;
}

function isShareOf(balance: Shown, { amountMinor }: CountAndSum): boolean {
  return amountMinor * timesAtLeast(balance) === balance.amountMinor;
}

/** Of totals, what the balance does not show too: all where it shows something else. */
function besidesBalance(totals: Shown, all: readonly Shown[]): CountAndSum {
  const balance = all.find((one) => one.by === 'balance' && standsFor(one, totals));
  if (balance === undefined || !isShownToo(totals, balance, all)) return totals;
  const times = timesAtLeast(balance);
  const { count, amountMinor } = totals.approved;
  return less(totals, { count: Number(times) * count, amountMinor: times * amountMinor });
}

/** Whether totals show the execution again of an instruction, or all of those that the balance stands for the same as it. */
function isShownToo(totals: Shown, balance: Shown, all: readonly Shown[]): boolean {
  if (!isAtLeast(totals, NOTHING)) return false;
  const { count, amountMinor } = add(all.filter((one) => one.by === 'totals' && standsFor(balance, one)));
  const isAlike = count === balance.count && amountMinor === balance.amountMinor;
  return isAlike || isAtLeast(totals, totals.approved);
}

function standsFor(balance: Shown, { payRunId, instructionId }: Shown): boolean {
  return balance.payRunId === payRunId && [null, instructionId].some((one) => one === balance.instructionId);
}

/** How many times again, at the least: some of what was approved may not have been paid. */
function timesAtLeast({ amountMinor, approved }: Shown): bigint {
  if (approved.amountMinor <= 0n || amountMinor <= 0n) return 1n;
  return (amountMinor + approved.amountMinor - 1n) / approved.amountMinor;
}

/** What is listed of the instructions that a balance stands for, and not taken off totals of them. */
function listedIn(balance: Shown, all: readonly Shown[]): CountAndSum {
  const ofIt = all.filter((one) => standsFor(balance, one));
  const ids = new Set(ofIt.map((one) => one.instructionId));
  return add(
    [...ids].map((id) =>
      notIn(
        listedOf(id, ofIt),
        ofIt.find((one) => isOfTotals(one, id)),
        all,
      ),
    ),
  );
}

function isOfTotals({ by, instructionId }: Shown, id: string | null): boolean {
  return by === 'totals' && instructionId === id;
}

function notIn(listed: CountAndSum, totals: Shown | undefined, all: readonly Shown[]): CountAndSum {
  if (totals === undefined) return listed;
  const { count, amountMinor } = besidesBalance(totals, all);
  const rest = less(listed, { count, amountMinor });
  // Totals of less than was approved have all that is listed taken off already.
  return { count: count < 0 ? 0 : rest.count, amountMinor: amountMinor < 0n ? 0n : rest.amountMinor };
}

function listedOf(instructionId: string | null, all: readonly Shown[]): CountAndSum {
  return add(all.filter((one) => one.by === 'list' && one.instructionId === instructionId));
}

function isAtLeast(some: CountAndSum, others: CountAndSum): boolean {
  return some.count >= others.count && some.amountMinor >= others.amountMinor;
}

/** Where some are not fewer than none it is nothing at the least: what is listed may have joined it after the others were shown. */
function less(some: CountAndSum, others: CountAndSum): CountAndSum {
  const count = some.count - others.count;
  const amountMinor = some.amountMinor - others.amountMinor;
  return {
    count: some.count < 0 ? count : Math.max(count, 0),
    amountMinor: some.amountMinor >= 0n && amountMinor < 0n ? 0n : amountMinor,
  };
}

/** The less of each. */
function leastOf(some: CountAndSum, others: CountAndSum): CountAndSum {
  return {
    count: Math.min(some.count, others.count),
    amountMinor: some.amountMinor < others.amountMinor ? some.amountMinor : others.amountMinor,
  };
}

/** The more of each. */
function mostOf(some: CountAndSum, others: CountAndSum): CountAndSum {
  return {
    count: Math.max(some.count, others.count),
    amountMinor: some.amountMinor > others.amountMinor ? some.amountMinor : others.amountMinor,
  };
}
