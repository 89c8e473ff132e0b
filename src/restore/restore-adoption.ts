import { Inject, Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { BankGateway } from '../bank/gateway';
import { type BankInstruction, isOwnEntry } from '../bank/records';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { isPastSubmit, mostSubmitted, shownAs, statusesShown } from '../domain/bank-status';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { INSTRUCTION_UNSENT, isInstructionLive } from '../domain/instruction';
import { PAY_RUN_GOING_ON } from '../domain/pay-run';
import { BankReads } from '../employer/bank-reads';
import { PaymentsAlone } from '../employer/payments-alone';
import { EmployerAccount } from '../employer/employer.entity';
import { isOfAnotherUnit, OTHER_UNIT } from '../employer/readiness';
import { clear, clearAttempt, clearGate } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import {
  endUnsubmitted,
  lockInstruction,
  plannedInstructions,
  planTheRest,
} from '../pay-run/instruction.store';
import {
  beyond,
  differencesIn,
  judgeGroups,
  judgePayments,
  rowsById,
  SeenPayment,
  sumOf,
  Totals,
} from '../pay-run/match';
import { namesOf } from '../pay-run/message-id';
import { retellInMidRun } from '../pay-run/mid-run';
import { PayRun } from '../pay-run/pay-run.entity';
import { tellWhereReleasedSince } from '../pay-run/moved-instruction';
import { findRun, lockRun, moveRun, openAmendment } from '../pay-run/pay-run.store';
import { endUnclear, stopUnclear, totalsDiffer } from '../pay-run/stop';
import { judgeTotals } from '../submission/decision';
import { readReference } from '../submission/prepared-calls';
import { takenIds, wordsOfTaken } from '../submission/taken-ids';
import { expectedRows, hashOfRows, PayableRow, payableRows, Work } from '../submission/work';
import { ForgottenRecord } from './forgotten-record';
import { isNameless } from './restore-sweep';

/** An instruction the bank shows as submitted, or so that it may be, and the database does not. */
export interface Forgotten {
  bankInstructionId: string;
  /** Our id of it, as the database or the message ids of its payments have it. */
  instructionId: string | undefined;
  payRunId: string;
  /** Where the database does not know the instruction, this says which planned one it was. */
  reference: string | undefined;
  /** Whether two people have the bank's written word that it was executed. */
  isSaidExecuted: boolean;
}

/** Who writes a submit down after the fact, for the record. */
export interface Occasion {
  /** Beside every line that is written. */
  evidence: string;
  /** How it comes that a submit is not in the record. */
  cause: string;
  /** Whether what was verified may be taken over otherwise than it was approved, so that everything stops. */
  mayDiffer: boolean;
  /** Whether people have the bank's written word that it was executed, where its status does not say so. */
  isSaid: boolean;
}

const AFTER_RESTORE: Omit<Occasion, 'isSaid'> = {
  evidence: 'seen at the bank after a restore',
  cause: 'The restored database had forgotten that it was submitted',
  mayDiffer: true,
};

const OTHER_ID = 'the database has another id of it';
const REASON = 'the bank shows it as submitted, which is not in the record';

/** What the bank shows of an instruction, held whole against the rows that were approved. */
interface Evidence {
  rows: PayableRow[];
  matched: ReadonlyMap<number, SeenPayment>;
  shown: BankInstruction | undefined;
  /** A status of it or of one of its payments that is past the submit, or that no document names, so that it may be. */
  status: string;
  /** What of it is not as it was approved. */
  differs: string | undefined;
  /** What its totals are beyond the approved ones, where they tell. */
  beyond?: Totals;
  /** Whether a payment that was settled is shown as something else by now. */
  isUnsettled: boolean;
}

interface ForgottenWork extends Work {
  /** Whether it is certain that it was built of the version that stands. */
  isOfVersion: boolean;
  /** Whether the database has it under another id at the bank: what is known there by that is not of this one. */
  isOther: boolean;
}

/** An instruction of a run, and what the bank shows of it. */
export interface Look {
  forgotten: Forgotten;
  work: ForgottenWork;
  evidence: Evidence;
}

/**
 * Takes into the record what it lacks, be it that a restored database has forgotten it: an instruction that the bank
 * shows as submitted and whose every payment there is the approved row. Anything less is left to people, except in a
 * run that is being submitted: it can only go on, so what it had verified is followed as it is, and everything stops.
 */
@Injectable()
export class RestoreAdoption {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly reads: BankReads,
    private readonly alone: PaymentsAlone,
    private readonly personal: PersonalData,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'BANK_AMOUNT_UNIT'>,
  ) {}

  /** @returns why it was not adopted, or undefined when it was. @throws BankClientError */
  async adopt(employerId: string, forgotten: Forgotten): Promise<string | undefined> {
    const work = await this.workOf(employerId, forgotten);
    if (typeof work === 'object' && work.isOther) return OTHER_ID;
    const look = await this.lookAt(employerId, forgotten, work);
    if (look === undefined || typeof look === 'string') return look;
    const occasion = { ...AFTER_RESTORE, isSaid: forgotten.isSaidExecuted };
    return this.database.inEmployer(employerId, async (tx) => {
      const refusal = await this.record(tx, look, occasion);
      if (refusal === undefined) await tellWhereReleasedSince(tx, forgotten.bankInstructionId, look.work.run);
      return refusal;
    });
  }

  /**
   * Reads the bank, and writes nothing.
   * @returns why nothing can be told of it, or undefined where it was adopted. @throws BankClientError
   */
  async look(employerId: string, forgotten: Forgotten): Promise<Look | string | undefined> {
    return this.lookAt(employerId, forgotten, await this.workOf(employerId, forgotten));
  }

  private workOf(employerId: string, forgotten: Forgotten): Promise<ForgottenWork | string | undefined> {
    return this.database.inEmployer(employerId, async (tx) =>
      (await wasAdopted(tx, forgotten)) ? undefined : workOf(tx, forgotten),
    );
  }

  private async lookAt(
    employerId: string,
    forgotten: Forgotten,
    work: ForgottenWork | string | undefined,
  ): Promise<Look | string | undefined> {
    if (work === undefined || typeof work === 'string') return work;
    if (isNameless(forgotten.bankInstructionId)) return 'the bank does not name it';
    if (isOfAnotherUnit(work.account, this.config)) return OTHER_UNIT;
    const evidence = await this.evidenceOf(employerId, work, forgotten.bankInstructionId);
    return typeof evidence === 'string' ? evidence : { forgotten, work, evidence };
  }

  private async evidenceOf(
    employerId: string,
    { isOther, ...work }: ForgottenWork,
    bankInstructionId: string,
  ): Promise<Evidence | string> {
    const { planned, account, instruction } = work;
    const rows = await this.database.inEmployer(employerId, (tx) =>
      payableRows(tx, this.personal, isOther ? { planned } : work),
    );
    if (!hashOfRows(rows).equals(planned.rowHash)) return 'the approved rows are not as they were approved';
    const expected = expectedRows(instruction.id, rows);
    const known = rowsById(expected);
    const shown = await this.reads.instructionIfShown(account, bankInstructionId);
    const listed = await this.reads.payments(account, {
      bankInstructionId,
      createdAt: work.run.createdAt,
      bankIds: expected.map((row) => row.bankIds),
      isNamedBy: namesOf(instruction.id),
    });
    // What the bank books by itself pays nobody: whoever follows the instruction asks what it is.
    const payments = listed.filter((one) => known.has(one.bankPaymentId) || !isOwnEntry(one));
    const isKnown = payments.every(({ bankPaymentId }) => known.has(bankPaymentId));
    const seen = isKnown ? payments : await this.alone.withMessageIds(payments);
    const ofPayments = seen.flatMap((one) => statusesShown(one.status, one.wasSettled));
    const statuses = [shown?.status, ...ofPayments, instruction.bankStatus].filter(
      (status) => status != null,
    );
    const status = mostSubmitted(statuses);
    if (status === undefined) return 'the bank does not show it as submitted';
    const judgement = judgePayments(expected, seen);
    const isUnsettled = seen.some(({ status, wasSettled }) => wasSettled && status !== 'SETTLED');
    const unmatched = { rows, matched: new Map<number, SeenPayment>(), shown, status, isUnsettled };
    if (judgement.kind !== 'equal')
      return { ...unmatched, differs: textOfFirstFew(differencesIn(judgement, this.personal), MOST_NAMED) };
    const taken = await takenIds(this.database, instruction, judgement.matched);
    if (taken.length > 0) return { ...unmatched, differs: wordsOfTaken(taken) };
    const totals = { count: planned.rowCount, totalMinor: planned.totalMinor };
    const calculated = { count: shown?.calculatedCount, totalMinor: shown?.calculatedTotalMinor };
    // Groups may be filling still, or hold no more what has settled or failed.
    const groupsDiffer = judgeGroups(totals, shown?.groups, 'filling') === 'different';
    const held = { ...unmatched, matched: judgement.matched };
    if (!groupsDiffer && judgeTotals(totals, calculated) === 'equal') return { ...held, differs: undefined };
    const { count = totals.count, totalMinor = totals.totalMinor } = calculated;
    const shownTotals = groupsDiffer ? sumOf(shown?.groups ?? []) : { count, totalMinor };
    const differs = 'its totals are not the approved ones';
    return { ...held, differs, beyond: beyond(shownTotals, totals) };
  }

  /** Writes down what was looked at, as `adopt` does; the database asks for what it is recorded on. */
  async record(
    tx: EmployerTransaction,
    { forgotten, work, evidence }: Look,
    occasion: Occasion,
  ): Promise<string | undefined> {
    const run = await lockRun(tx, work.run.id);
    if (await wasAdopted(tx, forgotten)) return undefined;
    if (!isPastSubmit(evidence.status) && !occasion.isSaid) return `shown ${shownAs(evidence.status)}`;
    const refusal = work.isOther ? OTHER_ID : await refusalOf(tx, run, work);
    if (refusal !== undefined) return refusal;
    const { differs, beyond: more } = evidence;
    const underWay = run.status === 'SUBMITTING' && work.instruction.status === 'VERIFIED';
    if (differs !== undefined && !(underWay && occasion.mayDiffer)) return differs;
    const instruction = await this.takeItsPlace(tx, work.instruction);
    if (instruction === undefined) return 'another instruction for the same rows has been submitted';
    const taken = { ...work, run, instruction };
    const record = new ForgottenRecord(tx, this.gateway, this.personal, taken, occasion.evidence);
    await record.build(forgotten, evidence.rows, evidence.matched, this.clock.now());
    const began = await advance(tx, run);
    await record.submit(evidence.shown, this.clock.now());
    if (differs !== undefined) {
      const happened = `${occasion.cause}, and ${differs}.`;
      await totalsDiffer(tx, instruction, work.planned, { happened, beyond: more });
    }
    await planTheRest(tx, run);
    await stopTheRest(tx, run, work.isOfVersion || !began);
    return undefined;
  }

  /** The one live instruction of these rows; what was built of them meanwhile is given up. */
  private async takeItsPlace(
    tx: EmployerTransaction,
    { employerId, id, payRunId, plannedInstructionId, createdAt }: Instruction,
  ): Promise<Instruction | undefined> {
    const known = await tx.manager.findBy(Instruction, { employerId, plannedInstructionId });
    const own = known.find((one) => one.id === id);
    if (own !== undefined && !INSTRUCTION_UNSENT.includes(own.status)) return undefined;
    for (const other of known) {
      if (other.id === id || !isInstructionLive(other.status)) continue;
      if (!INSTRUCTION_UNSENT.includes(other.status)) return undefined;
      await endUnsubmitted(tx, await lockInstruction(tx, other.id), 'service', REASON);
      await clearAttempt(tx, other.id, REASON);
    }
    if (own === undefined) {
      const attempt = Math.max(0, ...known.map((one) => one.attempt)) + 1;
      const status = 'PLANNED';
      await tx.manager.insert(Instruction, {
        employerId,
        id,
        payRunId,
        plannedInstructionId,
        attempt,
        status,
        bankRank: 0,
        createdAt,
      });
    }
    const instruction = await lockInstruction(tx, id);
    if (!INSTRUCTION_UNSENT.includes(instruction.status)) return undefined;
    await clearAttempt(tx, id, REASON);
    await clear(tx, ['REBUILD_LIMIT'], plannedInstructionId, REASON);
    return instruction;
  }
}

