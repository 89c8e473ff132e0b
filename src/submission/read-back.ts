import { Injectable } from '@nestjs/common';
import { echoFaultsOfInitiate } from '../bank/echo';
import {
  type BankClientError,
  isHiddenForGood,
  isPerhapsEmpty,
  NotFound,
  ReadFails,
  unless,
} from '../bank/errors';
import { type BankInstruction, type BankPayment, isFee } from '../bank/records';
import type { Turn } from '../bank/session';
import { Database } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { isBeforeSubmit, isPastSubmit, mayBeSubmitted } from '../domain/bank-status';
import { isOtherDate } from '../domain/shown-date';
import { BankReads } from '../employer/bank-reads';
import { DECIDED, InstructionAtBank } from '../employer/instruction-at-bank';
import { PaymentsAlone } from '../employer/payments-alone';
import { type Failing, restAsBefore, type Standing, statusesIn } from '../employer/standing';
import { ExpectedRow, Judgement, judgePayments, rowsById, totalsOf } from '../pay-run/match';
import { namesOf } from '../pay-run/message-id';
import { Concluded, conclude, judgeTotals, judgeUnsubmitted } from './decision';
import { knownPayments } from './known-payments';
import { isReferenceOf, referenceOf } from './prepared-calls';
import { expectedRows, PayableRow, Work } from './work';

/** Why nobody can tell whether somebody else submitted an instruction: unless said, it is not shown and its payments are. */
export interface Unclear {
  /** A status that no document names, which may be one past the submit. */
  unknown?: string;
  /** What the bank fails to show for good. */
  failing?: Failing;
}

/** What the bank shows of an instruction that is not submitted, held against its approved rows. */
export type ReadBack =
  | { kind: 'equal'; instruction?: BankInstruction; judgement: Judgement & { kind: 'equal' } }
  | Exclude<Concluded, { kind: 'equal' }>
  | { kind: 'wait'; bankStatus: string }
  | ({ kind: 'unclear' } & Unclear)
  | { kind: 'moved'; bankStatus: string }
  | { kind: 'dead'; bankStatus: string }
  | { kind: 'gone' };

/** What is not as it was approved, or not shown so. */
export type Otherwise = Exclude<ReadBack, { kind: 'equal' }>;

/** Whether an instruction was submitted by somebody else. */
export interface SubmittedBefore extends Unclear {
  moved?: string;
  isUnclear: boolean;
}

/** Reads an unsubmitted instruction whole: its status, its calculated totals, the full list of its payments. */
@Injectable()
export class InstructionReader {
  constructor(
    private readonly database: Database,
    private readonly reads: BankReads,
    private readonly alone: PaymentsAlone,
    private readonly personal: PersonalData,
  ) {}

  async readBack(work: Work, rows: readonly PayableRow[]): Promise<ReadBack> {
    const { account } = work;
    const bankInstructionId = work.instruction.bankInstructionId;
    if (bankInstructionId === null)
      throw new Error('an instruction without an id at the bank cannot be read');
    const instruction = await this.instruction(work, bankInstructionId);
    const shown = typeof instruction === 'object' ? [instruction.status] : [];
    // What was once seen past its submit stays so: its ladder only climbs, whatever an older read shows.
    const past = [...shown, work.instruction.bankStatus ?? ''].find(isPastSubmit);
    if (past !== undefined) return { kind: 'moved', bankStatus: past };
    // Payments of what fails to be shown may rest as they were until somebody approves what was submitted.
    if (instruction === 'gone' || (!instruction && account.reads.includes('INSTRUCTION')))
      return this.unshown(work, instruction);
    const state = instruction ? judgeUnsubmitted(instruction.status) : 'open';
    if (instruction && state !== 'open') return this.closed(work, instruction.status, state);
    return this.compared(work, rows, instruction);
  }

  /** What is told only by its payments: the bank says that there is none, or fails to show it for good. */
  private async unshown(work: Work, instruction: 'gone' | undefined): Promise<ReadBack> {
    const { statuses, untold } = await this.statusesOf(work, isGone);
    const told = movedAmong(statuses) ?? unclearAmong(statuses);
    if (told) return told;
    if (untold || !instruction) return { kind: 'unclear', failing: instruction ? 'payments' : 'instruction' };
    return { kind: restAsBefore(statuses) ? 'unclear' : 'gone' };
  }

  /** What cannot be submitted as it is shown, though a payment of it may have been. */
  private async closed(work: Work, bankStatus: string, kind: 'wait' | 'moved' | 'dead'): Promise<ReadBack> {
    const { statuses, untold } = await this.statusesOf(work, isHiddenForGood, true);
    const all = [bankStatus, ...statuses];
    const moved = movedAmong(all);
    if (moved || isBeforeSubmit(bankStatus)) return moved ?? { kind, bankStatus };
    return unclearAmong(all) ?? (untold ? { kind: 'unclear', failing: 'payments' } : { kind, bankStatus });
  }

