import { sumMinor } from './money';

/** What the settled payments of an instruction took from its account, in minor units. */
export interface PaidByInstruction {
  instructionId: string;
  payments: number;
  amountMinor: bigint;
  chargesMinor: bigint;
  /** The part of the amount that came back, or is to. */
  returnedMinor: bigint;
}

/** What an account seems to have lost again: of one instruction, or of all, told by the first of them. In minor units. */
export interface TakenAgain {
  instructionId: string;
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

/**
 * The instruction that an account seems to have paid again: what it lost besides the payments and their charges is
 * exactly what that instruction took, once, twice or three times, with or without its charges. Where it is what all of
 * them took, the first one stands for them. Any other loss, or gain, is other traffic of the account and says nothing.
 * @param unpaidMinor what was submitted and not paid, but ended so late that the bank may have taken it and not given it
 * back yet, as it may with what came back by its status. As long as these explain the loss, the answer is `not-yet`.
 * @param unpaidChargesMinor what it shows as charges for these: it may have taken them or not
 */
export function paidAgain(
  paid: readonly PaidByInstruction[],
  lostMinor: bigint,
  unpaidMinor: bigint,
  unpaidChargesMinor: bigint,
): TakenAgain | 'not-yet' | undefined {
  const [first] = paid;
  if (first === undefined) return undefined;
  const all = {
    instructionId: first.instructionId,
    payments: paid.reduce((sum, one) => sum + one.payments, 0),
    amountMinor: sumMinor(paid.map((one) => one.amountMinor)),
    chargesMinor: sumMinor(paid.map((one) => one.chargesMinor)),
  };
  const restMinor = lackOf(paid, lostMinor);
  if (restMinor <= 0n || restMinor === unpaidChargesMinor) return undefined;
  const returnedMinor = sumMinor(paid.map((one) => one.returnedMinor));
  if (restMinor <= unpaidMinor + returnedMinor + unpaidChargesMinor) return 'not-yet';
  const explained = sumsOfSome([unpaidMinor, returnedMinor, unpaidChargesMinor]);
  const rests = explained.map((minor) => restMinor - minor);
  const isRest = (minor: bigint): boolean => minor > 0n && rests.includes(minor);
  for (let times = 1n; times <= MOST_TIMES_AGAIN; times += 1n) {
    const isTaken = (one: Pick<PaidByInstruction, 'amountMinor' | 'chargesMinor'>): boolean =>
      isRest(times * one.amountMinor) || isRest(times * (one.amountMinor + one.chargesMinor));
    const again = [...paid, all].find(isTaken);
    if (again) {
      const { instructionId, payments, amountMinor } = again;
      return { instructionId, payments: Number(times) * payments, amountMinor: times * amountMinor };
    }
  }
  return undefined;
}
