import { assertMove, finalStates, StateTable } from './state-table';

/** The states of a pay run, in the order a run that goes well visits them, then the others. */
export const PAY_RUN_STATUSES = [
  'DRAFT',
  'READY',
  'APPROVED',
  'BUILDING',
  'VERIFIED',
  'SUBMITTING',
  'FOLLOWING',
  'SETTLED',
  'PARTLY_SETTLED',
  'FAILED',
  'CANCELLING',
  'CANCELLED',
] as const;
export type PayRunStatus = (typeof PAY_RUN_STATUSES)[number];

export const PAY_RUN_INITIAL: PayRunStatus = 'DRAFT';

/** Every move a pay run may make. Once submitting has begun a run can no longer be cancelled. */
export const PAY_RUN_TRANSITIONS: StateTable<PayRunStatus> = {
  DRAFT: ['READY', 'CANCELLING'],
  READY: ['DRAFT', 'APPROVED', 'CANCELLING'],
  APPROVED: ['READY', 'BUILDING', 'CANCELLING'],
  BUILDING: ['VERIFIED', 'READY', 'CANCELLING'],
  VERIFIED: ['BUILDING', 'READY', 'SUBMITTING', 'CANCELLING'],
  SUBMITTING: ['FOLLOWING'],
  FOLLOWING: ['SETTLED', 'PARTLY_SETTLED', 'FAILED'],
  SETTLED: [],
  PARTLY_SETTLED: [],
  FAILED: [],
  CANCELLING: ['CANCELLED'],
  CANCELLED: [],
};

/** One line per state, for people; the README's table is made from it. */
export const PAY_RUN_MEANING: Readonly<Record<PayRunStatus, string>> = {
  DRAFT: 'Its rows are being stored or amended; they have no hash yet.',
  READY: 'The rows are fixed under one hash and wait for approval.',
  APPROVED: 'Enough people who did not prepare the run approved exactly this hash.',
  BUILDING: 'The instructions are being filled at the bank; no money can move.',
  VERIFIED: 'Every instruction at the bank equals its approved rows; nothing is submitted.',
  SUBMITTING: 'The run gate was passed; the instructions are being submitted one by one.',
  FOLLOWING: 'Every instruction is submitted, parked or released; the statuses are being read.',
  SETTLED: 'The bank settled every payment.',
  PARTLY_SETTLED: 'Every payment reached its end and at least one was settled and one was not.',
  FAILED: 'Every payment reached its end and none was settled.',
  CANCELLING: 'Nothing more is sent; adds in flight are waited for and the instructions abandoned.',
  CANCELLED: 'The run ended before we submitted anything; no money moved by us.',
};

/** The states of an approved run before its gate: it can be cancelled, amended or given back by its approvers. */
export const PAY_RUN_BEFORE_GATE: readonly PayRunStatus[] = ['APPROVED', 'BUILDING', 'VERIFIED'];

/** The states of a run whose rows are fixed and of which nothing is submitted. */
export const PAY_RUN_UNSUBMITTED: readonly PayRunStatus[] = ['READY', ...PAY_RUN_BEFORE_GATE];

/** The states in which a run goes on by itself, until nothing of it is left to be submitted. */
export const PAY_RUN_GOING_ON: readonly PayRunStatus[] = [...PAY_RUN_BEFORE_GATE, 'SUBMITTING'];

/** The states of a run of which something was submitted, or is being. */
export const PAY_RUN_SUBMITTED: readonly PayRunStatus[] = [
  'SUBMITTING',
  'FOLLOWING',
  'SETTLED',
  'PARTLY_SETTLED',
  'FAILED',
];

export const PAY_RUN_FINALS = finalStates(PAY_RUN_STATUSES, PAY_RUN_TRANSITIONS);

/** Throws `IllegalTransition` unless a pay run may move from one state to the other. */
export function assertPayRunMove(from: PayRunStatus, to: PayRunStatus): void {
  assertMove('pay run', PAY_RUN_TRANSITIONS, from, to);
}

/** Whether the state of a pay run is final. */
export function isPayRunFinal(status: PayRunStatus): boolean {
  return PAY_RUN_FINALS.includes(status);
}

/** How a run or an instruction ends, by the number of its payments that settled and that did not. */
export function endOf(payments: {
  settled: number;
  unpaid: number;
}): 'SETTLED' | 'PARTLY_SETTLED' | 'FAILED' {
  if (payments.unpaid === 0) return 'SETTLED';
  return payments.settled === 0 ? 'FAILED' : 'PARTLY_SETTLED';
}
