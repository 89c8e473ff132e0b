import { Inject, Injectable, Logger } from '@nestjs/common';
import { BankGateway } from '../bank/gateway';
import type { Outcome } from '../bank/outcome';
import type { PreparedSubmit } from '../bank/prepared';
import type { BankInstruction } from '../bank/records';
import type { Leaving } from '../bank/session';
import { PATHS } from '../bank/types';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { describeError } from '../config/describe-error';
import { CONFIG, Config } from '../config/env';
import { readDelayMs } from '../config/read-delay';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence, wake } from '../database/leases';
import { StepEnd } from '../database/lease-worker';
import { newId } from '../database/new-id';
import { NotDurable } from '../database/outage';
import { DatabaseIsBehind, recordRestore, RestoreGuard } from '../database/restore-guard';
import { PersonalData } from '../database/personal-data';
import { intendCall, writeOutcome } from '../employer/bank-calls';
import { aboutInstruction, clear, raise } from '../pay-run/attention.store';
import { NOTHING_TO_ASK } from '../pay-run/attention-words';
import { Instruction, SubmitAttempt } from '../pay-run/instruction.entity';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { tellOfTakenSubmit } from '../pay-run/moved-instruction';
import { mayBePaidAlready } from '../pay-run/paid-already';
import { findRun, lacksApprovals, lockRun } from '../pay-run/pay-run.store';
import { accessRefused } from '../pay-run/refused-access';
import { LACKS_APPROVALS, stopRunByService } from '../pay-run/stop';
import { Abandonment } from './abandonment';
import { saidIn, whyOf } from './call-record';
import { CutOff } from './cut-off';
import { afterSubmitAnswer, TURNED_AWAY } from './decision';
import { GivenUpLook } from './given-up-look';
import { Otherwise } from './read-back';
import { Allowed, LOOK_AGAIN_MS, Looked, SubmitLooks } from './submit-looks';
import {
  finishAttempt,
  isOlderThanARestore,
  recordExecuted,
  refusesOurAccess,
  sentAgain,
  timesTurnedAway,
} from './submit-record';
import { RowsChanged } from './tampering';
import { UnsentSubmits } from './unsent-submits';
import { UnsubmittedLook } from './unsubmitted-look';
import { Verifier } from './verifier';
import { UNREMEMBERED, waitingAfter } from './waits-for';
import {
  assertAccountOpen,
  assertMayCall,
  Halted,
  hashOfRows,
  obstacleOf,
  PayableRow,
  payableRows,
  Work,
} from './work';

const READ_AGAIN_MS = 1_000;

const NOT_DURABLE = 'its intent was not known to be durable, so it was not sent';

/** Pause before a submit that never left is tried again. */
const UNSENT_PAUSE_MS = 2_000;

/** A file that cannot be written is for somebody to mend, whom the log tells at once. */
const UNREMEMBERED_PAUSE_MS = 15_000;

/** The instruction gate and the one submit (rules 7, 8 and 9). */
@Injectable()
export class Submitter {
  private readonly logger = new Logger(Submitter.name);
  private stopping = false;

  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly personal: PersonalData,
    private readonly verifier: Verifier,
    private readonly abandonment: Abandonment,
    private readonly unsent: UnsentSubmits,
    private readonly guard: RestoreGuard,
    private readonly cutOff: CutOff,
    private readonly looks: SubmitLooks,
    private readonly givenUp: GivenUpLook,
    private readonly unsubmitted: UnsubmittedLook,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Begins no more submits; one that is written down by then is sent. */
  stop(): void {
    this.stopping = true;
  }

