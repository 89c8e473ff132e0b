import { sumMinor } from './money';

/** What the settled payments of an instruction took from its account, in minor units. */
export interface PaidByInstruction {
  instructionId: string;
  payments: number;
  amountMinor: bigint;
  chargesMinor: bigint;
}

/**
 * The instruction that an account seems to have paid twice: what it lost besides the payments and their charges is
 * exactly what that instruction took, with or without its charges. Where it is what all of them took, the first one
 * stands for them. Any other loss, or gain, is other traffic of the account and says nothing.
 */
export function paidAgain(
  paid: readonly PaidByInstruction[],
  lostMinor: bigint,
): PaidByInstruction | undefined {
  const amountMinor = sumMinor(paid.map((one) => one.amountMinor));
  const chargesMinor = sumMinor(paid.map((one) => one.chargesMinor));
  const restMinor = lostMinor - amountMinor - chargesMinor;
  if (restMinor <= 0n) return undefined;
  const isRest = (one: Pick<PaidByInstruction, 'amountMinor' | 'chargesMinor'>): boolean =>
    restMinor === one.amountMinor || restMinor === one.amountMinor + one.chargesMinor;
  return paid.find(isRest) ?? (isRest({ amountMinor, chargesMinor }) ? paid[0] : undefined);
}
