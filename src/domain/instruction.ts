import { assertMove, finalStates, StateTable } from './state-table';

/** The states of an instruction on our side; the bank's own status is kept beside it as received. */
export const INSTRUCTION_STATUSES = [
  'PLANNED',
  'BUILDING',
  'VERIFIED',
  'SUBMIT_INTENT',
  'SUBMITTED',
  'CLOSED',
  'ABANDONED',
  'CANCELLED',
  'SUBMIT_REFUSED',
  'SUBMIT_UNKNOWN',
  'VOID',
  'RELEASED',
] as const;
export type InstructionStatus = (typeof INSTRUCTION_STATUSES)[number];

export const INSTRUCTION_INITIAL: InstructionStatus = 'PLANNED';

/**
 * Every move an instruction may make. SUBMIT_INTENT goes back to VERIFIED only when the request provably
 * never left; a parked submit leaves its state by positive evidence or by two people, never by time.
 */
export const INSTRUCTION_TRANSITIONS: StateTable<InstructionStatus> = {
  PLANNED: ['BUILDING', 'CANCELLED'],
  BUILDING: ['VERIFIED', 'ABANDONED', 'RELEASED'],
  VERIFIED: ['SUBMIT_INTENT', 'ABANDONED', 'RELEASED'],
  SUBMIT_INTENT: ['SUBMITTED', 'VERIFIED', 'SUBMIT_REFUSED', 'SUBMIT_UNKNOWN'],
  SUBMITTED: ['CLOSED'],
  CLOSED: [],
  ABANDONED: [],
  CANCELLED: [],
  SUBMIT_REFUSED: ['SUBMITTED', 'VOID'],
  SUBMIT_UNKNOWN: ['SUBMITTED', 'VOID'],
  VOID: [],
  RELEASED: [],
};

/** One line per state, for people; the README's table is made from it. */
export const INSTRUCTION_MEANING: Readonly<Record<InstructionStatus, string>> = {
  PLANNED: 'Its rows are fixed; nothing was sent to the bank yet.',
  BUILDING: 'It was initiated, or is about to be, and its payments are being added.',
  VERIFIED: 'The bank shows exactly its approved rows; it was not submitted.',
  SUBMIT_INTENT: 'The one submit attempt is written down and may have left.',
  SUBMITTED: 'The bank has the submit; its payments are being followed.',
  CLOSED: 'Every payment in it reached its end.',
  ABANDONED: 'It will never be submitted; it stays watched (`WATCH_DAYS`).',
  CANCELLED: 'It was dropped before anything was sent to the bank.',
  SUBMIT_REFUSED: 'The bank refused the submit; two people decide what happened.',
  SUBMIT_UNKNOWN:
    'Whether the bank took the submit is not known; it is read on until proof or two people decide.',
  VOID: 'It is dead at the bank and was proven not executed.',
  RELEASED: 'The cut-off passed before its submit; its rows go to a successor run.',
};

const INSTRUCTION_FINALS = finalStates(INSTRUCTION_STATUSES, INSTRUCTION_TRANSITIONS);

/** Whether it stands for its rows: one that was abandoned or cancelled leaves them to another. */
export function isInstructionLive(status: InstructionStatus): boolean {
  return status !== 'ABANDONED' && status !== 'CANCELLED';
}

/** The states before the submit attempt: where the cut-off passes, an instruction in one of them is released. */
export const INSTRUCTION_UNSENT: readonly InstructionStatus[] = ['PLANNED', 'BUILDING', 'VERIFIED'];

/** The states in which an instruction's submit is parked for people. */
export const INSTRUCTION_PARKED: readonly InstructionStatus[] = ['SUBMIT_REFUSED', 'SUBMIT_UNKNOWN'];

/** The states in which a submit may have been sent, and nobody knows yet what became of it. */
export const INSTRUCTION_IN_DOUBT: readonly InstructionStatus[] = ['SUBMIT_INTENT', ...INSTRUCTION_PARKED];

/** The states in which the bank may execute an instruction, be it that it refused the submit, until people decide what happened. */
export const INSTRUCTION_UNDER_WAY: readonly InstructionStatus[] = [...INSTRUCTION_IN_DOUBT, 'SUBMITTED'];

/** The states of what was submitted: it is followed, and watched once it has ended. */
export const INSTRUCTION_FOLLOWED: readonly InstructionStatus[] = ['SUBMITTED', 'CLOSED'];

/** The states in which nothing is paid by an instruction any more, as far as is known: the bank is watched for a move. */
export const INSTRUCTION_GIVEN_UP: readonly InstructionStatus[] = ['ABANDONED', 'RELEASED', 'VOID'];

/** The states in which an instruction of a submitting or followed run has reached its end. */
export const INSTRUCTION_ENDED: readonly InstructionStatus[] = ['CLOSED', 'VOID', 'RELEASED'];

/** The states in which nothing more is sent for an instruction, unless people decide so. */
export const INSTRUCTION_SENT: readonly InstructionStatus[] = [
  'SUBMITTED',
  ...INSTRUCTION_PARKED,
  ...INSTRUCTION_ENDED,
];

/** Throws `IllegalTransition` unless an instruction may move from one state to the other. */
export function assertInstructionMove(from: InstructionStatus, to: InstructionStatus): void {
  assertMove('instruction', INSTRUCTION_TRANSITIONS, from, to);
}

/** Whether the state of an instruction is final. */
export function isInstructionFinal(status: InstructionStatus): boolean {
  return INSTRUCTION_FINALS.includes(status);
}
