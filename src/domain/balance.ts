import { sumMinor } from './money';

/** What the settled payments of an instruction took from its account, in minor units. */
export interface PaidByInstruction {
  payRunId: string;
  instructionId: string;
  payments: number;
  amountMinor: bigint;
  chargesMinor: bigint;
  /** The part of the amount that came back, or is to. */
  returnedMinor: bigint;
  /** What the submit would have taken of an instruction that people declared not executed; none of another. */
  voidMinor: bigint;
}

/** What an account seems to have lost again of a run: of one instruction, or of all that paid. In minor units. */
export interface TakenAgain {
  payRunId: string;
  /** Undefined where it is of more than one. */
  instructionId: string | undefined;
  /** How often, besides the one time that was asked for. */
  times: number;
  /** Of all times. */
  payments: number;
  amountMinor: bigint;
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

/** What an account lacks besides some of what may not have come back: each such sum. */
function restsOf(
  paid: readonly PaidByInstruction[],
  lostMinor: bigint,
  unpaidMinor: bigint,
  unpaidChargesMinor: bigint,
): bigint[] {
  const returnedMinor = sumMinor(paid.map((one) => one.returnedMinor));
  const lackMinor = lackOf(paid, lostMinor);
  return sumsOfSome([unpaidMinor, returnedMinor, unpaidChargesMinor]).map((minor) => lackMinor - minor);
}

/** Those that paid anything, of each run by itself. */
function byRun(paid: readonly PaidByInstruction[]): Map<string, PaidByInstruction[]> {
  const runs = new Map<string, PaidByInstruction[]>();
  for (const one of paid.filter(({ payments }) => payments > 0))
    runs.set(one.payRunId, [...(runs.get(one.payRunId) ?? []), one]);
  return runs;
}

/** What all of them took, so many times over, of each run by itself. */
function ofEachRun(paid: readonly PaidByInstruction[], times: bigint): TakenAgain[] {
  return [...byRun(paid)].map(([payRunId, those]) => ({
    payRunId,
    instructionId: those.length === 1 ? those[0]?.instructionId : undefined,
    times: Number(times),
    payments: Number(times) * those.reduce((sum, one) => sum + one.payments, 0),
    amountMinor: times * sumMinor(those.map((one) => one.amountMinor)),
  }));
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
  unpaidMinor: bigint,
  unpaidChargesMinor: bigint,
  again: readonly TakenAgain[],
): boolean {
  const paying = byRun(paid);
  const own = paid.filter((one) => one.payRunId === payRunId);
  // A run that paid something looks at its account no longer than that may have been taken again.
  const some = paid.filter((one) => one.payRunId === payRunId || paying.has(one.payRunId));
  const rests = restsOf(paid, lostMinor, unpaidMinor, unpaidChargesMinor);
  // The charges that the bank took for it, where it executed it, are not known.
  const taken = again.map((one) => one.amountMinor);
  return isDeclared(some, paid, rests) || isDeclared(own, own, taken);
}

/**
 * What an account seems to have paid again: what it lost besides the payments and their charges is exactly what one
 * instruction took, once, twice or three times, with or without its charges; or what all of one run took; or what all of
 * them took, which is of each run that paid. Any other loss, or gain, is other traffic of the account and says nothing.
 * @param unpaidMinor what was submitted and not paid, but ended so late that the bank may have taken it and not given it
 * back yet, as it may with what came back by its status. As long as these explain the loss, the answer is `not-yet`; so
 * it is where only what people declared not executed does, one instruction or all of these, to the cent.
 * @param unpaidChargesMinor what it shows as charges for these: it may have taken them or not
 */
export function paidAgain(
  paid: readonly PaidByInstruction[],
  lostMinor: bigint,
  unpaidMinor: bigint,
  unpaidChargesMinor: bigint,
): readonly TakenAgain[] | 'not-yet' {
  const restMinor = lackOf(paid, lostMinor);
  if (paid.length === 0 || restMinor <= 0n || restMinor === unpaidChargesMinor) return [];
  const returnedMinor = sumMinor(paid.map((one) => one.returnedMinor));
  if (restMinor <= unpaidMinor + returnedMinor + unpaidChargesMinor) return 'not-yet';
  const rests = restsOf(paid, lostMinor, unpaidMinor, unpaidChargesMinor);
  const isRest = (minor: bigint): boolean => minor > 0n && rests.includes(minor);
  for (let times = 1n; times <= MOST_TIMES_AGAIN; times += 1n) {
    const isTaken = (some: readonly PaidByInstruction[]): boolean => {
      const amountMinor = sumMinor(some.map((one) => one.amountMinor));
      const chargesMinor = sumMinor(some.map((one) => one.chargesMinor));
      return isRest(times * amountMinor) || isRest(times * (amountMinor + chargesMinor));
    };
    const again = [...paid.map((one) => [one]), ...byRun(paid).values(), paid].find(isTaken);
    if (again) return ofEachRun(again, times);
  }
  return isDeclared(paid, paid, rests) ? 'not-yet' : [];
}
