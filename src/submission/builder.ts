import { Inject, Injectable } from '@nestjs/common';
import { inWords } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { isSuccess, Outcome } from '../bank/outcome';
import type { BankInstruction } from '../bank/records';
import { PATHS } from '../bank/types';
import { CONFIG, Config } from '../config/env';
import { crashPoint } from '../config/crash-point';
import { readDriverError } from '../config/driver-error';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence, stands, wake } from '../database/leases';
import { StepEnd, Waiting } from '../database/lease-worker';
import { newId } from '../database/new-id';
import { PersonalData } from '../database/personal-data';
import { isPastSubmit } from '../domain/bank-status';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { intendCall } from '../employer/bank-calls';
import { aboutInstruction, clear, raise } from '../pay-run/attention.store';
import { AttentionKind, NOT_OPENED, UNPAID_IN_MID_RUN } from '../pay-run/attention-words';
import { Instruction } from '../pay-run/instruction.entity';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { closeOpenAdds } from '../pay-run/open-adds';
import { movePaymentSet } from '../pay-run/payment.store';
import { accessRefused, forbiddenBefore } from '../pay-run/refused-access';
import { byPayment, Course, isForbidden, resultsOf, turnOf } from './add-course';
import { Abandonment } from './abandonment';
import { AddResult, isRefusedUnasked, recordRefused } from './add-record';
import { Adder, BUILD_TURNS } from './adder';
import { finishCall, saidIn, whyOf } from './call-record';
import { afterBuildAnswer, AfterRefusal } from './decision';
import { afterTurns, Known } from './forbidden-adds';
import { gentlenessFor } from './gentleness';
import { initiateOf, referenceOf } from './prepared-calls';
import {
  assertAccountOpen,
  assertMayCall,
  assertUnchanged,
  PayableRow,
  payableRows,
  withAnswers,
  Work,
} from './work';
import { RowsChanged } from './tampering';
import { Verifier } from './verifier';
import { THIS_SERVICE, waitingAfter } from './waits-for';

const REFUSALS_TO_INITIATE: readonly AttentionKind[] = ['REBUILD_LIMIT', 'INITIATE_REFUSED'];

/** What a bank that stays down costs at most: an empty instruction each five minutes. */
const LONGEST_PAUSE_MS = 300_000;

/** When an instruction that waits for another, filled one row at a time, is looked at again. */
const ONE_BY_ONE_LOOK_MS = 5_000;
const FOR_ITS_TURN: Waiting = {
  inMs: ONE_BY_ONE_LOOK_MS,
  waitsFor: `${THIS_SERVICE}an instruction of another run is filled one row at a time, and so are this run's after it`,
};

const REFUSED_MANY = 'the bank refused many of its payments, which may be for how they were added';
const WHY_REFUSED =
  'Why are payments refused in customer instruction {ref}? Does it take one at a time, or only some time after it was opened?';

/** That an id of the bank is that of one instruction, of whatever employer. */
const ONE_INSTRUCTION = 'instruction_bank_instruction_id_key';

/** An answer to which nothing more was taken; with the payments it forbids, where it is open whether it is our access. */
interface Refusal extends AddResult {
  forbidden?: readonly PayableRow[];
}

interface InitiateCall {
  callId: string;
  /** Which initiation of its instruction it is, those not counted that the bank refused. */
  attempt: number;
}

/** Fills an instruction at the bank: initiate, add every row, then have it verified (rules 1 to 6). */
@Injectable()
export class Builder {
  /** By our id of the instruction. */
  private readonly courses = new Map<string, Course>();

  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly adder: Adder,
    private readonly personal: PersonalData,
    private readonly verifier: Verifier,
    private readonly abandonment: Abandonment,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** One step of building; the answer says when to take the instruction up again. */
  async step(claim: Claim, work: Work): Promise<StepEnd> {
    if (work.instruction.bankInstructionId === null) return this.initiate(claim, work);
    const { bankStatus } = work.instruction;
    if (isPastSubmit(bankStatus ?? '')) return this.verifier.breach(claim, work, bankStatus ?? '');
    const rows = await this.takeUp(claim, work);
    const later = await this.addOpen(claim, work, rows);
    if (later !== undefined) return later;
    const answered = await this.database.inEmployer(claim.employerId, (tx) =>
      withAnswers(tx, work.instruction, rows),
    );
    if (answered.some((row) => row.addOutcome === null)) return 0;
    if (answered.some((row) => row.addOutcome === 'REFUSED')) return this.refusedSome(claim, work);
    return this.verifier.step(claim, work, answered);
  }

