import { Inject, Injectable } from '@nestjs/common';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { readById } from '../database/by-id';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence, wake } from '../database/leases';
import { WakeIn } from '../database/lease-worker';
import { PersonalData } from '../database/personal-data';
import {
  INSTRUCTION_ENDED,
  INSTRUCTION_SENT,
  INSTRUCTION_STATUSES,
  INSTRUCTION_UNSENT,
  InstructionStatus,
} from '../domain/instruction';
import { endOf, PayRunStatus } from '../domain/pay-run';
import { PAYMENT_UNPAID } from '../domain/payment';
import { EmployerAccount } from '../employer/employer.entity';
import { notReady } from '../employer/readiness';
import { applyAmendment, liveInstructions } from '../pay-run/amendment';
import { standingApprovals } from '../pay-run/approval';
import { clear, clearBuilding } from '../pay-run/attention.store';
import { finishCancelling, forgetUpload } from '../pay-run/cancellation';
import { everyInstructionIs, IS_RECENT, planTheRest } from '../pay-run/instruction.store';
import { backToReady, lapseRun } from '../pay-run/lapse';
import { closeMadeAgain } from '../pay-run/made-again';
import { PayRun } from '../pay-run/pay-run.entity';
import { findRun, lockRun, moveRun, openAmendment } from '../pay-run/pay-run.store';
import { expectedSend } from '../pay-run/send-outlook';
import { LACKS_APPROVALS, resumeUnlessPersons } from '../pay-run/stop';
import { raiseNotReady } from '../pay-run/waits-for-account';
import { lapseByPeople, whyLapsed } from './lapse';
import { RunGate } from './run-gate';
import { submitWindow, Window } from './submit-window';
import { mayBeForgotten, Obstacle, obstacleOf } from './work';

/** A waiting run is looked at every so many ticks at least, so that a clock that is set or a switch is noticed. */
const LOOK_AGAIN_TICKS = 10;

