/** A payment that is not as it ended any more, or whose instruction moved though it must not. */
export interface MovedPayment {
  paymentId: string;
  instructionId: string;
  /** The bank's id of it. */
  bankInstructionId: string;
  bankStatus: string;
  /** Whether that was shown in an instruction that is none of ours. */
  isElsewhere?: true;
  /** What is shown as returned, where that is less than is known to be back. */
  backMinor?: bigint;
  /** Whether people are asked by its instruction what became of it, or were: nothing that was sent is stopped for it. */
  isAsked?: true;
}

/** A payment that the bank does not show, with the bank's id of the instruction it was in. */
export interface UnseenPayment {
  paymentId: string;
  instructionId: string;
  bankInstructionId: string;
  /** Whether less of it than was paid was shown as returned. */
  isInPart?: true;
}

/**
 * What a second reading showed: payments that moved, and those that were once seen, or seen to have moved, are not shown as
 * they ended now, and of which two people do not have the bank's word that they are unpaid.
 */
export interface SecondReading {
  moved: MovedPayment[];
  unseen: UnseenPayment[];
}