  /** Waits for people; where many are refused it is built again first, as the bank may refuse how they were added. */
  private async refusedSome(claim: Claim, work: Work): Promise<'never'> {
    const { id, employerId } = work.instruction;
    const unasked = await this.database.inEmployer(employerId, (tx) => isRefusedUnasked(tx, id));
    return unasked ? this.abandonment.rebuild(claim, work, REFUSED_MANY, WHY_REFUSED) : 'never';
  }

  /** Step 1. An initiate in doubt is tried again: what it may have made is an empty orphan (rule 3). */
  private async initiate(claim: Claim, work: Work): Promise<StepEnd> {
    const { instruction } = work;
    const callId = newId();
    let attempt = 0;
    const begun = await this.database.inEmployer(claim.employerId, async (tx) => {
      assertAccountOpen(await assertMayCall(tx, claim, work, BUILD_TURNS));
      attempt = await initiatesOf(tx, instruction.id);
      if (instruction.status === 'PLANNED')
        await beginBuilding(tx, work, await lockInstruction(tx, instruction.id));
      const prepared = initiateOf(this.gateway, this.personal, work, referenceOf(work, attempt));
      await intendCall(tx, {
        callId,
        operation: 'initiate',
        subjectId: instruction.id,
        target: prepared.path,
        bodyHash: prepared.bodyHash,
        attempt,
        epoch: claim.epoch,
      });
      return prepared;
    });
    crashPoint('build.initiate-intended');
    const outcome = await this.gateway.sendInitiate(begun);
    crashPoint('build.initiated');
    const call = { callId, attempt };
    try {
      return await this.recordInitiate(claim, work, call, outcome);
    } catch (error) {
      if (outcome.kind !== 'yes' || readDriverError(error)?.constraint !== ONE_INSTRUCTION) throw error;
      return this.recordInitiate(claim, work, call, answeredAsAnother(outcome));
    }
  }

  private recordInitiate(
    claim: Claim,
    work: Work,
    { callId, attempt }: InitiateCall,
    outcome: Outcome<BankInstruction>,
  ): Promise<StepEnd> {
    const { instruction } = work;
    return this.database.inEmployerRepeatedly(instruction.employerId, async (tx) => {
      await finishCall(tx, callId, outcome);
      if (outcome.kind === 'yes') {
        await tx.query(
          `UPDATE instruction SET bank_instruction_id = $3, bank_status = $4
           WHERE employer_id = $1 AND id = $2 AND status <> 'PLANNED' AND bank_instruction_id IS NULL`,
          [tx.employerId, instruction.id, outcome.value.bankInstructionId, outcome.value.status],
          'kept',
        );
        const { status } = await lockInstruction(tx, instruction.id);
        // Whoever was overtaken may hear this after the instruction was given up, and people were asked about it.
        if (status === 'BUILDING') {
          await clear(tx, REFUSALS_TO_INITIATE, [work.planned.id, instruction.id], 'the bank opened it');
          wake(tx, 'INSTRUCTION', [instruction.id]);
        }
        return 0;
      }
      const next = afterBuildAnswer(outcome);
      // Another worker may have had an answer first: nobody is asked, and it goes on with what was opened.
      if (next.kind === 'refused' && !(await raiseRefused(tx, work, outcome))) return 0;
      if (next.kind === 'doubt') return this.initiateAgain(tx, work, attempt, outcome);
      return this.pauseAfter(tx, claim, work, next, { path: PATHS.initiate(), outcome });
    });
  }

