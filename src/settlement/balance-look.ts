import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { isAccessRefused, isBankError, NotFound } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { shownWithinMs } from '../config/shown-within';
import { BackgroundDatabase } from '../database/background-database';
import type { EmployerTransaction } from '../database/database';
import { Claim, fence } from '../database/leases';
import {
  lackOf,
  lacksDeclared,
  mayBeBookedLate,
  paidAgain,
  type TakenAgain,
  unpaidChargesOf,
} from '../domain/balance';
import { DAY_MS } from '../domain/durations';
import type { EmployerAccount } from '../employer/employer.entity';
import { clear, openAbout, raiseUndecided } from '../pay-run/attention.store';
import { lockInstruction } from '../pay-run/instruction.store';
import { mayHaveTaken } from '../pay-run/forgotten-pay';
import { accountLostAgain } from '../pay-run/lost-again';
import type { PayRun } from '../pay-run/pay-run.entity';
import { lockRun } from '../pay-run/pay-run.store';
import { Followed } from './followed';
import { Lateness } from './lateness';
import { balanceLookAt, declaredLookAt, watchOf } from './looks';
import {
  type Comparison,
  isUnsentBeside,
  type Taken,
  type TakenByInstruction,
  takenSince,
  type TookBefore,
  tookJustBefore,
} from './taken-since';

type Look = ReturnType<typeof balanceLookAt | typeof declaredLookAt>;

interface Compared extends Taken {
  before: readonly TookBefore[];
  /** Whether what a restored database has forgotten may have taken something, too, of which nobody knows how much. */
  mayHideOthers: boolean;
  lostMinor: bigint;
  /** Whether the balance shows all that ended. */
  isShown: boolean;
}

type Seen =
  /** Nothing lacks, or only charges for what ended unpaid. */
  | { kind: 'even'; isLast: boolean }
  /** What may come back, and should have by now. */
  | { kind: 'missing'; missingMinor: bigint }
  /** Exactly what payments took; and what is missing besides, of which people may have to be asked, or nothing. */
  | { kind: 'again'; again: readonly TakenAgain[]; missingMinor: bigint; isToAsk: boolean; isLast: boolean }
  /** Anything else, as far as the last look shows. */
  | { kind: 'other-traffic' };

/**
 * Compares what an account lost since a run began with what the payments of the run took, and of those after it, soon
 * after its end and a day later; daily while payments that ended unpaid or came back may explain what it lost. A bank
 * that executes a submit a second time, or one that people declared not executed, may show that nowhere else (Account,
 * `balance`). Other traffic of the account hides it.
 */
@Injectable()
export class BalanceLook {
  constructor(
    private readonly database: BackgroundDatabase,
    private readonly gateway: BankGateway,
    private readonly lateness: Lateness,
    private readonly clock: Clock,
    @Inject(CONFIG)
    private readonly config: Pick<
      Config,
      'SUBMIT_DOUBT_MS' | 'BANK_LAG_BOUND_MS' | 'BANK_TIMEOUT_MS' | 'WATCH_DAYS'
    >,
  ) {}

