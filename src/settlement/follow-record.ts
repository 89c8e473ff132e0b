import { Inject, Injectable } from '@nestjs/common';
import type { BankInstruction, BankPayment } from '../bank/records';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import type { EmployerTransaction } from '../database/database';
import { Claim, fence, wake } from '../database/leases';
import { PersonalData } from '../database/personal-data';
import { endOf } from '../domain/pay-run';
import { INSTRUCTION_FOLLOWED } from '../domain/instruction';
import { isPaymentFinal } from '../domain/payment';
import { latestDate } from '../domain/shown-date';
import { ALL_ENDED, clear } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { tellOfReturned } from '../pay-run/made-again';
import { instructionsReplacedIn } from '../pay-run/replaced.store';
import { tellOfForeign, tellOfUnseenTotals } from './follow-alarms';
import { tellOfEnded, tellOfGone } from './ended-by-bank';
import { advanced, FollowedPayment, isDoneButLeft, isPaidByWord } from './follow-plan';
import { followedPayments, recordAfterEnd, recordBehind, recordProgress } from './follow.store';
import { type Followed, loadFollowed } from './followed';
import { holdPayments } from './held-payments';
import { Lateness } from './lateness';
import { CameBack, tellOfPossibleReturns } from './possible-returns';
import { recordBackInPart, withParts } from './returned-in-part';
import { tellOfDates } from './shown-dates';
import { tellOfShownAfterEnd, tellOfStatuses } from './status-alarms';
import { keepThatItWasTaken } from './taken-up';
import { isUnseen, type Sight, TotalsCheck } from './totals-check';
import { tellOfCharges } from './unread-charges';

/** What was read of an instruction and its payments, and when. */
interface Seen extends Sight {
  cameBack: CameBack;
  /** Whether it began as the second look, whatever came due in its course. */
  isSecond: boolean;
  /** Whether the instruction could not be read, to whose date the bank may have moved the approved one on. */
  isDateUnread: boolean;
  /** When the read began, as `performance.now()`. */
  begunAt: number;
  /** The same by the clock. */
  at: Date;
}

/** What was read of an instruction, but not to follow it, and when. */
export interface ShownElsewhere extends Pick<Seen, 'seen' | 'by' | 'begunAt' | 'at'> {
  /** Undefined where the bank does not show it. */
  instruction: BankInstruction | undefined;
}

/** What is asked about an instruction while payments of it are open. */
const ENDED_WITH_ALL = ['ROW_UNSEEN', 'ENDED_BY_BANK', 'BANK_ACTION_REQUIRED'] as const;

/** Writes down what was read of a followed instruction, and tells of it; closes it once all its payments have ended. */
@Injectable()
export class FollowRecord {
  constructor(
    private readonly personal: PersonalData,
    private readonly totals: TotalsCheck,
    private readonly lateness: Lateness,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'BANK_LAG_BOUND_MS'>,
  ) {}

  /**
   * Takes the payments as far as the bank was seen to be with them, and closes the instruction once all have ended.
   * @param claim undefined where it was read for something else than to follow it
   * @returns which payments the bank knows and did not show, by its ids, and whether the instruction had ended before
   */
  async record(
    tx: EmployerTransaction,
    claim: Claim | undefined,
    followed: Followed,
    read: Seen,
  ): Promise<{ unshown: readonly string[]; hadEnded: boolean }> {
    const { seen, cameBack, shown, gone, isSecond, isDateUnread, begunAt, at } = read;
    const instruction = await this.recordStatus(tx, claim, followed, shown);
    const before = await followedPayments(tx, this.personal, instruction);
    const { executionDate: approved } = followed.run;
    const late = this.lateness.of(followed.run, instruction, shown?.executionDate, at);
    const latest = isDateUnread
      ? this.lateness.of(followed.run, instruction, latestDate(approved), at)
      : late;
    const isDayOver = latest.shouldHaveMoved;
    const isDone = isDayOver || this.hasEndedBut(instruction, before, seen);
    // After what is stored was read: how long ago that was is then not taken for more than it is.
    const maxAgeMs = this.config.BANK_LAG_BOUND_MS + (performance.now() - begunAt);
    const held = await holdPayments(tx, this.personal, instruction, before, seen, { isDone, maxAgeMs });
    const { progress, unshown } = held;
    await recordProgress(tx, instruction, progress);
    await recordAfterEnd(tx, held.added);
    await recordBackInPart(tx, this.personal, instruction, [...held.inPart.values()]);
    await recordBehind(tx, instruction, held.behind);
    await tellOfCharges(tx, instruction, before, held.unread);
    // After the runs of successors are stopped: a call locks its run before the switch too.
    if (held.strangers.length > 0) await tellOfForeign(tx, instruction, held.strangers);
    await this.totals.check(tx, followed.planned, instruction, shown);
    const payments = withParts(advanced(before, progress), held.inPart);
    // Also of what is gone: only by this question can people say that it was paid.
    await tellOfStatuses(tx, instruction, payments, late);
    await tellOfShownAfterEnd(tx, instruction, before, payments);
    const { bankStatus } = followed.instruction;
    await tellOfEnded(tx, instruction, payments, { before: bankStatus, progress, isDayOver });
    await tellOfPossibleReturns(tx, this.personal, instruction, payments, cameBack);
    await tellOfDates(tx, followed, { shown, seen, payments });
    // Whenever it came back: who is paid otherwise changes, and earlier versions told nobody.
    if (payments.some(({ returned }) => returned)) await tellOfReturned(tx, instruction);
    if (isSecond && this.totals.isSecondLook(instruction) && isUnseen(followed, instruction, read, true))
      await tellOfUnseenTotals(tx, instruction, followed.planned);
    if (instruction.status !== 'SUBMITTED') return { unshown, hadEnded: true };
    const isShown = shown !== undefined || seen.length > 0;
    if (late.overdue) await tellOfGone(tx, instruction, payments, { gone, shown: isShown });
    const closed = await this.close(tx, followed, instruction, payments);
    if (closed && isUnseen(followed, instruction, read, false))
      await tellOfUnseenTotals(tx, instruction, followed.planned);
    return { unshown, hadEnded: false };
  }

