import type { HistoryEntry, Status } from '../../bank/types';
import { timestamp } from '../clock';
import type { Outcome } from '../magic';
import type { Variants } from '../variants';

/** The document's table of moves, and the failures of this family of interfaces. */
export const INSTRUCTION_INITIATED = ['INI_STARTED', 'INITIATED'] as const;
const PAYMENT_ADDED = ['INI_STARTED', 'INI_IS_VALID', 'INI_INT_CTRL_PASSED', 'INITIATED'] as const;
export const PAYMENT_INWARD = ['INI_STARTED', 'SETTLED'] as const;

/** An instruction's checks after SUB_STARTED; SUB_IS_VALID may repeat. */
export function instructionValid(repeats: number): string[] {
  return new Array<string>(Math.max(1, repeats)).fill('SUB_IS_VALID');
}
export const INSTRUCTION_PASSED = ['SUB_INT_CTRL_PASSED', 'SUB_REQUIRED'] as const;
/** What follows SUB_STARTED in a direct submission. */
export const DIRECT_PASSED = { instruction: ['READY_FOR_PROCESSING'], payment: ['SUBMITTED'] } as const;

/** Where a submitted instruction waits, by what it waits for. */
export const WAITING_FOR = {
  'strong-authentication': 'SUB_STRONG_AUTH_REQUIRED',
  approval: 'C_INST_WAITING_FOR_APPROVAL',
} as const;

/** What an add records of a payment; one that fails the checks of its initiation ends there. */
export function paymentAdded(outcome: Outcome): readonly string[] {
  const failure = failureAtInitiation(outcome);
  if (failure === undefined) return PAYMENT_ADDED;
  const passed = failure === 'INI_INT_CTRL_FAILED' ? 2 : 1;
  return [...PAYMENT_ADDED.slice(0, passed), failure];
}

/** The status in which a payment ends that fails the checks of its initiation. */
export function failureAtInitiation(
  outcome: Outcome,
): 'INI_NOT_IS_VALID' | 'INI_INT_CTRL_FAILED' | undefined {
  if (outcome === 'initiationNotValid') return 'INI_NOT_IS_VALID';
  return outcome === 'initiationControlFails' ? 'INI_INT_CTRL_FAILED' : undefined;
}

const SUBMISSION = ['SUB_STARTED', 'SUB_IS_VALID', 'SUB_INT_CTRL_PASSED', 'SUBMITTED'];
const CHECKED_AND_HELD = ['PRO_INT_CTRL_PASSED', 'PRO_DEBIT_HOLD'];
const EXCHANGE = [...CHECKED_AND_HELD, 'READY_FOR_EXCHANGE', 'EXCHANGED'];

/** What the submit brings to payments that fail their own checks: nothing where they failed before it. */
const NOT_PROCESSABLE = {
  initiationNotValid: [],
  initiationControlFails: [],
  notProcessable: ['SUB_STARTED', 'SUB_NOT_IS_VALID'],
  submissionControlFails: ['SUB_STARTED', 'SUB_IS_VALID', 'SUB_INT_CTRL_FAILED'],
} as const satisfies Partial<Record<Outcome, readonly string[]>>;

/** Whether a payment fails its own checks, so that it is no part of what its submitted instruction pays. */
export function isNotProcessable(outcome: Outcome): outcome is keyof typeof NOT_PROCESSABLE {
  return outcome in NOT_PROCESSABLE;
}

/** Whether a payment comes to settle, unless its hold fails or the other bank refuses it. */
export function isGoingToSettle(outcome: Outcome): boolean {
  return ['settles', 'returnedTwoDaysLater', 'comesInTwoDaysLater'].includes(outcome);
}

