import type { BankClientError } from '../bank/errors';
import { INWARD, type PaymentMarks } from '../bank/payment-marks';
import type { BankPayment, DatedPaymentStatus } from '../bank/records';
import { isBeforeSubmit, isEnd, isPastSubmit, mostSubmitted } from '../domain/bank-status';
import { readMessageId } from '../pay-run/message-id';

/**
 * The payments of one instruction, of which one stands for all, past its submit where one is: a list may hold half a million.
 */
export interface Group {
  bankInstructionId: string | undefined;
  instructionId: string | undefined;
  one: Pick<BankPayment, 'ids' | 'status'>;
  payments: number;
  /** When the youngest was made, as far as the list shows it; in milliseconds since 1970. */
  datedMs: number | undefined;
  /** A status of one that is past the submit, or that leaves it possible. */
  moved: string | undefined;
  /** Whether one that was sent is shown as settled. */
  isSettled: boolean;
  /** Whether all that is shown of it came in, as a bank may show a transfer within itself from the creditor's side alone. */
  isInward: boolean;
}

/** What the record has of instructions at the bank, by which the list is read. */
export interface Held {
  /** Ids at the bank, and ours, of those that were not submitted. */
  unsent: ReadonlySet<string>;
  /** Ids at the bank of payments that have settled, one each of the youngest instructions of which any has. */
  settled: ReadonlySet<string>;
}

/** More of these tell no more. */
const MOST_UNSUBMITTED = 100;

/**
 * What one reading of the bank's general list shows, by instructions: without those that bear the marks of somebody else, and
 * without what is dated before a moment, but for what the record has as not submitted.
 */
export class RestoreList {
  /** Whether no count of the bank confirms the end of the list (`ListSize`). Undefined where it was not read to its end. */
  mayGoOn?: boolean;
  /** What it failed with behind what it shows, where that may pass. */
  failure?: BankClientError;
  /** Our ids of the instructions of which it shows what was sent, of any date; empty before its end. */
  sent: ReadonlySet<string | undefined> = new Set();
  /** Some of what it shows as before the submit, and from before the moment; empty before its end. */
  readonly unsubmitted: Group[] = [];
  private readonly groups = new Map<string, Group>();
  private readonly strangers = new Set<string>();
  private readonly shownSettled = new Set<string>();
  private isOurSettled = false;

  constructor(
    private readonly sinceMs: number,
    private readonly held: Held,
  ) {}

  /** Whether it shows what the record knows to have settled, or, where that is nothing, any payment of ours as settled. */
  get isSettledShown(): boolean {
    const { size } = this.held.settled;
    return size > 0 ? this.shownSettled.size === size : this.isOurSettled;
  }

  /** By its marks alone: what is not wanted is not held to the interface. What came in is where it bears a mark of ours. */
  isWanted({ bankInstructionId, bankPaymentId, direction, messageId, madeMs }: PaymentMarks): boolean {
    if (readMessageId(messageId ?? '') !== undefined) return true;
    if (direction === INWARD) return false;
    if (messageId === undefined) {
      const { unsent, settled } = this.held;
      return !this.isOld(madeMs) || unsent.has(bankInstructionId ?? '') || settled.has(bankPaymentId ?? '');
    }
    if (bankInstructionId !== undefined) this.strangers.add(ofInstruction(bankInstructionId));
    return false;
  }

  add(payment: DatedPaymentStatus): void {
    const { bankInstructionId, bankPaymentId, direction, status, datedMs } = payment;
    const instructionId = readMessageId(payment.messageId ?? '')?.instructionId;
    const isInward = direction === INWARD;
    const isSettled = status === 'SETTLED' && !isInward;
    if (isSettled && instructionId !== undefined) this.isOurSettled = true;
    if (isEnd(status) && this.held.settled.has(bankPaymentId)) this.shownSettled.add(bankPaymentId);
    const isNameless = bankInstructionId === undefined && instructionId === undefined;
    if (isNameless && this.isOld(datedMs)) return;
    const key = keyOf(payment, instructionId);
    const group = this.groupFor(key, payment, isInward);
    group.instructionId ??= instructionId;
    // The other side of what was sent is no payment more.
    if (isInward !== group.isInward) return;
    if (datedMs !== undefined) group.datedMs = Math.max(group.datedMs ?? datedMs, datedMs);
    group.payments += 1;
    if (isPastSubmit(status) && !isPastSubmit(group.one.status)) group.one = { ids: payment.ids, status };
    group.moved = mostSubmitted([group.moved ?? status, status]);
    group.isSettled ||= isSettled;
  }