  /** Its payments, held against its approved rows. */
  private async compared(
    work: Work,
    rows: readonly PayableRow[],
    instruction: BankInstruction | undefined,
  ): Promise<ReadBack> {
    const expected = expectedRows(work.instruction.id, rows);
    const bankIds = expected.map((row) => row.bankIds);
    const reading = this.reads.read(work.account, {
      bankInstructionId: work.instruction.bankInstructionId ?? '',
      createdAt: work.instruction.createdAt,
      bankIds,
      evenUnlisted: true,
      isNamedBy: namesOf(work.instruction.id),
    });
    // A bank may answer 404 where nothing is listed: that no payment is shown proves nothing either way.
    const isNone = (error: unknown) =>
      isGone(error) || (isPerhapsEmpty(error) && !instruction?.calculatedCount);
    const { found: seen = [], untold } = (await unless(isNone, reading)) ?? {};
    // What is shown as INITIATED was submitted by nobody, whatever else fails to be shown.
    if (untold && seen.length === 0 && !instruction && !isPerhapsEmpty(untold))
      throw new ReadFails('the payments of this instruction', untold);
    const statuses = statusesIn(seen, bankIds);
    // Where the instruction itself is not read, its payments alone tell whether it was submitted.
    const submitted = movedAmong(statuses) ?? (instruction ? undefined : unclearAmong(statuses));
    if (submitted) return submitted;
    const judgement = judgedWithFees(
      expected,
      await this.named(expected, seen),
      saysTotals(instruction) && totalsIn(work, instruction) === 'equal',
    );
    const otherwise = instruction ? this.announcedOtherwise(work, instruction) : [];
    const concluded = conclude(judgement, totalsIn(work, instruction), otherwise, instruction, this.personal);
    return concluded.kind === 'equal' ? { ...concluded, instruction } : concluded;
  }

  /**
   * Reads once more what was read back as approved: the instruction alone, or whole where that does not say that it stands.
   * @param turn for its one read
   * @param paymentsStand whether its payments were read so lately that totals which it does not show lack nothing
   * @returns nothing where it stands as it was approved
   * @throws BankClientError
   */
  async readAgain(
    work: Work,
    rows: readonly PayableRow[],
    turn: Turn,
    paymentsStand = false,
  ): Promise<Otherwise | undefined> {
    const instruction = await this.instruction(work, work.instruction.bankInstructionId ?? '', turn);
    if (typeof instruction === 'object') {
      const { status: bankStatus } = instruction;
      const state = judgeUnsubmitted(bankStatus);
      if (state === 'moved') return { kind: 'moved', bankStatus };
      if (state === 'open' && this.announcesAll(work, instruction, paymentsStand)) return undefined;
    }
    const reading = await this.readBack(work, rows);
    return reading.kind === 'equal' ? undefined : reading;
  }

  /** Whether the record alone says what was approved: totals that it does not show say nothing of what was added. */
  private announcesAll(work: Work, shown: BankInstruction, paymentsStand: boolean): boolean {
    if (!saysTotals(shown) && !paymentsStand) return false;
    return totalsIn(work, shown) === 'equal' && this.announcedOtherwise(work, shown).length === 0;
  }

  /**
   * Fields of the instruction itself that contradict what was initiated, of which its answer may have shown nothing (rule 14).
   */
  private announcedOtherwise(work: Work, shown: BankInstruction): string[] {
    const { account, planned, run } = work;
    const { reference, executionDate } = shown;
    const isOurs = reference !== undefined && isReferenceOf(work, reference);
    const fields = echoFaultsOfInitiate(
      {
        reference: isOurs ? reference : referenceOf(work, 1),
        count: planned.rowCount,
        totalMinor: planned.totalMinor,
        currency: run.currency,
        debtor: { iban: this.personal.open(account.ibanSealed) },
      },
      shown,
    );
    const isOther = executionDate !== undefined && isOtherDate(executionDate, run.executionDate);
    return isOther ? [...fields, 'executionDate'] : fields;
  }

  /** Where the list does not say which row in doubt a payment is, a read of it alone may. @throws BankClientError that may pass */
  private async named(
    expected: readonly ExpectedRow[],
    seen: readonly BankPayment[],
  ): Promise<readonly BankPayment[]> {
    if (expected.every(({ bankIds }) => bankIds.length > 0)) return seen;
    const known = rowsById(expected);
    const isKnown = ({ bankPaymentId }: BankPayment): boolean => known.has(bankPaymentId);
    const others = seen.filter((one) => !isKnown(one));
    return [...seen.filter(isKnown), ...(await this.alone.withMessageIds(others))];
  }