  /** Keeps what the instruction itself shows, where its payments are not read, and compares its count and sum. */
  async recordShown(
    tx: EmployerTransaction,
    claim: Claim,
    followed: Followed,
    shown: BankInstruction,
  ): Promise<void> {
    const instruction = await this.recordStatus(tx, claim, followed, shown);
    await this.totals.check(tx, followed.planned, instruction, shown);
    await tellOfDates(tx, followed, { shown, seen: [], payments: [] });
  }

  /**
   * Records what somebody else was shown of an instruction, such as to decide about it, as if it had been read to follow it:
   * presence is proof, whoever read it (rule 10). Nothing where it is not followed.
   */
  async recordSight(tx: EmployerTransaction, instructionId: string, shown: ShownElsewhere): Promise<void> {
    const followed = await loadFollowed(tx, instructionId);
    if (!followed || !INSTRUCTION_FOLLOWED.includes(followed.instruction.status)) return;
    const { instruction, ...read } = shown;
    const isHidden = instruction === undefined;
    await this.record(tx, undefined, followed, {
      ...read,
      shown: instruction,
      hidden: isHidden,
      gone: false,
      cameBack: new CameBack(instructionId),
      isSecond: false,
      isDateUnread: isHidden,
    });
    wake(tx, 'FOLLOW', [instructionId]);
  }

  /** What time alone tells of an instruction while nothing of it can be read, or recorded. @param why in words */
  async judgeUnread(tx: EmployerTransaction, claim: Claim, followed: Followed, why: string): Promise<void> {
    const instruction = await lockInstruction(tx, followed.instruction.id);
    await fence(tx, claim);
    const payments = await followedPayments(tx, this.personal, instruction);
    await tellOfShownAfterEnd(tx, instruction, payments, payments);
    if (instruction.status !== 'SUBMITTED') return;
    const late = this.lateness.of(followed.run, instruction);
    await tellOfStatuses(tx, instruction, payments, { ...late, unread: why });
    // What people have ended is closed though nothing of it can be read.
    const closed = await this.close(tx, followed, instruction, payments);
    const { account, planned } = followed;
    if (closed && instruction.totalsCheckedAt === null && !account.reads.includes('INSTRUCTION_PAYMENTS'))
      await tellOfUnseenTotals(tx, instruction, planned);
  }

  /** Locks the instruction and keeps the status that the bank shows of it. */
  private async recordStatus(
    tx: EmployerTransaction,
    claim: Claim | undefined,
    followed: Followed,
    shown: BankInstruction | undefined,
  ): Promise<Instruction> {
    const instruction = await lockInstruction(tx, followed.instruction.id);
    if (claim) await fence(tx, claim);
    if (shown === undefined) return instruction;
    const { employerId } = tx;
    const { bankStatus: before } = instruction;
    await tx.manager.update(Instruction, { employerId, id: instruction.id }, { bankStatus: shown.status });
    instruction.bankStatus = shown.status;
    await keepThatItWasTaken(tx, instruction, before);
    return instruction;
  }

  /** Whether the bank executes nothing more of an instruction before its day is over, but by an exception: all else ended. */
  private hasEndedBut(
    instruction: Instruction,
    payments: readonly FollowedPayment[],
    seen: readonly BankPayment[],
  ): boolean {
    const isOpen = instruction.status === 'SUBMITTED';
    return isOpen && this.lateness.isOld(instruction) && isDoneButLeft(payments, seen);
  }

  private async close(
    tx: EmployerTransaction,
    followed: Followed,
    instruction: Instruction,
    payments: readonly FollowedPayment[],
  ): Promise<boolean> {
    if (payments.some(({ status }) => !isPaymentFinal(status))) return false;
    const settled = payments.filter(({ status }) => status === 'SETTLED').length;
    const outcome = endOf({ settled, unpaid: payments.length - settled });
    const declared = payments.some((payment) => payment.status === 'VOID' || isPaidByWord(payment));
    const reason = declared
      ? `by the word of two people, while the bank shows ${instruction.bankStatus ?? 'no status'}`
      : undefined;
    await moveInstruction(
      tx,
      instruction,
      'CLOSED',
      'service',
      { closedAt: this.clock.now(), outcome },
      reason,
    );
    await clear(tx, ENDED_WITH_ALL, instruction.id, ALL_ENDED);
    wake(tx, 'RUN', [instruction.payRunId]);
    // What these payments replace may have been paid after all since the look before the submit.
    const replaced = await instructionsReplacedIn(tx, followed.planned, 'all');
    const before = replaced.map(({ instructionId }) => instructionId);
    wake(tx, 'FOLLOW', before);
    return true;
  }
}
