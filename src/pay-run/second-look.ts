import { Injectable } from '@nestjs/common';
import { isHiddenForGood, readEach, unless } from '../bank/errors';
import { Clock } from '../config/clock';
import { Database, EmployerTransaction } from '../database/database';
import {
  isEndedUnpaid,
  isLeftBeforeTaken,
  isPastSubmit,
  mayBeSubmitted,
  NOT_PROCESSABLE,
  standingOf,
  statusesShown,
} from '../domain/bank-status';
import { firstFew } from '../domain/first-few';
import { grouped } from '../domain/grouped';
import { INSTRUCTION_FOLLOWED } from '../domain/instruction';
import { lookAgain, mostMoved } from '../domain/replacement';
import { readToDecide } from '../employer/bank-problem';
import { BankReads } from '../employer/bank-reads';
import { DECIDED, type InstructionAtBank } from '../employer/instruction-at-bank';
import { EmployerAccount } from '../employer/employer.entity';
import { ReadsInParts } from '../employer/reads-in-parts';
import { MadeElsewhere, type Search } from './made-elsewhere';
import { messageIdOf, namesOf } from './message-id';
import { EndedInstruction, EndedPayment, instructionsOf } from './replaced.store';
import type { MovedPayment, SecondReading, UnseenPayment } from './second-reading';

/** What is read at once: an instruction, or the general list for all of an account. */
type Part = EndedInstruction | Search;

/** How all is read, each so. */
type ReadAll = (
  all: readonly Part[],
  read: (one: Part) => Promise<SecondReading>,
) => Promise<SecondReading[]>;

/**
 * Reads at the bank again what is to be paid by other payments, before anything is (protocol: before any repay the bank
 * is read again). Nothing is stored: whoever asked decides what follows.
 */
@Injectable()
export class SecondLook {
  private readonly inParts: ReadsInParts<Part, SecondReading>;

  constructor(
    private readonly database: Database,
    private readonly reads: BankReads,
    private readonly elsewhere: MadeElsewhere,
    clock: Clock,
  ) {
    this.inParts = new ReadsInParts(clock);
  }

  /**
   * @param isSearchKept whether the general list need not be read anew where it was within the hour, as for a gate before
   * @throws BankClientError while the bank cannot be read
   */
  async at(
    employerId: string,
    find: (tx: EmployerTransaction) => Promise<EndedInstruction[]>,
    { readAll = readEach, isSearchKept = false }: { readAll?: ReadAll; isSearchKept?: boolean } = {},
  ): Promise<SecondReading> {
    const { instructions, accounts } = await this.database.inEmployer(employerId, async (tx) => {
      const found = await find(tx);
      const own = found.length === 0 ? [] : await tx.manager.findBy(EmployerAccount, { employerId });
      return { instructions: found, accounts: new Map(own.map((account) => [account.id, account])) };
    });
    const accountOf = (accountId: string): EmployerAccount => {
      const account = accounts.get(accountId);
      if (!account) throw new Error('an instruction has no account');
      return account;
    };
    const searches = [...accounts.values()].flatMap((own) => this.elsewhere.searchFor(own, instructions));
    const readings = await readAll([...instructions, ...searches], async (part) => {
      if ('searched' in part) {
        return this.elsewhere.read(part, isSearchKept);
      }
      // What is hidden is no fault of the access by which everybody else is paid.
      const reading = this.read(accountOf(part.accountId), part);
      return (await unless(isHiddenForGood, reading)) ?? noneShown(part);
    });
    return {
      moved: readings.flatMap(({ moved }) => moved),
      unseen: eachOnce(readings.flatMap(({ unseen }) => unseen)),
    };
  }

  /**
   * As `at`, of some payments, for a person who decides on it: what one request has no time for is read by the next.
   * @throws Problem 503 BANK_UNREADABLE
   */
  ofPayments(employerId: string, paymentIds: readonly string[]): Promise<SecondReading> {
    return readToDecide(() =>
      this.at(employerId, (tx) => instructionsOf(tx, paymentIds), {
        readAll: (all, read) => this.inParts.each(all, read),
      }),
    );
  }

  private read(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    const isSubmitted = INSTRUCTION_FOLLOWED.includes(instruction.status);
    return isSubmitted ? this.submitted(account, instruction) : this.unsubmitted(account, instruction);
  }