  /**
   * Looks where the instruction is the last of its run to end, and ended so long ago that a late submit may have
   * shown. Answers whether it is worth another look soon: the balance could not be read for now, before the last
   * look, or what it was to be compared with changed while the bank was asked. No look is the last while the account
   * lacks something and charges may be unknown of what ended, but after some days; nor while money of its run may be
   * on its way back, or people are asked about more than was taken again; nor while the bank may still execute what
   * people declared not executed of a run that paid nothing else; nor while a run that only this one can compare is
   * to be submitted yet; nor while what it lacks may be what others took that the bank booked late, and the looks
   * over these have not told; nor at any time one that may not show yet what ended just before it.
   */
  async at(claim: Claim, followed: Followed): Promise<boolean> {
    const { instruction, run, account } = followed;
    const { balanceBeforeMinor: beforeMinor, balanceReadAt } = run;
    if (beforeMinor === null || balanceReadAt === null) return false;
    const look = await this.lookAt(claim, followed);
    if (look === 'early') return false;
    const shownFrom = this.shownFrom(run.balanceAskedAt, balanceReadAt);
    const { againMs } = watchOf(this.config);
    const shownMs = { asked: this.config.BANK_LAG_BOUND_MS, read: shownWithinMs(this.config) };
    const watchedFrom = new Date(this.clock.now().getTime() - this.config.WATCH_DAYS * DAY_MS);
    const comparison = { ...followed, shownFrom, shownMs, againMs, watchedFrom };
    const compared = await this.database.inEmployer(claim.employerId, async (tx) => {
      const since = await takenSince(tx, comparison);
      if (since === undefined) return undefined;
      const before = await tookJustBefore(tx, comparison, since.paid);
      return { ...since, before, mayHideOthers: await mayHaveTaken(tx, run, shownFrom) };
    });
    if (compared === undefined) return false;
    const endsShownTo = this.clock.now().getTime() - this.config.BANK_LAG_BOUND_MS;
    const nowMinor = await this.balanceOf(account.bankAccountId);
    if (nowMinor === 'unreadable') return look === 'repeated';
    if (nowMinor === undefined) return false;
    if (await this.paysForOthers(claim.employerId, account, shownFrom)) return false;
    // What ended later may not be in the balance yet, and hide as much that was taken again.
    const isShown = compared.paid.every((one) => one.lastEndAt.getTime() <= endsShownTo);
    const seen = this.seenAt(look, followed, { ...compared, lostMinor: beforeMinor - nowMinor, isShown });
    if (seen === undefined) return false;
    return this.database.inEmployer(claim.employerId, async (tx) => {
      const now = await lockRun(tx, run.id);
      await lockInstruction(tx, instruction.id);
      await fence(tx, claim);
      if (now.balanceBeforeMinor === null) return false;
      // What another run was submitted for while the bank was asked may be in its answer.
      if (!isDeepStrictEqual((await takenSince(tx, comparison))?.paid, compared.paid)) return true;
      await record(tx, now, seen, comparison);
      return false;
    });
  }

  /** What a look sees; undefined where that is nothing to record. */
  private seenAt(look: Look, { instruction, run }: Followed, compared: Compared): Seen | undefined {
    const { paid, before, isKnown, isShown, mayHideOthers, lostMinor } = compared;
    const lackMinor = lackOf(paid, lostMinor);
    const isEven = (minor: bigint) => minor === 0n || minor === unpaidChargesOf(paid);
    if (isShown && isEven(lackMinor)) {
      return look === 'repeated' ? undefined : { kind: 'even', isLast: look !== 'daily' };
    }
    if (mayHideOthers) return look === 'over' ? { kind: 'other-traffic' } : undefined;
    const found = paidAgain(paid, lostMinor);
    const isExcused = found !== 'not-yet' && mayBeBookedLate(found, before);
    const taken = found === 'not-yet' || isExcused ? [] : found;
    // Where it paid nothing, what those of others took again, or may give back, is told by their own looks.
    const isOwn = instruction.status !== 'VOID' || lacksDeclared(run.id, paid, lostMinor, taken);
    const isToAsk = (missingMinor: bigint) =>
      look !== 'repeated' && this.shouldBeBack(run, paid) && asksItself(run, paid, missingMinor);
    if (found === 'not-yet' && isOwn) {
      return isToAsk(lackMinor) ? { kind: 'missing', missingMinor: lackMinor } : undefined;
    }
    const again = isOwn ? taken : [];
    const besidesMinor = lackMinor - (again[0]?.takenMinor ?? 0n);
    const isMissing = again.length > 0 && besidesMinor > 0n && !isEven(besidesMinor);
    // The money of others hides it no longer than charges do: an account may have runs each day.
    const onItsWay = look === 'over' ? paid.filter(({ payRunId }) => payRunId === run.id) : paid;
    // Until the looks over what may have been booked late have told whether it was.
    const isToBeTold =
      isExcused &&
      !mayBeBookedLate(
        found,
        before.filter(({ isEven }) => isEven),
      );
    const mayFollow =
      isToBeTold || (isMissing && look !== 'over') || (lackMinor > 0n && this.mayBeOnItsWay(onItsWay));
    const isLast = look !== 'daily' && isShown && (isKnown || look === 'over') && !mayFollow;
    if (again.length === 0) return isLast && look !== 'repeated' ? { kind: 'other-traffic' } : undefined;
    const missingMinor = isMissing ? besidesMinor : 0n;
    return { kind: 'again', again, missingMinor, isToAsk: isMissing && isToAsk(missingMinor), isLast };
  }

