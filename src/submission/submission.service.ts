import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  BankClientError,
  isAccessRefused,
  isAnswerUnusable,
  isBankError,
  NoReadAllowed,
  NotFound,
  RateLimited,
  readOf,
} from '../bank/errors';
import { CONFIG, Config } from '../config/env';
import { Database, type EmployerTransaction } from '../database/database';
import { Claim, fence, LeaseKind, Leases } from '../database/leases';
import { leaseHolder, LeaseWorker, StepEnd, WakeIn } from '../database/lease-worker';
import { instructionOfRun } from '../pay-run/instruction.store';
import { Abandonment } from './abandonment';
import { Adder } from './adder';
import { Builder } from './builder';
import { CutOff } from './cut-off';
import { Recovery } from './recovery';
import { RunWorker } from './run-worker';
import { Submitter } from './submitter';
import { INSTRUCTION_UNSENT } from '../domain/instruction';
import { isUnitConfirmed } from '../employer/readiness';
import { approvedVersion } from '../pay-run/approval';
import { raiseUndecided } from '../pay-run/attention.store';
import { DRIFT_PAUSE_MS, tellOfDrift } from '../pay-run/drift';
import type { PayRun } from '../pay-run/pay-run.entity';
import { lockRun } from '../pay-run/pay-run.store';
import { accessRefused } from '../pay-run/refused-access';
import { reportTampering, RowsChanged } from './tampering';
import { UnsentSubmits } from './unsent-submits';
import { waitsForOf } from './waits-for';
import { Halted, Obstacle, obstacleOf, raiseUnusable, Work } from './work';
import { raiseNotReady, raiseNotShown } from '../pay-run/waits-for-account';

/**
 * Runs and instructions worked on at once by one process; each instruction adds rows side by side in itself. A build holds
 * its place until all its rows are added, so that what is submitted, or is to be ended, has places of its own.
 */
const RUNS_AT_ONCE = 8;
const BUILDS_AT_ONCE = 4;
const OTHERS_AT_ONCE = 4;

const BEING_BUILT = `SELECT i.id FROM instruction i WHERE i.status IN ('PLANNED', 'BUILDING')`;

/** Of leases of instructions those that are built: found once for each claim, and not for each lease. */
const BUILT = `lease.subject_id = ANY (ARRAY(${BEING_BUILT}))`;

/** What people are told of a run that is locked. */
type Tell = (tx: EmployerTransaction, run: PayRun) => Promise<void>;

/** The others: sought in a hash of those that are built, which may be as many as wait. */
const NOT_BUILT = `lease.subject_id NOT IN (${BEING_BUILT})`;

/** Work that a switch stopped is looked at again after so long. */
const STOPPED_PAUSE_MS = 5_000;

/** However long the bank asks to wait, so soon it is seen what time alone decides; nothing is sent before it may be. */
const LIMITED_PAUSE_MS = 15_000;

/** How soon a submit that turns out not to have been sent is written down as such while the process ends. */
const UNSENT_AGAIN_MS = 250;

/** Our side to the bank: claims runs and instructions and takes each a step further. */
@Injectable()
export class SubmissionService {
  private readonly runs: LeaseWorker;
  private readonly builds: LeaseWorker;
  private readonly others: LeaseWorker;

  constructor(
    private readonly database: Database,
    leases: Leases,
    private readonly runWorker: RunWorker,
    private readonly builder: Builder,
    private readonly adder: Adder,
    private readonly submitter: Submitter,
    private readonly cutOff: CutOff,
    private readonly recovery: Recovery,
    private readonly abandonment: Abandonment,
    private readonly unsent: UnsentSubmits,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    const holder = leaseHolder();
    const leaseMs = config.LEASE_MS;
    this.runs = new LeaseWorker(leases, {
      kind: 'RUN',
      holder,
      leaseMs,
      atOnce: RUNS_AT_ONCE,
      step: (claim) => this.stepRun(claim),
      waitsFor: waitsForOf,
      foreseen: isBankError,
      onIdle: () => Promise.all([this.builds.tick(), this.others.tick()]),
    });
    const ofInstructions = {
      kind: 'INSTRUCTION',
      holder,
      leaseMs,
      step: (claim: Claim) => this.stepInstruction(claim),
      waitsFor: waitsForOf,
      foreseen: isBankError,
      onIdle: () => this.runs.tick(),
    } as const;
    this.builds = new LeaseWorker(leases, { ...ofInstructions, atOnce: BUILDS_AT_ONCE, among: BUILT });
    this.others = new LeaseWorker(leases, { ...ofInstructions, atOnce: OTHERS_AT_ONCE, among: NOT_BUILT });
  }