  /**
   * Reads the instruction whole once more and, when it equals what was approved, submits it. Past the cut-off it is
   * released, also where the bank cannot be read or shows too little.
   * @throws RowsChanged; BankClientError; Fenced, Halted
   */
  async step(claim: Claim, work: Work): Promise<StepEnd> {
    const rows = await this.rowsOf(work);
    if (!hashOfRows(rows).equals(work.planned.rowHash)) {
      if (this.cutOff.isTooLate(work)) return this.cutOff.giveUp(claim, work);
      throw new RowsChanged();
    }
    const looked = await this.looks.inPlace(rows, () => this.lookAt(claim, work, rows));
    if ('end' in looked) return looked.end;
    if ('otherwise' in looked) return this.otherwise(claim, work, rows, looked.otherwise);
    await this.verifier.shown(claim, work);
    return this.submit(claim, work, looked.allowed);
  }

  private async lookAt(claim: Claim, work: Work, rows: readonly PayableRow[]): Promise<Looked> {
    if (this.stopping) return { end: 0 };
    const isLate = this.cutOff.isTooLate(work);
    if (!isLate && !(await this.givenUp.stand(claim, work, rows))) return { end: LOOK_AGAIN_MS };
    const look = isLate ? undefined : await this.looks.atReplaced(claim, work, rows);
    if (look && 'end' in look) return look;
    const age = this.looks.ageFromNow();
    const askedMs = performance.now();
    const reading = await this.cutOff.readUnlessLate(work, rows);
    if (reading.kind === 'unread') return { end: await this.cutOff.expire(claim, work, reading) };
    if (reading.kind !== 'equal') return { otherwise: reading };
    if (reading.instruction)
      await this.unsubmitted.wasUnsubmitted(reading.instruction.bankInstructionId, askedMs);
    if (this.cutOff.isTooLate(work)) return { end: await this.cutOff.expire(claim, work, reading) };
    if (!look) return { end: 0 };
    return this.looks.inTurn(claim, work, rows, { age, look }, () => this.stopping);
  }

  private async otherwise(
    claim: Claim,
    work: Work,
    rows: readonly PayableRow[],
    reading: Otherwise,
  ): Promise<StepEnd> {
    switch (reading.kind) {
      case 'fewer':
      case 'wait':
      case 'unclear':
        if (this.cutOff.isTooLate(work)) return this.cutOff.expire(claim, work, reading);
        return reading.kind === 'fewer'
          ? this.verifier.fewer(claim, work, rows, reading)
          : this.verifier.wait(claim, work, reading);
      case 'moved':
        return this.cutOff.moved(claim, work, reading.bankStatus);
      case 'dead':
      case 'gone':
      case 'unidentified':
      case 'different':
        return this.abandonment.endAsRead(claim, work, reading);
    }
  }

  private rowsOf(work: Work): Promise<PayableRow[]> {
    return this.database.inEmployer(work.instruction.employerId, (tx) =>
      payableRows(tx, this.personal, work),
    );
  }

  private async submit(claim: Claim, work: Work, allowed: Allowed): Promise<StepEnd> {
    const bankInstructionId = work.instruction.bankInstructionId;
    if (bankInstructionId === null) throw new Error('a verified instruction has an id at the bank');
    const prepared = this.gateway.prepareSubmit(bankInstructionId);
    const { employerId, subjectId: instructionId } = claim;
    if (this.stopping) return 0;
    const ids = { attemptId: newId(), callId: newId() };
    const unsent = (why: string) => this.unsent.remember({ employerId, instructionId, ...ids, why });
    const intended = await this.database
      .inEmployer(employerId, (tx) => this.intend(tx, claim, work, prepared, ids))
      .catch((error: unknown) => {
        if (error instanceof NotDurable) unsent(NOT_DURABLE);
        throw error;
      });
    if (intended === 'unapproved') return this.unapproved(claim, work);
    if (typeof intended !== 'bigint') return intended === 'paid already' ? LOOK_AGAIN_MS : 'never';
    crashPoint('submit.intended');
    const outcome = await this.sendRemembered(prepared, intended, allowed);
    crashPoint('submit.sent');
    const wakeIn = await this.database
      .inEmployerRepeatedly(employerId, (tx) => this.record(tx, work, ids, outcome))
      .catch((error: unknown) => {
        if (afterSubmitAnswer(outcome, false) === 'unsent') unsent(whyOf(outcome));
        throw error;
      });
    crashPoint('submit.recorded');
    return wakeIn;
  }

