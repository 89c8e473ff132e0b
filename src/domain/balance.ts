import { sumMinor } from './money';
import type { CountAndSum } from './reconciliation';

/** What the settled payments of an instruction took from its account, in minor units. */
export interface PaidByInstruction {
  payRunId: string;
  instructionId: string;
  payments: number;
  amountMinor: bigint;
  chargesMinor: bigint;
  /** The part of the amount that came back, or is to. */
  returnedMinor: bigint;
  /** What ended unpaid, but so late that the bank may have taken it and not given it back yet. */
  unpaidMinor: bigint;
  /** What the bank shows as charges for these: it may have taken them or not. */
  unpaidChargesMinor: bigint;
  /** What the submit would have taken of an instruction that people declared not executed; none of another. */
  voidMinor: bigint;
}

/** What an account seems to have lost again of a run: of one instruction, of all that paid, or of some. In minor units. */
export interface TakenAgain {
  payRunId: string;
  /** Undefined where it is, or may be, of more than one. */
  instructionId: string | undefined;
  /** Every instruction, of any run, that may be one of them; empty where it is of one, or of all of the run. */
  someOf: readonly string[];
  /** How often, besides the one time that was asked for. */
  times: number;
  /** Of all times. */
  payments: number;
  amountMinor: bigint;
  /** What all that were found took of the loss, with their charges where these were taken too; the most it may be. */
  takenMinor: bigint;
  /** What it is of all of these runs together, of all times, where each by itself may be only some of it; the most it may be. */
  ofAll: CountAndSum;
}

/** An instruction executed more often than so besides is beyond what can be told from other traffic of the account. */
const MOST_TIMES_AGAIN = 3n;

/**
 * What an account lost besides what the payments took and did not give back, and their charges: less than nothing where
 * more came in.
 */
export function lackOf(paid: readonly PaidByInstruction[], lostMinor: bigint): bigint {
  return lostMinor - sumMinor(paid.map((one) => one.amountMinor - one.returnedMinor + one.chargesMinor));
}

/** Every sum of some of several amounts, that of none included. */
function sumsOfSome(minors: readonly bigint[]): bigint[] {
  return minors.reduce((sums, minor) => [...sums, ...sums.map((sum) => sum + minor)], [0n]);
}

/** What may not have come back: what ended unpaid, what was returned, and the charges of what ended unpaid. */
function mayComeBackOf(paid: readonly PaidByInstruction[]): bigint[] {
  return [
    sumMinor(paid.map((one) => one.unpaidMinor)),
    sumMinor(paid.map((one) => one.returnedMinor)),
    unpaidChargesOf(paid),
  ];
}

/** What the bank shows as charges for what ended unpaid, of all of these. */
export function unpaidChargesOf(paid: readonly PaidByInstruction[]): bigint {
  return sumMinor(paid.map((one) => one.unpaidChargesMinor));
}

/** What an account lacks besides some of what may not have come back: each such sum. */
function restsOf(paid: readonly PaidByInstruction[], lostMinor: bigint): bigint[] {
  const lackMinor = lackOf(paid, lostMinor);
  const backMinors = new Set(sumsOfSome(mayComeBackOf(paid)));
  return [...backMinors].map((minor) => lackMinor - minor);
}

/** Those that paid anything, of each run by itself. */
function byRun(paid: readonly PaidByInstruction[]): Map<string, PaidByInstruction[]> {
  const runs = new Map<string, PaidByInstruction[]>();
  for (const one of paid.filter(({ payments }) => payments > 0)) {
    const those = runs.get(one.payRunId);
    if (those) those.push(one);
    else runs.set(one.payRunId, [one]);
  }
  return runs;
}

/** What some instructions took together of what an account lost. */
interface Takers {
  some: readonly PaidByInstruction[];
  takenMinor: bigint;
}

function amountOf(some: readonly PaidByInstruction[]): bigint {
  return sumMinor(some.map((one) => one.amountMinor));
}

function paymentsOf(some: readonly PaidByInstruction[]): number {
  return some.reduce((sum, one) => sum + one.payments, 0);
}

/** What most of several choices took, so many times over. */
function mostOfChoices(choices: readonly (readonly PaidByInstruction[])[], times: bigint): CountAndSum {
  return {
    count: Number(times) * choices.map(paymentsOf).reduce((most, count) => Math.max(most, count), 0),
    amountMinor: times * mostOf(choices.map(amountOf)),
  };
}

function mostOf(minors: readonly bigint[]): bigint {
  return minors.reduce((most, minor) => (minor > most ? minor : most), 0n);
}

/** What each of these took, and each other that took as much, so many times over, of each run that it may be of. */
function ofEachRun(
  takers: readonly Takers[],
  paid: readonly PaidByInstruction[],
  times: bigint,
): TakenAgain[] {
  const takenMinor = mostOf(takers.map((one) => one.takenMinor));
  const found = takers.map(({ some }) => some);
  const ofAll = mostOfChoices(found, times);
  const runs = byRun(paid);
  const any = new Set(found.flat());
  const maybe = paid.filter((one) => any.has(one));
  const isSure = found.every((some) => some.length === maybe.length);
  return [...byRun(maybe)].map(([payRunId, those]) => {
    const isTold = isSure && (those.length === 1 || those.length === runs.get(payRunId)?.length);
    const ofIt = found.map((some) => some.filter((one) => one.payRunId === payRunId));
    const { count: payments, amountMinor } = mostOfChoices(ofIt, times);
    return {
      payRunId,
      instructionId: isTold && those.length === 1 ? those[0]?.instructionId : undefined,
      someOf: isTold ? [] : maybe.map((one) => one.instructionId),
      times: Number(times),
      payments,
      amountMinor,
      takenMinor,
      ofAll,
    };
  });
}

