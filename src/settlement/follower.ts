import { Inject, Injectable } from '@nestjs/common';
import {
  type BankClientError,
  ContractDrift,
  isAnswerUnusable,
  isBankError,
  isPerhapsEmpty,
  NotFound,
} from '../bank/errors';
import { type BankInstruction, type BankPayment, isOwnEntry } from '../bank/records';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { CONFIG, Config } from '../config/env';
import { BackgroundDatabase } from '../database/background-database';
import type { EmployerTransaction } from '../database/database';
import { Claim, fence, Leases, wake } from '../database/leases';
import { PersonalData } from '../database/personal-data';
import { isEnd } from '../domain/bank-status';
import { grouped } from '../domain/grouped';
import { endOf } from '../domain/pay-run';
import { INSTRUCTION_FOLLOWED } from '../domain/instruction';
import { isPaymentFinal } from '../domain/payment';
import { latestDate } from '../domain/shown-date';
import { type InstructionAtBank, knownTo, lackingIn, type ShownBy } from '../employer/instruction-at-bank';
import { ALL_ENDED, clear } from '../pay-run/attention.store';
import { ENDED } from '../pay-run/ended-reads';
import { Instruction } from '../pay-run/instruction.entity';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { tellOfBearers } from '../pay-run/charge-bearer';
import { contradictions, rowsById, shownFields } from '../pay-run/match';
import { tellOfReturned } from '../pay-run/made-again';
import { namesOf } from '../pay-run/message-id';
import { instructionsReplacedIn } from '../pay-run/replaced.store';
import { tellOfDifference, tellOfEntries, tellOfForeign, tellOfUnseenTotals } from './follow-alarms';
import { tellOfEnded, tellOfGone } from './ended-by-bank';
import {
  advanced,
  FollowedPayment,
  isBehindEnd,
  isDoneButLeft,
  isPaidByWord,
  newCharges,
  newSettledOn,
  Progress,
  progressOf,
  progressOfAll,
  SeenStatus,
  shownOf,
} from './follow-plan';
import {
  AddedAfterEnd,
  followedPayments,
  recordAfterEnd,
  recordBehind,
  recordOtherwise,
  recordProgress,
  recordUnreadCharges,
  recordWhole,
} from './follow.store';
import { type Followed, loadFollowed } from './followed';
import { type Glance, InstructionGlance } from './instruction-glance';
import { Lateness } from './lateness';
import { PaymentSource } from './payment-source';
import { CameBack, tellOfPossibleReturns } from './possible-returns';
import { goesOn, isWhole, type Pass, passOf } from './reading-pass';
import { type BackInPart, backInPart, recordBackInPart, withParts } from './returned-in-part';
import { tellOfDates } from './shown-dates';
import { tellOfShownAfterEnd, tellOfStatuses } from './status-alarms';
import { keepThatItWasTaken } from './taken-up';
import { isAsPlanned, isUnseen, type Sight, TotalsCheck } from './totals-check';
import { isChargeUnread, tellOfCharges } from './unread-charges';

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

/** The payments that a read showed, by which way, and what kept more of them from being read. */
interface SeenPayments extends Pick<Sight, 'seen' | 'by'> {
  unread?: BankClientError;
  garbled?: BankClientError;
  cutShort?: BankClientError;
  /** The ids of those that are left to the next reads. */
  untried?: readonly string[];
}

/** What a step leaves to be told. */
export interface Step {
  /** The ids the bank has given to payments that it does not show; undefined where none was asked for. */
  unshown?: readonly string[];
  /** Whether some that have not ended, or whose instruction has, were not shown yet: one may be what cannot be read. */
  isLacking?: boolean;
  /**
   * Why a list answers nothing that can be used, where no other shows any payment, or all that is open, or a payment by itself
   * does not.
   */
  unread?: BankClientError;
  /** Why not all payments were tried each by itself, where some were seen. */
  cutShort?: BankClientError;
  /** Undefined once each was shown by this read, or by it and those before it; else whether the next is to try more soon. */
  pass?: 'more-to-try' | 'lacking';
}

/** What is asked about an instruction while payments of it are open. */
const ENDED_WITH_ALL = ['ROW_UNSEEN', 'ENDED_BY_BANK', 'BANK_ACTION_REQUIRED'] as const;