  /** Of what people declared not executed, no look is due before every payment of its run should be final. */
  private async lookAt({ employerId }: Claim, { instruction, run }: Followed): Promise<Look> {
    const nowMs = this.clock.now().getTime();
    const watch = watchOf(this.config);
    if (instruction.status !== 'VOID') return balanceLookAt(instruction.closedAt?.getTime(), nowMs, watch);
    if (!this.lateness.isOverdue(run)) return 'early';
    const last = await this.database.inEmployer(employerId, (tx) => lastDeclared(tx, run));
    return last?.id === instruction.id ? declaredLookAt(last, nowMs, watch) : 'early';
  }

  /** What ended before that is in a balance that was asked for, and answered, then. */
  private shownFrom(askedAt: Date | null, readAt: Date): Date {
    if (askedAt === null) return new Date(readAt.getTime() - shownWithinMs(this.config));
    return new Date(askedAt.getTime() - this.config.BANK_LAG_BOUND_MS);
  }

  /**
   * Two banking days after the last payment ended whose money may come back, whatever its date was; after the date of the
   * run where there is none, and only what people declared not executed may have been taken.
   */
  private shouldBeBack(run: PayRun, paid: readonly TakenByInstruction[]): boolean {
    return paid.some(mayGiveBack) ? !this.mayBeOnItsWay(paid) : this.lateness.isOverdue(run);
  }

  /** Whether money of some that ended may still be on its way back. */
  private mayBeOnItsWay(paid: readonly TakenByInstruction[]): boolean {
    return paid.some((one) => mayGiveBack(one) && !this.lateness.isReturnOverdue(one.lastEndAt));
  }

  /** Whether another employer has paid from the account since: nobody who compares for this one may know what. */
  private async paysForOthers(
    employerId: string,
    { bankAccountId, ibanHash }: Pick<EmployerAccount, 'bankAccountId' | 'ibanHash'>,
    since: Date,
  ): Promise<boolean> {
    const others = await this.database.asWorker((tx) =>
      tx.query(
        `SELECT FROM employer_account WHERE (bank_account_id = $1 OR iban_hash = $2) AND employer_id <> $3
           AND (detached_at IS NULL OR detached_at >= $4) LIMIT 1`,
        [bankAccountId, ibanHash, employerId, since],
      ),
    );
    return others.length > 0;
  }

  /** Undefined where the bank does not show it: to compare can wait, and everything else goes on. */
  private async balanceOf(bankAccountId: string): Promise<bigint | 'unreadable' | undefined> {
    try {
      return (await this.gateway.getAccount(bankAccountId)).balanceMinor;
    } catch (error) {
      if (isAccessRefused(error) || error instanceof NotFound) return undefined;
      if (isBankError(error)) return 'unreadable';
      throw error;
    }
  }
}

/** Whether money of its payments may not have come back. */
function mayGiveBack({ unpaidMinor, returnedMinor, unpaidChargesMinor }: TakenByInstruction): boolean {
  return unpaidMinor + returnedMinor + unpaidChargesMinor > 0n;
}

/**
 * Whether what an account lacks is a question of the run: not where only others have payments whose money may not have come
 * back, and one of these can still compare and has not asked, or told of as much. One that began later does not see what was lost
 * before.
 */
function asksItself(run: PayRun, paid: readonly TakenByInstruction[], lackMinor: bigint): boolean {
  const isOwn = (one: TakenByInstruction) => one.payRunId === run.id;
  if (paid.some((one) => isOwn(one) && (mayGiveBack(one) || one.voidMinor > 0n))) return true;
  const tells = ({ isLookedAt, canCompare, toldMinor }: TakenByInstruction) =>
    isLookedAt && (toldMinor === undefined ? canCompare : lackMinor <= toldMinor);
  return !paid.some((one) => mayGiveBack(one) && tells(one));
}

/** What clears the question. */
const TOLD = 'the balance of the account tells what it lost';