const PROCESSING: Readonly<Record<Exclude<Outcome, keyof typeof NOT_PROCESSABLE>, readonly string[]>> = {
  processingControlFails: ['PRO_INT_CTRL_FAILED'],
  settles: [...EXCHANGE, 'SETTLED'],
  routingFails: [...CHECKED_AND_HELD, 'PRO_ROUTING_FAILED'],
  exchangeError: [...CHECKED_AND_HELD, 'READY_FOR_EXCHANGE', 'EXCHANGE_ERROR'],
  refusedAfterExchange: [...EXCHANGE, 'EXT_REFUSED'],
  payeeAccountClosed: [...EXCHANGE, 'EXT_REFUSED'],
  settlementFails: [...EXCHANGE, 'PRO_SETTLEMENT_FAILED'],
  fails: [...CHECKED_AND_HELD, 'FAILED'],
  rejected: ['PRO_INT_CTRL_PASSED', 'REJECTED'],
  cancelled: ['CANCELLED'],
  abandoned: ['ABANDONED'],
  returnedTwoDaysLater: [...EXCHANGE, 'SETTLED', 'RETURNED'],
  comesInTwoDaysLater: [...EXCHANGE, 'SETTLED'],
  neverSettles: EXCHANGE,
  undocumentedStatus: [...CHECKED_AND_HELD, 'PRO_MANUAL_REVIEW'],
};
const PROCESSING_BOOK = [...CHECKED_AND_HELD, 'READY_FOR_PROCESSING', 'SETTLED'];

/** What a payment still goes through after its submit; `waitsAs` when its execution date is yet to come. */
export function pathAfterSubmit(plan: {
  outcome: Outcome;
  channel: 'RTNS' | 'BOOK';
  direct: boolean;
  waitsAs?: Variants['waitsAs'];
  failedChecks: Variants['failedChecks'];
  bookEnds: Variants['bookEnds'];
}): readonly string[] {
  const { outcome, channel, direct, waitsAs, failedChecks, bookEnds } = plan;
  if (isNotProcessable(outcome))
    return NOT_PROCESSABLE[outcome].filter((status) => failedChecks === 'end-it' || !FAILURES.has(status));
  const submission = direct ? [] : SUBMISSION;
  const waiting = waitsAs === undefined ? [] : [waitsAs];
  if (channel === 'BOOK' && bookEnds === 'SUBMITTED' && !direct)
    return [...SUBMISSION.slice(0, -1), ...waiting, 'SUBMITTED'];
  const processing = channel === 'BOOK' ? PROCESSING_BOOK : PROCESSING[outcome];
  return [...submission, ...waiting, ...processing];
}

const WAITING: ReadonlySet<string> = new Set<Variants['waitsAs']>(['WAREHOUSED', 'PRO_WAIT_SETTLEMENT_DATE']);

/** Whether a payment leaves a status only when its execution date begins. */
export function isWaiting(status: string): boolean {
  return WAITING.has(status);
}

/** Statuses after which a payment moves no further. RETURNED follows SETTLED. */
export const FAILURES: ReadonlySet<string> = new Set([
  'INI_NOT_IS_VALID',
  'INI_INT_CTRL_FAILED',
  'SUB_NOT_IS_VALID',
  'SUB_INT_CTRL_FAILED',
  'P_INSTRUCTION_SUB_NOT_PASSED',
  'PRO_INT_CTRL_FAILED',
  'PRO_DEBIT_HOLD_FAILED',
  'PRO_ROUTING_FAILED',
  'PRO_SETTLEMENT_FAILED',
  'EXT_REFUSED',
  'FAILED',
  'REJECTED',
  'CANCELLED',
  'ABANDONED',
]);

const LABELS: Readonly<Record<string, string>> = {
  INI_STARTED: 'Initiation started',
  INI_IS_VALID: 'Initiation validated',
  INI_INT_CTRL_PASSED: 'Internal checks for initiation passed',
  INI_NOT_IS_VALID: 'Initiation not valid',
  INI_INT_CTRL_FAILED: 'Internal checks for initiation failed',
  INITIATED: 'Initiated',
  SUB_STARTED: 'Submission started',
  SUB_IS_VALID: 'Submission validated',
  SUB_INT_CTRL_PASSED: 'Internal checks for submission passed',
  SUB_REQUIRED: 'Submission required',
  SUB_NOT_IS_VALID: 'Submission not valid',
  SUB_INT_CTRL_FAILED: 'Internal checks for submission failed',
  SUB_STRONG_AUTH_REQUIRED: 'Strong authentication required',
  C_INST_WAITING_FOR_APPROVAL: 'Waiting for approval',
  C_INSTRUCTION_SUB_NOT_PASSED: 'Submission of the customer instruction not passed',
  P_INSTRUCTION_SUB_NOT_PASSED: 'Submission of its customer instruction not passed',
  SUBMITTED: 'Submitted for processing',
  WAREHOUSED: 'Waiting for the execution date',
  PRO_WAIT_SETTLEMENT_DATE: 'Waiting for the settlement date',
  PRO_INT_CTRL_PASSED: 'Internal checks for processing passed',
  PRO_INT_CTRL_FAILED: 'Internal checks for processing failed',
  PRO_DEBIT_HOLD: 'Debit hold placed',
  PRO_DEBIT_HOLD_FAILED: 'Debit hold failed',
  PRO_ROUTING_FAILED: 'Routing failed',
  PRO_SETTLEMENT_FAILED: 'Settlement failed',
  READY_FOR_EXCHANGE: 'Ready for exchange',
  READY_FOR_PROCESSING: 'Ready for processing',
  EXCHANGED: 'Exchanged',
  EXCHANGE_ERROR: 'Error in the exchange',
  SETTLED: 'Settled',
  EXT_REFUSED: 'Refused by the external institution',
  RETURNED: 'Returned',
  FAILED: 'Processing failed',
  REJECTED: 'Rejected',
  CANCELLED: 'Cancelled before processing',
  ABANDONED: 'Abandoned',
  IN_PROGRESS: 'In progress',
  NOTPROCESSABLE: 'Not processable',
};

