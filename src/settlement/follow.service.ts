import { Inject, Injectable } from '@nestjs/common';
import {
  BankClientError,
  isAccessRefused,
  isAnswerUnusable,
  isBankError,
  isHidden,
  NotAllowed,
  RateLimited,
} from '../bank/errors';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { readById } from '../database/by-id';
import { BackgroundDatabase } from '../database/background-database';
import type { EmployerTransaction } from '../database/database';
import { Claim, fence, Fenced, isThere, LeaseKind, Leases, missingForMs } from '../database/leases';
import { leaseHolder, LeaseWorker, WakeIn } from '../database/lease-worker';
import { isOfDatabase } from '../database/outage';
import { DAY_MS } from '../domain/durations';
import { clear } from '../pay-run/attention.store';
import { DRIFT_PAUSE_MS, tellOfDrift } from '../pay-run/drift';
import { ENDED } from '../pay-run/ended-reads';
import type { EmployerAccount } from '../employer/employer.entity';
import { isOfAnotherUnit } from '../employer/readiness';
import { Instruction } from '../pay-run/instruction.entity';
import { raiseNotFollowed } from '../pay-run/waits-for-account';
import { accessRefused, hiddenFromUs, REFUSED_TO_SHOW } from '../pay-run/refused-access';
import { BalanceLook } from './balance-look';
import { nowRead, tellOfHidden, tellOfRefused, tellOfUnread } from './ended-unread';
import { wordsOfMissing } from './follow-alarms';
import { FollowRecord } from './follow-record';
import { Followed, loadFollowed } from './followed';
import { Follower, type Step } from './follower';
import { hasEnded, nextReadMs, nextTryMs, soonMs } from './next-read';
import { IN_ANOTHER_UNIT, UNREADABLE, UNRECORDABLE } from './status-alarms';
import { TombstoneWatch } from './tombstone-watch';

/** Instructions followed at once by one process; they share sweeps of the bank's general listing. */
const FOLLOWED_AT_ONCE = 200;

/** What is missing of what is open while it would be read in another unit. */
const UNIT = 'its unit';

/** What clears the drift: with one that lasts, no read succeeds. */
const READ_AGAIN = 'a later read followed the interface';

/** A bank may tell of each payment by itself, for hours: reading all of them again takes a fifth of that time at most. */
const RESTS = 4;

/** What a read that succeeded leaves to be done. */
interface Read extends Step {
  /** Whether the balance of an ended run is still to be looked at soon. */
  lookSoon: boolean;
  /** Why the bank was read in vain. */
  failed?: BankClientError;
}

const NOTHING_MORE: Read = { lookSoon: false, unshown: [] };

/** Bank to our side: reads what was submitted until it ends, and watches what ended for a while longer. */
@Injectable()
export class FollowService {
  private readonly worker: LeaseWorker;

  constructor(
    private readonly database: BackgroundDatabase,
    leases: Leases,
    private readonly follower: Follower,
    private readonly records: FollowRecord,
    private readonly tombstones: TombstoneWatch,
    private readonly balances: BalanceLook,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.worker = new LeaseWorker(leases, {
      kind: 'FOLLOW',
      holder: leaseHolder(),
      leaseMs: config.LEASE_MS,
      atOnce: FOLLOWED_AT_ONCE,
      step: (claim) => this.step(claim),
      rests: RESTS,
      foreseen: isBankError,
    });
  }

  /** Claims what is due, where anything of its kind is, and starts on it; does not wait for it. */
  async tick(due: ReadonlySet<LeaseKind>): Promise<void> {
    await this.worker.tick(due);
  }

  /** Takes no more work and waits for what is under way. */
  drain(): Promise<void> {
    return this.worker.drain();
  }

  private async step(claim: Claim): Promise<WakeIn> {
    const { employerId, subjectId: id } = claim;
    const followed = await this.database.inEmployer(employerId, (tx) => loadFollowed(tx, id));
    if (!followed) return 'never';
    if (isOfAnotherUnit(followed.account, this.config)) return this.inAnotherUnit(claim, followed);
    const begunMs = this.clock.now().getTime();
    let read: Read;
    try {
      read = await this.read(claim, followed);
    } catch (error) {
      if (!isBankError(error)) {
        await this.judgeByTime(claim, followed, error);
        throw error;
      }
      read = { ...NOTHING_MORE, failed: error };
    }
    if (read.failed) return this.afterFailure(claim, followed, read.failed, read.lookSoon, begunMs);
    return this.database.inEmployer(employerId, async (tx) => {
      await fence(tx, claim);
      await this.inItsUnit(tx, claim, followed);
      await this.tellOfRead(tx, claim, followed, read);
      if (read.lookSoon) return soonMs(this.config);
      const after = await readById(tx, Instruction, id);
      // However long it took to read the end: the second look is a claim of its own, and still to come.
      const nextMs = await this.nextReadMs(
        tx,
        { ...followed, instruction: after },
        hasEnded(followed.instruction) ? begunMs : 0,
      );
      const isSoon = read.cutShort !== undefined || read.pass === 'more-to-try';
      if (isSoon && hasEnded(followed.instruction)) return nextTryMs(this.config, nextMs, read.cutShort);
      return read.cutShort instanceof RateLimited ? read.cutShort.retryAfterMs : nextMs;
    });
  }

