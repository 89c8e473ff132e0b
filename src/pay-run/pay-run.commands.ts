import { Inject, Injectable } from '@nestjs/common';
import { append } from '../audit/audit';
import { Json } from '../audit/audit-entry';
import { RUN_RESUMED, STOPPED } from '../audit/who-stopped';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { CONFIG } from '../config/env';
import { readById } from '../database/by-id';
import { Database, EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import type { PayRunStatus } from '../domain/pay-run';
import { assertCanPay } from '../employer/account.store';
import { EmployerAccount } from '../employer/employer.entity';
import { findEmployer } from '../employer/employer.store';
import { PayLimits } from '../employer/pay-limits';
import { assertIfMatch } from '../http/etag';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { amend, insteadOf, Proposal } from './amendment';
import { approve, Seen, standingApprovals, voidApprovals } from './approval';
import { clear } from './attention.store';
import { cancelRun } from './cancellation';
import { assertExecutionDate, assertSubmitInTime } from './execution-date';
import { Actor } from './history';
import { tickIbans, Ticks } from './iban-ticks';
import { HoldChoice, releaseHold } from './hold-release';
import { resumeRun, stopRun } from './kill-switch';
import { PayRun } from './pay-run.entity';
import type { ResumeRequest } from './pay-run.dto';
import { readRun, RunRecord } from './pay-run.reads';
import { lockRun, raiseRevision } from './pay-run.store';
import { Command } from './run-command';
import { assertSendable, SendSettings } from './send-outlook';
import { personsStopOf } from './stop';

/** What is to be sent whole: of what is built, the gate counts the submits only. */
const NOT_BUILT_YET: readonly PayRunStatus[] = ['READY', 'APPROVED'];

/** What is written to the audit chain of what was done; no name, IBAN or amount of a person. */
type Audited = Record<string, Json | undefined>;

/** What people do to a run: each in one transaction with the run locked, and its audit entry. */
@Injectable()
export class PayRunCommands {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: SendSettings,
  ) {}

  /**
   * Approves the version that was looked at, if it can still be sent before the cut-off: else nothing is stored. One that
   * is built lapses at its gate, and one that is being submitted is released at the cut-off as far as it was not sent.
   * @throws those of `assertCanPay`, `approve` and `assertSendable`; 409 APPROVER_IS_PREPARER by constraint
   */
  async approve(command: Command, seen: Seen): Promise<RunRecord> {
    const record = await this.carryOut(command, 'pay-run.approved', async (tx, run) => {
      const { runVersion } = run;
      const instead = 'cancel the run and upload its file with another account of the employer';
      assertCanPay(await readById(tx, EmployerAccount, run.accountId), instead);
      await approve(tx, this.personal, run, command.personId, seen);
      if (NOT_BUILT_YET.includes(run.status)) await assertSendable(tx, run, this.config, this.clock.now());
      return { runVersion, rootHash: seen.rootHash, payments: run.rowCount, status: run.status };
    });
    crashPoint('approval.recorded');
    return record;
  }

  /** Notes which new IBANs were looked at. @throws those of `tickIbans`; 409 TICKER_IS_PREPARER by constraint */
  tickIbans(command: Command, ticks: Ticks): Promise<RunRecord> {
    return this.carryOut(command, 'pay-run.ibans-ticked', async (tx, run) => {
      const ticked = await tickIbans(tx, run, command.personId, ticks);
      return { runVersion: run.runVersion, ...(ticks.paymentIds ? { ticked } : { reason: ticks.reason }) };
    });
  }

  /** Takes every approval back while nothing is at the bank. @throws DomainError NOT_VOIDABLE, NO_STANDING_APPROVAL */
  voidApprovals(command: Command, reason: string): Promise<RunRecord> {
    return this.carryOut(command, 'pay-run.approvals-voided', async (tx, run) => {
      const { runVersion } = run;
      if (run.status !== 'READY' && run.status !== 'APPROVED') {
        const isBuilt = run.status === 'BUILDING' || run.status === 'VERIFIED';
        const instead = isBuilt ? ' Amend or cancel it instead.' : insteadOf(run);
        throw new DomainError(
          'NOT_VOIDABLE',
          `The run is ${run.status}: its approvals can no longer be taken back.${instead}`,
        );
      }
      const approvals = await standingApprovals(tx, run);
      if (approvals.length === 0)
        throw new DomainError('NO_STANDING_APPROVAL', 'There is no approval to void.');
      await voidApprovals(tx, run, actorOf(command), reason);
      await clear(tx, ['ACCOUNT_UNUSABLE'], run.id, 'its approvals were taken back');
      return { runVersion, approvals: approvals.length, reason };
    });
  }

  /** Proposes an amendment. @throws those of `assertExecutionDate`, `assertSubmitInTime` and `amend` */
  amend(command: Command, proposal: Proposal): Promise<RunRecord> {
    return this.carryOut(command, 'pay-run.amended', async (tx, run) => {
      this.assertDates(run, proposal, await findEmployer(tx));
      const amendment = await amend(tx, this.personal, run, command.personId, proposal);
      return {
        amendment: showId('amd', amendment.id),
        excluded: proposal.excludePaymentIds.map((id) => showId('pay', id)),
        executionDate: proposal.executionDate,
        submitAt: proposal.submitAt?.toISOString(),
        reason: proposal.reason,
      };
    });
  }

  /** Releases one hold. @throws those of `releaseHold`; 409 RELEASER_IS_PREPARER by constraint */
  releaseHold(command: Command, choice: HoldChoice, reason: string): Promise<RunRecord> {
    return this.carryOut(command, 'pay-run.hold-released', async (tx, run) => {
      await releaseHold(tx, this.personal, run, choice, { personId: command.personId, reason });
      return {
        code: choice.code,
        holdVersion: choice.version,
        payment: choice.paymentId === undefined ? undefined : showId('pay', choice.paymentId),
        runVersion: run.runVersion,
        reason,
      };
    });
  }

  /** Begins to cancel the run. @throws those of `cancelRun` */
  cancel(command: Command, reason: string): Promise<RunRecord> {
    return this.carryOut(command, 'pay-run.cancelled', async (tx, run) => {
      await cancelRun(tx, run, actorOf(command), reason);
      return { status: run.status, reason };
    });
  }

  /** Throws the run's kill switch. @throws those of `stopRun` */
  stop(command: Command, reason: string): Promise<RunRecord> {
    return this.carryOut(command, STOPPED.payRun, async (tx, run) => {
      await stopRun(tx, run, reason);
      return { status: run.status, reason };
    });
  }

  /** Takes it back. @throws those of `resumeRun`; Problem 409 SECOND_PERSON_REQUIRED for the person who stopped it */
  resume(command: Command, { reason, stoppedAt }: ResumeRequest): Promise<RunRecord> {
    return this.carryOut(command, RUN_RESUMED, async (tx, run) => {
      if ((await personsStopOf(tx, run))?.personId === command.personId) {
        throw new Problem(409, 'SECOND_PERSON_REQUIRED', 'Who stopped the run may not resume it.');
      }
      await resumeRun(tx, run, stoppedAt);
      return { status: run.status, reason };
    });
  }

  private assertDates(
    run: PayRun,
    { executionDate, submitAt }: Proposal,
    limits: Pick<PayLimits, 'daysAheadLimit'>,
  ): void {
    const bank = { now: this.clock.now(), ...bankHours(this.config) };
    if (executionDate !== undefined) assertExecutionDate(executionDate, bank, limits);
    if (executionDate !== undefined || submitAt !== undefined)
      assertSubmitInTime(executionDate ?? run.executionDate, submitAt ?? run.submitAt, bank);
  }

  private carryOut(
    { employerId, payRunId, personId, ifMatch }: Command,
    action: string,
    work: (tx: EmployerTransaction, run: PayRun) => Promise<Audited>,
  ): Promise<RunRecord> {
    return this.database.inEmployer(employerId, async (tx) => {
      const run = await lockRun(tx, payRunId);
      const { revision } = run;
      assertIfMatch(ifMatch, revision);
      const detail = await work(tx, run);
      await raiseRevision(tx, run, revision);
      await append(tx, { personId, action, subject: showId('run', payRunId), detail });
      return readRun(tx, payRunId, this.config, this.clock.now());
    });
  }
}

function actorOf({ personId }: Command): Actor {
  return `person:${personId}`;
}