/** By another replica, or by this one before it was interrupted. */
async function wasAdopted(tx: EmployerTransaction, { bankInstructionId }: Forgotten): Promise<boolean> {
  const adopted = await tx.query(
    `SELECT FROM forgotten_instruction
     WHERE employer_id = $1 AND bank_instruction_id = $2 AND adopted_at IS NOT NULL`,
    [tx.employerId, bankInstructionId],
  );
  return adopted.length > 0;
}

/** The run, plan and account of what was forgotten; why there are none, where there are not. */
async function workOf(tx: EmployerTransaction, forgotten: Forgotten): Promise<ForgottenWork | string> {
  const { employerId } = tx;
  const { instructionId: id, payRunId, reference } = forgotten;
  if (id === undefined) return 'its payments do not say which of our instructions it is';
  const run = await findRun(tx, payRunId);
  const stored = await tx.manager.findOneBy(Instruction, { employerId, id });
  const named = stored === null ? readReference(reference ?? '') : undefined;
  const planned = (await plannedInstructions(tx, run)).find((one) =>
    stored === null ? one.ordinal === named?.ordinal : one.id === stored.plannedInstructionId,
  );
  if (planned === undefined) return 'it is not of the version of the run that stands';
  const account = await tx.manager.findOneByOrFail(EmployerAccount, { employerId, id: run.accountId });
  const known = stored?.bankInstructionId ?? forgotten.bankInstructionId;
  const isOther = known !== forgotten.bankInstructionId;
  // What is listed of it is as old as its run at most.
  const { createdAt } = run;
  const unborn = { employerId, id, payRunId: run.id, plannedInstructionId: planned.id, createdAt };
  const instruction = stored === null || isOther ? tx.manager.create(Instruction, unborn) : stored;
  const isOfVersion = stored !== null || named?.version === run.runVersion;
  return { run, planned, account, instruction, isOfVersion, isOther };
}