  /**
   * A status past the submit, of it or of one of its payments, now or when it was read before; and whether nobody can tell.
   * @throws BankClientError
   */
  async submittedBefore(work: Work): Promise<SubmittedBefore> {
    const { bankInstructionId, bankStatus } = work.instruction;
    if (bankInstructionId === null) return { isUnclear: false };
    if (bankStatus !== null && isPastSubmit(bankStatus)) return { moved: bankStatus, isUnclear: false };
    const { statuses, failing, isUnclear } = await this.standing(work);
    const moved = statuses.find(isPastSubmit);
    const unknown = moved === undefined ? statuses.find(mayBeSubmitted) : undefined;
    return { moved, isUnclear: isUnclear || unknown !== undefined, unknown, failing };
  }

  /** What the bank shows of whether the instruction was submitted. @throws BankClientError */
  async standing(work: Work): Promise<Standing> {
    return this.reads.standing(work.account, await this.atBank(work));
  }

  /**
   * @param showsNone which failures mean that the bank shows no payment of it
   * @param fewTell as `InstructionAtBank`
   */
  private async statusesOf(
    work: Work,
    showsNone: (error: unknown) => boolean,
    fewTell = false,
  ): Promise<{ statuses: string[]; untold?: BankClientError }> {
    const at = { ...(await this.atBank(work)), fewTell };
    const { found = [], untold } = (await unless(showsNone, this.reads.read(work.account, at))) ?? {};
    return { statuses: statusesIn(found, at.bankIds), untold };
  }

  private async atBank({ instruction }: Work): Promise<InstructionAtBank> {
    const bankIds = await this.database.inEmployer(instruction.employerId, (tx) =>
      knownPayments(tx, instruction),
    );
    return {
      bankInstructionId: instruction.bankInstructionId ?? '',
      createdAt: instruction.createdAt,
      bankIds,
      ...DECIDED,
      isNamedBy: namesOf(instruction.id),
    };
  }

  private async instruction(
    work: Work,
    bankInstructionId: string,
    turn?: Turn,
  ): Promise<BankInstruction | 'gone' | undefined> {
    try {
      return await this.reads.instruction(work.account, bankInstructionId, turn);
    } catch (error) {
      if (error instanceof NotFound) return 'gone';
      throw error;
    }
  }
}

function movedAmong(statuses: readonly string[]): ReadBack | undefined {
  const bankStatus = statuses.find(isPastSubmit);
  return bankStatus === undefined ? undefined : { kind: 'moved', bankStatus };
}

/** What shows a status that no document names may have been submitted. */
function unclearAmong(statuses: readonly string[]): ReadBack | undefined {
  const unknown = statuses.find(mayBeSubmitted);
  return unknown === undefined ? undefined : { kind: 'unclear', unknown };
}

/** What the bank shows where nobody can tell whether somebody else submitted an instruction, in words. */
export function shownUnclear({ unknown, failing }: Unclear): string {
  if (unknown !== undefined) return `the status ${unknown}, which no document names`;
  if (failing === undefined) return 'payments of this instruction and not the instruction';
  const what = failing === 'instruction' ? 'the instruction' : 'all payments of this instruction';
  return `an error again and again, and not ${what}`;
}

function totalsIn({ planned }: Work, shown: BankInstruction | undefined): 'equal' | 'fewer' | 'different' {
  return judgeTotals(totalsOf(planned), {
    count: shown?.calculatedCount,
    totalMinor: shown?.calculatedTotalMinor,
  });
}

function saysTotals(shown: BankInstruction | undefined): boolean {
  return shown?.calculatedCount !== undefined && shown.calculatedTotalMinor !== undefined;
}

/**
 * As `judgePayments`. A fee that the bank lists in an instruction is no payment of it where its totals leave it out, it names
 * no payee, and besides it all is as approved: anybody may add a payment and call it a fee.
 * @param totalsStand whether the instruction shows count and sum of the approved rows, and no more
 */
function judgedWithFees(
  expected: readonly ExpectedRow[],
  seen: readonly BankPayment[],
  totalsStand: boolean,
): Judgement {
  const judgement = judgePayments(expected, seen);
  if (judgement.kind === 'equal' || !totalsStand) return judgement;
  const withoutThem = judgePayments(
    expected,
    seen.filter((one) => !isFee(one) || one.iban !== undefined),
  );
  return withoutThem.kind === 'equal' ? withoutThem : judgement;
}

function isGone(error: unknown): boolean {
  return error instanceof NotFound;
}
