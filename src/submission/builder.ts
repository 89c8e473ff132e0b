import { Inject, Injectable } from '@nestjs/common';
import { PATHS } from '../bank/types';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { Claim, fence } from '../database/leases';
import { StepEnd, Waiting } from '../database/lease-worker';
import { PersonalData } from '../database/personal-data';
import { isPastSubmit } from '../domain/bank-status';
import { closeOpenAdds } from '../pay-run/open-adds';
import { forbiddenBefore } from '../pay-run/refused-access';
import { byPayment, Course, isForbidden, resultsOf, turnOf } from './add-course';
import { Abandonment } from './abandonment';
import { AddResult, isRefusedUnasked, recordRefused } from './add-record';
import { Adder } from './adder';
import { pauseAfter } from './build-pause';
import { afterBuildAnswer } from './decision';
import { afterTurns, Known } from './forbidden-adds';
import { gentlenessFor } from './gentleness';
import { Initiation } from './initiation';
import { assertUnchanged, PayableRow, payableRows, withAnswers, Work } from './work';
import { Verifier } from './verifier';
import { THIS_SERVICE } from './waits-for';

/** When an instruction that waits for another, filled one row at a time, is looked at again. */
const ONE_BY_ONE_LOOK_MS = 5_000;
const FOR_ITS_TURN: Waiting = {
  inMs: ONE_BY_ONE_LOOK_MS,
  waitsFor: `${THIS_SERVICE}an instruction of another run is filled one row at a time, and so are this run's after it`,
};

const REFUSED_MANY = 'the bank refused many of its payments, which may be for how they were added';
const WHY_REFUSED =
  'Why are payments refused in customer instruction {ref}? Does it take one at a time, or only some time after it was opened?';

/** An answer to which nothing more was taken; with the payments it forbids, where it is open whether it is our access. */
interface Refusal extends AddResult {
  forbidden?: readonly PayableRow[];
}

/** Fills an instruction at the bank: initiate, add every row, then have it verified (rules 1 to 6). */
@Injectable()
export class Builder {
  /** By our id of the instruction. */
  private readonly courses = new Map<string, Course>();

  constructor(
    private readonly database: Database,
    private readonly initiation: Initiation,
    private readonly adder: Adder,
    private readonly personal: PersonalData,
    private readonly verifier: Verifier,
    private readonly abandonment: Abandonment,
    @Inject(CONFIG) private readonly config: Pick<Config, 'BANK_LAG_BOUND_MS'>,
  ) {}

  /** One step of building; the answer says when to take the instruction up again. */
  async step(claim: Claim, work: Work): Promise<StepEnd> {
    if (work.instruction.bankInstructionId === null) return this.initiation.step(claim, work);
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
      pauseAfter(tx, claim, work, afterBuildAnswer(outcome), {
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
}