  /** An intent that a witness outside does not remember could be forgotten unnoticed: it is not sent. */
  private async sendRemembered(
    prepared: PreparedSubmit,
    mark: bigint,
    leaving: Leaving,
  ): Promise<Outcome<BankInstruction>> {
    try {
      await this.guard.keep(mark);
    } catch (error) {
      this.logger.error({ message: `${UNREMEMBERED}: nothing is submitted`, error: describeError(error) });
      return { kind: 'no', reason: 'not-sent', why: UNREMEMBERED, retryAfterMs: UNREMEMBERED_PAUSE_MS };
    }
    return this.gateway.sendSubmit(prepared, leaving);
  }

  /**
   * Everything that could still forbid the submit is read in the transaction that writes it down.
   * @returns the mark to remember outside the database when it is intended
   */
  private async intend(
    tx: EmployerTransaction,
    claim: Claim,
    work: Work,
    prepared: PreparedSubmit,
    ids: { attemptId: string; callId: string },
  ): Promise<bigint | 'unapproved' | 'ended' | 'paid already'> {
    const right = await assertMayCall(tx, claim, work, ['SUBMITTING']);
    const run = await findRun(tx, work.run.id);
    const instruction = await lockInstruction(tx, work.instruction.id);
    if (instruction.status !== 'VERIFIED') return 'ended';
    if (this.cutOff.isTooLate({ run, instruction })) {
      await this.cutOff.release(tx, work, instruction);
      return 'ended';
    }
    if (await lacksApprovals(tx, run)) return 'unapproved';
    assertAccountOpen(right);
    if (await mayBePaidAlready(tx, work.planned)) return 'paid already';
    await moveInstruction(tx, instruction, 'SUBMIT_INTENT', 'service');
    await tx.manager.insert(SubmitAttempt, {
      employerId: tx.employerId,
      id: ids.attemptId,
      plannedInstructionId: instruction.plannedInstructionId,
      instructionId: instruction.id,
      bankInstructionId: prepared.bankInstructionId,
      rowHash: work.planned.rowHash,
      epoch: BigInt(claim.epoch),
    });
    await intendCall(tx, {
      callId: ids.callId,
      operation: 'submit',
      subjectId: instruction.id,
      target: prepared.path,
      bodyHash: prepared.bodyHash,
      epoch: claim.epoch,
    });
    return this.mark(tx);
  }

  private async mark(tx: EmployerTransaction): Promise<bigint> {
    try {
      return await this.guard.markWithin(tx);
    } catch (error) {
      if (error instanceof DatabaseIsBehind) throw new Halted('RESTORED');
      throw error;
    }
  }

  /** The gate was passed, and yet too few approvals stand now: the number required was raised, or one is gone. */
  private async unapproved(claim: Claim, work: Work): Promise<StepEnd> {
    return this.database.inEmployer(claim.employerId, async (tx) => {
      const run = await lockRun(tx, work.run.id);
      await fence(tx, claim);
      // Somebody may have approved it since.
      if (!(await lacksApprovals(tx, run))) return 0;
      await stopRunByService(tx, work.run.id, LACKS_APPROVALS);
      await raise(tx, {
        kind: 'INVARIANT_BREACH',
        ...aboutInstruction(work.instruction, work.planned),
        happened: LACKS_APPROVALS,
        certain:
          'We have not submitted this instruction. The run is stopped: once another approver has approved it as it stands, two people RESUME it.',
        askBank: NOTHING_TO_ASK,
      });
      return 'never';
    });
  }