/** Why what is certain at the bank does not fit into the record as it stands. */
async function refusalOf(tx: EmployerTransaction, run: PayRun, work: Work): Promise<string | undefined> {
  if (!PAY_RUN_GOING_ON.includes(run.status)) return `the run is ${run.status}`;
  if (run.lapseReason !== null || (await openAmendment(tx, run.id))) return 'the run is being amended';
  return run.runVersion === work.planned.runVersion ? undefined : 'the run was amended';
}

/**
 * The run passed its gate before the restore: it goes as far again, and what is said of it as of one of which nothing is
 * submitted is said no more. @returns whether it had not, as the record had it
 */
async function advance(tx: EmployerTransaction, run: PayRun): Promise<boolean> {
  if (run.status === 'SUBMITTING') return false;
  if (run.status === 'APPROVED') await moveRun(tx, run, 'BUILDING', 'service', REASON);
  if (run.status === 'BUILDING') await moveRun(tx, run, 'VERIFIED', 'service', REASON);
  if (run.status === 'VERIFIED') await moveRun(tx, run, 'SUBMITTING', 'service', REASON);
  await clearGate(tx, run.id, REASON);
  await retellInMidRun(tx, run.id, REASON);
  return true;
}

/**
 * Of a run that is being submitted no row is left out any more; before that it may have been amended. Where what was
 * submitted is not certain to be of the version that stands, the rest is stopped; where nothing is left to be sent, no more.
 */
async function stopTheRest(tx: EmployerTransaction, run: PayRun, isCertain: boolean): Promise<void> {
  const { employerId } = tx;
  const unsent = { employerId, payRunId: run.id, status: In(INSTRUCTION_UNSENT) };
  const isSent = !(await tx.manager.existsBy(Instruction, unsent));
  if (isSent) await endUnclear(tx, run);
  else if (!isCertain) await stopUnclear(tx, [run.id]);
}
