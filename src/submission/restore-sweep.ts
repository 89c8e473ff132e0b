import { Injectable } from '@nestjs/common';
import { isHidden, isNotShown, isRequestRefused, isTooLong, unless } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { PaymentMarks } from '../bank/payment-marks';
import type { BankInstruction, BankPayment } from '../bank/records';
import { Database } from '../database/database';
import { isPastSubmit, mostSubmitted } from '../domain/bank-status';
import { INSTRUCTION_UNSENT, type InstructionStatus } from '../domain/instruction';
import { readMessageId } from '../pay-run/message-id';
import { readReference } from './prepared-calls';

/** Instructions read one by one after a restore, the youngest: fifty runs of ten thousand payments; more are left to people. */
const MOST_READS = 1_000;

/** An instruction at the bank that this service made, by its marks, and that the database does not know. */
export interface Unknown {
  /** Where the bank does not name it, by one of its payments (`namelessId`). */
  bankInstructionId: string;
  /** Our id of it, where its payments bear message ids. */
  instructionId: string | undefined;
  reference: string | undefined;
  debtorIban: string | undefined;
  /** The date that the bank shows of it; undefined where it shows none. */
  executionDate?: string;
  status: string;
  /** Whether it was submitted, as its status says. */
  submitted: boolean;
  /**
   * Whether it may have been all the same: no document names its status, or its payments are shown without it, which may
   * rest until somebody approves it.
   */
  isUnclear: boolean;
  payments: number;
}

/** A status of a known instruction, under whichever of its ids the list names. */
export interface Moved {
  bankInstructionId: string | undefined;
  instructionId: string | undefined;
  status: string;
}

/** What the bank's general list shows beside what the database knows. */
export interface Sweep {
  /** Whether the bank lets the list be read whole, to its end: from a date on it may leave out what has not settled. */
  readable: boolean;
  unknown: Unknown[];
  /** What the database knows, and the list shows past the submit, or so that it may be. */
  moved: Moved[];
  /** Ids of instructions, or of payments of none, of which nobody can tell whether this service made them, or for whom. */
  unidentified: string[];
  /** How many of these were not read singly, since so many younger ones are. */
  unread: number;
}

/**
 * The payments of one instruction, of which one stands for all, past its submit where one is: a list may hold half a million.
 */
interface Group {
  bankInstructionId: string | undefined;
  instructionId: string | undefined;
  one: Pick<BankPayment, 'ids' | 'status'>;
  payments: number;
  /** When the youngest was made, as far as the list shows it. */
  datedMs: number | undefined;
  /** A status of one that is past the submit, or that leaves it possible. */
  moved: string | undefined;
}

/** An instruction as the database has it. */
interface Recorded {
  id: string;
  bankInstructionId: string;
  status: InstructionStatus;
}

/** What the database has of groups. */
interface OnRecord {
  /** Whether the instruction's id at the bank or a payment's is stored for any employer. */
  has: (group: Group) => boolean;
  /** The one that message ids name: it may be another one at the bank, as a restored database opens it anew. */
  named: ReadonlyMap<string, Recorded>;
}

type ShowsNothing = (error: unknown) => boolean;

