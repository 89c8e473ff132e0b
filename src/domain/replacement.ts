import {
  isBeforeSubmit,
  isBeforeTaken,
  isEnd,
  isEndedUnpaid,
  isPaid,
  isUnclear,
  NOT_PROCESSABLE,
  readBankStatus,
} from './bank-status';
import { isPaymentFinal, PaymentStatus } from './payment';

/** Why a payment may not be replaced by another, in words. The codes are stable. */
export const REPLACEMENT_REFUSALS = {
  PAYMENT_NOT_IN_RUN: 'The run has no such payment.',
  PAYMENT_NOT_FINISHED: 'The payment may still be paid: it has not reached its end.',
  PAYMENT_STATUS_UNCLEAR:
    'Nobody knows for certain that it was not paid: the bank shows a status of it that does not say so, or shows it, or another of its instruction, otherwise than it was sent; or it may have been paid by a submit that is not in the record; or people have not answered what is asked of its instruction or run.',
  PAYMENT_CONTRADICTED:
    'What the bank shows contradicts its end, or what two people declared: it is never replaced.',
  PAYMENT_SETTLED: 'The payment was paid.',
  PAYMENT_ALREADY_REPLACED: 'Another payment replaces this one and may pay it.',
  SUCCESSOR_ENDED:
    'The payment, or the one that it replaces, was replaced already; that successor ended unpaid: replace the successor.',
  EMPLOYEE_PAID_OTHERWISE:
    'The employee has another payment of the period and kind of pay, which may have been made in its stead: what is still owed is paid by a row that is uploaded with supplementOf, where it is held until a person releases it.',
  EMPLOYEE_MAY_BE_PAID:
    'A run that a restored database has forgotten, or had and that is cancelled, may have paid the employee: upload the row with supplementOf, where it is held until a person releases it.',
  PAID_AS_ANOTHER:
    'Another run of the period pays, or holds, the same amount to the same account, under another employee id or as another kind of pay, or any amount to the same account or name under the same id written otherwise: upload the row with supplementOf, where it is held until a person releases it.',
  HOLD_NEEDS_RELEASE:
    'The payment was held, or was released as further pay, and left out: upload the row with supplementOf, where it is held until a person releases it.',
  FURTHER_PAY_NEEDS_CHOICE:
    'Another run pays the employee too, and one of the two is further pay that a person released and that may have been meant in place of the other: choose this one by its id if both are owed.',
  EXCLUSION_NEEDS_CHOICE: 'The payment was taken out by a person: choose it by its id.',
  RETURNED_IN_PART:
    'Less of the payment, or of one before it that it replaces, came back than was paid, or did at first, and two people have not said that its payee kept nothing: what is still owed is paid by a row that is uploaded with supplementOf, where it is held until a person releases it.',
  RETURN_NEEDS_CHOICE: 'The payment was paid and came back: choose it by its id.',
  RETURN_NEEDS_REASON: 'The payment was paid and came back: say why it is paid again.',
  ROW_CHANGED: 'The stored payment is not the row that was approved.',
} as const;
export type ReplacementRefusal = keyof typeof REPLACEMENT_REFUSALS;

/** What decides whether a payment may be replaced. */
export interface ReplaceablePayment {
  status: PaymentStatus;
  returned: boolean;
  /** As received, of its payment at the bank; null where none was heard of. */
  bankStatus: string | null;
  /** The statuses whose meaning two people decided for it. */
  decidedStatuses: readonly string[];
  /** Whether the bank ever showed what contradicts its end, or what two people declared. */
  contradicted: boolean;
  /** Whether an attention about its status or its content is open, or a submit that is not in the record may have paid it. */
  doubted: boolean;
  /** Whether less of it, or of what it replaces, came back than was paid, and two people have not said that its payee kept nothing. */
  mayBeKept: boolean;
  /** `live`: one that replaces it may pay; `ended`: one that replaces it, or what it replaces, was sent and did not. */
  successor: 'none' | 'live' | 'ended';
  /** Whether a live payment of the same employee, period and kind of pay exists that does not replace it. */
  paidOtherwise: boolean;
  /** Whether one that was released later, as further pay, is live in another run. */
  paidFurther: boolean;
}

/** How a payment came to be considered: by its id or with all others, and whether a reason was given. */
export interface ReplacementChoice {
  byId: boolean;
  reason: boolean;
}

