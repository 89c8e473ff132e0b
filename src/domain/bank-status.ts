/** Rank of each step of the bank's ladder: a payment or instruction only climbs. Skipped steps are normal. */
export const BANK_LADDER = {
  INI_STARTED: 1,
  INI_IS_VALID: 2,
  INI_INT_CTRL_PASSED: 3,
  INITIATED: 4,
  SUB_STARTED: 5,
  SUB_IS_VALID: 6,
  SUB_INT_CTRL_PASSED: 7,
  SUB_REQUIRED: 8,
  SUBMITTED: 9,
  PRO_INT_CTRL_PASSED: 10,
  PRO_DEBIT_HOLD: 11,
  READY_FOR_EXCHANGE: 12,
  READY_FOR_PROCESSING: 12,
  EXCHANGED: 13,
} as const;

/** Above every step: the rank of all terminals. */
export const TERMINAL_RANK = 14;

const OTHER_STATUSES = [
  'SETTLED',
  'FAILED',
  'REJECTED',
  'CANCELLED',
  'INI_NOT_IS_VALID',
  'INI_INT_CTRL_FAILED',
  'SUB_NOT_IS_VALID',
  'SUB_INT_CTRL_FAILED',
  'C_INSTRUCTION_SUB_NOT_PASSED',
  'P_INSTRUCTION_SUB_NOT_PASSED',
  'PRO_INT_CTRL_FAILED',
  'PRO_DEBIT_HOLD_FAILED',
  'PRO_ROUTING_FAILED',
  'PRO_SETTLEMENT_FAILED',
  'EXT_REFUSED',
  'EXCHANGE_ERROR',
  'ABANDONED',
  'RETURNED',
  'WAREHOUSED',
  'PRO_WAIT_SETTLEMENT_DATE',
  'C_INST_WAITING_FOR_APPROVAL',
  'SUB_STRONG_AUTH_REQUIRED',
] as const;

type LadderStatus = keyof typeof BANK_LADDER;

/** Every status the interface document or the bank's other public documentation names. */
export type BankStatus = LadderStatus | (typeof OTHER_STATUSES)[number];
export const BANK_STATUSES: readonly BankStatus[] = [
  ...(Object.keys(BANK_LADDER) as LadderStatus[]),
  ...OTHER_STATUSES,
];

/** The group of payments that failed their own checks (rule 9). It is no status: as one, it is unknown. */
const NOT_PROCESSABLE_GROUP = 'NOTPROCESSABLE';

/** Stands for the status of a payment of that group which the bank leaves at the last step it passed; no bank sends it. */
export const NOT_PROCESSABLE = `GROUP:${NOT_PROCESSABLE_GROUP}`;

/** Stands for the status of a submitted payment of which the bank has shown none; no bank sends it. */
export const NEVER_SHOWN = 'NONE:NEVER_SHOWN';

export type BankOutcome = 'SETTLED' | 'FAILED' | 'REJECTED' | 'CANCELLED';

/**
 * What a bank status says. `afterSubmit` of a terminal: it cannot be reached without a submit. `unclear` closes
 * nothing and must not be repaid until a person confirms; `unknown` is a value no document names.
 */
export type BankReading =
  | { kind: 'progress'; rank: number }
  | { kind: 'waiting'; needsBankAction: boolean }
  | { kind: 'terminal'; outcome: BankOutcome; afterSubmit: boolean }
  | { kind: 'returned' }
  | { kind: 'unclear' }
  | { kind: 'unknown' };

const KNOWN = new Set<string>(BANK_STATUSES);

/** Translates a status value as received, of a customer instruction or a payment transaction. Never throws. */
export function readBankStatus(value: string): BankReading {
  if (value === NOT_PROCESSABLE) return { kind: 'terminal', outcome: 'FAILED', afterSubmit: true };
  if (value === NEVER_SHOWN) return { kind: 'progress', rank: 0 };
  return isBankStatus(value) ? readKnown(value) : { kind: 'unknown' };
}

/**
 * What a payment shown with a group stands for: NOT_PROCESSABLE where its group says so and its own status is one the bank
 * gives it before it takes it up; its own status else.
 */
export function standingOf({ status, groupStatus }: { status: string; groupStatus?: string }): string {
  return groupStatus === NOT_PROCESSABLE_GROUP && isLeftBeforeTaken(status) ? NOT_PROCESSABLE : status;
}