/** What a read means for the payments of an instruction. */
interface Held {
  progress: Progress[];
  added: AddedAfterEnd[];
  /** Those of which less came back than was paid, by row. */
  inPart: ReadonlyMap<number, BackInPart>;
  /** Row numbers of those that are shown as before their end, for the first time. */
  behind: number[];
  /** Those whose charges cannot be read. */
  unread: FollowedPayment[];
  /** What the bank shows in it and was never sent. */
  strangers: BankPayment[];
  /** Those that the bank knows and did not show, by its ids. */
  unshown: string[];
}

/** Reads a submitted instruction and takes its payments as far as the bank has got with them. */
@Injectable()
export class Follower {
  /** By our id of the instruction, while some payments of it are left to the next reads. */
  private readonly passes = new Map<string, Pass>();

  constructor(
    private readonly database: BackgroundDatabase,
    private readonly leases: Leases,
    private readonly source: PaymentSource,
    private readonly glance: InstructionGlance,
    private readonly personal: PersonalData,
    private readonly totals: TotalsCheck,
    private readonly lateness: Lateness,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'BANK_LAG_BOUND_MS'>,
  ) {}

  /**
   * One read of a SUBMITTED instruction, or of a CLOSED one while returns are watched for. What is seen of its payments is
   * recorded also where the instruction itself cannot be read, or not all of them. @throws BankClientError for either
   */
  async step(claim: Claim, followed: Followed): Promise<Step> {
    const { instruction, account } = followed;
    const [begunAt, at] = [performance.now(), this.clock.now()];
    const isSecond = this.totals.isSecondLook(instruction);
    const glance = await this.glance.beforePayments(followed);
    // What reads before it left to try is tried soon, and not a day later.
    const isUnderWay = this.passes.has(instruction.id);
    const isGlanceEnough = isSecond && !isUnderWay && claim.wokenAt === null && claim.missing?.what !== ENDED;
    if (isGlanceEnough && glance?.shown && isAsPlanned(followed.planned, glance.shown)) {
      await this.recordShown(claim, followed, glance.shown);
      return {};
    }
    const cameBack = new CameBack(instruction.id);
    const payments = await this.paymentsOf(claim, followed, cameBack, glance);
    const { seen, by, unread, garbled, cutShort, untried } = payments;
    const asked = glance ?? (await this.glance.afterPayments(followed, seen));
    const { shown, failure, gone = false, isUnread: isDateUnread = false } = asked ?? {};
    const mayShow = asked !== undefined && account.reads.includes('INSTRUCTION');
    const hidden = mayShow && shown === undefined && failure === undefined;
    crashPoint('follow.read');
    const before = this.passBefore(claim, instruction, at);
    const isStopped = unread !== undefined || cutShort !== undefined;
    const read = { seen, by, cameBack, shown, hidden, gone, isSecond, isDateUnread, begunAt, at };
    const { lacking, pass } = await this.database.inEmployer(claim.employerId, async (tx) => {
      const { unshown, hadEnded } = await this.record(tx, claim, followed, read);
      const reading = { begunAt: at, lacking: unshown, untried: untried ?? (cutShort && unshown) };
      const tried = passOf(before, reading);
      if (hadEnded && !isStopped && isWhole(tried)) await recordWhole(tx, instruction, tried.begunAt);
      return { lacking: unshown, pass: tried };
    });
    crashPoint('follow.recorded');
    if (pass.left.size > 0) this.passes.set(instruction.id, pass);
    else this.passes.delete(instruction.id);
    const isNoneSeen = instruction.status === 'SUBMITTED' && seen.length === 0;
    const failed = failure ?? (isNoneSeen ? unread : undefined);
    if (failed) throw failed;
    if (!cutShort) await this.leases.answer(claim);
    const left = new Set(untried);
    return {
      unshown: lacking.filter((id) => !left.has(id)),
      isLacking: [...pass.left, ...pass.unshown].some(stillReadOf(followed)),
      unread: garbled ?? unread,
      cutShort,
      pass: pass.left.size > 0 ? 'more-to-try' : isWhole(pass) ? undefined : 'lacking',
    };
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

  private passBefore(claim: Claim, instruction: Instruction, now: Date): Pass | undefined {
    const before = this.passes.get(instruction.id);
    return before && goesOn(before, instruction, claim, now) ? before : undefined;
  }

  /** @throws BankClientError as the reads do, once what they say of the instruction, and what a glance at it showed, is told */
  private async paymentsOf(
    claim: Claim,
    followed: Followed,
    cameBack: CameBack,
    glance: Glance | undefined,
  ): Promise<SeenPayments> {
    const { instruction, account, known, run } = followed;
    const asked = { id: instruction.id, rows: known.length, ended: instruction.status !== 'SUBMITTED' };
    try {
      let by: ShownBy | undefined;
      let unread: BankClientError | undefined;
      let garbled: BankClientError | undefined;
      let cutShort: BankClientError | undefined;
      let untried: readonly string[] | undefined;
      const at: InstructionAtBank = {
        bankInstructionId: instruction.bankInstructionId ?? '',
        createdAt: instruction.createdAt,
        bankIds: known.map(({ bankIds }) => bankIds),
        byAnyList: instruction.status === 'SUBMITTED',
        evenUnlisted: true,
        isSought: this.soughtOf(followed),
        isOnlyFollowed: true,
        isNamedBy: namesOf(instruction.id),
        onIncoming: (marks) => cameBack.add(marks),
        onShown: (way) => (by = way),
        onUnread: (failure, of) => {
          if (of === 'one') garbled = failure;
          else if (isAnswerUnusable(failure) && !isPerhapsEmpty(failure)) unread = failure;
        },
        onCutShort: (failure) => (cutShort = failure),
        onUntried: (ids) => (untried = ids),
      };
      const seen = await this.source.paymentsOf(account, asked, at);
      // What a garbled list shows may be just what others lack.
      const mayShowMore = !asked.ended && unread instanceof ContractDrift && lackingIn(at, seen).length > 0;
      const isTold = seen.length === 0 || mayShowMore;
      return { seen, by, unread: isTold ? unread : undefined, garbled, cutShort, untried };
    } catch (error) {
      if (glance?.shown && isBankError(error)) await this.recordShown(claim, followed, glance.shown);
      const mayBeGone = error instanceof NotFound && this.lateness.isOverdue(run);
      if (mayBeGone && (glance ?? (await this.glance.at(followed))).gone === true) {
        const none: Sight = { seen: [], by: undefined, shown: undefined, hidden: true, gone: true };
        const unasked = { isSecond: false, isDateUnread: false };
        const nothing = { ...none, ...unasked, cameBack, begunAt: 0, at: this.clock.now() };
        await this.database.inEmployer(claim.employerId, (tx) => this.record(tx, claim, followed, nothing));
      }
      throw error;
    }
  }

  /**
   * What is open, and all of what ended, is looked for by every read where a list shows others of the instruction; not while
   * it was submitted just now, since that list may lag.
   */
  private soughtOf(followed: Followed): InstructionAtBank['isSought'] {
    return this.lateness.isOld(followed.instruction) ? stillReadOf(followed) : undefined;
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

  /** Keeps what the instruction itself shows, and compares its count and sum. */
  private async recordShown(claim: Claim, followed: Followed, shown: BankInstruction): Promise<void> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      const instruction = await this.recordStatus(tx, claim, followed, shown);
      await this.totals.check(tx, followed.planned, instruction, shown);
      await tellOfDates(tx, followed, { shown, seen: [], payments: [] });
    });
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

