import { Inject, Injectable, Logger } from '@nestjs/common';
import { isBankError, isHiddenForGood, isNotToBeRead, readEach } from '../bank/errors';
import { describeError } from '../config/describe-error';
import { CONFIG, Config } from '../config/env';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { words } from '../database/words';
import { isConnectionLoss, isOfDatabase } from '../database/outage';
import { isBeforeSubmit, isPastSubmit, isUndocumented, mostSubmitted } from '../domain/bank-status';
import {
  INSTRUCTION_GIVEN_UP,
  INSTRUCTION_IN_DOUBT,
  INSTRUCTION_UNDER_WAY,
  type InstructionStatus,
} from '../domain/instruction';
import { OTHER_UNIT } from '../employer/readiness';
import { clear, raise } from '../pay-run/attention.store';
import { awaitTurnOfOpenRuns } from '../pay-run/stop';
import { IS_RECENT, lockInstruction } from '../pay-run/instruction.store';
import { tellOfMovedTombstone } from '../pay-run/moved-instruction';
import { InstructionReader } from '../submission/read-back';
import { RowsChanged } from '../submission/tampering';
import { Work } from '../submission/work';
import { Forgotten, RestoreAdoption } from './restore-adoption';
import { keepForgotten, shownBefore } from './forgotten-instructions';
import { heldWork, listedStatus, lockAwaited } from './restore-fence';
import { Finding, happenedAfter, type HeldByRestore, isKept, isWhole } from './restore-words';
import type { Sweep } from './restore-sweep';
import { Waiting, waitingOf } from './restore-waiting';
import { RestoreWatch } from './restore-watch';
import { auditWithdrawn, lapseRestored, withdrawRestored } from './restored-approvals';
import { markPast, runsInDoubt, runsInPart, stopRuns, undecidedOf } from './restored-runs';
import { takenBackBefore } from './taken-back';
import { tellUnrecorded, UnrecordedSubmits } from './unrecorded-submits';

/** What a restore was told as. */
export interface Restore {
  readonly id: string;
  readonly what: string;
}

/** What the bank shows of what is not submitted in the record. */
interface MovedSince {
  moved: Finding[];
  hidden: readonly string[];
  /** What was given up, with a status past the submit. */
  executed: [Work, string][];
}

const GOES_ON_NO_MORE = 'the run does not go on';
const NOT_READ = 'the bank does not let it be read';
/** What it refuses now it may show a little later, as the unit of amounts may be checked anew. */
const NOT_READ_PAUSE_MS = 60_000;
/** What it shows otherwise than approved it may not have been done with. */
const OTHERWISE_PAUSE_MS = 600_000;

/**
 * Holds one employer's record against the bank after a restore: every instruction that is not submitted is read again,
 * and what the general list shows beside them and is the employer's is taken over where it can be.
 */
@Injectable()
export class RestoreCheck {
  private readonly logger = new Logger(RestoreCheck.name);
  /** The run as it was when its instruction at the bank was not taken over: tried again when it has moved, or then. */
  private readonly refused = new Map<string, { key: string; againMs: number }>();

  constructor(
    private readonly database: Database,
    private readonly reader: InstructionReader,
    private readonly adoption: RestoreAdoption,
    private readonly watch: RestoreWatch,
    private readonly unrecorded: UnrecordedSubmits,
    @Inject(CONFIG) private readonly config: Pick<Config, 'WATCH_DAYS'>,
  ) {}