/** A run's own transitions: one lease a run, one step at a time; its instructions have leases of their own. */
@Injectable()
export class RunWorker {
  private readonly lookAgainMs: number;

  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly gate: RunGate,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.lookAgainMs = config.TICK_MS * LOOK_AGAIN_TICKS;
  }

  /** One step of a run; the answer says when to look at it again. */
  async step(claim: Claim): Promise<WakeIn> {
    const run = await this.database.inEmployer(claim.employerId, (tx) => findRun(tx, claim.subjectId));
    switch (run.status) {
      case 'APPROVED':
        return this.locked(claim, 'APPROVED', (tx, now) => this.start(tx, now));
      case 'BUILDING':
        return this.locked(claim, 'BUILDING', (tx, now) => this.collect(tx, now));
      case 'VERIFIED':
        return this.verified(claim, run);
      case 'SUBMITTING':
        return this.locked(claim, 'SUBMITTING', (tx, now) => this.submitted(tx, now));
      case 'FOLLOWING':
        return this.locked(claim, 'FOLLOWING', (tx, now) => this.finish(tx, now));
      case 'CANCELLING':
        return this.locked(claim, 'CANCELLING', (tx, now) => this.cancel(tx, now));
      case 'DRAFT':
      case 'READY':
      case 'SETTLED':
      case 'PARTLY_SETTLED':
      case 'FAILED':
      case 'CANCELLED':
        return 'never';
    }
  }

  private locked(
    claim: Claim,
    status: PayRunStatus,
    work: (tx: EmployerTransaction, run: PayRun) => Promise<WakeIn>,
  ): Promise<WakeIn> {
    return this.database.inEmployer(claim.employerId, async (tx) => {
      const run = await lockRun(tx, claim.subjectId);
      await fence(tx, claim);
      return run.status === status ? work(tx, run) : 0;
    });
  }

  /** APPROVED → BUILDING once it is due, its account is ready and no switch is thrown; stopped or not, it lapses when late. */
  private async start(tx: EmployerTransaction, run: PayRun): Promise<WakeIn> {
    const obstacle = await obstacleOf(tx, run);
    if (obstacle === 'ENDED' || (await awaitsRestore(tx, run, obstacle))) return this.lookAgainMs;
    const { ms } = await expectedSend(tx, run, this.config);
    const window = await this.windowOf(tx, run, ms);
    if (window.kind === 'early') return Math.min(window.ms, this.lookAgainMs);
    const lapsed = whyLapsed(window, 'cannot be met');
    const lapse = lapsed === undefined ? await lapseByPeople(tx, run) : { why: lapsed, mend: undefined };
    if (lapse) {
      await lapseRun(tx, run, lapse.why, lapse.mend);
      return 0;
    }
    if (obstacle !== undefined || !(await this.accountReady(tx, run))) return this.lookAgainMs;
    await moveRun(tx, run, 'BUILDING', 'service');
    await planTheRest(tx, run);
    await wakeAbandoned(tx, this.config.WATCH_DAYS);
    return 'never';
  }

  private async accountReady(tx: EmployerTransaction, run: PayRun): Promise<boolean> {
    const account = await readById(tx, EmployerAccount, run.accountId);
    if (notReady(account, this.config).length === 0) {
      await clear(tx, ['ACCOUNT_UNUSABLE'], [run.id, run.accountId], 'the account can be used');
      return true;
    }
    await raiseNotReady(tx, run, account, this.config);
    return false;
  }

  /** BUILDING → VERIFIED when every instruction is; or back to READY when all ended for an amendment. */
  private async collect(tx: EmployerTransaction, run: PayRun): Promise<WakeIn> {
    const ended = await this.endedEarly(tx, run);
    if (ended !== undefined) return ended;
    if (!(await everyInstructionIs(tx, run, ['VERIFIED']))) return this.lookAgainMs;
    await moveRun(tx, run, 'VERIFIED', 'service');
    return 0;
  }

  private async verified(claim: Claim, run: PayRun): Promise<WakeIn> {
    const early = await this.locked(claim, 'VERIFIED', async (tx, now) => {
      const ended = await this.endedEarly(tx, now);
      if (ended !== undefined) return ended === 'never' ? 0 : ended;
      if (await everyInstructionIs(tx, now, ['VERIFIED'])) return 'never';
      await moveRun(tx, now, 'BUILDING', 'service', 'an instruction was abandoned');
      return this.lookAgainMs;
    });
    return early === 'never' ? this.gate.step(claim, run) : early;
  }

  /** What takes a run that has nothing submitted out of its way: an amendment, a lapse, a date that cannot be met. */
  private async endedEarly(tx: EmployerTransaction, run: PayRun): Promise<WakeIn | undefined> {
    const obstacle = await obstacleOf(tx, run);
    if (await awaitsRestore(tx, run, obstacle)) return this.lookAgainMs;
    if (obstacle !== 'ENDED') {
      const lapsed = whyLapsed(await this.windowOf(tx, run, 0), 'passed');
      if (lapsed === undefined) return obstacle === undefined ? undefined : this.lookAgainMs;
      await lapseRun(tx, run, lapsed);
    }
    if (await wakeLive(tx, run)) return this.lookAgainMs;
    const amendment = await openAmendment(tx, run.id);
    if (run.lapseReason !== null) await backToReady(tx, run, run.lapseReason);
    if (amendment) await applyAmendment(tx, this.personal, run, amendment);
    return 'never';
  }

  /** SUBMITTING → FOLLOWING when nothing of it is left to be submitted. */
  private async submitted(tx: EmployerTransaction, run: PayRun): Promise<WakeIn> {
    if (await everyInstructionIs(tx, run, INSTRUCTION_SENT)) {
      await moveRun(tx, run, 'FOLLOWING', 'service');
      const pointless = ['REPLACED_PAYMENT_MOVED', 'ACCOUNT_UNUSABLE'] as const;
      await clear(tx, pointless, run.id, 'nothing of the run is sent any more');
      await resumeUnlessPersons(tx, run.id, [LACKS_APPROVALS]);
      await closeMadeAgain(tx);
      return 0;
    }
    // What waits for people, such as a row that the bank refused, is released by nobody else.
    const { kind } = await this.windowOf(tx, run, 0);
    if (kind === 'late') {
      // What was given up for good is planned once more, to be released.
      await planTheRest(tx, run);
      await wakeLive(tx, run, INSTRUCTION_UNSENT);
    }
    return this.lookAgainMs;
  }

  /** FOLLOWING ends when every instruction did; how, is said by its payments. */
  private async finish(tx: EmployerTransaction, run: PayRun): Promise<WakeIn> {
    if (!(await everyInstructionIs(tx, run, INSTRUCTION_ENDED))) return 'never';
    const [count] = await tx.query<{ settled: number; unpaid: number }>(
      `SELECT count(*) FILTER (WHERE status = 'SETTLED')::int AS settled,
         count(*) FILTER (WHERE status = ANY ($3))::int AS unpaid
       FROM payment WHERE employer_id = $1 AND pay_run_id = $2`,
      [tx.employerId, run.id, PAYMENT_UNPAID],
    );
    const to = endOf(count ?? { settled: 0, unpaid: 0 });
    if (to === 'FAILED') await forgetUpload(tx, run);
    await clearBuilding(tx, run.id, `the run ended ${to}`);
    await moveRun(tx, run, to, 'service');
    return 'never';
  }

  private async cancel(tx: EmployerTransaction, run: PayRun): Promise<WakeIn> {
    if (await wakeLive(tx, run)) return this.lookAgainMs;
    await finishCancelling(tx, run, 'service');
    return 'never';
  }

  private async windowOf(tx: EmployerTransaction, run: PayRun, expectedMs: number): Promise<Window> {
    const approvals = await standingApprovals(tx, run);
    const approvedAt = approvals.at(-1)?.approvedAt ?? this.clock.now();
    return submitWindow(run, approvedAt, this.clock.now(), bankHours(this.config), expectedMs);
  }
}