  /** @param claim undefined where it was read for something else than to follow it */
  private async record(
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
    const held = await this.hold(tx, instruction, before, seen, { isDone, maxAgeMs });
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

  /** Whether the bank executes nothing more of an instruction before its day is over, but by an exception: all else ended. */
  private hasEndedBut(
    instruction: Instruction,
    payments: readonly FollowedPayment[],
    seen: readonly BankPayment[],
  ): boolean {
    const isOpen = instruction.status === 'SUBMITTED';
    return isOpen && this.lateness.isOld(instruction) && isDoneButLeft(payments, seen);
  }

  /** Holds what was read against our payments: a field that contradicts, or a stranger, moves nothing. */
  private async hold(
    tx: EmployerTransaction,
    instruction: Instruction,
    payments: readonly FollowedPayment[],
    seen: readonly BankPayment[],
    { isDone, maxAgeMs }: { isDone: boolean; maxAgeMs: number },
  ): Promise<Held> {
    const byId = rowsById(payments);
    const progress = new Map<number, Progress>();
    const added = new Map<number, AddedAfterEnd>();
    const behind = new Set<number>();
    const otherwise = new Map<number, string | null>();
    const charges = new Map<number, boolean>();
    const shownById = grouped(seen, ({ bankPaymentId }) => bankPaymentId);
    const foreign = seen.filter(({ bankPaymentId }) => !byId.has(bankPaymentId));
    const inPart = await backInPart(tx, this.personal, byId, shownById);
    for (const [id, payment] of byId) {
      const records = (shownById.get(id) ?? []).map((one) => ({
        one,
        fields: inPart.has(payment.rowNo) ? [] : contradictions(payment, one),
        shown: { maxAgeMs, ...one, status: shownOf(payment, one, isDone) },
      }));
      if (records.length === 0) continue;
      const now = nowOtherwise(payment, records);
      if (now !== payment.shownOtherwise) otherwise.set(payment.rowNo, now);
      const isUnread = isChargeUnread(payment, shownById.get(id) ?? []);
      if (isUnread !== payment.chargesUnread) charges.set(payment.rowNo, isUnread);
      const asSent = records.flatMap(({ fields, shown }) => (fields.length > 0 ? [] : shown));
      const step = progressOfAll(payment, asSent);
      if (step) progress.set(payment.rowNo, step);
      for (const { one, fields, shown } of records) {
        if (fields.length === 0) continue;
        await tellOfDifference(tx, this.personal, instruction, payment, { shown: one, fields });
        const other = progressOf(payment, shown);
        if (other && contradictsEnd(other, shown)) progress.set(payment.rowNo, other);
      }
      const isBehind = asSent.length > 0 && asSent.every(({ status }) => isBehindEnd(payment, status));
      if (payment.behindForMs === null && isBehind) behind.add(payment.rowNo);
      for (const shown of asSent) {
        const [chargesMinor, settledOn] = [newCharges(payment, shown), newSettledOn(payment, shown)];
        if (chargesMinor !== undefined || settledOn !== undefined)
          added.set(payment.rowNo, { paymentId: payment.paymentId, chargesMinor, settledOn });
      }
    }
    const entries = foreign.filter(isOwnEntry);
    if (entries.length > 0) await tellOfEntries(tx, instruction, entries);
    await recordOtherwise(tx, instruction, otherwise);
    await recordUnreadCharges(tx, instruction, charges);
    const ours = seen.flatMap(({ bankPaymentId, chargeBearer }) => {
      const row = byId.get(bankPaymentId);
      return row ? [{ rowNo: row.rowNo, chargeBearer }] : [];
    });
    await tellOfBearers(tx, instruction, ours);
    return {
      progress: [...progress.values()],
      added: [...added.values()],
      inPart,
      behind: [...behind],
      unread: payments.filter(({ rowNo, chargesUnread }) => charges.get(rowNo) ?? chargesUnread),
      strangers: foreign.filter((one) => !isOwnEntry(one)),
      unshown: [...byId.keys()].filter((id) => !shownById.has(id)),
    };
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
    const replaced = await instructionsReplacedIn(tx, followed.planned);
    const before = replaced.map(({ instructionId }) => instructionId);
    wake(tx, 'FOLLOW', before);
    return true;
  }
}

/**
 * Whether what is shown otherwise than it was sent contradicts an end: it may be the very payment, whatever else differs.
 * A step on the way to its end does not, since none of its steps was recorded.
 */
function contradictsEnd({ payment, alarm }: Progress, { status, wasSettled }: SeenStatus): boolean {
  return (
    alarm === 'CONTRADICTION' && isPaymentFinal(payment.status) && (wasSettled === true || isEnd(status))
  );
}

/** Of a payment whether no read has shown its end, whatever its add was answered with, or its instruction ended. */
function stillReadOf({ instruction, known }: Followed): (bankPaymentId: string) => boolean {
  if (instruction.status !== 'SUBMITTED') return () => true;
  const open = known.filter(({ bankStatus }) => bankStatus === null || !isEnd(bankStatus));
  return knownTo(open.map(({ bankIds }) => bankIds));
}

/** Which fields stay shown otherwise: what a read leaves out it does not show as it was sent. */
function nowOtherwise(
  { shownOtherwise }: FollowedPayment,
  records: readonly { one: BankPayment; fields: readonly string[] }[],
): string | null {
  const fields = records.flatMap((record) => record.fields);
  if (shownOtherwise === null && fields.length === 0) return null;
  const shown = new Set(
    records.flatMap(({ one }) =>
      Object.entries(shownFields(one)).flatMap(([field, value]) => (value === undefined ? [] : field)),
    ),
  );
  const before = shownOtherwise?.split(',') ?? [];
  const still = [...before.filter((field) => !shown.has(field)), ...fields];
  return still.length === 0 ? null : [...new Set(still)].sort().join(',');
}