/** Reads the bank's general list for instructions of this service that a restored database has forgotten. */
@Injectable()
export class RestoreSweep {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
  ) {}

  /**
   * Everything made since `from`, as far as dates are shown, by all there is: of which date the bank's own bound is nobody
   * says, so by that the list is read only where it is not to be read whole. What the bank refuses is not known; of any
   * other answer that shows nothing the same is believed once such answers have lasted. @throws BankClientError that may
   * pass
   */
  async since(from: Date, lasted: boolean): Promise<Sweep> {
    const sweep: Sweep = { readable: true, unknown: [], moved: [], unidentified: [], unread: 0 };
    const showsNothing = lasted ? isNotShown : isHidden;
    const isNotWhole: ShowsNothing = (error) =>
      showsNothing(error) || isRequestRefused(error) || isTooLong(error);
    const whole = await unless(isNotWhole, this.list(from, {}));
    sweep.readable = whole !== undefined;
    const groups = whole ?? (await unless(showsNothing, this.list(from, { from: from.toISOString() }))) ?? [];
    let unknown = 0;
    const record = await this.recordOf(groups);
    for (const group of groups) {
      const isKnown = record.has(group);
      if (!isKnown) unknown += 1;
      const named = record.named.get(group.instructionId ?? '');
      const isLeft = !isKnown && unknown > MOST_READS;
      if (isLeft) sweep.unread += 1;
      const found = isKnown ? 'known' : isLeft ? undefined : await this.identify(group, named, showsNothing);
      if (found === undefined) sweep.unidentified.push(group.bankInstructionId ?? group.one.ids[0]);
      else if (found === 'known') sweep.moved.push(...movedOf(group));
      else if (found !== 'foreign') sweep.unknown.push(found);
    }
    return sweep;
  }

  /** The youngest first, without what is dated before `since` or bears the marks of somebody else. */
  private async list(since: Date, bounds: { from?: string }): Promise<Group[]> {
    const groups = new Map<string, Group>();
    const strangers = new Set<string>();
    const isWanted = (marks: PaymentMarks): boolean => {
      const { bankInstructionId, bankPaymentId, direction, messageId } = marks;
      if (direction === 'INWARD') return false;
      if (messageId === undefined || readMessageId(messageId) !== undefined) return true;
      strangers.add(keyOf({ bankInstructionId, bankPaymentId }, undefined));
      return false;
    };
    for await (const payment of this.gateway.listStatuses(bounds, isWanted)) {
      const instructionId = readMessageId(payment.messageId ?? '')?.instructionId;
      const key = keyOf(payment, instructionId);
      const { bankInstructionId, ids, status, datedMs } = payment;
      const begun = {
        bankInstructionId,
        instructionId,
        one: { ids, status },
        payments: 0,
        datedMs,
        moved: undefined,
      };
      const group: Group = groups.get(key) ?? begun;
      if (datedMs !== undefined) group.datedMs = Math.max(group.datedMs ?? datedMs, datedMs);
      group.instructionId ??= instructionId;
      group.payments += 1;
      if (isPastSubmit(status) && !isPastSubmit(group.one.status)) group.one = { ids, status };
      group.moved = mostSubmitted([group.moved ?? status, status]);
      groups.set(key, group);
    }
    return [...groups]
      .flatMap(([key, group]) => (group.instructionId === undefined && strangers.has(key) ? [] : [group]))
      .filter(({ datedMs }) => datedMs === undefined || datedMs >= since.getTime())
      .sort(youngestFirst);
  }

  private async recordOf(groups: readonly Group[]): Promise<OnRecord> {
    return this.database.asWorker(async (tx) => {
      const rows = await tx.query<{ id: string; bank_instruction_id: string; status: InstructionStatus }>(
        `SELECT id, bank_instruction_id, status FROM instruction
         WHERE bank_instruction_id = ANY ($1) OR id = ANY ($2) AND bank_instruction_id IS NOT NULL`,
        [
          groups.flatMap(({ bankInstructionId }) => bankInstructionId ?? []),
          groups.flatMap(({ instructionId }) => instructionId ?? []),
        ],
      );
      const payments = await tx.query<{ id: string }>(
        'SELECT bank_payment_id AS id FROM bank_payment WHERE bank_payment_id = ANY ($1)',
        [groups.map(({ one }) => one.ids[0])],
      );
      const instructions = rows.map(({ id, bank_instruction_id: bankInstructionId, status }) => ({
        id,
        bankInstructionId,
        status,
      }));
      const knownInstructions = new Set(instructions.map(({ bankInstructionId }) => bankInstructionId));
      const knownPayments = new Set(payments.map(({ id }) => id));
      return {
        has: ({ bankInstructionId, one }) =>
          knownInstructions.has(bankInstructionId ?? '') || knownPayments.has(one.ids[0]),
        named: new Map(instructions.map((recorded) => [recorded.id, recorded])),
      };
    });
  }

  /** Undefined where nobody can tell whose it is. */
  private async identify(
    group: Group,
    named: Recorded | undefined,
    showsNothing: ShowsNothing,
  ): Promise<Unknown | 'known' | 'foreign' | undefined> {
    const { payments, moved, one } = group;
    const { bankInstructionId, instructionId, marked } = await this.completed(group, showsNothing);
    // One payment that was read alone may be a stranger's in an instruction of ours: the reference is asked first.
    const unnamed = marked && instructionId === undefined ? 'foreign' : undefined;
    if (bankInstructionId === undefined && instructionId === undefined) return unnamed;
    const shown =
      bankInstructionId === undefined
        ? undefined
        : await unless(showsNothing, this.gateway.getInstruction(bankInstructionId));
    if (named !== undefined && isRecorded(named, { bankInstructionId, shown, moved })) return 'known';
    const reference = shown?.reference;
    if (instructionId === undefined) {
      if (reference === undefined) return unnamed;
      if (readReference(reference) === undefined) return 'foreign';
    }
    const most = mostSubmitted([shown?.status, moved].filter((status) => status !== undefined));
    const submitted = most !== undefined && isPastSubmit(most);
    return {
      bankInstructionId: bankInstructionId ?? namelessId(one.ids[0]),
      instructionId,
      reference,
      debtorIban: shown?.debtorIban,
      executionDate: shown?.executionDate,
      status: most ?? shown?.status ?? one.status,
      submitted,
      isUnclear: most === undefined ? shown === undefined : !submitted,
      payments,
    };
  }

  /** With what the payment that stands for it, read singly, shows beyond the list. */
  private async completed(
    group: Group,
    showsNothing: ShowsNothing,
  ): Promise<Pick<Group, 'bankInstructionId' | 'instructionId'> & { marked: boolean }> {
    const { bankInstructionId, instructionId, one } = group;
    if (bankInstructionId !== undefined && instructionId !== undefined) return { ...group, marked: true };
    const alone = await unless(showsNothing, this.gateway.getPayment(one.ids));
    return {
      bankInstructionId: bankInstructionId ?? alone?.bankInstructionId,
      instructionId: instructionId ?? readMessageId(alone?.messageId ?? '')?.instructionId,
      marked: instructionId !== undefined || alone?.messageId !== undefined,
    };
  }
}

