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
}

/**
 * Tells each loss once, and never less than the account lost. What an account lost again is told by its balance, which
 * counts no payment that moved nothing; totals that show the same tell only what they have besides. What is listed by
 * itself is taken off that, and the rest of it off the balance: an account that lost to the cent what was executed again
 * has not lost both. Nor has one that lost to the cent what moved, which may be told of the run that pays it again.
 */
export function toldOnce<T extends Shown>(all: readonly T[]): T[] {
  const moved = movedInBalances(all);
  return all.flatMap((one) => {
    if (moved.has(one)) return [];
    if (one.by === 'balance') return [{ ...one, ...less(one, listedIn(one, all)) }];
    if (one.by !== 'totals') return [one];
    const besides = besidesBalance(one, all);
    if (besides.count === 0 && besides.amountMinor === 0n) return [];
    return [{ ...one, ...less(besides, listedOf(one.instructionId, all)) }];
  });
}

/**
 * What moved that balances show too: each by itself where it is all that was lost, or that divided by how often it was, or
 * all of an account together. What merely divides a loss may have nothing to do with it.
 */
function movedInBalances(all: readonly Shown[]): ReadonlySet<Shown> {
  const told = new Set<Shown>();
  for (const balance of all.filter(({ by }) => by === 'balance')) {
    const { bankAccountId, amountMinor } = balance;
    const moved = all.filter(
      (one) => one.by === 'move' && one.bankAccountId === bankAccountId && !told.has(one),
    );
    const times = [1n, timesAtLeast(balance)];
    const isAll = sumMinor(moved.map((one) => one.amountMinor)) === amountMinor;
    let leftMinor = amountMinor;
    for (const one of moved) {
      const isItsShare = times.some((n) => one.amountMinor * n === amountMinor);
      const isShown = isItsShare && leftMinor >= one.amountMinor;
      if (!isAll && !isShown) continue;
      told.add(one);
      leftMinor -= one.amountMinor;
    }
  }
  return told;
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
