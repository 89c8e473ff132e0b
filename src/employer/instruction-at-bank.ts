import type { BankClientError } from '../bank/errors';
import type { KnownIds } from '../bank/payment-ids';
import { isIncoming, isUnmarked, namesIn, type PaymentMarks } from '../bank/payment-marks';
import { type BankPayment, isFee } from '../bank/records';

/** An instruction at the bank, and the ids its payments are known by. */
export interface InstructionAtBank {
  bankInstructionId: string;
  /** When it was initiated: nothing of it is older. */
  createdAt: Date;
  bankIds: readonly KnownIds[];
  /** Whether it is looked for in every other list where its own is hidden, or shows none, however long those are. */
  byAnyList?: boolean;
  /**
   * Whether its payments are asked for each by itself where no list shows one: some show none before the submit, and what
   * comes back, or ends otherwise after all, is seen nowhere else at a bank that shows no list.
   */
  evenUnlisted?: boolean;
  /**
   * Of a payment whether it is looked for by every other read where a list shows others of the instruction and not this one:
   * a bank may list only what is not finished yet. None is unless it is said, since a list may lag.
   */
  isSought?: (bankPaymentId: string) => boolean;
  /** Whether a few of what is sought tell as much as all, as of whether they were submitted together. */
  fewTell?: boolean;
  /**
   * Whether it is only followed, and read again: absence proves nothing, so that where a list of it shows none, what cannot
   * be read besides shows none either. Else a decision may rest on it.
   */
  isOnlyFollowed?: boolean;
  /** Whether a message id names a row of this instruction. */
  isNamedBy: (messageId: string) => boolean;
  /**
   * Told of what a list shows that came in and names the instruction, each time it is shown: the other side of a transfer
   * within the bank, or money that comes back. It is none of the instruction's payments.
   */
  onIncoming?: (marks: PaymentMarks) => void;
  /**
   * Told of each payment that is of the instruction, or may be, as soon as a list shows it, or a read of it alone that a decision
   * makes: what a bank has shown is a fact, also where that read fails then, or another is taken in its stead.
   */
  onSeen?: (payment: BankPayment) => void;
  /** Told where another read than a list of all payments shows them; of nothing once such a list shows more than that. */
  onShown?: (by: ShownBy | undefined) => void;
  /**
   * Told why a list was not read, once another was that shows none: what is only followed may be in it all the same; and
   * of `one` that is only followed and answered, by itself, so that it cannot be used.
   */
  onUnread?: (failure: BankClientError, of?: 'one') => void;
  /** Told why no more were read each by itself, where some are shown: of what is only followed these are not taken back. */
  onCutShort?: (failure: BankClientError) => void;
  /**
   * Told by its ids which were left to the next reads where they are too many to be tried each by itself by one: they may be
   * shown all the same.
   */
  onUntried?: (bankPaymentIds: readonly string[]) => void;
}

/** How a decision reads what it rests on: by every way, and each payment that one of them lacks. */
export const DECIDED = { byAnyList: true, evenUnlisted: true, isSought: () => true } as const;

/** Whether a decision may rest on what is shown of each payment, and is told of each that is not. */
export function isDecided({ isSought, isOnlyFollowed = false }: InstructionAtBank): boolean {
  return isSought !== undefined && !isOnlyFollowed;
}

/** What a read of the payments of an instruction came to. What may pass by itself, or is refused, is thrown instead. */
export interface PaymentsRead {
  found: BankPayment[];
  /** What kept some that are sought from being shown, for good: what is not found may be there all the same. */
  untold?: BankClientError;
}

/** A read that shows payments: the list of their instruction, or of each by itself, which shows none too many. */
export type ShownBy = 'own-list' | 'itself';

/** What of an instruction's payments tells whether it was submitted: a fee that the bank booked in it does not. */
export function withoutFees(paid: readonly BankPayment[], bankIds: readonly KnownIds[]): BankPayment[] {
  const known = knownTo(bankIds);
  return paid.filter((one) => !isFee(one) || known(one.bankPaymentId));
}

/** Whether a payment is one of those that are known. */
export function knownTo(bankIds: readonly KnownIds[]): (bankPaymentId: string) => boolean {
  const known = new Set(bankIds.flatMap(([id]) => id ?? []));
  return (bankPaymentId) => known.has(bankPaymentId);
}

/** Its known payments that are sought, and not among those that were found. */
export function lackingIn(
  { bankIds, isSought = () => false }: InstructionAtBank,
  found: readonly BankPayment[],
): KnownIds[] {
  return notAmong(found, bankIds).filter(([id]) => id !== undefined && isSought(id));
}

/** As it was asked, and all that any read for it shows, in `sights`, whatever the reads come to. */
export function sightedBy(asked: InstructionAtBank): { asked: InstructionAtBank; sights: BankPayment[] } {
  const sights: BankPayment[] = [];
  const onSeen = (payment: BankPayment): void => {
    sights.push(payment);
    asked.onSeen?.(payment);
  };
  return { asked: { ...asked, onSeen }, sights };
}

/** Of the ids of payments those that were not found. */
export function notAmong(found: readonly BankPayment[], bankIds: readonly KnownIds[]): KnownIds[] {
  const shown = new Set(found.map(({ bankPaymentId }) => bankPaymentId));
  return bankIds.filter(([id]) => !shown.has(id ?? ''));
}

/** What says that a payment is of the instruction, or may be: its id alone only where the payment names none. */
export function mayBeOf(instruction: InstructionAtBank): (marks: PaymentMarks) => boolean {
  const known = knownTo(instruction.bankIds);
  return (marks) => {
    const { bankInstructionId, bankPaymentId } = marks;
    const named =
      bankInstructionId === instruction.bankInstructionId || namesIn(marks).some(instruction.isNamedBy);
    if (isIncoming(marks, known)) {
      if (named) instruction.onIncoming?.(marks);
      return false;
    }
    return named || (bankInstructionId === undefined && (known(bankPaymentId ?? '') || isUnmarked(marks)));
  };
}