  /** After ever longer pauses: a bank that is down for a while is waited for, and from some time on a person knows. */
  private async initiateAgain(
    tx: EmployerTransaction,
    work: Work,
    attempt: number,
    outcome: Outcome<BankInstruction>,
  ): Promise<StepEnd> {
    if (attempt > this.config.REBUILD_LIMIT && (await isBeingInitiated(tx, work))) {
      const { what, asked } = lastAnswerOf(outcome);
      await raise(tx, {
        kind: 'REBUILD_LIMIT',
        ...aboutInstruction(work.instruction, work.planned),
        subjectId: work.planned.id,
        happened: `The last of ${attempt} initiations ${what}. It goes on being tried.`,
        certain: work.run.status === 'SUBMITTING' ? UNPAID_IN_MID_RUN : NOT_OPENED,
        askBank: `Why are initiations of a credit-transfer instruction on account ${work.account.bankAccountId} ${asked}?`,
      });
    }
    const inMs = pauseBeforeInitiate(attempt);
    return inMs === 0 ? inMs : waitingAfter(PATHS.initiate(), outcome, inMs);
  }

  /**
   * Step 2 for all rows that have no answer. What is built again waits first until the bank knows the instruction, by the
   * latest a read does.
   * @returns when to go on: then, or as the bank said when it took none
   */
  private async addOpen(claim: Claim, work: Work, rows: readonly PayableRow[]): Promise<StepEnd | undefined> {
    const open = rows.filter((row) => row.addOutcome === null);
    if (open.length === 0) return undefined;
    const { step, openedAgoMs = Infinity } = await this.database.inEmployer(claim.employerId, (tx) =>
      gentlenessFor(tx, work),
    );
    const unknownMs = this.config.BANK_LAG_BOUND_MS - openedAgoMs;
    if (step > 0 && unknownMs > 0) return Math.ceil(unknownMs);
    const tookSome = rows.some((row) => row.addOutcome === 'ADDED');
    const turn = await this.adder.inTurn(work.instruction, step, () =>
      this.addTaken(claim, work, open, { gentleness: step, tookSome }),
    );
    // Its run gets on where it waits for another of that.
    if ('waitsForRun' in turn) return turn.waitsForRun === work.run.id ? ONE_BY_ONE_LOOK_MS : FOR_ITS_TURN;
    const { filled: refusal } = turn;
    if (refusal === undefined) return undefined;
    const { outcome } = refusal;
    const left = (await this.answersTo(claim, work, open)).filter((row) => row.addOutcome === null);
    const path = PATHS.addPaymentTransaction(work.instruction.bankInstructionId ?? '');
    const end = await this.database.inEmployer(claim.employerId, (tx) =>
      this.pauseAfter(tx, claim, work, afterBuildAnswer(outcome), {
        path,
        outcome,
        forbidden: refusal.forbidden,
      }),
    );
    // What took others of them is reached, be it slowly.
    return typeof end === 'object' && left.length < open.length ? end.inMs : end;
  }

  /**
   * Adds rows, turn after turn while some are forbidden, until that shows whether the bank refuses our access, or payments:
   * those are recorded as refused. Where the rate is limited before, what the turns showed is kept for the next step.
   * @returns the answer to which nothing more was taken; undefined where there was none
   */
  private async addTaken(
    claim: Claim,
    work: Work,
    open: readonly PayableRow[],
    { gentleness, tookSome }: { gentleness: number; tookSome: boolean },
  ): Promise<Refusal | undefined> {
    const { forbidden, turns } = this.takeCourse(work, open);
    let left = byPayment(open);
    let known: Known | undefined;
    while (left.size > 0) {
      let sent = open;
      if (turns.length > 0) {
        known ??= { tookSome, ...(await this.saidOfAccess(work, open)) };
        const next = afterTurns([...left.keys()], turns, known);
        const rows = next.payments.flatMap((one) => left.get(one) ?? []);
        if (next.kind !== 'add') return this.conclude(claim, work, next.kind, resultsOf(rows, forbidden));
        sent = rows;
      }
      const refusals = await this.adder.add(claim, work, sent, gentleness);
      for (const { row, outcome } of refusals.filter(isForbidden)) forbidden.set(row.paymentId, outcome);
      const other = refusals.find((one) => !isForbidden(one));
      if (forbidden.size === 0) return other;
      const answered = await this.answersTo(claim, work, open);
      left = byPayment(answered.filter((row) => row.addOutcome === null));
      // The process is to end: what is left will tell whose the refusals are.
      if (refusals.length === 0 && sent.some(({ paymentId }) => left.has(paymentId))) return undefined;
      const turn = turnOf(sent, answered, refusals.filter(isForbidden));
      if (turn.taken.length + turn.forbidden.length > 0) turns.push(turn);
      if (other !== undefined) {
        if (afterBuildAnswer(other.outcome).kind === 'wait')
          this.courses.set(work.instruction.id, { forbidden, turns, left: left.size });
        return other;
      }
    }
    return undefined;
  }