/** Whether a restored database may have forgotten a submit of the run: its approval does not lapse before that is known. */
async function awaitsRestore(
  tx: EmployerTransaction,
  run: PayRun,
  obstacle: Obstacle | undefined,
): Promise<boolean> {
  return obstacle === 'RESTORED' || (obstacle === 'STOPPED' && (await mayBeForgotten(tx, run.id)));
}

/**
 * What was given up is read again while a run is built, which may pay the same employees: somebody else may have
 * submitted it since it was read last, and what is seen moved stops everything before the run's own submit.
 */
async function wakeAbandoned(tx: EmployerTransaction, watchDays: number): Promise<void> {
  const abandoned = await tx.query<{ id: string }>(
    `SELECT i.id FROM instruction i
     WHERE i.employer_id = $1 AND i.status = 'ABANDONED' AND i.bank_instruction_id IS NOT NULL
       AND ${IS_RECENT}`,
    [tx.employerId, watchDays],
  );
  const ids = abandoned.map(({ id }) => id);
  if (ids.length > 0) wake(tx, 'FOLLOW', ids);
}

/** Wakes the run's instructions that are under way, or those in some states. @returns whether there are any */
async function wakeLive(
  tx: EmployerTransaction,
  run: PayRun,
  states: readonly InstructionStatus[] = INSTRUCTION_STATUSES,
): Promise<boolean> {
  const alive = await liveInstructions(tx, run);
  const ids = alive.filter(({ status }) => states.includes(status)).map(({ id }) => id);
  if (ids.length > 0) wake(tx, 'INSTRUCTION', ids);
  return ids.length > 0;
}