  /** Each payment must be shown with the end it had. */
  private async submitted(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    const { instructionId, bankInstructionId, payments } = instruction;
    if (instruction.isShownOtherwise) return { moved: movedOf(instruction, SHOWN_OTHERWISE), unseen: [] };
    const { found } = await this.reads.read(account, atBank(instruction));
    const byId = grouped(found, (one) => one.bankPaymentId);
    // Two records may bear one message id.
    const byMessage = grouped(found, (one) => one.messageId ?? '');
    const reading: SecondReading = { moved: [], unseen: [] };
    for (const payment of payments) {
      const statuses = [
        ...(byId.get(payment.bankIds[0] ?? '') ?? []),
        ...(byMessage.get(messageIdOf(instructionId, payment.rowNo)) ?? []),
      ]
        .flatMap((one) => statusesShown(standingOf(one), one.wasSettled))
        .filter((status) => !isLeftAside(payment, status));
      const moved = payment.mayBeKept
        ? BACK_IN_PART
        : mostMoved(statuses.filter((status) => lookAgain(payment, status) === 'moved'));
      if (statuses.length === 0) reading.unseen.push(...unseenOf(instruction, [payment]));
      else if (moved !== undefined)
        reading.moved.push({
          paymentId: payment.paymentId,
          instructionId,
          bankInstructionId,
          bankStatus: moved,
        });
    }
    return reading;
  }

  /** What was abandoned, void or released must not have got past a submit; gone or cancelled is how it should be. */
  private async unsubmitted(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    const { statuses, isUnclear } = await this.reads.standing(account, atBank(instruction));
    const bankStatus = mostMoved(statuses.filter(isPastSubmit));
    // A status that no document names says neither that it was submitted nor that it was not. What was abandoned for it is
    // asked about before.
    const isOpen = instruction.status === 'VOID' || instruction.status === 'RELEASED';
    const unseen = isUnclear || (isOpen && statuses.some(mayBeSubmitted));
    if (bankStatus !== undefined) return { moved: movedOf(instruction, bankStatus), unseen: [] };
    if (unseen) return noneShown(instruction);
    // That it is gone, or as before its submit, proves nothing of what was shown past that.
    const sighted = statuses.some(isEndedUnpaid)
      ? []
      : instruction.payments.filter(({ hasMoved }) => hasMoved);
    return { moved: [], unseen: unseenOf(instruction, sighted) };
  }
}

/** Instead of a status, in words: what became of the others of such an instruction is not certain. */
const SHOWN_OTHERWISE = 'a payment otherwise than it was sent';

/** Instead of a status, too. */
const BACK_IN_PART = 'less as returned than was paid';

function movedOf(
  { instructionId, bankInstructionId, payments }: EndedInstruction,
  bankStatus: string,
): MovedPayment[] {
  return payments.map(({ paymentId }) => ({ paymentId, instructionId, bankInstructionId, bankStatus }));
}

function atBank({
  instructionId,
  bankInstructionId,
  createdAt,
  payments,
}: EndedInstruction): InstructionAtBank {
  return {
    bankInstructionId,
    createdAt,
    bankIds: payments.map((payment) => payment.bankIds),
    ...DECIDED,
    isNamedBy: namesOf(instructionId),
  };
}

/** A list that leaves its group out does not show what became of a payment that was not processable. */
function isLeftAside({ bankStatus }: EndedPayment, status: string): boolean {
  return bankStatus === NOT_PROCESSABLE && isLeftBeforeTaken(status);
}

function noneShown(instruction: EndedInstruction): SecondReading {
  return { moved: [], unseen: unseenOf(instruction, instruction.payments) };
}

function unseenOf(
  { instructionId, bankInstructionId }: EndedInstruction,
  hidden: readonly EndedPayment[],
): UnseenPayment[] {
  return hidden
    .filter(({ byWord }) => !byWord)
    .map(({ paymentId }) => ({ paymentId, instructionId, bankInstructionId }));
}

/** Neither its own list nor the general one may show it any more. */
function eachOnce(unseen: readonly UnseenPayment[]): UnseenPayment[] {
  return [...new Map(unseen.map((one) => [`${one.instructionId} ${one.paymentId}`, one])).values()];
}

/** Old instructions named in a question; of more their number is told. */
const INSTRUCTIONS_NAMED = 20;

/** The bank's ids of what held the payments, as a question names them. */
export function namesOfUnseen(unseen: readonly UnseenPayment[]): string[] {
  return firstFew([...new Set(unseen.map(nameOf))].sort(), INSTRUCTIONS_NAMED);
}

/** Whether a question names the instruction that held the payment. */
export function namedIn(question: string, payment: UnseenPayment): boolean {
  return question.includes(nameOf(payment));
}

function nameOf({ bankInstructionId }: UnseenPayment): string {
  return `"${bankInstructionId}"`;
}