  /** Nothing is added any more. @param mayGoOn undefined where it failed */
  end(mayGoOn: boolean | undefined): void {
    this.mayGoOn = mayGoOn;
    const all = [...this.groups.values()];
    this.sent = new Set(all.filter((group) => !group.isInward).map(({ instructionId }) => instructionId));
    for (const [key, group] of this.groups) {
      const { bankInstructionId, instructionId, datedMs, isInward } = group;
      const isForeign = instructionId === undefined && this.strangers.has(key);
      const isUnsent = this.held.unsent.has(bankInstructionId ?? instructionId ?? '');
      const isOtherSide = isInward && this.sent.has(instructionId);
      const isPast = this.isOld(datedMs) && !isUnsent;
      if (isPast && isShownBefore(group)) this.unsubmitted.push(group);
      if (isForeign || isOtherSide || isPast) this.groups.delete(key);
    }
    this.unsubmitted.splice(MOST_UNSUBMITTED);
  }

  /** By what tells one from another in any reading. */
  entries(): Iterable<[string, Group]> {
    return this.groups;
  }

  private isOld(ms: number | undefined): boolean {
    return ms !== undefined && ms < this.sinceMs;
  }

  /** The group of a payment; what was sent stands for what only came in before. */
  private groupFor(key: string, payment: DatedPaymentStatus, isInward: boolean): Group {
    const { bankInstructionId, ids, status, datedMs } = payment;
    const listed = this.groups.get(key);
    if (listed !== undefined && (isInward || !listed.isInward)) return listed;
    const group: Group = {
      bankInstructionId,
      instructionId: listed?.instructionId,
      one: { ids, status },
      payments: 0,
      datedMs,
      moved: undefined,
      isSettled: false,
      isInward,
    };
    this.groups.set(key, group);
    return group;
  }
}

/** Whether all of an instruction that a list shows as sent stands as before its submit. */
export function isShownBefore({ isInward, moved, one }: Group): boolean {
  return !isInward && moved === undefined && isBeforeSubmit(one.status);
}

/**
 * What the whole list and other readings, such as from a date on, show together, the youngest first; and whether the whole one
 * lacks some of it.
 */
export function joined(
  whole: RestoreList,
  others: readonly RestoreList[],
): { groups: Group[]; isLacking: boolean } {
  const groups = new Map(whole.entries());
  let isLacking = false;
  for (const [key, other] of others.flatMap((list) => [...list.entries()])) {
    // The other side of what was sent before the date.
    if (other.isInward && whole.sent.has(other.instructionId)) continue;
    const group = groups.get(key);
    if (group !== undefined && group.payments >= other.payments) continue;
    const moved = mostSubmitted([group?.moved, other.moved].filter((status) => status !== undefined));
    groups.set(key, { ...other, moved, isSettled: group?.isSettled === true });
    isLacking = true;
  }
  return { groups: [...groups.values()].sort(youngestFirst), isLacking };
}

/** Of one age those that the bank counted last; nothing says of what is shown without a date that it is old. */
function youngestFirst(one: Group, other: Group): number {
  const [made, madeOther] = [one.datedMs ?? Infinity, other.datedMs ?? Infinity];
  if (made !== madeOther) return made > madeOther ? -1 : 1;
  const [id, idOther] = [one.one.ids[0], other.one.ids[0]];
  if (id === idOther) return 0;
  return idOther.length - id.length || (id > idOther ? -1 : 1);
}

/** Payments with the same one are of one instruction; ids of different things may be equal. */
function keyOf(
  { bankInstructionId, bankPaymentId }: DatedPaymentStatus,
  instructionId: string | undefined,
): string {
  if (bankInstructionId !== undefined) return ofInstruction(bankInstructionId);
  return instructionId === undefined ? `payment ${bankPaymentId}` : `ours ${instructionId}`;
}

function ofInstruction(bankInstructionId: string): string {
  return `instruction ${bankInstructionId}`;
}