async function lookNoMore(tx: EmployerTransaction, run: PayRun): Promise<void> {
  await tx.query(
    `UPDATE pay_run SET balance_before_minor = NULL, balance_asked_at = NULL, balance_read_at = NULL
     WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, run.id],
  );
}

/** What was decided before of a lack is another question from now on; decisions bear the time of the database. */
async function foundEven(tx: EmployerTransaction, run: PayRun): Promise<void> {
  await tx.query(
    `UPDATE pay_run SET balance_even_at = clock_timestamp() WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, run.id],
  );
}

/** The account stays short of what payments may have taken that should be back, for longer than it takes to give it back. */
function tellOfNotComeBack(tx: EmployerTransaction, run: PayRun, lackMinor: bigint): Promise<void> {
  return raiseUndecided(tx, {
    kind: 'TOTALS_UNSEEN',
    subjectId: run.id,
    payRunId: run.id,
    happened:
      'Two banking days after its payments ended, or should have, its account still lacks more than was ' +
      'paid from it: money of payments that ended unpaid, or that the bank shows as returned, has not come back, the bank ' +
      'has executed a submit twice, or one that people declared not executed, or something else was taken from the account.',
    certain: 'Each payment was sent once, and this stops nothing. The balance alone cannot tell these apart.',
    askBank:
      'Did the money of our payments that ended unpaid or were returned come back to the account, all of it, was any customer instruction of ours executed twice, or one that you said was not executed, and what else was booked since?',
    amountMinor: lackMinor,
    lackingMinor: lackMinor,
    since: run.balanceEvenAt,
  });
}

async function record(
  tx: EmployerTransaction,
  run: PayRun,
  seen: Seen,
  comparison: Comparison,
): Promise<void> {
  const isOver = async (isLast: boolean) => isLast && !(await isUnsentBeside(tx, comparison));
  switch (seen.kind) {
    case 'missing':
      return tellOfNotComeBack(tx, run, seen.missingMinor);
    case 'even':
      await clear(tx, ['TOTALS_UNSEEN'], run.id, TOLD);
      await foundEven(tx, run);
      if (await isOver(seen.isLast)) await lookNoMore(tx, run);
      return;
    case 'other-traffic':
      // It says nothing of what people were asked about.
      if (!(await isAsked(tx, run)) && (await isOver(true))) await lookNoMore(tx, run);
      return;
    case 'again': {
      if (seen.isToAsk) await tellOfNotComeBack(tx, run, seen.missingMinor);
      const isStillAsked = seen.missingMinor > 0n && (await isAsked(tx, run));
      if (!isStillAsked && (await isOver(seen.isLast))) {
        await clear(tx, ['TOTALS_UNSEEN'], run.id, TOLD);
        await lookNoMore(tx, run);
      }
      return accountLostAgain(tx, seen.again);
    }
  }
}

async function isAsked(tx: EmployerTransaction, run: PayRun): Promise<boolean> {
  return (await openAbout(tx, { kind: 'TOTALS_UNSEEN', subjectId: run.id })) !== undefined;
}

/** The submit of a run that was declared not executed last, in milliseconds: one proven unsent is none. */
async function lastDeclared(
  tx: EmployerTransaction,
  run: PayRun,
): Promise<{ id: string; declaredMs: number; dueMs: number } | undefined> {
  const [last] = await tx.query<{ id: string; at: Date; sent_at: Date }>(
    `SELECT o.id, c.at, max(s.attempted_at) OVER () AS sent_at
     FROM state_change c
     JOIN instruction o ON o.employer_id = $1 AND o.id = c.subject_id AND o.status = 'VOID'
     JOIN submit_attempt s ON s.employer_id = $1 AND s.planned_instruction_id = o.planned_instruction_id
       AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT'
     WHERE c.employer_id = $1 AND c.pay_run_id = $2 AND c.subject = 'instruction' AND c.to_status = 'VOID'
     ORDER BY c.at DESC, o.id DESC LIMIT 1`,
    [tx.employerId, run.id],
  );
  if (last === undefined) return undefined;
  const dueMs = Math.max(last.sent_at.getTime(), Date.parse(run.executionDate));
  return { id: last.id, declaredMs: last.at.getTime(), dueMs };
}