function isBankStatus(value: string): value is BankStatus {
  return KNOWN.has(value);
}

function readKnown(status: BankStatus): BankReading {
  switch (status) {
    case 'INI_STARTED':
    case 'INI_IS_VALID':
    case 'INI_INT_CTRL_PASSED':
    case 'INITIATED':
    case 'SUB_STARTED':
    case 'SUB_IS_VALID':
    case 'SUB_INT_CTRL_PASSED':
    case 'SUB_REQUIRED':
    case 'SUBMITTED':
    case 'PRO_INT_CTRL_PASSED':
    case 'PRO_DEBIT_HOLD':
    case 'READY_FOR_EXCHANGE':
    case 'READY_FOR_PROCESSING':
    case 'EXCHANGED':
      return { kind: 'progress', rank: BANK_LADDER[status] };
    case 'WAREHOUSED':
    case 'PRO_WAIT_SETTLEMENT_DATE':
      return { kind: 'waiting', needsBankAction: false };
    case 'C_INST_WAITING_FOR_APPROVAL':
    case 'SUB_STRONG_AUTH_REQUIRED':
      return { kind: 'waiting', needsBankAction: true };
    case 'SETTLED':
      return { kind: 'terminal', outcome: 'SETTLED', afterSubmit: true };
    case 'SUB_NOT_IS_VALID':
    case 'SUB_INT_CTRL_FAILED':
    case 'C_INSTRUCTION_SUB_NOT_PASSED':
    case 'P_INSTRUCTION_SUB_NOT_PASSED':
    case 'PRO_INT_CTRL_FAILED':
    case 'PRO_DEBIT_HOLD_FAILED':
    case 'PRO_ROUTING_FAILED':
    case 'PRO_SETTLEMENT_FAILED':
      return { kind: 'terminal', outcome: 'FAILED', afterSubmit: true };
    case 'FAILED':
    case 'INI_NOT_IS_VALID':
    case 'INI_INT_CTRL_FAILED':
      return { kind: 'terminal', outcome: 'FAILED', afterSubmit: false };
    case 'EXT_REFUSED':
      return { kind: 'terminal', outcome: 'REJECTED', afterSubmit: true };
    case 'REJECTED':
      return { kind: 'terminal', outcome: 'REJECTED', afterSubmit: false };
    case 'CANCELLED':
    case 'ABANDONED':
      return { kind: 'terminal', outcome: 'CANCELLED', afterSubmit: false };
    case 'RETURNED':
      return { kind: 'returned' };
    case 'EXCHANGE_ERROR':
      return { kind: 'unclear' };
  }
}

/**
 * Whether a status proves that the instruction was submitted. Cancelled, abandoned, rejected and plainly failed prove
 * nothing, because an instruction that was never submitted can end so too; nor does a value nobody documents.
 */
export function isPastSubmit(value: string): boolean {
  const reading = readBankStatus(value);
  switch (reading.kind) {
    case 'progress':
      return reading.rank >= BANK_LADDER.SUB_STARTED;
    case 'terminal':
      return reading.afterSubmit;
    case 'waiting':
    case 'returned':
    case 'unclear':
      return true;
    case 'unknown':
      return false;
  }
}

/**
 * Whether a status leaves it possible that the instruction was submitted: all do but the steps before a submit and the
 * ends that come without one too. A value nobody documents does.
 */
export function mayBeSubmitted(value: string): boolean {
  return isPastSubmit(value) || isUndocumented(value);
}

/** How people are told of a status that no document names. */
export function shownAs(status: string): string {
  return `as ${status}, which no document names`;
}

/** Whether no document names a status: nobody knows whether it comes before or after a submit. */
export function isUndocumented(value: string): boolean {
  return readBankStatus(value).kind === 'unknown';
}

/**
 * The statuses a payment is shown with: what its history says was settled, and is shown otherwise now, may have been paid,
 * so that it is both, unless it came back.
 */
export function statusesShown(status: string, wasSettled: boolean): string[] {
  return wasSettled && readBankStatus(status).kind !== 'returned' ? ['SETTLED', status] : [status];
}

/** The one of several statuses that says most of a submit: one past it, else one that leaves it possible. */
export function mostSubmitted(values: readonly string[]): string | undefined {
  return values.find(isPastSubmit) ?? values.find(mayBeSubmitted);
}

/** Whether the bank has ended a payment with this status by paying it. */
export function isPaid(value: string): boolean {
  const reading = readBankStatus(value);
  return reading.kind === 'terminal' && reading.outcome === 'SETTLED';
}