  /**
   * Takes over what the bank proves, stops the runs of what it does not, tells people, and writes down that the bank
   * was read. May be repeated; what was read before another replica passed it may be of after people resumed, and says
   * nothing then. @throws BankClientError while the bank cannot be read: nothing is passed then
   * @param own what of the sweep is the employer's, once nobody submits it any more, or unclear
   * @param givenUp what was given up before the restore was noticed, and is not proven dead
   */
  async reconcile(
    employerId: string,
    restore: Restore,
    sweep: Sweep,
    { own, givenUp }: { own: readonly Finding[]; givenUp: readonly Work[] },
  ): Promise<void> {
    const { moved, hidden, executed } = await this.movedOf(employerId, sweep, givenUp);
    const found = [...moved, ...own];
    const isAwaited = await this.database.inEmployer(employerId, async (tx) => {
      if (!(await lockAwaited(tx, restore))) return false;
      await keepForgotten(tx, restore.id, found.filter(isKept));
      found.push(...(await shownBefore(tx, restore.id, found)));
      return true;
    });
    if (!isAwaited) return;
    await this.adoptFound(employerId, found.filter(isKept));
    await this.database.inEmployer(employerId, async (tx) => {
      if (!(await lockAwaited(tx, restore))) return;
      // At once: of which of them the approval lapses, and which are stopped, is seen by one statement after the other.
      await awaitTurnOfOpenRuns(tx);
      // Who follows it tells the rest; from here on no run pays its people again by itself.
      for (const [{ instruction, planned }, status] of executed)
        await tellOfMovedTombstone(tx, await lockInstruction(tx, instruction.id), planned, status);
      const findings = [...found, ...(await takenBackBefore(tx, restore.id, found))];
      const older = await runsInDoubt(tx, restore.id, sweep, findings);
      const inPart = await runsInPart(tx, restore.id);
      const unclear = findings.flatMap((one) => (one.isUnclear && !isKept(one) && one.payRunId) || []);
      // Before they are stopped: of those that are only older nothing is unclear but whose place was taken.
      const lapsed = await lapseRestored(tx, restore.id, { hidden, unclear });
      await stopRuns(tx, findings, [...older, ...unclear]);
      await tellUnrecorded(
        tx,
        findings.filter(isKept).flatMap(({ payRunId }) => payRunId ?? []),
      );
      await wakeFollowed(tx, this.config.WATCH_DAYS);
      const withdrawn = await withdrawRestored(tx, restore.id);
      await markPast(tx, findings);
      await pass(tx, restore, sweep, {
        findings,
        hidden,
        older,
        inPart,
        lapsed,
        withdrawn: withdrawn.length,
      });
      await auditWithdrawn(tx, restore.id, withdrawn);
    });
  }

  private async adoptFound(employerId: string, forgotten: readonly Finding[]): Promise<void> {
    for (const finding of forgotten) {
      const { payRunId } = finding;
      if (payRunId === null) continue;
      finding.refusal = await this.adoptOrSay(employerId, { ...finding, payRunId, isSaidExecuted: false });
      // Its status may have told since.
      if (finding.refusal === undefined) Object.assign(finding, { submitted: true, isUnclear: false });
    }
  }

  /**
   * Takes over what could not be taken over before its run moved: one that people approved again, as it was; or before the
   * bank was done with it. Of what is not, and was found in an undocumented status, people are told once it was submitted;
   * what they have decided is counted once the bank shows how all of it ended. @throws BankClientError
   */
  async adoptWaiting(employerId: string): Promise<void> {
    const waiting = await this.database.inEmployer(employerId, (tx) => waitingOf(tx, this.config.WATCH_DAYS));
    try {
      await readEach(waiting, (one) => this.adoptOne(employerId, one));
    } finally {
      await this.database.inEmployer(employerId, async (tx) => tellUnrecorded(tx, await undecidedOf(tx)));
    }
  }

  private async adoptOne(
    employerId: string,
    { key, goesOn, isOpen, isUncounted, ...waiting }: Waiting,
  ): Promise<void> {
    const { bankInstructionId, payRunId } = waiting;
    const before = this.refused.get(bankInstructionId);
    if (before?.key === key && performance.now() < before.againMs) return;
    const isAdopted = goesOn && payRunId !== null;
    const refusal = isAdopted ? await this.adoptOrSay(employerId, { ...waiting, payRunId }) : GOES_ON_NO_MORE;
    const pauseMs = refusal === NOT_READ || refusal === OTHER_UNIT ? NOT_READ_PAUSE_MS : OTHERWISE_PAUSE_MS;
    const againMs = performance.now() + pauseMs;
    if (refusal === undefined) this.refused.delete(bankInstructionId);
    else this.refused.set(bankInstructionId, { key, againMs });
    if (refusal !== undefined && isOpen) await this.watch.step(employerId, waiting);
    if (refusal !== undefined && isUncounted && payRunId !== null)
      await this.unrecorded.count(employerId, { ...waiting, payRunId });
    if (payRunId !== null) await this.database.inEmployer(employerId, (tx) => tellUnrecorded(tx, [payRunId]));
  }

  /** As `adopt`; what fails of one instruction by itself is a reason not to take that one over, and no other. */
  private async adoptOrSay(employerId: string, forgotten: Forgotten): Promise<string | undefined> {
    try {
      return await this.adoption.adopt(employerId, forgotten);
    } catch (error) {
      if (isNotToBeRead(error)) return NOT_READ;
      if (isBankError(error) || isOfDatabase(error) || isConnectionLoss(error)) throw error;
      const { bankInstructionId } = forgotten;
      const message = 'an instruction could not be taken back into the record';
      this.logger.error({ message, bankInstructionId, error: describeError(error) });
      return error instanceof RowsChanged
        ? 'its payments are not in the state of approved ones'
        : 'the record does not allow it; the log says why';
    }
  }