  private async record(
    tx: EmployerTransaction,
    work: Work,
    ids: { attemptId: string; callId: string },
    outcome: Outcome<BankInstruction>,
  ): Promise<StepEnd> {
    if (!(await writeOutcome(tx, ids.callId, outcome))) return this.forgotten(tx, work);
    const instruction = await lockInstruction(tx, work.instruction.id);
    if (instruction.status !== 'SUBMIT_INTENT') return this.overtaken(tx, work, instruction, outcome);
    const why = whyOf(outcome);
    if (await refusesOurAccess(tx, outcome))
      await accessRefused(tx, work.run, work.instruction, `The bank refused our access to submit: ${why}.`);
    const after = afterSubmitAnswer(outcome, this.config.BANK_REJECTS_BEFORE_EXECUTING);
    const isForgetful = after === 'unsent' && (await isOlderThanARestore(tx, instruction));
    switch (isForgetful ? 'in-doubt' : after) {
      case 'executed':
        await recordExecuted(tx, work, instruction, outcome.kind === 'yes' ? outcome.value : undefined, {
          evidence: 'the answer',
          at: this.clock.now(),
          readInMs: readDelayMs(this.config, 0),
        });
        return 'never';
      case 'unsent':
        await finishAttempt(tx, instruction, 'PROVEN_UNSENT', why);
        await moveInstruction(tx, instruction, 'VERIFIED', 'service', {}, `the submit never left: ${why}`);
        return waitingAfter(
          PATHS.submit(instruction.bankInstructionId ?? ''),
          outcome,
          Math.max(UNSENT_PAUSE_MS, outcome.kind === 'no' ? (outcome.retryAfterMs ?? 0) : 0),
        );
      case 'refused': {
        const before = await timesTurnedAway(tx, instruction);
        await finishAttempt(tx, instruction, 'REFUSED', why);
        await moveInstruction(tx, instruction, 'SUBMIT_REFUSED', 'service', {}, why);
        await raise(tx, {
          kind: 'SUBMIT_REFUSED',
          ...aboutInstruction(work.instruction, work.planned),
          ...(before > 0 && {
            certain: `The bank answered the submit with a refusal. ${sentAgain(before)} It is not sent again.`,
          }),
          happened: `The bank refused the submit: ${why}.`,
          bankWords: saidIn(outcome),
        });
        wake(tx, 'RUN', [work.run.id]);
        return readDelayMs(this.config, 0);
      }
      case 'rejected-unexecuted':
        await finishAttempt(tx, instruction, 'IN_DOUBT', TURNED_AWAY + why);
        return Math.max(this.config.BANK_LAG_BOUND_MS, READ_AGAIN_MS);
      case 'in-doubt':
        await finishAttempt(tx, instruction, 'IN_DOUBT', why);
        return READ_AGAIN_MS;
    }
  }

  /** The answer came after others had doubted the submit: a yes ends their doubt, and contradicts what was decided on it. */
  private async overtaken(
    tx: EmployerTransaction,
    work: Work,
    instruction: Instruction,
    outcome: Outcome<BankInstruction>,
  ): Promise<'never'> {
    if (outcome.kind !== 'yes') return 'never';
    if (instruction.status === 'SUBMIT_UNKNOWN') {
      await recordExecuted(tx, work, instruction, outcome.value, {
        evidence: 'the answer, which was recorded late',
        at: this.clock.now(),
      });
      await clear(tx, ['SUBMIT_UNKNOWN'], instruction.id, 'the answer to the submit was recorded late');
    } else if (instruction.status === 'VOID') {
      await tellOfTakenSubmit(tx, instruction, work.planned, outcome.value.status);
      wake(tx, 'FOLLOW', [instruction.id]);
    }
    return 'never';
  }

  /**
   * The database lost what it had committed, and may have lost more, also where the guard could not see it. Where that is
   * known already, the bank is read once what was under way then has its answer.
   */
  private async forgotten(tx: EmployerTransaction, work: Work): Promise<StepEnd> {
    const what = 'The database lost the intent of a submit, which it had committed.';
    if ((await obstacleOf(tx, work.run)) !== 'RESTORED') await recordRestore(tx, what, 'unknown');
    return READ_AGAIN_MS;
  }
}