  /** What adding the instruction has come to; nothing where somebody else has added to it since. */
  private takeCourse({ instruction }: Work, open: readonly PayableRow[]): Course {
    const course = this.courses.get(instruction.id);
    this.courses.delete(instruction.id);
    return course?.left === open.length ? course : { forbidden: new Map(), turns: [], left: open.length };
  }

  /** @returns the refusal of our access, where it may be that */
  private async conclude(
    claim: Claim,
    work: Work,
    refused: 'access' | 'payments',
    results: readonly AddResult[],
  ): Promise<Refusal | undefined> {
    if (refused === 'payments') await this.refuse(claim, work, results);
    else if (results[0]) return { ...results[0], forbidden: results.map(({ row }) => row) };
    return undefined;
  }

  private saidOfAccess({ instruction }: Work, rows: readonly PayableRow[]): Promise<Omit<Known, 'tookSome'>> {
    return this.database.inEmployer(instruction.employerId, (tx) =>
      forbiddenBefore(
        tx,
        instruction,
        rows.map(({ paymentId }) => paymentId),
      ),
    );
  }

  private answersTo(claim: Claim, work: Work, rows: readonly PayableRow[]): Promise<PayableRow[]> {
    return this.database.inEmployer(claim.employerId, (tx) => withAnswers(tx, work.instruction, rows));
  }

  private refuse(claim: Claim, work: Work, forbidden: readonly AddResult[]): Promise<void> {
    return this.database.inEmployer(claim.employerId, async (tx) => {
      await assertUnchanged(tx, claim, work);
      await recordRefused(tx, work, forbidden);
    });
  }

  /** The rows with their answers so far, those of intents that were left open in doubt. */
  private takeUp(claim: Claim, work: Work): Promise<PayableRow[]> {
    return this.database.inEmployer(claim.employerId, async (tx) => {
      await fence(tx, claim);
      await closeOpenAdds(tx, work.instruction);
      return payableRows(tx, this.personal, work);
    });
  }

  /** What was answered stays recorded where somebody else has taken over; only its holder stops anything for it. */
  private async pauseAfter(
    tx: EmployerTransaction,
    claim: Claim,
    work: Work,
    next: AfterRefusal,
    {
      path,
      outcome,
      forbidden,
    }: { path: string; outcome: Outcome<unknown>; forbidden?: readonly PayableRow[] },
  ): Promise<StepEnd> {
    switch (next.kind) {
      case 'doubt':
        return 0;
      case 'refused':
        return 'never';
      case 'wait':
        return waitingAfter(path, outcome, next.ms);
      case 'credentials':
        // The next step finds out whether it is another's now, or only was held for too long.
        if (!(await stands(tx, claim))) return 0;
        await accessRefused(
          tx,
          work.run,
          work.instruction,
          forbidden === undefined
            ? `The bank refused our access while building: ${whyOf(outcome)}.`
            : whatIsForbidden(work, forbidden, whyOf(outcome)),
          forbidden?.map(({ paymentId }) => paymentId),
        );
        return 'never';
    }
  }
}