/** Whether the bank has ended an instruction or a payment with this status without paying anything of it. */
export function isEndedUnpaid(value: string): boolean {
  const reading = readBankStatus(value);
  return reading.kind === 'terminal' && reading.outcome !== 'SETTLED';
}

/** Whether it has ended so with a status that needs no submit: what shows it then was refused, and is never paid. */
export function isEndedBeforeSubmit(value: string): boolean {
  return isEndedUnpaid(value) && !isPastSubmit(value);
}

/** Whether a status is one of those a payment has before its instruction is submitted. */
export function isBeforeSubmit(value: string): boolean {
  const reading = readBankStatus(value);
  return reading.kind === 'progress' && reading.rank < BANK_LADDER.SUB_STARTED;
}

/** Whether a status says what became of a payment. */
export function isEnd(value: string): boolean {
  const { kind } = readBankStatus(value);
  return kind === 'terminal' || kind === 'returned';
}

/** Whether a status does not say what became of a payment: no document names it, or what it names is left open. */
export function isUnclear(value: string): boolean {
  const { kind } = readBankStatus(value);
  return kind === 'unclear' || kind === 'unknown';
}

/**
 * The status whose meaning a submitted payment waits for, of its own and that of its instruction, as received: its own
 * where that is unclear, or its instruction's while it stands as it did before the submit. Undefined where neither is.
 */
export function unclearStatusOf(own: string | null, ofInstruction: string | null): string | undefined {
  if (own !== null && isUnclear(own)) return own;
  const standsStill = own === null || isBeforeSubmit(own);
  return standsStill && ofInstruction !== null && isUnclear(ofInstruction) ? ofInstruction : undefined;
}

/**
 * The status of an instruction, as received, where it may say what keeps its open payments: the bank is past its submit
 * with none of them. Null else.
 * @param own the status of each of them; null where none was shown
 */
export function keepingStatusOf(
  ofInstruction: string | null,
  own: readonly (string | null)[],
): string | null {
  return own.every((status) => status === null || !isPastSubmit(status)) ? ofInstruction : null;
}

/** By which status people are asked about each of the open payments of an instruction, and decide of it. */
export function statusesAskedOf(
  ofInstruction: string | null,
  own: readonly (string | null)[],
): readonly string[] {
  const keeping = keepingStatusOf(ofInstruction, own);
  return own.map((status) => unclearStatusOf(status, keeping) ?? status ?? NEVER_SHOWN);
}

/**
 * Whether a status of a submitted payment is one the bank gives it before it takes it up: of the checks after the submit,
 * or a wait for somebody to act. One that waits for its date was taken up.
 */
export function isBeforeTaken(value: string): boolean {
  const reading = readBankStatus(value);
  if (reading.kind === 'waiting') return reading.needsBankAction;
  return reading.kind === 'progress' && reading.rank < BANK_LADDER.SUBMITTED;
}

/**
 * Whether a status leaves it possible that the bank took up what shows it: all do but those it gives before that, and the
 * ends without payment. A value nobody documents does.
 */
export function mayBeTaken(value: string): boolean {
  return !isBeforeTaken(value) && !isEndedUnpaid(value);
}

/**
 * Whether the bank has not taken up a payment of a submitted instruction that is open: it was last shown as before that, or
 * as ended by what needs no submit, which did not end it, or never (null).
 */
export function isUntaken(value: string | null): boolean {
  return value === null || isBeforeTaken(value) || isEndedBeforeSubmit(value);
}

/**
 * Whether a status is a step after the submit, further than the rank a payment had. Once its instruction was seen to have
 * ended, the bank goes on with it all the same: no such move is shown (Customer instruction and payment transaction).
 * Of one that was never seen after its submit, rank 0, nobody can tell.
 */
export function isStepFurther(value: string, rank: number): boolean {
  const reading = readBankStatus(value);
  return rank > 0 && reading.kind === 'progress' && reading.rank > Math.max(rank, BANK_LADDER.INITIATED);
}

/** Whether it is such a status in which the bank waits for nobody. */
export function isLeftBeforeTaken(value: string): boolean {
  return readBankStatus(value).kind === 'progress' && isBeforeTaken(value);
}

