import { assertMove, finalStates, StateTable } from './state-table';

/** The states of a payment on our side; the bank's own status is kept beside it as received. */
export const PAYMENT_STATUSES = [
  'READY',
  'HELD',
  'APPROVED',
  'AT_BANK',
  'SUBMITTED',
  'SETTLED',
  'FAILED',
  'REJECTED',
  'CANCELLED',
  'VOID',
  'EXCLUDED',
] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/**
 * Every move a payment may make. AT_BANK goes back to APPROVED only when its instruction is abandoned, and to
 * VOID when its instruction is void or released, because such a payment was never seen submitted.
 */
export const PAYMENT_TRANSITIONS: StateTable<PaymentStatus> = {
  READY: ['HELD', 'APPROVED', 'EXCLUDED', 'CANCELLED'],
  HELD: ['READY', 'EXCLUDED', 'CANCELLED'],
  APPROVED: ['READY', 'AT_BANK', 'EXCLUDED', 'CANCELLED'],
  AT_BANK: ['SUBMITTED', 'APPROVED', 'VOID'],
  SUBMITTED: ['SETTLED', 'FAILED', 'REJECTED', 'CANCELLED', 'VOID'],
  SETTLED: [],
  FAILED: [],
  REJECTED: [],
  CANCELLED: [],
  VOID: [],
  EXCLUDED: [],
};

/** One line per state, for people; the README's table is made from it. */
export const PAYMENT_MEANING: Readonly<Record<PaymentStatus, string>> = {
  READY: 'It is in a run that is not approved yet.',
  HELD: 'It looks like a mistake and waits for a person; it is not part of what will be approved.',
  APPROVED: 'It is part of the approved rows and not in an instruction at the bank.',
  AT_BANK: 'It was added, or may have been, to an instruction that is not known to be submitted.',
  SUBMITTED: 'Its instruction was submitted; the bank has not finished it.',
  SETTLED:
    'The bank settled it, or two people decided so on its written word; a later return is noted beside this state.',
  FAILED: 'The bank could not process it.',
  REJECTED: 'The bank or the other side refused it.',
  CANCELLED: 'Its run was cancelled before the submit, or the bank cancelled it.',
  VOID: 'Its instruction was proven not executed or was released, or two people declared it unpaid; only a successor may pay it.',
  EXCLUDED: 'An amendment took it out of the run, with a reason.',
};

/** The states of a payment of a run that went on to its end and did not pay it. */
export const PAYMENT_UNPAID: readonly PaymentStatus[] = ['FAILED', 'REJECTED', 'CANCELLED', 'VOID'];

/** The ends that the bank shows; the other one is what people say. */
export const PAYMENT_ENDED_BY_BANK: readonly PaymentStatus[] = ['SETTLED', 'FAILED', 'REJECTED', 'CANCELLED'];

export const PAYMENT_FINALS = finalStates(PAYMENT_STATUSES, PAYMENT_TRANSITIONS);

/**
 * The states in which a payment has paid or may still pay its employee: at most one such payment per employer,
 * period, employee and kind of pay. A held one may be the second; it counts from its release on.
 */
export const LIVE_PAYMENT_STATUSES: readonly PaymentStatus[] = [
  'READY',
  'APPROVED',
  'AT_BANK',
  'SUBMITTED',
  'SETTLED',
];

/** Throws `IllegalTransition` unless a payment may move from one state to the other. */
export function assertPaymentMove(from: PaymentStatus, to: PaymentStatus): void {
  assertMove('payment', PAYMENT_TRANSITIONS, from, to);
}

/** Whether the state of a payment is final. */
export function isPaymentFinal(status: PaymentStatus): boolean {
  return PAYMENT_FINALS.includes(status);
}