  /** Claims what is due, of the kinds of which anything is, and starts on it; does not wait for it. */
  async tick(due: ReadonlySet<LeaseKind>): Promise<void> {
    await this.runs.tick(due);
    await Promise.all([this.builds.tick(due), this.others.tick(due)]);
  }

  /** Clears up what is left of submits that were not sent and could not be written down as such. */
  takeBackUnsent(): Promise<void> {
    return this.unsent.takeBack();
  }

  /** Takes no more work, waits for what is under way, and writes down what only this process knows, meanwhile and after it. */
  async drain(): Promise<void> {
    this.adder.stop();
    this.submitter.stop();
    const drained = Promise.all([this.runs.drain(), this.builds.drain(), this.others.drain()]);
    const isOver = drained.then(() => true);
    // A call may hang for longer than it is waited for; what fails here is tried again after it.
    while (!(await Promise.race([isOver, sleep(UNSENT_AGAIN_MS, false)])))
      await this.unsent.takeBack().catch(() => undefined);
    await this.unsent.drain();
  }

  private async stepRun(claim: Claim): Promise<StepEnd> {
    try {
      return await this.runWorker.step(claim);
    } catch (error) {
      if (error instanceof RateLimited) return limited(error);
      if (isAnswerUnusable(error)) return this.driftBeforeSubmit(claim, error);
      if (error instanceof NotFound) return this.accountHidden(claim);
      if (error instanceof NoReadAllowed) return this.noReadBeforeSubmit(claim);
      if (isAccessRefused(error)) return this.parkRun(claim, error.message);
      throw error;
    }
  }

  private async stepInstruction(claim: Claim): Promise<StepEnd> {
    const found = await this.database.inEmployer(claim.employerId, async (tx) => {
      const work = await instructionOfRun(tx, claim.subjectId);
      return work && { work, obstacle: await obstacleOf(tx, work.run) };
    });
    if (!found) return 'never';
    const { work, obstacle } = found;
    try {
      return await this.dispatch(claim, work, obstacle);
    } catch (error) {
      if (error instanceof Halted) return this.halted(claim, work, error.obstacle);
      if (error instanceof RateLimited) return limited(error);
      if (error instanceof RowsChanged) return this.tampered(claim, work);
      if (isAnswerUnusable(error)) return this.drift(claim, work, error);
      if (error instanceof NoReadAllowed && INSTRUCTION_UNSENT.includes(work.instruction.status))
        return this.halted(claim, work, 'ACCOUNT');
      if (isAccessRefused(error)) return this.park(claim, work, error.message);
      throw error;
    }
  }

  private async dispatch(
    claim: Claim,
    work: Work,
    obstacle: Awaited<ReturnType<typeof obstacleOf>>,
  ): Promise<StepEnd> {
    switch (work.instruction.status) {
      case 'PLANNED':
      case 'BUILDING':
      case 'VERIFIED':
        if (obstacle === 'ENDED' && work.run.status !== 'SUBMITTING')
          return this.abandonment.end(claim, work);
        return this.stepUnsent(claim, work, obstacle);
      case 'SUBMIT_INTENT':
      case 'SUBMIT_UNKNOWN':
      case 'SUBMIT_REFUSED':
        return isUnitConfirmed(work.account, this.config)
          ? this.recovery.step(claim, work)
          : this.recovery.stepUnread(claim, work);
      case 'SUBMITTED':
      case 'CLOSED':
      case 'ABANDONED':
      case 'CANCELLED':
      case 'VOID':
      case 'RELEASED':
        return 'never';
    }
  }