/** Every choice of so many of several, each with what it took, that took just so much together. */
function choicesOf<T extends { minor: bigint }>(all: readonly T[], size: number, minor: bigint): T[][] {
  if (size === 1) return all.filter((one) => one.minor === minor).map((one) => [one]);
  return all.flatMap((one, at) =>
    choicesOf(all.slice(at + 1), size - 1, minor - one.minor).map((others) => [one, ...others]),
  );
}

/** Every choice of so many of several that took one of some sums, so many times over, with or without its charges. */
function takersOf(
  parts: readonly PaidByInstruction[][],
  size: number,
  times: bigint,
  sums: readonly bigint[],
): Takers[] {
  const paidOf = (one: PaidByInstruction) => one.amountMinor;
  const chargedOf = (one: PaidByInstruction) => one.amountMinor + one.chargesMinor;
  const isCharged = parts.some((part) => part.some((one) => one.chargesMinor > 0n));
  return (isCharged ? [paidOf, chargedOf] : [paidOf]).flatMap((minorOf) => {
    const took = parts.map((part) => ({ part, minor: times * sumMinor(part.map(minorOf)) }));
    return sums.flatMap((minor) =>
      choicesOf(took, size, minor).map((some) => ({
        some: some.flatMap(({ part }) => part),
        takenMinor: minor,
      })),
    );
  });
}

/** Of more instructions, or runs, than so many, some together would take by chance what other traffic of the account did. */
const MOST_TRIED = 6;

/**
 * Whether what seems to have been taken again may be what others took that ended just before, some or all of these, with or
 * without their charges: a bank may book what it shows as settled at the end of its day.
 */
export function mayBeBookedLate(
  again: readonly TakenAgain[],
  before: readonly Pick<PaidByInstruction, 'amountMinor' | 'chargesMinor'>[],
): boolean {
  const [taken] = again;
  if (taken === undefined) return false;
  const amounts = before.map((one) => one.amountMinor);
  const charged = before.map((one) => one.amountMinor + one.chargesMinor);
  return [amounts, charged].some((minors) => {
    const sums = minors.length <= MOST_TRIED ? sumsOfSome(minors) : [...minors, sumMinor(minors)];
    return sums.includes(taken.takenMinor);
  });
}

/**
 * Whether one of several sums, in minor units, is what people declared not executed: one instruction of `some`, all of
 * these, or all there are.
 */
function isDeclared(
  some: readonly PaidByInstruction[],
  all: readonly PaidByInstruction[],
  sums: readonly bigint[],
): boolean {
  const voids = some.map((one) => one.voidMinor);
  const allMinor = sumMinor(all.map((one) => one.voidMinor));
  return [...voids, sumMinor(voids), allMinor].some((minor) => minor > 0n && sums.includes(minor));
}

/**
 * Whether what an account lacks, but for what may not have come back, is exactly what people declared not executed of a
 * run that paid nothing, or of those that paid something too, by itself or with that of all others; or what others seem to
 * have taken again is as much. All as for `paidAgain`.
 * @param again what seems to have been taken again
 */
export function lacksDeclared(
  payRunId: string,
  paid: readonly PaidByInstruction[],
  lostMinor: bigint,
  again: readonly TakenAgain[],
): boolean {
  const paying = byRun(paid);
  const own = paid.filter((one) => one.payRunId === payRunId);
  // A run that paid something looks at its account no longer than that may have been taken again.
  const some = paid.filter((one) => one.payRunId === payRunId || paying.has(one.payRunId));
  const rests = restsOf(paid, lostMinor);
  // The charges that the bank took for it, where it executed it, are not known.
  const taken = again.map((one) => one.amountMinor);
  return isDeclared(some, paid, rests) || isDeclared(own, own, taken);
}

/**
 * What an account seems to have paid again: what it lost besides the payments and their charges is exactly what one
 * instruction took, once, twice or three times, with or without its charges; or what all of one run took; or what all of
 * them took, which is of each run that paid; or, where it is nothing else and they are few, what some of one run, or some
 * of the runs, took once. Of several that took as much it may be any. Any other loss, or gain, is other traffic of the
 * account and says nothing. As long as what may not have come back yet explains the loss, the answer is `not-yet`; so it is
 * where only what people declared not executed does, one instruction or all of these, to the cent.
 */
export function paidAgain(
  paid: readonly PaidByInstruction[],
  lostMinor: bigint,
): readonly TakenAgain[] | 'not-yet' {
  const restMinor = lackOf(paid, lostMinor);
  if (paid.length === 0 || restMinor <= 0n || restMinor === unpaidChargesOf(paid)) return [];
  if (restMinor <= sumMinor(mayComeBackOf(paid))) return 'not-yet';
  const rests = restsOf(paid, lostMinor).filter((minor) => minor > 0n);
  const runs = [...byRun(paid).values()];
  const onesOf = (those: readonly PaidByInstruction[]) => those.map((one) => [one]);
  for (let times = 1n; times <= MOST_TIMES_AGAIN; times += 1n) {
    for (const parts of [onesOf(runs.flat()), runs, [runs.flat()]]) {
      const takers = takersOf(parts, 1, times, rests);
      if (takers.length > 0) return ofEachRun(takers, paid, times);
    }
  }
  if (isDeclared(paid, paid, rests)) return 'not-yet';
  for (const wholes of [runs.map(onesOf), [runs]]) {
    const few = wholes.filter((parts) => parts.length <= MOST_TRIED);
    for (let size = 2; size < MOST_TRIED; size += 1) {
      const takers = few.flatMap((parts) => takersOf(parts, size, 1n, rests));
      if (takers.length > 0) return ofEachRun(takers, paid, 1n);
    }
  }
  return [];
}