/** Ends at a check, or for want of funds: before PRO_DEBIT_HOLD, with which the bank takes the money. */
const ENDED_BEFORE_DEBIT: ReadonlySet<string> = new Set<BankStatus | typeof NOT_PROCESSABLE>([
  'INI_NOT_IS_VALID',
  'INI_INT_CTRL_FAILED',
  'SUB_NOT_IS_VALID',
  'SUB_INT_CTRL_FAILED',
  'C_INSTRUCTION_SUB_NOT_PASSED',
  'P_INSTRUCTION_SUB_NOT_PASSED',
  'PRO_INT_CTRL_FAILED',
  'PRO_DEBIT_HOLD_FAILED',
  NOT_PROCESSABLE,
]);

/**
 * Whether a payment with this status has never taken money: it ended before its debit, or stands where the bank leaves it
 * before it takes it up. Failed, rejected and cancelled do not say at which step.
 */
export function isNeverDebited(value: string): boolean {
  return ENDED_BEFORE_DEBIT.has(value) || isBeforeTaken(value);
}

/** All statuses of which that is so. */
export const NEVER_DEBITED: readonly string[] = [...BANK_STATUSES, NOT_PROCESSABLE].filter(isNeverDebited);

/** Whether a documented status leaves open what becomes of a payment: it is on its way, or waits. */
export function isUnfinished(value: string): boolean {
  const { kind } = readBankStatus(value);
  return kind === 'progress' || kind === 'waiting';
}

/** How far the bank has got with a payment: the highest rank met, the first terminal, and whether it came back. */
export interface BankPosition {
  rank: number;
  terminal?: BankOutcome;
  returned?: boolean;
}

export type BankChange = 'none' | 'climbed' | 'terminal' | 'contradiction' | 'unknown' | 'returned' | 'fell';

/**
 * What a newly read status does to a position (rule 12). It never falls and keeps its first terminal: a lower step is
 * `fell`, as is any on the way to SETTLED where people have declared that; SETTLED against an end without payment, or
 * the other way round, is `contradiction`, as is a step above where it ended as NOT_PROCESSABLE. No money moved under
 * either of two ends without payment (FAILED, REJECTED, CANCELLED): the second is no contradiction. All these leave the
 * position as it was, as do `unknown` (undocumented, or EXCHANGE_ERROR) and waiting statuses (`none`). A return settles
 * what was not settled yet, and changes nothing of what ended unpaid: the money is back under either. What ends as
 * NOT_PROCESSABLE keeps the rank it was left at, so that a step above is told.
 */
export function climb(current: BankPosition, value: string): { next: BankPosition; change: BankChange } {
  const reading = readBankStatus(value);
  switch (reading.kind) {
    case 'progress':
      return step(current, reading.rank);
    case 'terminal':
      return end(current, reading.outcome, value === NOT_PROCESSABLE ? current.rank : TERMINAL_RANK);
    case 'returned':
      return bringBack(current);
    case 'waiting':
      return { next: current, change: 'none' };
    case 'unclear':
    case 'unknown':
      return { next: current, change: 'unknown' };
  }
}

function step(current: BankPosition, rank: number): { next: BankPosition; change: BankChange } {
  if (current.terminal !== undefined) {
    const isAbove = rank > Math.max(current.rank, BANK_LADDER.INITIATED);
    const contradicts = isAbove && current.terminal !== 'SETTLED';
    return { next: current, change: contradicts ? 'contradiction' : 'fell' };
  }
  if (rank > current.rank) return { next: { ...current, rank }, change: 'climbed' };
  return { next: current, change: rank < current.rank ? 'fell' : 'none' };
}

function end(
  current: BankPosition,
  outcome: BankOutcome,
  rank: number,
): { next: BankPosition; change: BankChange } {
  if (current.terminal === undefined) {
    return { next: { ...current, rank, terminal: outcome }, change: 'terminal' };
  }
  if ((current.terminal === 'SETTLED') !== (outcome === 'SETTLED'))
    return { next: current, change: 'contradiction' };
  return { next: { ...current, rank }, change: 'none' };
}

function bringBack(current: BankPosition): { next: BankPosition; change: BankChange } {
  if (current.terminal !== undefined && current.terminal !== 'SETTLED') {
    return { next: current, change: current.rank < TERMINAL_RANK ? 'contradiction' : 'none' };
  }
  if (current.returned === true) return { next: current, change: 'none' };
  return { next: { rank: TERMINAL_RANK, terminal: 'SETTLED', returned: true }, change: 'returned' };
}