  private async afterFailure(
    claim: Claim,
    followed: Followed,
    error: BankClientError,
    lookSoon: boolean,
    begunMs: number,
  ): Promise<WakeIn> {
    const nextMs = await this.database.inEmployer(claim.employerId, async (tx) => {
      await fence(tx, claim);
      await this.inItsUnit(tx, claim, followed);
      await this.tellOfFailure(tx, claim, followed, error);
      return this.nextReadMs(tx, followed, begunMs);
    });
    if (isHidden(error)) return lookSoon ? soonMs(this.config) : nextMs;
    if (hasEnded(followed.instruction)) return nextTryMs(this.config, nextMs, error);
    if (error instanceof RateLimited) return error.retryAfterMs;
    if (isAnswerUnusable(error)) return DRIFT_PAUSE_MS;
    throw error;
  }

  /** It is read, or asked for in vain, in the unit that the account was checked under. */
  private async inItsUnit(tx: EmployerTransaction, claim: Claim, { account }: Followed): Promise<void> {
    isThere(tx, claim, UNIT);
    await clear(tx, ['ACCOUNT_UNUSABLE'], account.id, 'the setting is right again');
  }

  /** What a read that was answered tells of itself; one that asked for no payments says nothing of what was missing. */
  private async tellOfRead(
    tx: EmployerTransaction,
    claim: Claim,
    followed: Followed,
    { unshown, isLacking, unread, cutShort, pass }: Step,
  ): Promise<void> {
    const { instruction, run, known } = followed;
    if (unshown === undefined) return;
    if (cutShort) await this.tellOf(tx, claim, followed, cutShort);
    if (unread) await this.tellOf(tx, claim, followed, unread);
    else if (!cutShort && isLacking !== true && isRead(instruction))
      await clear(tx, ['CONTRACT_DRIFT'], instruction.id, READ_AGAIN);
    if (unshown.length > 0) {
      await this.tellOfMissing(tx, claim, followed, wordsOfMissing(unshown, known.length));
    } else if (pass === undefined) {
      isThere(tx, claim, ENDED);
      if (claim.missing?.what === ENDED) await nowRead(tx, run, instruction.id);
    }
  }

