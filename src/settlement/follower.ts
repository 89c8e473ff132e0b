import { Injectable } from '@nestjs/common';
import {
  type BankClientError,
  ContractDrift,
  isAnswerUnusable,
  isBankError,
  isPerhapsEmpty,
  NotFound,
} from '../bank/errors';
import type { BankInstruction, BankPayment } from '../bank/records';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { BackgroundDatabase } from '../database/background-database';
import { Claim, Leases } from '../database/leases';
import { isEnd } from '../domain/bank-status';
import { type InstructionAtBank, knownTo, lackingIn, type ShownBy } from '../employer/instruction-at-bank';
import { ENDED } from '../pay-run/ended-reads';
import { Instruction } from '../pay-run/instruction.entity';
import { namesOf } from '../pay-run/message-id';
import { recordWhole } from './follow.store';
import { FollowRecord } from './follow-record';
import type { Followed } from './followed';
import { type Glance, InstructionGlance } from './instruction-glance';
import { Lateness } from './lateness';
import { PaymentSource } from './payment-source';
import { CameBack } from './possible-returns';
import { goesOn, isWhole, type Pass, passOf } from './reading-pass';
import { isAsPlanned, type Sight, TotalsCheck } from './totals-check';

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
    private readonly records: FollowRecord,
    private readonly totals: TotalsCheck,
    private readonly lateness: Lateness,
    private readonly clock: Clock,
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
      const { unshown, hadEnded } = await this.records.record(tx, claim, followed, read);
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

  private recordShown(claim: Claim, followed: Followed, shown: BankInstruction): Promise<void> {
    return this.database.inEmployer(claim.employerId, (tx) =>
      this.records.recordShown(tx, claim, followed, shown),
    );
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
    const [begunAt, now, sights] = [performance.now(), this.clock.now(), Array<BankPayment>()];
    let by: ShownBy | undefined;
    try {
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
        onSeen: (payment) => sights.push(payment),
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
      const record = (sight: Sight) => {
        const unasked = { isSecond: false, isDateUnread: false };
        const read = { ...sight, ...unasked, cameBack, begunAt, at: now };
        return this.database.inEmployer(claim.employerId, (tx) =>
          this.records.record(tx, claim, followed, read),
        );
      };
      // What was shown before the read failed holds, and the next may not show it.
      if (sights.length > 0 && isBankError(error))
        await record({ seen: sights, by, shown: glance?.shown, hidden: false, gone: false });
      else if (glance?.shown && isBankError(error)) await this.recordShown(claim, followed, glance.shown);
      const mayBeGone = error instanceof NotFound && this.lateness.isOverdue(run);
      if (mayBeGone && (glance ?? (await this.glance.at(followed))).gone === true)
        await record({ seen: [], by: undefined, shown: undefined, hidden: true, gone: true });
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
}

/** Of a payment whether no read has shown its end, whatever its add was answered with, or its instruction ended. */
function stillReadOf({ instruction, known }: Followed): (bankPaymentId: string) => boolean {
  if (instruction.status !== 'SUBMITTED') return () => true;
  const open = known.filter(({ bankStatus }) => bankStatus === null || !isEnd(bankStatus));
  return knownTo(open.map(({ bankIds }) => bankIds));
}