  /**
   * Instructions the database has as not submitted, which the bank does not show as such, or so that they may be still; and the
   * ids of those that it lets nobody read, or shows no more, and of which its list shows nothing. What was given up is not
   * taken over: where it is executed that is told by itself, and where no document names its status the bank is to say.
   */
  private async movedOf(employerId: string, sweep: Sweep, givenUp: readonly Work[]): Promise<MovedSince> {
    const moved: Finding[] = [];
    const hidden: string[] = [];
    const executed: MovedSince['executed'] = [];
    const held = await this.database.inEmployer(employerId, heldWork);
    await readEach([...held, ...givenUp], async (work) => {
      const { instruction, run, planned } = work;
      const shown = await this.statusOf(work);
      const status = shown.status ?? listedStatus(sweep, work) ?? shown.before;
      const isGivenUp = givenUp.includes(work);
      const isHidden = status === undefined ? shown.isHidden : isGivenUp && isUndocumented(status);
      if (isHidden) hidden.push(instruction.bankInstructionId ?? '');
      if (status === undefined || isHidden) return;
      const submitted = isPastSubmit(status);
      if (submitted && isGivenUp) {
        executed.push([work, status]);
        return;
      }
      moved.push({
        bankInstructionId: instruction.bankInstructionId ?? '',
        instructionId: instruction.id,
        payRunId: run.id,
        reference: undefined,
        status,
        submitted,
        isUnclear: !submitted,
        payments: planned.rowCount,
        refusal: undefined,
      });
    });
    return { moved, hidden, executed };
  }

  /**
   * A status that says, or leaves possible, that it was submitted; that `before` its submit which it is shown in still, though it
   * was to be deleted; and whether neither tells. @throws BankClientError that may pass
   */
  private async statusOf(work: Work): Promise<{ status?: string; before?: string; isHidden: boolean }> {
    try {
      const { shown, statuses, isUnclear, isWhole } = await this.reader.standing(work);
      const before = shown && isBeforeSubmit(shown.status) ? shown.status : undefined;
      // This service deletes none that it may submit: what is gone may be so for its submit. Where no instruction may be read
      // its payments alone do not tell: they may stay as they were until it is approved.
      const mayBeRead = work.account.reads.includes('INSTRUCTION');
      const isEnded = mayBeRead && (shown !== undefined || (isWhole && statuses.length > 0));
      return { status: mostSubmitted(statuses), before, isHidden: isUnclear || !isEnded };
    } catch (error) {
      if (isHiddenForGood(error)) return { isHidden: true };
      throw error;
    }
  }
}

/** What was submitted, given up or is in doubt is read again at once, by those who follow it. */
async function wakeFollowed(tx: EmployerTransaction, watchDays: number): Promise<void> {
  const rows = await tx.query<{ id: string; status: InstructionStatus }>(
    `SELECT i.id, i.status FROM instruction i
     WHERE i.employer_id = $1 AND (i.status IN (${words(INSTRUCTION_UNDER_WAY)})
       OR i.status IN (${words(INSTRUCTION_GIVEN_UP)}) AND ${IS_RECENT})`,
    [tx.employerId, watchDays],
  );
  const inDoubt = rows.filter(({ status }) => INSTRUCTION_IN_DOUBT.includes(status));
  const followed = rows.filter(({ status }) => !INSTRUCTION_IN_DOUBT.includes(status));
  wake(
    tx,
    'INSTRUCTION',
    inDoubt.map(({ id }) => id),
  );
  wake(
    tx,
    'FOLLOW',
    followed.map(({ id }) => id),
  );
}

/** The bank was read: the question to people is asked anew, with what it shows. */
async function pass(
  tx: EmployerTransaction,
  restore: Restore,
  sweep: Sweep,
  { findings, ...held }: { findings: readonly Finding[] } & HeldByRestore,
): Promise<void> {
  const unread =
    held.hidden.length > 0 || findings.some(({ isUnclear, refusal }) => isUnclear || refusal === NOT_READ);
  // What is submitted of no known run is kept as forgotten, with its date.
  const mayLackRuns =
    !isWhole(sweep) || findings.some(({ payRunId, isUnclear }) => payRunId === null && isUnclear);
  await tx.query(
    `UPDATE restore_check SET passed_at = clock_timestamp(), needs_evidence = $3, may_lack_runs = $4,
       unidentified = $5, waits_for = NULL
     WHERE employer_id = $1 AND restore_id = $2`,
    [tx.employerId, restore.id, !isWhole(sweep) || unread, mayLackRuns, sweep.unidentified.length],
  );
  await clear(tx, ['RESTORED'], restore.id, 'the bank was read; what it shows is in the next question');
  await raise(tx, {
    kind: 'RESTORED',
    subjectId: restore.id,
    happened: happenedAfter(restore.what, sweep, findings, held),
    payments: findings.filter(isKept).reduce((sum, { payments }) => sum + payments, 0),
  });
}
