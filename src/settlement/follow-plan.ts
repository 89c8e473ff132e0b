import type { KnownIds } from '../bank/payment-ids';
import {
  BankOutcome,
  climb,
  isBeforeSubmit,
  isEnd,
  isEndedUnpaid,
  isPaid,
  isUnclear,
  isUnfinished,
  NOT_PROCESSABLE,
  readBankStatus,
  standingOf,
  TERMINAL_RANK,
  isBeforeTaken,
  isLeftBeforeTaken,
} from '../domain/bank-status';
import { isPaymentFinal, PaymentStatus } from '../domain/payment';

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
  /** As it was followed, and not as its add was answered: null before the first read since its submit. */
  bankStatus: string | null;
  /** An undocumented status that the bank shows instead of the end it had; null where it shows none. */
  shownStatus: string | null;
  /** The statuses, its own or its instruction's, whose meaning two people decided. */
  decidedStatuses: readonly string[];
  /** For how long, in milliseconds, the bank has shown it now and then as before its end; null where it has not. */
  behindForMs: number | null;
  /** The fields that the bank has shown otherwise than they were sent, by commas, and not as sent since; null for none. */
  shownOtherwise: string | null;
  rank: number;
  returned: boolean;
  /** In minor units, what came back of it, where that was less than was paid, at first at least; null else. */
  returnedMinor: bigint | null;
  /** For how long, in milliseconds, more than that was shown by every read; null where it was not. */
  moreBackForMs: number | null;
  /** Calendar date `YYYY-MM-DD`; null where the bank has shown none. */
  settledOn: string | null;
  /** What the bank was last seen to charge; null where it showed nothing. */
  chargesMinor: bigint | null;
  /** Whether the bank has shown charges that cannot be read, and none that can be since. */
  chargesUnread: boolean;
}

/** What a read shows of a payment. */
export interface SeenStatus {
  status: string;
  /** How old that may be, in milliseconds; of any age where it is not said. */
  maxAgeMs?: number;
  settlementDate?: string;
  chargesMinor?: bigint;
  /** Whether its history says that it was settled, whatever its status is now. */
  wasSettled?: boolean;
}

/** A read of a payment that may say in which group it is. */
export interface SeenInGroup {
  bankPaymentId: string;
  status: string;
  groupStatus?: string;
}

/**
 * The status that a read shows of a payment, or NOT_PROCESSABLE (rule 9): of one that is open only once the bank `isDone`
 * with its instruction and shows it where the read before did; of one whose end two people declared at once. A read of
 * what ended otherwise may be stale.
 */
export function shownOf(
  payment: Pick<FollowedPayment, 'status' | 'bankStatus' | 'rank'>,
  seen: Pick<SeenInGroup, 'status' | 'groupStatus'>,
  isDone: boolean,
): string {
  const { status, bankStatus } = payment;
  const standsStill = status === 'SUBMITTED' && isDone && bankStatus === seen.status;
  const isDeclared = status === 'VOID' || isPaidByWord(payment);
  const isLeft = standsStill || isDeclared || bankStatus === NOT_PROCESSABLE;
  return isLeft ? standingOf(seen) : seen.status;
}

/** Whether all of an instruction has ended, and some of it settled, but what the bank shows as not processable. */
export function isDoneButLeft(
  payments: readonly Pick<FollowedPayment, 'status' | 'bankIds'>[],
  seen: readonly SeenInGroup[],
): boolean {
  const left = new Set(
    seen.filter((one) => standingOf(one) === NOT_PROCESSABLE).map(({ bankPaymentId }) => bankPaymentId),
  );
  const others = payments.filter(({ bankIds }) => !left.has(bankIds[0] ?? ''));
  return (
    others.some(({ status }) => status === 'SETTLED') && others.every(({ status }) => isPaymentFinal(status))
  );
}

