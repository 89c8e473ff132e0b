import { Injectable } from '@nestjs/common';
import { isBankError, isHiddenForGood, readEach, unless } from '../bank/errors';
import type { BankPayment } from '../bank/records';
import { Clock } from '../config/clock';
import { Database, EmployerTransaction } from '../database/database';
import {
  isLeftBeforeTaken,
  isPastSubmit,
  isUndocumented,
  mayBeSubmitted,
  mayBeTaken,
  NOT_PROCESSABLE,
} from '../domain/bank-status';
import { firstFew } from '../domain/first-few';
import { grouped } from '../domain/grouped';
import { INSTRUCTION_FOLLOWED } from '../domain/instruction';
import { isLeftToInstruction, lookAgain, mostMoved } from '../domain/replacement';
import { readToDecide } from '../employer/bank-problem';
import { BankReads } from '../employer/bank-reads';
import { DECIDED, type InstructionAtBank, sightedBy } from '../employer/instruction-at-bank';
import { EmployerAccount } from '../employer/employer.entity';
import { ReadsInParts } from '../employer/reads-in-parts';
import type { Alarm } from './attention.store';
import { ATTENTION_WORDS } from './attention-words';
import { MadeElsewhere, type Search } from './made-elsewhere';
import { messageIdOf, namesOf } from './message-id';
import { EndedInstruction, EndedPayment, instructionsOf } from './replaced.store';
import type { MovedPayment, SecondReading, UnseenPayment } from './second-reading';
import { BACK_IN_PART, isSightLeft, movedBy, statusesOf } from './shown-again';

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
   * @throws BankClientError while the bank cannot be read, and shows none that moved
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
    const moved: MovedPayment[] = [];
    const read = async (part: Part): Promise<SecondReading> => {
      const reading =
        'searched' in part
          ? await this.elsewhere.read(part, isSearchKept)
          : await this.read(accountOf(part.accountId), part);
      moved.push(...reading.moved);
      return reading;
    };
    try {
      const readings = await readAll([...instructions, ...searches], read);
      return {
        moved: readings.flatMap((reading) => reading.moved),
        unseen: eachOnce(readings.flatMap(({ unseen }) => unseen)),
      };
    } catch (error) {
      // What one part shows holds whatever another fails with, and is told before the bank may show it no more.
      if (!isBankError(error) || moved.length === 0) throw error;
      return { moved, unseen: [] };
    }
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

  private async read(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    if (INSTRUCTION_FOLLOWED.includes(instruction.status)) return this.submitted(account, instruction);
    // What is hidden is no fault of the access by which everybody else is paid.
    const reading = this.unsubmitted(account, instruction);
    return (await unless(isHiddenForGood, reading)) ?? noneShown(instruction);
  }

  /**
   * Each payment must be shown with the end it had. What was declared, and rests as before, by its instruction too: the bank
   * may show by that alone that it went on.
   */
  private async submitted(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    const { payments } = instruction;
    if (instruction.isShownOtherwise) {
      const moved = movedOf(instruction, SHOWN_OTHERWISE).map((one) => ({ ...one, isAsked: true }) as const);
      return { moved, unseen: [] };
    }
    const { asked, sights } = sightedBy(atBank(instruction));
    try {
      const found = (await unless(isHiddenForGood, this.reads.read(account, asked)))?.found ?? [];
      return await this.judged(account, instruction, found, sights);
    } catch (error) {
      const seenOf = recordsIn(sights, instruction);
      const moved = payments.flatMap((payment) => movedIn(instruction, payment, seenOf(payment)) ?? []);
      if (!isBankError(error) || moved.length === 0) throw error;
      return { moved, unseen: [] };
    }
  }

  /** @param found by what was read to its end, which alone tells how a payment ended @param sights all that was shown */
  private async judged(
    account: EmployerAccount,
    instruction: EndedInstruction,
    found: readonly BankPayment[],
    sights: readonly BankPayment[],
  ): Promise<SecondReading> {
    const [recordsOf, seenOf] = [recordsIn(found, instruction), recordsIn(sights, instruction)];
    const shown = instruction.payments.map((payment) => {
      const statuses = statusesOf(recordsOf(payment)).filter((status) => !isLeftAside(payment, status));
      return { payment, statuses, isLeft: isLeftToInstruction(payment, statuses) };
    });
    const own = shown.some(({ isLeft }) => isLeft) ? await this.ownStatus(account, instruction) : undefined;
    const reading: SecondReading = { moved: [], unseen: [] };
    for (const { payment, statuses, isLeft } of shown) {
      const isOn = isLeft && own !== undefined && mayBeTaken(own) && !payment.decidedStatuses.includes(own);
      const records = [...recordsOf(payment), ...seenOf(payment)];
      const moved = movedIn(instruction, payment, records, isOn && !isUndocumented(own) ? [own] : []);
      if (moved) reading.moved.push(moved);
      else if (payment.mayBeKept)
        reading.moved.push(asMoved(instruction, payment, { bankStatus: BACK_IN_PART }));
      else if (statuses.length === 0 || isOn || isSightLeft(payment, payment.hasMoved, statuses))
        reading.unseen.push(...unseenOf(instruction, [payment]));
    }
    return reading;
  }

  /** The status of an instruction that was submitted; undefined where the bank does not show it. */
  private async ownStatus(
    account: EmployerAccount,
    { bankInstructionId }: EndedInstruction,
  ): Promise<string | undefined> {
    const shown = await unless(isHiddenForGood, this.reads.instruction(account, bankInstructionId));
    return shown?.status;
  }

  /** What was abandoned, void or released must not have got past a submit; gone or cancelled is how it should be. */
  private async unsubmitted(account: EmployerAccount, instruction: EndedInstruction): Promise<SecondReading> {
    const at = atBank(instruction);
    const sighted = instruction.payments.filter(({ hasMoved }) => hasMoved);
    let found: readonly BankPayment[] = [];
    const { statuses, isUnclear } = await this.reads.standing(account, at, async (asked) => {
      const read = await this.reads.read(account, {
        ...asked,
        byAnyList: true,
        fewTell: sighted.length === 0,
      });
      found = read.found;
      return read;
    });
    const bankStatus = mostMoved(statuses.filter(isPastSubmit));
    // A status that no document names says neither that it was submitted nor that it was not. What was abandoned for it is
    // asked about before.
    const isOpen = instruction.status === 'VOID' || instruction.status === 'RELEASED';
    const unseen = isUnclear || (isOpen && statuses.some(mayBeSubmitted));
    if (bankStatus !== undefined) return { moved: movedOf(instruction, bankStatus), unseen: [] };
    if (unseen) return noneShown(instruction);
    // That it is gone, or as before its submit, proves nothing of what was shown past that.
    const recordsOf = recordsIn(found, instruction);
    const left = sighted.filter((payment) => isSightLeft(payment, true, statusesOf(recordsOf(payment))));
    return { moved: [], unseen: unseenOf(instruction, left) };
  }
}