/** What stands for the id of an instruction that the bank does not name; no id of the bank's has a space. */
function namelessId(bankPaymentId: string): string {
  return `payment ${bankPaymentId}`;
}

/** Whether the bank does not name an instruction, so that nothing can be read of it. */
export function isNameless(bankInstructionId: string): boolean {
  return bankInstructionId.startsWith(namelessId(''));
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
  { bankInstructionId, bankPaymentId }: Pick<PaymentMarks, 'bankInstructionId' | 'bankPaymentId'>,
  instructionId: string | undefined,
): string {
  if (bankInstructionId !== undefined) return `instruction ${bankInstructionId}`;
  return instructionId === undefined ? `payment ${bankPaymentId}` : `ours ${instructionId}`;
}

/**
 * Whether payments that name a recorded instruction are of that one at the bank: as the bank shows what they are of, or, where
 * it does not, as far as the record explains what it lists.
 */
function isRecorded(
  recorded: Recorded,
  {
    bankInstructionId,
    shown,
    moved,
  }: Pick<Group, 'bankInstructionId' | 'moved'> & { shown: BankInstruction | undefined },
): boolean {
  if (bankInstructionId === recorded.bankInstructionId) return true;
  if (shown !== undefined) return shown.bankInstructionId === recorded.bankInstructionId;
  const isGivenUp = recorded.status === 'ABANDONED' || recorded.status === 'RELEASED';
  if (bankInstructionId === undefined) return !isGivenUp || moved === undefined;
  return !isGivenUp && !INSTRUCTION_UNSENT.includes(recorded.status);
}

function movedOf({ bankInstructionId, instructionId, moved }: Group): Moved[] {
  return moved === undefined ? [] : [{ bankInstructionId, instructionId, status: moved }];
}
