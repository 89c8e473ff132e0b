import { Injectable } from '@nestjs/common';
import { isHidden, isNotShown, isRequestRefused, NotFound, unless } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { PaymentMarks } from '../bank/payment-marks';
import type { BankPayment } from '../bank/records';
import { Database } from '../database/database';
import { mostSubmitted } from '../domain/bank-status';
import { readMessageId } from '../pay-run/message-id';
import { readReference } from './prepared-calls';

/** Instructions read one by one after a restore: fifty runs of ten thousand payments; more are left to people. */
const MOST_READS = 1_000;

/** An instruction at the bank that this service made, by its marks, and that the database does not know. */
export interface Unknown {
  /** Where the bank does not name it, by one of its payments (`namelessId`). */
  bankInstructionId: string;
  /** Our id of it, where its payments bear message ids. */
  instructionId: string | undefined;
  reference: string | undefined;
  debtorIban: string | undefined;
  status: string;
  /** Whether it was submitted, or may have been as far as its status says. */
  submitted: boolean;
  /** Whether it may have been all the same: payments shown without their instruction may rest until somebody approves it. */
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
  /** Whether the bank lets the list be read, to its end. */
  readable: boolean;
  unknown: Unknown[];
  /** What the database knows, and the list shows past the submit, or so that it may be. */
  moved: Moved[];
  /** Ids of instructions, or of payments of none, of which nobody can tell whether this service made them, or for whom. */
  unidentified: string[];
}

/** The payments of one instruction, of which the first stands for all: a list may hold half a million. */
interface Group {
  bankInstructionId: string | undefined;
  instructionId: string | undefined;
  first: Pick<BankPayment, 'ids' | 'status'>;
  payments: number;
  /** A status of one that is past the submit, or that leaves it possible. */
  moved: string | undefined;
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
   * Everything since `from`, or all there is where the bank refuses to begin there. What it refuses is not known; of
   * any other answer that shows nothing the same is believed once such answers have lasted. @throws BankClientError
   * that may pass
   */
  async since(from: Date, lasted: boolean): Promise<Sweep> {
    const sweep: Sweep = { readable: true, unknown: [], moved: [], unidentified: [] };
    const showsNothing = lasted ? isNotShown : isHidden;
    const groups = await unless(showsNothing, this.listed(from));
    if (groups === undefined) return { ...sweep, readable: false };
    let reads = 0;
    const isKnown = await this.known(groups);
    sweep.moved = groups.filter(isKnown).flatMap(movedOf);
    for (const group of groups) {
      if (isKnown(group)) continue;
      reads += 1;
      const found = reads > MOST_READS ? undefined : await this.identify(group, showsNothing);
      if (found === undefined) sweep.unidentified.push(group.bankInstructionId ?? group.first.ids[0]);
      else if (found !== 'foreign') sweep.unknown.push(found);
    }
    return sweep;
  }

  private async listed(from: Date): Promise<Group[]> {
    try {
      return await this.list({ from: from.toISOString() });
    } catch (error) {
      // Of a list that holds nothing since then a bank may say that there is none.
      if (isRequestRefused(error) || error instanceof NotFound) return this.list({});
      throw error;
    }
  }

  /** Without what bears the marks of somebody else. */
  private async list(bounds: { from?: string }): Promise<Group[]> {
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
      const { bankInstructionId, ids, status } = payment;
      const begun = {
        bankInstructionId,
        instructionId,
        first: { ids, status },
        payments: 0,
        moved: undefined,
      };
      const group: Group = groups.get(key) ?? begun;
      group.instructionId ??= instructionId;
      group.payments += 1;
      group.moved = mostSubmitted([group.moved ?? status, status]);
      groups.set(key, group);
    }
    return [...groups].flatMap(([key, group]) =>
      group.instructionId === undefined && strangers.has(key) ? [] : [group],
    );
  }

  /** Whether the instruction's id at the bank or a payment's is stored for any employer. */
  private async known(groups: readonly Group[]): Promise<(group: Group) => boolean> {
    return this.database.asWorker(async (tx) => {
      const instructions = await tx.query<{ id: string }>(
        `SELECT unnest(ARRAY[bank_instruction_id, id::text]) AS id FROM instruction
         WHERE bank_instruction_id = ANY ($1) OR id = ANY ($2) AND bank_instruction_id IS NOT NULL`,
        [
          groups.flatMap(({ bankInstructionId }) => bankInstructionId ?? []),
          groups.flatMap(({ instructionId }) => instructionId ?? []),
        ],
      );
      const payments = await tx.query<{ id: string }>(
        'SELECT bank_payment_id AS id FROM bank_payment WHERE bank_payment_id = ANY ($1)',
        [groups.map(({ first }) => first.ids[0])],
      );
      const knownInstructions = new Set(instructions.map(({ id }) => id));
      const knownPayments = new Set(payments.map(({ id }) => id));
      return ({ bankInstructionId, instructionId, first }) =>
        knownInstructions.has(bankInstructionId ?? '') ||
        knownInstructions.has(instructionId ?? '') ||
        knownPayments.has(first.ids[0]);
    });
  }

  /** Undefined where nobody can tell whose it is. */
  private async identify(group: Group, showsNothing: ShowsNothing): Promise<Unknown | 'foreign' | undefined> {
    const { payments, moved, first } = group;
    const { bankInstructionId, instructionId, marked } = await this.completed(group, showsNothing);
    // One payment that was read alone may be a stranger's in an instruction of ours: the reference is asked first.
    const unnamed = marked && instructionId === undefined ? 'foreign' : undefined;
    if (bankInstructionId === undefined && instructionId === undefined) return unnamed;
    const shown =
      bankInstructionId === undefined
        ? undefined
        : await unless(showsNothing, this.gateway.getInstruction(bankInstructionId));
    const reference = shown?.reference;
    if (instructionId === undefined) {
      if (reference === undefined) return unnamed;
      if (readReference(reference) === undefined) return 'foreign';
    }
    const submitted = mostSubmitted([shown?.status, moved].filter((status) => status !== undefined));
    return {
      bankInstructionId: bankInstructionId ?? namelessId(first.ids[0]),
      instructionId,
      reference,
      debtorIban: shown?.debtorIban,
      status: submitted ?? shown?.status ?? first.status,
      submitted: submitted !== undefined,
      isUnclear: submitted === undefined && shown === undefined,
      payments,
    };
  }

  /** With what its first payment, read singly, shows beyond the list. */
  private async completed(
    group: Group,
    showsNothing: ShowsNothing,
  ): Promise<Pick<Group, 'bankInstructionId' | 'instructionId'> & { marked: boolean }> {
    const { bankInstructionId, instructionId, first } = group;
    if (bankInstructionId !== undefined && instructionId !== undefined) return { ...group, marked: true };
    const alone = await unless(showsNothing, this.gateway.getPayment(first.ids));
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

/** Payments with the same one are of one instruction; ids of different things may be equal. */
function keyOf(
  { bankInstructionId, bankPaymentId }: Pick<PaymentMarks, 'bankInstructionId' | 'bankPaymentId'>,
  instructionId: string | undefined,
): string {
  if (bankInstructionId !== undefined) return `instruction ${bankInstructionId}`;
  return instructionId === undefined ? `payment ${bankPaymentId}` : `ours ${instructionId}`;
}

function movedOf({ bankInstructionId, instructionId, moved }: Group): Moved[] {
  return moved === undefined ? [] : [{ bankInstructionId, instructionId, status: moved }];
}