  /** Past the cut-off a run that is being submitted is finished, also where it is stopped. */
  private async stepUnsent(claim: Claim, work: Work, obstacle: Obstacle | undefined): Promise<StepEnd> {
    const late = this.cutOff.isTooLate(work);
    if (obstacle !== undefined && !(obstacle === 'STOPPED' && late)) return STOPPED_PAUSE_MS;
    if (!isUnitConfirmed(work.account, this.config))
      return late ? this.cutOff.giveUp(claim, work) : this.inAnotherUnit(claim, work);
    if (work.instruction.status !== 'VERIFIED')
      return late ? this.cutOff.giveUp(claim, work) : this.builder.step(claim, work);
    return work.run.status === 'SUBMITTING' ? this.submitter.step(claim, work) : 'never';
  }

  /** A process that is set otherwise than the account was checked would write, or read, other amounts than there are. */
  private inAnotherUnit(claim: Claim, { run, account }: Work): Promise<WakeIn> {
    return this.tellOf(claim, run.id, (tx, now) => raiseNotReady(tx, now, account, this.config));
  }

  private async halted(claim: Claim, work: Work, obstacle: Obstacle): Promise<WakeIn> {
    if (obstacle === 'ACCOUNT')
      return this.tellOf(claim, work.run.id, (tx, run) => raiseUnusable(tx, run, this.config));
    return obstacle === 'ENDED' ? 0 : STOPPED_PAUSE_MS;
  }

  private tampered(claim: Claim, work: Work): Promise<WakeIn> {
    return this.tellOf(claim, work.run.id, (tx) => reportTampering(tx, work.planned, work.instruction.id));
  }

  private drift(claim: Claim, { run, instruction, planned }: Work, error: BankClientError): Promise<WakeIn> {
    return this.tellOf(claim, run.id, (tx) => tellOfDrift(tx, instruction, planned, error), DRIFT_PAUSE_MS);
  }

  /** What the run gate read. It closes once the gate is passed, or what is decided would hide a drift that comes back. */
  private driftBeforeSubmit(claim: Claim, error: BankClientError): Promise<WakeIn> {
    const tell = async (tx: EmployerTransaction, run: PayRun) =>
      raiseUndecided(tx, {
        kind: 'CONTRACT_DRIFT',
        subjectId: run.id,
        payRunId: run.id,
        bankReference: readOf(error),
        // Without the sum: it may be the balance, which is for finance alone.
        happened: `${error.message}. ${await approvedVersion(tx, run)} is not submitted before that is read well.`,
        payments: run.rowCount,
        amountMinor: run.totalMinor,
      });
    return this.tellOfRun(claim, tell, DRIFT_PAUSE_MS);
  }

  /** The account is what the run gate reads alone: whatever else may be gone it looks for elsewhere too. */
  private accountHidden(claim: Claim): Promise<WakeIn> {
    return this.tellOfRun(claim, (tx, run) => raiseNotShown(tx, run, this.config));
  }

  /** The bank was not asked: the run waits for its account to be probed again, and nothing else is held up by that. */
  private noReadBeforeSubmit(claim: Claim): Promise<WakeIn> {
    return this.tellOfRun(claim, (tx, run) => raiseUnusable(tx, run, this.config));
  }

  private park(claim: Claim, { run, instruction }: Work, why: string): Promise<WakeIn> {
    const refused = `The bank refused our access: ${why}.`;
    return this.tellOf(claim, run.id, (tx, now) => accessRefused(tx, now, instruction, refused));
  }

  private parkRun(claim: Claim, why: string): Promise<WakeIn> {
    const refused = `The bank refused our access before the submit: ${why}.`;
    return this.tellOfRun(claim, (tx, run) => accessRefused(tx, run, undefined, refused));
  }

  /** As `tellOf`, of what is claimed as a run. */
  private tellOfRun(claim: Claim, tell: Tell, pauseMs?: number): Promise<WakeIn> {
    return this.tellOf(claim, claim.subjectId, tell, pauseMs);
  }

  /** Tells people why what is claimed waits for them, by its run as it now is and stays until they are told. */
  private async tellOf(
    claim: Claim,
    payRunId: string,
    tell: Tell,
    pauseMs = STOPPED_PAUSE_MS,
  ): Promise<WakeIn> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      const run = await lockRun(tx, payRunId);
      await fence(tx, claim);
      await tell(tx, run);
    });
    return pauseMs;
  }
}

function limited(error: RateLimited): StepEnd {
  return { inMs: Math.min(error.retryAfterMs, LIMITED_PAUSE_MS), waitsFor: waitsForOf(error) };
}