/**
 * The one rule of what may be paid again (protocol rule 8): what is final and was not paid, has no successor and no
 * doubt about it. A returned payment counts as unpaid when a person chose it and says why. Undefined: it may.
 */
export function refusalOfReplacement(
  payment: ReplaceablePayment,
  choice: ReplacementChoice,
): ReplacementRefusal | undefined {
  if (payment.contradicted) return 'PAYMENT_CONTRADICTED';
  if (payment.doubted || isUndecided(payment)) return 'PAYMENT_STATUS_UNCLEAR';
  if (!isPaymentFinal(payment.status)) return 'PAYMENT_NOT_FINISHED';
  if (payment.status === 'SETTLED' && !payment.returned) return 'PAYMENT_SETTLED';
  if (payment.mayBeKept) return 'RETURNED_IN_PART';
  if (payment.successor === 'live') return 'PAYMENT_ALREADY_REPLACED';
  if (payment.successor === 'ended') return 'SUCCESSOR_ENDED';
  if (payment.paidOtherwise) return 'EMPLOYEE_PAID_OTHERWISE';
  if (payment.paidFurther && !choice.byId) return 'FURTHER_PAY_NEEDS_CHOICE';
  if (payment.status === 'EXCLUDED' && !choice.byId) return 'EXCLUSION_NEEDS_CHOICE';
  if (payment.status !== 'SETTLED') return undefined;
  if (!choice.byId) return 'RETURN_NEEDS_CHOICE';
  return choice.reason ? undefined : 'RETURN_NEEDS_REASON';
}

/** A payment that was never sent in a submitted instruction has a status at the bank that says nothing of it. */
function isUndecided({ status, bankStatus, decidedStatuses }: ReplaceablePayment): boolean {
  if (bankStatus === null || status === 'EXCLUDED') return false;
  return isUnclear(bankStatus) && !decidedStatuses.includes(bankStatus);
}

const ENDED_UNPAID: readonly PaymentStatus[] = ['FAILED', 'REJECTED', 'CANCELLED'];

/** What the bank showed of a replaced payment against what it is known to have ended as. */
export type SecondLook = 'same' | 'moved';

/**
 * Whether a status read again is still the end that was recorded (protocol: before any repay the bank is read again).
 * What failed, was rejected or cancelled is the same under any end without payment, as sent back, and under a status that
 * two people decided to mean that it is not paid; what came back, only as sent back. What was void is the same as it stood
 * before its submit, as it was left before the bank took it, as ended unpaid, and under a status that two people decided
 * to mean that it never will be paid. Anything else has moved, also what is lower or unknown: only sameness allows to pay
 * again.
 */
export function lookAgain(
  ended: Pick<ReplaceablePayment, 'status' | 'returned'> &
    Partial<Pick<ReplaceablePayment, 'bankStatus' | 'decidedStatuses'>>,
  shown: string,
): SecondLook {
  const reading = readBankStatus(shown);
  const isDecided = ended.decidedStatuses?.includes(shown) ?? false;
  if (ended.status === 'VOID') {
    const left = isBeforeSubmit(shown) || (isBeforeTaken(shown) && shown === ended.bankStatus);
    return left || isEndedUnpaid(shown) || isDecided ? 'same' : 'moved';
  }
  if (ended.returned) return reading.kind === 'returned' ? 'same' : 'moved';
  const isBack = reading.kind === 'returned' && ended.bankStatus !== NOT_PROCESSABLE;
  const isUnpaid = isEndedUnpaid(shown) || isBack || isDecided;
  return ENDED_UNPAID.includes(ended.status) && isUnpaid ? 'same' : 'moved';
}

/**
 * Whether the records of a declared payment, by the statuses they show, leave it to its instruction what became of it: they
 * show neither an end nor what two people decided of it. Of one that is not shown, where nothing of its own was decided.
 */
export function isLeftToInstruction(
  { status, decidedStatuses }: Pick<ReplaceablePayment, 'status' | 'decidedStatuses'>,
  shown: readonly string[],
): boolean {
  if (status !== 'VOID') return false;
  if (shown.length === 0) return decidedStatuses.length === 0;
  return shown.some((one) => !isEnd(one) && !decidedStatuses.includes(one));
}

/** Of statuses by which a replaced payment has moved, the one that says most: that it was paid; undefined where there is none. */
export function mostMoved(statuses: readonly string[]): string | undefined {
  return statuses.find(isPaid) ?? statuses[0];
}