/** PLANNED → BUILDING, with its payments. @throws RowsChanged where they are not those that were planned */
export async function beginBuilding(
  tx: EmployerTransaction,
  { run, planned }: Pick<Work, 'run' | 'planned'>,
  instruction: Instruction,
): Promise<void> {
  await moveInstruction(tx, instruction, 'BUILDING', 'service');
  const moved = await movePaymentSet(tx, {
    payRunId: run.id,
    planned,
    from: 'APPROVED',
    to: 'AT_BANK',
    actor: 'service',
  });
  if (moved.count !== planned.rowCount || moved.amountMinor !== planned.totalMinor) throw new RowsChanged();
}

/** The first try again is at once, since a lost answer is common; then 1, 2, 4 … seconds. */
function pauseBeforeInitiate(attempt: number): number {
  return attempt === 1 ? 0 : Math.min(1_000 * 2 ** (attempt - 2), LONGEST_PAUSE_MS);
}

/** What the bank answered to an initiation in doubt, and what it is asked about. */
function lastAnswerOf(outcome: Outcome<BankInstruction>): { what: string; asked: string } {
  const { status } = outcome;
  if (status === undefined) {
    const why = inWords(whyOf(outcome));
    return { what: `stayed unanswered: ${why}`, asked: `not answered: ${why}` };
  }
  if (!isSuccess(status))
    return { what: `was answered with status ${status}`, asked: `answered with status ${status}` };
  const why = whyOf(outcome);
  return {
    what: `was answered, but not as it must be (${why})`,
    asked: `answered otherwise than sent (${why})`,
  };
}

/** What was opened, if anything was, is not known by its id: nothing is added to that, which others are paid by. */
function answeredAsAnother({ value, status }: Outcome<BankInstruction> & { kind: 'yes' }): Outcome<never> {
  const why = `the id is that of customer instruction ${value.bankInstructionId}, which is in the record already`;
  return { kind: 'in-doubt', why, status };
}

async function initiatesOf(tx: EmployerTransaction, instructionId: string): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    `SELECT count(*)::int + 1 AS n FROM bank_call
     WHERE employer_id = $1 AND instruction_id = $2 AND operation = 'initiate'
       AND outcome IS DISTINCT FROM 'NO'`,
    [tx.employerId, instructionId],
    'kept',
  );
  return row?.n ?? 1;
}

/** Whether it still waits to be initiated: another worker may have had an answer first, or two people had it given up. */
async function isBeingInitiated(
  tx: EmployerTransaction,
  { instruction }: Pick<Work, 'instruction'>,
): Promise<boolean> {
  const now = await lockInstruction(tx, instruction.id);
  return now.status === 'BUILDING' && now.bankInstructionId === null;
}

/**
 * Asks about a refused initiation, unless another worker had an answer first, or the instruction was given up.
 * @returns whether it is asked about
 */
async function raiseRefused(
  tx: EmployerTransaction,
  { instruction, planned, run, account }: Work,
  outcome: Outcome<BankInstruction>,
): Promise<boolean> {
  if (!(await isBeingInitiated(tx, { instruction }))) return false;
  await raise(tx, {
    kind: 'INITIATE_REFUSED',
    ...aboutInstruction(instruction, planned),
    bankReference: account.bankAccountId,
    ...(run.status === 'SUBMITTING' && { certain: UNPAID_IN_MID_RUN }),
    happened: `The bank refused to open an instruction: ${whyOf(outcome)}.`,
    bankWords: saidIn(outcome),
  });
  return true;
}

function whatIsForbidden({ instruction }: Work, forbidden: readonly PayableRow[], why: string): string {
  const rows = textOfFirstFew(
    forbidden.map(({ rowNo }) => String(rowNo)),
    MOST_NAMED,
  );
  const which =
    forbidden.length === 1 ? `1 payment: row ${rows}` : `${forbidden.length} payments: rows ${rows}`;
  return `The bank forbids payments to be added while building, and took none after them: ${why}. In customer instruction ${instruction.bankInstructionId} it forbids ${which}.`;
}
