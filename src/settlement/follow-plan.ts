import type { KnownIds } from '../bank/payment-ids';
import { BankOutcome, climb, isBeforeSubmit, isEndedUnpaid, readBankStatus } from '../domain/bank-status';
import { PaymentStatus } from '../domain/payment';

/** A payment of ours as it stands, to be held against what a read shows of it. Amounts in minor units. */
export interface FollowedPayment {
  instructionId: string;
  rowNo: number;
  paymentId: string;
  messageId: string;
  bankIds: KnownIds;
  iban: string;
  amountMinor: bigint;
  currency: string;
  status: PaymentStatus;
  bankStatus: string | null;
  rank: number;
  returned: boolean;
  /** What the bank was last seen to charge; null where it showed nothing. */
  chargesMinor: bigint | null;
}

/** What a read shows of a payment. */
export interface SeenStatus {
  status: string;
  settlementDate?: string;
  chargesMinor?: bigint;
}

/** What a newly read status means for a payment. */
export interface Progress {
  payment: FollowedPayment;
  /** What is kept: beside a final status nothing that contradicts it. */
  bankStatus: string;
  /** What the read showed. */
  shown: string;
  rank: number;
  move?: { to: BankOutcome; settledOn?: string; chargesMinor?: bigint };
  returned: boolean;
  alarm?: 'CONTRADICTION' | 'UNKNOWN_STATUS' | 'BANK_ACTION_REQUIRED';
}

const ENDS: Partial<Record<PaymentStatus, BankOutcome>> = {
  SETTLED: 'SETTLED',
  FAILED: 'FAILED',
  REJECTED: 'REJECTED',
  CANCELLED: 'CANCELLED',
};

/**
 * Translates one newly read status (rule 12): the rank never falls, the first terminal is kept, the unknown changes
 * nothing; a stale read overwrites nothing. Undefined when there is nothing to write down.
 */
export function progressOf(payment: FollowedPayment, seen: SeenStatus): Progress | undefined {
  if (payment.status === 'VOID') return progressOfVoid(payment, seen);
  const terminal = ENDS[payment.status];
  const position = { rank: payment.rank, terminal, returned: payment.returned };
  const { next, change } = climb(position, seen.status);
  if (change === 'fell') return undefined;
  // A read older than the end that is known; nor is a return ever taken back.
  const stale =
    terminal !== undefined && (payment.returned || readBankStatus(seen.status).kind === 'waiting');
  if (stale && change === 'none') return undefined;
  const kept = terminal !== undefined && (change === 'unknown' || change === 'contradiction');
  const progress: Progress = {
    payment,
    bankStatus: kept ? (payment.bankStatus ?? seen.status) : seen.status,
    shown: seen.status,
    rank: next.rank,
    returned: next.returned === true && !payment.returned,
  };
  if (next.terminal !== undefined && terminal === undefined) {
    progress.move = { to: next.terminal, settledOn: seen.settlementDate, chargesMinor: seen.chargesMinor };
  }
  const alarm = alarmOf(change, seen.status);
  if (alarm !== undefined) progress.alarm = alarm;
  return seen.status === payment.bankStatus && change === 'none' ? undefined : progress;
}

/** Declared not executed by two people: it may end unpaid, and anything else that the bank shows contradicts them. */
function progressOfVoid(payment: FollowedPayment, { status }: SeenStatus): Progress | undefined {
  if (isBeforeSubmit(status) || status === payment.bankStatus) return undefined;
  const ended = isEndedUnpaid(status);
  const kept = ended ? status : (payment.bankStatus ?? status);
  const rank = ended ? climb({ rank: payment.rank }, status).next.rank : payment.rank;
  const progress: Progress = { payment, bankStatus: kept, shown: status, rank, returned: false };
  if (!ended) progress.alarm = 'CONTRADICTION';
  return progress;
}

/**
 * What a read shows as the charges of a payment that has ended, where that is another amount than is known: a bank may
 * charge after the final status, and for what it did not pay. Undefined when there is nothing to write down, as of a read
 * that is stale or contradicts the end. Before the end a charge is only expected.
 */
export function newCharges(payment: FollowedPayment, seen: SeenStatus): bigint | undefined {
  const terminal = ENDS[payment.status];
  if (terminal === undefined || seen.chargesMinor === undefined) return undefined;
  if (seen.chargesMinor === payment.chargesMinor) return undefined;
  const { change } = climb({ rank: payment.rank, terminal, returned: payment.returned }, seen.status);
  return change === 'fell' || change === 'contradiction' ? undefined : seen.chargesMinor;
}

/** The payments as they stand once their progress is written down. */
export function advanced(
  payments: readonly FollowedPayment[],
  progress: readonly Progress[],
): FollowedPayment[] {
  const steps = new Map(progress.map((step) => [step.payment.rowNo, step]));
  return payments.map((payment) => {
    const step = steps.get(payment.rowNo);
    if (!step) return payment;
    const { bankStatus, rank, move, returned } = step;
    return {
      ...payment,
      bankStatus,
      rank,
      status: move?.to ?? payment.status,
      returned: payment.returned || returned,
    };
  });
}

function alarmOf(change: ReturnType<typeof climb>['change'], status: string): Progress['alarm'] {
  if (change === 'contradiction') return 'CONTRADICTION';
  return change === 'unknown' ? 'UNKNOWN_STATUS' : alarmOfStatus(status);
}

/** What a status by itself asks of people: its meaning, or to act at the bank. */
export function alarmOfStatus(status: string): 'UNKNOWN_STATUS' | 'BANK_ACTION_REQUIRED' | undefined {
  const reading = readBankStatus(status);
  if (reading.kind === 'unknown' || reading.kind === 'unclear') return 'UNKNOWN_STATUS';
  return reading.kind === 'waiting' && reading.needsBankAction ? 'BANK_ACTION_REQUIRED' : undefined;
}