/** The label of a refusal that gives its reason. */
export const PAYEE_ACCOUNT_CLOSED = "Refused by the external institution: the payee's account is closed";

const WITHOUT_GROUP: ReadonlySet<string> = new Set([
  ...FAILURES,
  'C_INSTRUCTION_SUB_NOT_PASSED',
  'EXCHANGED',
  'EXCHANGE_ERROR',
  'SETTLED',
  'RETURNED',
]);

/** A status as the document writes it, with its label. */
export function statusObject(value: string, label = LABELS[value] ?? value): Status {
  return { value, label };
}

/** INITIATED before the submit, IN_PROGRESS after it, absent on the late settlement steps. */
export function groupStatusOf(status: string): Status | undefined {
  if (WITHOUT_GROUP.has(status)) return undefined;
  return statusObject(status.startsWith('INI') ? 'INITIATED' : 'IN_PROGRESS');
}

/** More transitions than any object has; ids of transitions of two objects never meet. */
const TRANSITIONS_PER_OBJECT = 64;

/** Every status an object had, in order; the last one it has. Kept as two flat arrays: payments are many. */
export class History {
  private readonly statuses: string[] = [];
  private readonly dates: number[] = [];
  /** The one status whose label is not the usual one. */
  private labelled?: Status;

  constructor(private readonly objectId: number) {}

  /** `label`: only where it says more than the usual one. */
  record(status: string, atMs: number, label?: string): void {
    this.statuses.push(status);
    this.dates.push(atMs);
    if (label !== undefined) this.labelled = { value: status, label };
  }

  recordAll(statuses: readonly string[], atMs: number): void {
    for (const status of statuses) this.record(status, atMs);
  }

  has(status: string): boolean {
    return this.statuses.includes(status);
  }

  hadBy(status: string, asOfMs: number): boolean {
    return this.statuses.slice(0, this.lengthAt(asOfMs)).includes(status);
  }

  /** The status at a moment; the first status before anything was recorded. */
  statusAt(asOfMs: number): string {
    return this.statuses[Math.max(0, this.lengthAt(asOfMs) - 1)] ?? '';
  }

  /** The status at a moment, with its label. */
  statusObjectAt(asOfMs: number): Status {
    return this.statusObject(this.statusAt(asOfMs));
  }

  get current(): string {
    return this.statuses[this.statuses.length - 1] ?? '';
  }

  entriesAt(asOfMs: number): HistoryEntry[] {
    return this.statuses.slice(0, Math.max(1, this.lengthAt(asOfMs))).map((status, index) => {
      const groupStatus = groupStatusOf(status);
      return {
        status: this.statusObject(status),
        ...(groupStatus && { groupStatus }),
        date: timestamp(this.dates[index] ?? 0),
        ...(index > 0 && { previousTransitionId: this.objectId * TRANSITIONS_PER_OBJECT + index - 1 }),
      };
    });
  }

  private statusObject(status: string): Status {
    return status === this.labelled?.value ? this.labelled : statusObject(status);
  }

  private lengthAt(asOfMs: number): number {
    let length = this.dates.length;
    while (length > 0 && (this.dates[length - 1] ?? 0) > asOfMs) length -= 1;
    return length;
  }
}