/** What a newly read status means for a payment. */
export interface Progress {
  payment: FollowedPayment;
  /** What is kept: as `keptBeside` has it of what has ended; null where nothing else was shown of what people declared. */
  bankStatus: string | null;
  /** What the read showed. */
  shown: string;
  /** What is kept beside its end: the undocumented status that is shown instead of it. */
  shownStatus: string | null;
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
 * As `progressOfStatus`, of what a read shows with its history: what was settled, and is shown as ended unpaid or in a
 * status that does not say what became of it, was settled first, also where no read fell between the two.
 */
export function progressOf(payment: FollowedPayment, seen: SeenStatus): Progress | undefined {
  const hidesSettled = seen.wasSettled === true && (isEndedUnpaid(seen.status) || isUnclear(seen.status));
  if (!hidesSettled || payment.status === 'SETTLED') return progressOfStatus(payment, seen);
  const first = progressOfStatus(payment, { ...seen, status: 'SETTLED' });
  if (first === undefined || first.alarm !== undefined) return first;
  const then = progressOfStatus(advanced([payment], [first])[0] ?? payment, seen);
  return then === undefined ? first : { ...then, payment, move: first.move };
}

/**
 * As `progressOf`, of all that one read shows of a payment: a list may show it again, as it was before or after it moved, or
 * with another end. A step says nothing beside an end. Of two ends that it was paid comes first, so that one which says that
 * it was not contradicts it; of its group, that it is not processable, before whatever goes on all the same.
 */
export function progressOfAll(payment: FollowedPayment, seen: readonly SeenStatus[]): Progress | undefined {
  const isEnded = seen.some(({ status }) => isEnd(status) && status !== NOT_PROCESSABLE);
  const told = seen.filter(({ status }) => !isEnded || !isUnfinished(status));
  return told
    .toSorted((a, b) => orderOf(a) - orderOf(b))
    .reduce<Progress | undefined>((all, one) => {
      const step = progressOf((all && advanced([payment], [all])[0]) ?? payment, one);
      if (all === undefined || step === undefined) return step ?? all;
      const { alarm, shown } = all.alarm === 'CONTRADICTION' ? all : step;
      const returned = step.returned || all.returned;
      return { ...step, payment, move: all.move ?? step.move, returned, shown, alarm };
    }, undefined);
}

/** Where a status comes among those that one read shows of a payment. */
function orderOf({ status }: SeenStatus): number {
  if (status === NOT_PROCESSABLE) return 0;
  if (!isEnd(status)) return 1;
  if (isPaid(status)) return 2;
  return isEndedUnpaid(status) ? 3 : 4;
}

/**
 * Translates one newly read status (rule 12): the rank never falls, the first terminal is kept, the unknown changes
 * nothing; a stale read overwrites nothing, and what no read can be stale enough for contradicts the end. Undefined
 * when there is nothing to write down.
 */
function progressOfStatus(payment: FollowedPayment, seen: SeenStatus): Progress | undefined {
  if (isBehindEnd(payment, seen.status)) {
    const { behindForMs } = payment;
    const isStale = behindForMs === null || behindForMs < (seen.maxAgeMs ?? Infinity);
    return isStale ? undefined : contradicted(payment, seen.status);
  }
  if (payment.status === 'VOID') return progressOfVoid(payment, seen);
  const terminal = ENDS[payment.status];
  const position = { rank: payment.rank, terminal, returned: payment.returned };
  const { next, change } = climb(position, seen.status);
  if (change === 'fell') return undefined;
  // Where two people ended it, by what this status means, or it is shown on.
  const known = [payment.bankStatus, payment.shownStatus].includes(seen.status);
  if (terminal !== undefined && change === 'unknown' && known) return undefined;
  const waits = readBankStatus(seen.status).kind === 'waiting';
  if (waits && payment.bankStatus === NOT_PROCESSABLE && !isBeforeTaken(seen.status))
    return contradicted(payment, seen.status);
  if (terminal !== undefined && waits) return undefined;
  // The money of what was not paid may come back: that is no other end.
  const isGivenBack =
    terminal !== undefined && !next.returned && readBankStatus(seen.status).kind === 'returned';
  const kept = terminal !== undefined && (isGivenBack || change === 'unknown' || change === 'contradiction');
  const bankStatus = kept ? keptBeside(payment, seen.status, change) : seen.status;
  const progress: Progress = {
    payment,
    bankStatus,
    shown: seen.status,
    shownStatus: kept && change === 'unknown' ? seen.status : null,
    rank: next.rank,
    returned: next.returned === true && !payment.returned,
  };
  if (next.terminal !== undefined && terminal === undefined) {
    const settledOn = next.terminal === 'SETTLED' ? seen.settlementDate : undefined;
    progress.move = { to: next.terminal, settledOn, chargesMinor: seen.chargesMinor };
  }
  const alarm = alarmOf(change, seen.status);
  if (alarm !== undefined) progress.alarm = alarm;
  const isNews = change !== 'none' || bankStatus !== payment.bankStatus || payment.shownStatus !== null;
  return isNews ? progress : undefined;
}

/**
 * What is kept of a payment that has ended and is shown otherwise: what was shown before; but where people declared it
 * paid before anything was shown, what contradicts them, as it is shown now.
 */
function keptBeside(
  payment: FollowedPayment,
  shown: string,
  change: ReturnType<typeof climb>['change'],
): string | null {
  const { bankStatus } = payment;
  const isOfBefore = bankStatus !== null && !isEndedUnpaid(bankStatus);
  return change === 'contradiction' && isPaidByWord(payment) && !isOfBefore ? shown : bankStatus;
}

/**
 * Whether a status is one that a payment had before the end that the bank showed of it: a step or a wait, or that it was
 * settled where it came back since. Of what two people declared not paid before, the undocumented one they decided on too,
 * and of its steps those from which on it may be paid.
 */
export function isBehindEnd(
  {
    status,
    rank,
    returned,
    bankStatus,
  }: Pick<FollowedPayment, 'status' | 'rank' | 'returned' | 'bankStatus'>,
  shown: string,
): boolean {
  if (rank < TERMINAL_RANK) return false;
  if (status === 'VOID') return isUnclear(shown) || (isUnfinished(shown) && !isLeftBeforeTaken(shown));
  if (ENDS[status] === undefined) return false;
  if (isUnfinished(shown)) return true;
  return isPaid(shown) && returned && shown !== bankStatus;
}

/** What had ended, and is shown not to have: nothing of its end is written over. */
function contradicted(payment: FollowedPayment, shown: string): Progress {
  const { rank, bankStatus } = payment;
  return {
    payment,
    bankStatus: bankStatus ?? shown,
    shown,
    shownStatus: null,
    rank,
    returned: false,
    alarm: 'CONTRADICTION',
  };
}

/** Whether it is settled by the word of two people, and the bank has not shown so. */
export function isPaidByWord({ status, rank }: Pick<FollowedPayment, 'status' | 'rank'>): boolean {
  return status === 'SETTLED' && rank < TERMINAL_RANK;
}

/**
 * Declared not executed, or not paid, by two people: it may end unpaid, or be shown as a stale read has it, and anything
 * else that the bank shows contradicts them.
 */
function progressOfVoid(payment: FollowedPayment, { status }: SeenStatus): Progress | undefined {
  const isDecided = isUnclear(status) && payment.decidedStatuses.includes(status);
  // Earlier versions kept what contradicts it where nothing was shown before.
  const isKnown = status === payment.bankStatus && !isPaid(status);
  if (isBeforeSubmit(status) || isDecided || isKnown) return undefined;
  const { change } = climb({ rank: payment.rank }, status);
  // A list that leaves its group out shows what is not processable at the step it was left at.
  const isLeft = payment.bankStatus === NOT_PROCESSABLE && change === 'none' && isLeftBeforeTaken(status);
  if (change === 'fell' || isLeft) return undefined;
  const ended = isEndedUnpaid(status);
  const rank = ended ? climb({ rank: payment.rank }, status).next.rank : payment.rank;
  const progress: Progress = {
    payment,
    bankStatus: ended ? status : payment.bankStatus,
    shown: status,
    shownStatus: null,
    rank,
    returned: false,
  };
  if (!ended) progress.alarm = 'CONTRADICTION';
  return progress;
}

/**
 * What a read shows as the charges of a payment that has ended, where that is another amount than is known: a bank may
 * charge after the final status, and for what it did not pay. Undefined when there is nothing to write down, as of a read
 * that is stale or contradicts the end. Before the end a charge is only expected.
 */
export function newCharges(payment: FollowedPayment, seen: SeenStatus): bigint | undefined {
  if (seen.chargesMinor === undefined || seen.chargesMinor === payment.chargesMinor) return undefined;
  if (payment.status === 'VOID') return isEndedUnpaid(seen.status) ? seen.chargesMinor : undefined;
  const terminal = ENDS[payment.status];
  if (terminal === undefined || isBehindEnd(payment, seen.status)) return undefined;
  const { change } = climb({ rank: payment.rank, terminal, returned: payment.returned }, seen.status);
  return change === 'fell' || change === 'contradiction' ? undefined : seen.chargesMinor;
}

/**
 * The date that a read shows of a payment that was paid, where that is another than is known: a bank may show it after the
 * end, or correct it. Undefined where there is nothing new, as of a read that is stale.
 */
export function newSettledOn(payment: FollowedPayment, seen: SeenStatus): string | undefined {
  const { status, settledOn } = payment;
  if (status !== 'SETTLED' || !isPaid(seen.status) || isBehindEnd(payment, seen.status)) return undefined;
  return seen.settlementDate === settledOn ? undefined : seen.settlementDate;
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
    const { bankStatus, shownStatus, rank, move, returned } = step;
    return {
      ...payment,
      bankStatus,
      shownStatus,
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
  if (isUnclear(status)) return 'UNKNOWN_STATUS';
  const reading = readBankStatus(status);
  return reading.kind === 'waiting' && reading.needsBankAction ? 'BANK_ACTION_REQUIRED' : undefined;
}