  /**
   * A process that is set otherwise than the account was checked would read other amounts than there are: only what time
   * alone says is told.
   */
  private async inAnotherUnit(claim: Claim, followed: Followed): Promise<WakeIn> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      await fence(tx, claim);
      await this.tellOfUnit(tx, claim, followed);
      await this.records.judgeUnread(tx, claim, followed, IN_ANOTHER_UNIT);
    });
    return DRIFT_PAUSE_MS;
  }

  /**
   * Of what was submitted alone. What was read by the right unit again since it was decided, or submitted since, is asked
   * about anew: the lease of what is open remembers since when it is not read.
   */
  private async tellOfUnit(
    tx: EmployerTransaction,
    claim: Claim,
    { account, instruction }: Followed,
  ): Promise<void> {
    const { status, submittedAt } = instruction;
    if (status !== 'SUBMITTED' && status !== 'CLOSED') return;
    const unreadSince = status === 'SUBMITTED' ? await this.unreadSince(tx, claim, account) : null;
    await raiseNotFollowed(tx, account, [submittedAt, unreadSince]);
  }

  /** Since when something of the account that is open is not read, for it would be in another unit. */
  private async unreadSince(
    tx: EmployerTransaction,
    claim: Claim,
    { id }: EmployerAccount,
  ): Promise<Date | null> {
    const [unread] = await tx.query<{ since: Date }>(
      `SELECT coalesce(min(l.missing_since), clock_timestamp()) AS since FROM lease l
       JOIN instruction i ON i.employer_id = l.employer_id AND i.id = l.subject_id
       JOIN pay_run r ON r.employer_id = i.employer_id AND r.id = i.pay_run_id
       WHERE l.employer_id = $1 AND l.kind = 'FOLLOW' AND l.missing = $2 AND i.status = 'SUBMITTED' AND r.account_id = $3`,
      [tx.employerId, UNIT, id],
    );
    missingForMs(tx, claim, UNIT);
    return unread?.since ?? null;
  }

  private async read(claim: Claim, followed: Followed): Promise<Read> {
    switch (followed.instruction.status) {
      case 'SUBMITTED':
        return { ...NOTHING_MORE, ...(await this.follower.step(claim, followed)), unshown: [] };
      case 'CLOSED':
        return this.withBalance(claim, followed, this.follower.step(claim, followed));
      case 'VOID':
        return this.withBalance(
          claim,
          followed,
          this.tombstones.step(followed).then(() => NOTHING_MORE),
        );
      case 'ABANDONED':
      case 'RELEASED':
        await this.tombstones.step(followed);
        return NOTHING_MORE;
      case 'PLANNED':
      case 'BUILDING':
      case 'VERIFIED':
      case 'SUBMIT_INTENT':
      case 'SUBMIT_REFUSED':
      case 'SUBMIT_UNKNOWN':
      case 'CANCELLED':
        return NOTHING_MORE;
    }
  }

  /** What its account lost is looked at whatever the bank shows of the instruction: it may tell alone of a second submit. */
  private async withBalance(claim: Claim, followed: Followed, read: Promise<Step>): Promise<Read> {
    const step: Step & Pick<Read, 'failed'> = await read.catch((error: unknown) => {
      if (isBankError(error)) return { ...NOTHING_MORE, failed: error };
      throw error;
    });
    return { ...step, lookSoon: await this.balances.at(claim, followed) };
  }

  /**
   * A read that failed moves nothing, and is tried again. A person is told of an answer that does not follow the
   * interface, of access that is refused, of what ended and was not read for a day, and of what time alone says.
   */
  private async tellOfFailure(
    tx: EmployerTransaction,
    claim: Claim,
    followed: Followed,
    error: BankClientError,
  ): Promise<void> {
    await this.tellOf(tx, claim, followed, error);
    await this.records.judgeUnread(tx, claim, followed, UNREADABLE);
  }

  /** As `tellOfFailure`, but of what time alone says: other payments of the instruction were seen. */
  private async tellOf(
    tx: EmployerTransaction,
    claim: Claim,
    followed: Followed,
    error: BankClientError,
  ): Promise<void> {
    const { instruction, planned, run } = followed;
    const { message } = error;
    if (isAnswerUnusable(error)) await tellOfDrift(tx, instruction, planned, error);
    if (error instanceof NotAllowed) {
      if (hasEnded(instruction)) {
        missingForMs(tx, claim, ENDED);
        await tellOfHidden(tx, followed, error);
      } else await hiddenFromUs(tx, run, instruction, message);
    } else if (isAccessRefused(error)) {
      const happened = `${REFUSED_TO_SHOW}: ${message}.`;
      if (hasEnded(instruction)) {
        missingForMs(tx, claim, ENDED);
        await tellOfRefused(tx, followed, happened);
      } else await accessRefused(tx, run, instruction, happened);
    } else if (hasEnded(instruction) && !isAnswerUnusable(error)) {
      await this.tellOfMissing(tx, claim, followed, message);
    }
  }

  /**
   * What ended and is not read, or is not shown in full, is asked about once that has lasted for a day.
   * @param why as `tellOfUnread` takes it
   */
  private async tellOfMissing(
    tx: EmployerTransaction,
    claim: Claim,
    followed: Followed,
    why?: string,
  ): Promise<void> {
    if (missingForMs(tx, claim, ENDED) >= DAY_MS) await tellOfUnread(tx, followed, why);
  }

  /**
   * A defect of ours must not keep from a person what time alone tells, nor that nobody sees any more what becomes of what
   * ended; the database's own faults pass by themselves.
   */
  private async judgeByTime(claim: Claim, followed: Followed, error: unknown): Promise<void> {
    if (error instanceof Fenced || isOfDatabase(error)) return;
    await this.database
      .inEmployer(claim.employerId, async (tx) => {
        await this.inItsUnit(tx, claim, followed);
        if (hasEnded(followed.instruction)) await this.tellOfMissing(tx, claim, followed);
        await this.records.judgeUnread(tx, claim, followed, UNRECORDABLE);
      })
      .catch(() => undefined);
  }

  private nextReadMs(tx: EmployerTransaction, followed: Followed, begunMs: number): Promise<WakeIn> {
    return nextReadMs(tx, followed, { begunMs, nowMs: this.clock.now().getTime() }, this.config);
  }
}

function isRead(instruction: Instruction): boolean {
  return instruction.status === 'SUBMITTED' || hasEnded(instruction);
}
