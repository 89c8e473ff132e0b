import type { HistoryEntry, Status } from '../../bank/types';
import { timestamp } from '../clock';
import type { Outcome } from '../magic';

/** The document's table of moves, and the failures of this family of interfaces. */
export const INSTRUCTION_INITIATED = ['INI_STARTED', 'INITIATED'] as const;
export const PAYMENT_ADDED = ['INI_STARTED', 'INI_IS_VALID', 'INI_INT_CTRL_PASSED', 'INITIATED'] as const;
export const INSTRUCTION_DIRECT = ['SUB_STARTED', 'READY_FOR_PROCESSING'] as const;
export const PAYMENT_DIRECT = ['SUB_STARTED', 'SUBMITTED'] as const;
export const PAYMENT_INWARD = ['INI_STARTED', 'SETTLED'] as const;

/** The history of an instruction's submit; SUB_IS_VALID may repeat. */
export function instructionSubmitted(repeats: number): string[] {
  const valid = new Array<string>(Math.max(1, repeats)).fill('SUB_IS_VALID');
  return ['SUB_STARTED', ...valid, 'SUB_INT_CTRL_PASSED', 'SUB_REQUIRED'];
}

const SUBMISSION = ['SUB_STARTED', 'SUB_IS_VALID', 'SUB_INT_CTRL_PASSED', 'SUBMITTED'];
const CHECKED_AND_HELD = ['PRO_INT_CTRL_PASSED', 'PRO_DEBIT_HOLD'];
const EXCHANGE = [...CHECKED_AND_HELD, 'READY_FOR_EXCHANGE', 'EXCHANGED'];

const PROCESSING: Readonly<Record<Exclude<Outcome, 'notProcessable'>, readonly string[]>> = {
  settles: [...EXCHANGE, 'SETTLED'],
  routingFails: [...CHECKED_AND_HELD, 'PRO_ROUTING_FAILED'],
  refusedAfterExchange: [...EXCHANGE, 'EXT_REFUSED'],
  settlementFails: [...EXCHANGE, 'PRO_SETTLEMENT_FAILED'],
  fails: [...CHECKED_AND_HELD, 'FAILED'],
  rejected: ['PRO_INT_CTRL_PASSED', 'REJECTED'],
  cancelled: ['CANCELLED'],
  returnedTwoDaysLater: [...EXCHANGE, 'SETTLED', 'RETURNED'],
  neverSettles: EXCHANGE,
  undocumentedStatus: [...CHECKED_AND_HELD, 'PRO_MANUAL_REVIEW'],
};
const PROCESSING_BOOK = [...CHECKED_AND_HELD, 'READY_FOR_PROCESSING', 'SETTLED'];

/** What a payment still goes through after its submit. */
export function pathAfterSubmit(plan: {
  outcome: Outcome;
  channel: 'RTNS' | 'BOOK';
  direct: boolean;
  warehoused: boolean;
}): string[] {
  if (plan.outcome === 'notProcessable') return ['SUB_STARTED', 'SUB_NOT_IS_VALID'];
  const submission = plan.direct ? [] : SUBMISSION;
  const waiting = plan.warehoused ? ['WAREHOUSED'] : [];
  const processing = plan.channel === 'BOOK' ? PROCESSING_BOOK : PROCESSING[plan.outcome];
  return [...submission, ...waiting, ...processing];
}

/** Statuses after which a payment moves no further. RETURNED follows SETTLED. */
export const FAILURES: ReadonlySet<string> = new Set([
  'SUB_NOT_IS_VALID',
  'PRO_DEBIT_HOLD_FAILED',
  'PRO_ROUTING_FAILED',
  'PRO_SETTLEMENT_FAILED',
  'EXT_REFUSED',
  'FAILED',
  'REJECTED',
  'CANCELLED',
]);

const LABELS: Readonly<Record<string, string>> = {
  INI_STARTED: 'Initiation started',
  INI_IS_VALID: 'Initiation validated',
  INI_INT_CTRL_PASSED: 'Internal checks for initiation passed',
  INITIATED: 'Initiated',
  SUB_STARTED: 'Submission started',
  SUB_IS_VALID: 'Submission validated',
  SUB_INT_CTRL_PASSED: 'Internal checks for submission passed',
  SUB_REQUIRED: 'Submission required',
  SUB_NOT_IS_VALID: 'Submission not valid',
  SUBMITTED: 'Submitted for processing',
  WAREHOUSED: 'Waiting for the execution date',
  PRO_INT_CTRL_PASSED: 'Internal checks for processing passed',
  PRO_DEBIT_HOLD: 'Debit hold placed',
  PRO_DEBIT_HOLD_FAILED: 'Debit hold failed',
  PRO_ROUTING_FAILED: 'Routing failed',
  PRO_SETTLEMENT_FAILED: 'Settlement failed',
  READY_FOR_EXCHANGE: 'Ready for exchange',
  READY_FOR_PROCESSING: 'Ready for processing',
  EXCHANGED: 'Exchanged',
  SETTLED: 'Settled',
  EXT_REFUSED: 'Refused by the external institution',
  RETURNED: 'Returned',
  FAILED: 'Processing failed',
  REJECTED: 'Rejected',
  CANCELLED: 'Cancelled before processing',
  IN_PROGRESS: 'In progress',
};

const WITHOUT_GROUP: ReadonlySet<string> = new Set([...FAILURES, 'EXCHANGED', 'SETTLED', 'RETURNED']);

export function statusObject(value: string): Status {
  return { value, label: LABELS[value] ?? value };
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

  constructor(private readonly objectId: number) {}

  record(status: string, atMs: number): void {
    this.statuses.push(status);
    this.dates.push(atMs);
  }

  recordAll(statuses: readonly string[], atMs: number): void {
    for (const status of statuses) this.record(status, atMs);
  }

  has(status: string): boolean {
    return this.statuses.includes(status);
  }

  /** The status at a moment; the first status before anything was recorded. */
  statusAt(asOfMs: number): string {
    return this.statuses[Math.max(0, this.lengthAt(asOfMs) - 1)] ?? '';
  }

  get current(): string {
    return this.statuses[this.statuses.length - 1] ?? '';
  }

  entriesAt(asOfMs: number): HistoryEntry[] {
    return this.statuses.slice(0, Math.max(1, this.lengthAt(asOfMs))).map((status, index) => {
      const groupStatus = groupStatusOf(status);
      return {
        status: statusObject(status),
        ...(groupStatus && { groupStatus }),
        date: timestamp(this.dates[index] ?? 0),
        ...(index > 0 && { previousTransitionId: this.objectId * TRANSITIONS_PER_OBJECT + index - 1 }),
      };
    });
  }

  private lengthAt(asOfMs: number): number {
    let length = this.dates.length;
    while (length > 0 && (this.dates[length - 1] ?? 0) > asOfMs) length -= 1;
    return length;
  }
}