/** What was found of a payment, by its id or its message id: two records may bear one. */
function recordsIn(
  found: readonly BankPayment[],
  { instructionId }: EndedInstruction,
): (payment: EndedPayment) => BankPayment[] {
  const byId = grouped(found, (one) => one.bankPaymentId);
  const byMessage = grouped(found, (one) => one.messageId ?? '');
  return ({ bankIds, rowNo }) => [
    ...(byId.get(bankIds[0] ?? '') ?? []),
    ...(byMessage.get(messageIdOf(instructionId, rowNo)) ?? []),
  ];
}

/** How a payment has moved by records of it, and by what of its instruction moves it too; undefined where it has not. */
function movedIn(
  instruction: EndedInstruction,
  payment: EndedPayment,
  records: readonly BankPayment[],
  byInstruction: readonly string[] = [],
): MovedPayment | undefined {
  const statuses = statusesOf(records).filter(
    (status) => !isLeftAside(payment, status) && lookAgain(payment, status) === 'moved',
  );
  const by = movedBy(payment, records, [...statuses, ...byInstruction]);
  return by && asMoved(instruction, payment, by);
}

function asMoved(
  { instructionId, bankInstructionId }: EndedInstruction,
  { paymentId }: EndedPayment,
  by: Pick<MovedPayment, 'bankStatus' | 'backMinor'>,
): MovedPayment {
  const asked = by.bankStatus === BACK_IN_PART && ({ isAsked: true } as const);
  return { paymentId, instructionId, bankInstructionId, ...by, ...asked };
}

/** Instead of a status, in words: what became of the others of such an instruction is not certain. */
const SHOWN_OTHERWISE = 'a payment otherwise than it was sent';

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
    .map(({ paymentId, hasMovedInPart }) => ({
      paymentId,
      instructionId,
      bankInstructionId,
      ...(hasMovedInPart && { isInPart: true }),
    }));
}

/** Neither its own list nor the general one may show it any more. */
function eachOnce(unseen: readonly UnseenPayment[]): UnseenPayment[] {
  return [...new Map(unseen.map((one) => [`${one.instructionId} ${one.paymentId}`, one])).values()];
}

/** Old instructions named in a question; of more their number is told. */
const INSTRUCTIONS_NAMED = 20;

const { REPLACED_UNSEEN } = ATTENTION_WORDS;

/** The bank's ids of what held the payments, as a question names them. */
export function namesOfUnseen(unseen: readonly UnseenPayment[]): string[] {
  return firstFew([...new Set(unseen.map(nameOf))].sort(), INSTRUCTIONS_NAMED);
}

/** The question about such payments, without its numbers. @param who would pay them again @param certain where it is not the usual */
export function questionOfUnseen(
  who: string,
  unseen: readonly UnseenPayment[],
  certain: string = REPLACED_UNSEEN.certain,
): Pick<Alarm, 'happened' | 'certain' | 'askBank'> & { bankReference: string } {
  const names = namesOfUnseen(unseen).join(', ');
  const happened = `${who} ${unseen.length} payments that the bank does not show as they ended now, or in a status that no document names, of customer instruction ${names}.`;
  const inPart = unseen.filter(({ isInPart }) => isInPart).length;
  if (inPart === 0) return { bankReference: names, happened, certain };
  return {
    bankReference: names,
    happened: `${happened} Less came back of ${inPart} of them than was paid, as the bank shows or has shown.`,
    certain: `${certain} Of what came back in part NOT_PAID says, too, that its payee kept nothing. Else leave it out: what is still owed is paid as another kind of pay.`,
    askBank: `${REPLACED_UNSEEN.askBank} Where less came back to our account than was paid: who charged the rest, or did its payee keep it?`,
  };
}

/** Whether a question names the instruction that held the payment. */
export function namedIn(question: string, payment: UnseenPayment): boolean {
  return question.includes(nameOf(payment));
}

function nameOf({ bankInstructionId }: UnseenPayment): string {
  return `"${bankInstructionId}"`;
}
