import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { isAccessRefused, isBankError, NotFound } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { shownWithinMs } from '../config/shown-within';
import { queryByHash } from '../database/by-hash';
import { BackgroundDatabase } from '../database/background-database';
import type { EmployerTransaction } from '../database/database';
import { Claim, fence } from '../database/leases';
import { words } from '../database/words';
import { lackOf, lacksDeclared, PaidByInstruction, paidAgain } from '../domain/balance';
import { NEVER_DEBITED } from '../domain/bank-status';
import { DAY_MS } from '../domain/durations';
import { INSTRUCTION_UNDER_WAY } from '../domain/instruction';
import { sumMinor } from '../domain/money';
import { clear, openAbout, raiseUndecided } from '../pay-run/attention.store';
import { lockInstruction } from '../pay-run/instruction.store';
import { accountLostAgain } from '../pay-run/lost-again';
import type { PayRun } from '../pay-run/pay-run.entity';
import { lockRun } from '../pay-run/pay-run.store';
import { Followed } from './followed';
import { Lateness } from './lateness';
import { balanceLookAt, declaredLookAt, MAY_STILL_EXECUTE_DAYS, watchOf } from './looks';

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
   * Looks where the instruction is the last of its run to end, and ended so long ago that a late submit may have shown.
   * Answers whether it is worth another look soon: the balance could not be read for now, before the last look, or what it
   * was to be compared with changed while the bank was asked.
   * No look is the last while the account lacks something and charges may be unknown of what ended, but after some days;
   * nor while the bank may still execute what people declared not executed of a run that paid nothing else; nor at any
   * time one that may not show yet what ended just before it.
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
    const since = await this.database.inEmployer(claim.employerId, (tx) => takenSince(tx, comparison));
    if (since === undefined) return false;
    const { paid, isKnown } = since;
    const endsShownTo = this.clock.now().getTime() - this.config.BANK_LAG_BOUND_MS;
    const nowMinor = await this.balanceOf(account.bankAccountId);
    if (nowMinor === 'unreadable') return look === 'repeated';
    if (nowMinor === undefined) return false;
    if (await this.paysForOthers(claim.employerId, account.bankAccountId, shownFrom)) return false;
    const unpaidMinor = sumMinor(paid.map((one) => one.unpaidMinor));
    const unpaidChargesMinor = sumMinor(paid.map((one) => one.unpaidChargesMinor));
    const lackMinor = lackOf(paid, beforeMinor - nowMinor);
    // What ended later may not be in the balance yet, and hide as much that was taken again.
    const isShown = paid.every((one) => one.lastEndAt.getTime() <= endsShownTo);
    const isEven = isShown && (lackMinor === 0n || lackMinor === unpaidChargesMinor);
    const found = paidAgain(paid, beforeMinor - nowMinor, unpaidMinor, unpaidChargesMinor);
    const taken = found === 'not-yet' ? [] : found;
    // Where it paid nothing, what those of others took again, or may give back, is told by their own looks.
    const isOwn =
      instruction.status !== 'VOID' ||
      lacksDeclared(run.id, paid, beforeMinor - nowMinor, unpaidMinor, unpaidChargesMinor, taken);
    const mayComeBack = found === 'not-yet' && isOwn;
    const again = isOwn ? taken : [];
    const isLast = look !== 'daily' && isShown && (isKnown || isEven || look === 'over');
    if (again.length === 0 && (look === 'repeated' || !(isLast || isEven || mayComeBack))) return false;
    if (mayComeBack && !(this.shouldBeBack(run, paid) && asksItself(run, paid, lackMinor))) return false;
    return this.database.inEmployer(claim.employerId, async (tx) => {
      const now = await lockRun(tx, run.id);
      await lockInstruction(tx, instruction.id);
      await fence(tx, claim);
      if (now.balanceBeforeMinor === null) return false;
      // What another run was submitted for while the bank was asked may be in its answer.
      if (!isDeepStrictEqual((await takenSince(tx, comparison))?.paid, paid)) return true;
      if (mayComeBack) {
        await tellOfNotComeBack(tx, now, lackMinor);
        return false;
      }
      // Other traffic of the account says nothing of what people were asked about.
      if (again.length === 0 && !isEven && (await isAsked(tx, run))) return false;
      if (isLast || isEven) await clear(tx, ['TOTALS_UNSEEN'], run.id, TOLD);
      if (isLast) await lookNoMore(tx, run);
      else if (isEven) await foundEven(tx, run);
      await accountLostAgain(tx, again);
      return false;
    });
  }

  /** Of what people declared not executed, no look is due before every payment of its run should be final. */
  private async lookAt(
    { employerId }: Claim,
    { instruction, run }: Followed,
  ): Promise<ReturnType<typeof balanceLookAt | typeof declaredLookAt>> {
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
    const giving = paid.filter(mayGiveBack);
    if (giving.length === 0) return this.lateness.isOverdue(run);
    return giving.every((one) => this.lateness.isReturnOverdue(one.lastEndAt));
  }

  /** Whether another employer has paid from the account since: nobody who compares for this one may know what. */
  private async paysForOthers(employerId: string, bankAccountId: string, since: Date): Promise<boolean> {
    const others = await this.database.asWorker((tx) =>
      tx.query(
        `SELECT FROM employer_account WHERE bank_account_id = $1 AND employer_id <> $2
           AND (detached_at IS NULL OR detached_at >= $3) LIMIT 1`,
        [bankAccountId, employerId, since],
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
    certain: 'Each payment was sent once, and nothing is stopped. The balance alone cannot tell these apart.',
    askBank:
      'Did the money of our payments that ended unpaid or were returned come back to the account, all of it, was any customer instruction of ours executed twice, or one that you said was not executed, and what else was booked since?',
    amountMinor: lackMinor,
    lackingMinor: lackMinor,
    since: run.balanceEvenAt,
  });
}

async function isAsked(tx: EmployerTransaction, run: PayRun): Promise<boolean> {
  return (await openAbout(tx, { kind: 'TOTALS_UNSEEN', subjectId: run.id })) !== undefined;
}

/**
 * Whether the balance over the run of what ended may still be compared once that is watched no more: another instruction,
 * sent from the account while it was, has kept it from that, or is watched itself.
 * @param days for how long each is watched after its end
 */
export async function mayCompareYet(
  tx: EmployerTransaction,
  { instruction, run, account }: Followed,
  endedAt: Date,
  now: Date,
  days: number,
): Promise<boolean> {
  if (instruction.status !== 'CLOSED' && instruction.status !== 'VOID') return false;
  const others = await queryByHash(
    tx,
    `SELECT FROM pay_run r JOIN instruction o ON o.employer_id = r.employer_id AND o.pay_run_id = r.id ${WITH_SUBMITS}
     WHERE r.employer_id = $1 AND ${FROM_ACCOUNT} AND r.id <> $3
       AND EXISTS (SELECT FROM pay_run own WHERE own.employer_id = $1 AND own.id = $3 AND own.balance_before_minor IS NOT NULL)
       AND ${SENT_AT} < $4::timestamptz + make_interval(days => $6)
       AND (o.status IN (${UNDER_WAY}) OR o.closed_at > $5::timestamptz - make_interval(days => $6))
     LIMIT 1`,
    [tx.employerId, account.bankAccountId, run.id, endedAt, now, days],
  );
  return others.length > 0;
}

/** Whether a run `r` is paid from the account at the bank. */
const FROM_ACCOUNT = `r.account_id = ANY (ARRAY(
  SELECT a.id FROM employer_account a WHERE a.employer_id = $1 AND a.bank_account_id = $2))`;

const UNDER_WAY = words(INSTRUCTION_UNDER_WAY);

/** With instructions `o` the submit `s` of each that the bank may have executed. */
const WITH_SUBMITS = `LEFT JOIN submit_attempt s ON s.employer_id = o.employer_id
  AND s.planned_instruction_id = o.planned_instruction_id AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT'`;

/**
 * When that was sent, by the clock of `balance_read_at`, too: the bank may have executed it at once, though a later read, or
 * people, found that out.
 */
const SENT_AT = `coalesce(s.attempted_at, o.submitted_at)`;

interface Comparison extends Followed {
  /** What ended before that is in the balance from which the loss is counted. */
  shownFrom: Date;
  /** The same of another run: so long before its balance was asked for, or before it was read where nobody knows that. */
  shownMs: { asked: number; read: number };
  /** As in `Watch`. */
  againMs: number;
  /** What ended before that is not watched any more. */
  watchedFrom: Date;
}

interface TakenByInstruction extends PaidByInstruction {
  unpaidMinor: bigint;
  unpaidChargesMinor: bigint;
  /** When it ended, or the last of its payments came back; of what people declared not executed, when it was sent. */
  lastEndAt: Date;
  /** Whether the balance is looked at over its run, too. */
  isLookedAt: boolean;
  /**
   * Whether a look over its run may compare: not where something else was under way when the balance of that was read, while
   * some of it is to be submitted yet, nor once it is not watched any more.
   */
  canCompare: boolean;
  /** The most that its run was asked about as lacking; undefined where it was not. */
  toldMinor: bigint | undefined;
}

interface Taken {
  paid: TakenByInstruction[];
  /** Whether all payments of each were read since a day after its end: the bank may have booked charges until then. */
  isKnown: boolean;
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

/**
 * Whether one of the run of an ended instruction is open, or ended later, or another was under way at the instant that the
 * balance of the run may show, or is.
 */
async function isUnderWayBeside(
  tx: EmployerTransaction,
  { instruction, run, account, shownFrom }: Comparison,
): Promise<boolean> {
  const beside = await queryByHash(
    tx,
    `SELECT FROM pay_run r JOIN instruction o ON o.employer_id = r.employer_id AND o.pay_run_id = r.id ${WITH_SUBMITS}
     WHERE r.employer_id = $1 AND ${FROM_ACCOUNT} AND CASE WHEN r.id = $3
         THEN r.status = 'SUBMITTING' OR o.status IN (${UNDER_WAY}) OR (o.closed_at, o.id) > (coalesce($4::timestamptz, '-infinity'), $5)
         ELSE o.status IN (${UNDER_WAY}) OR (o.closed_at >= $7 AND coalesce(${SENT_AT}, '-infinity') < $6) END
     LIMIT 1`,
    [
      ...[tx.employerId, account.bankAccountId, run.id, instruction.closedAt, instruction.id],
      ...[run.balanceReadAt, shownFrom],
    ],
  );
  return beside.length > 0;
}

/**
 * What each instruction of a run, and of the runs submitted since its balance was read, took from the account at the bank,
 * which may have been detached and attached again; and each that was declared not executed, and sent or dated within a
 * week before or later: the bank may have executed it after the balance was read. Undefined where `isUnderWayBeside`.
 */
async function takenSince(tx: EmployerTransaction, comparison: Comparison): Promise<Taken | undefined> {
  if (await isUnderWayBeside(tx, comparison)) return undefined;
  const { run, account, shownMs, againMs, watchedFrom } = comparison;
  const rows = await queryByHash<
    Record<
      `${'amount' | 'charges' | 'returned' | 'unpaid' | 'unpaid_charges' | 'all'}_minor` | 'id',
      string
    > & {
      pay_run_id: string;
      is_void: boolean;
      payments: number;
      is_known: boolean;
      last_end_at: Date;
      is_looked_at: boolean;
      can_compare: boolean;
      told_minor: string | null;
    }
  >(
    tx,
    `WITH took AS MATERIALIZED (
       SELECT o.id, o.pay_run_id, r.balance_before_minor IS NOT NULL AS is_looked_at, r.balance_read_at,
         coalesce(r.balance_asked_at - make_interval(secs => $7::float8 / 1000),
           r.balance_read_at - make_interval(secs => $8::float8 / 1000)) AS shown_from,
         o.status = 'VOID' AS is_void, coalesce(o.closed_at, s.attempted_at) AS ended_at,
         o.status = 'VOID'
           OR coalesce(o.payments_read_at >= o.closed_at + make_interval(secs => $6::float8 / 1000), false) AS is_known
       FROM pay_run r
       JOIN instruction o ON o.employer_id = r.employer_id AND o.pay_run_id = r.id AND o.status IN ('CLOSED', 'VOID')
       ${WITH_SUBMITS}
       WHERE r.employer_id = $1 AND ${FROM_ACCOUNT}
         AND (r.id = $3 OR ${SENT_AT} >= $4
           OR o.status = 'VOID' AND greatest(s.attempted_at, r.execution_date) >= $4 - interval '${MAY_STILL_EXECUTE_DAYS} days')),
     ended AS MATERIALIZED (
       SELECT o.pay_run_id, o.closed_at, coalesce(${SENT_AT}, '-infinity') AS sent_at
       FROM pay_run r JOIN instruction o ON o.employer_id = r.employer_id AND o.pay_run_id = r.id ${WITH_SUBMITS}
       WHERE r.employer_id = $1 AND ${FROM_ACCOUNT} AND o.closed_at >= (SELECT min(shown_from) FROM took)),
     comparing AS MATERIALIZED (
       SELECT c.pay_run_id FROM (SELECT pay_run_id, shown_from, balance_read_at FROM took
         GROUP BY pay_run_id, shown_from, balance_read_at HAVING max(ended_at) >= $9) c
       WHERE NOT EXISTS (SELECT FROM ended e
           WHERE e.pay_run_id <> c.pay_run_id AND e.closed_at >= c.shown_from AND e.sent_at < c.balance_read_at)
         AND NOT EXISTS (SELECT FROM pay_run r
           WHERE r.employer_id = $1 AND r.id = c.pay_run_id AND r.status = 'SUBMITTING'))
     SELECT t.id, t.pay_run_id, t.is_void, t.is_looked_at, (SELECT bool_and(is_known) FROM took) AS is_known,
       t.pay_run_id IN (SELECT pay_run_id FROM comparing) AS can_compare,
       (SELECT max(a.lacking_minor) FROM attention a WHERE a.employer_id = $1 AND a.subject_id = t.pay_run_id
          AND a.kind = 'TOTALS_UNSEEN') AS told_minor,
       greatest(t.ended_at, s.returned_at) AS last_end_at, s.*
     FROM (
       SELECT b.instruction_id, max(p.returned_at) AS returned_at,
         count(*) FILTER (WHERE p.status = 'SETTLED')::int AS payments,
         coalesce(sum(p.amount_minor) FILTER (WHERE p.status = 'SETTLED'), 0) AS amount_minor,
         coalesce(sum(p.charges_minor) FILTER (WHERE p.status = 'SETTLED'), 0) AS charges_minor,
         coalesce(sum(p.amount_minor) FILTER (WHERE p.status = 'SETTLED' AND p.returned_at IS NOT NULL), 0)
           AS returned_minor,
         coalesce(sum(p.amount_minor) FILTER (WHERE p.status <> 'SETTLED'
           AND (b.bank_status = ANY ($5)) IS NOT TRUE), 0) AS unpaid_minor,
         coalesce(sum(p.charges_minor) FILTER (WHERE p.status <> 'SETTLED'), 0) AS unpaid_charges_minor,
         sum(p.amount_minor) AS all_minor
       FROM bank_payment b JOIN payment p ON p.employer_id = $1 AND p.id = b.payment_id
         AND p.pay_run_id = ANY (ARRAY(SELECT pay_run_id FROM took))
       WHERE b.employer_id = $1 AND b.instruction_id = ANY (ARRAY(SELECT id FROM took))
       GROUP BY b.instruction_id) s
     JOIN took t ON t.id = s.instruction_id ORDER BY t.id`,
    [
      ...[tx.employerId, account.bankAccountId, run.id, run.balanceReadAt, NEVER_DEBITED, againMs],
      ...[shownMs.asked, shownMs.read, watchedFrom],
    ],
  );
  const paid = rows.map((row) => ({
    payRunId: row.pay_run_id,
    instructionId: row.id,
    payments: row.payments,
    lastEndAt: row.last_end_at,
    amountMinor: BigInt(row.amount_minor),
    returnedMinor: BigInt(row.returned_minor),
    chargesMinor: BigInt(row.charges_minor),
    unpaidMinor: row.is_void ? 0n : BigInt(row.unpaid_minor),
    voidMinor: row.is_void ? BigInt(row.all_minor) : 0n,
    unpaidChargesMinor: BigInt(row.unpaid_charges_minor),
    isLookedAt: row.is_looked_at,
    canCompare: row.can_compare,
    toldMinor: row.told_minor === null ? undefined : BigInt(row.told_minor),
  }));
  return { paid, isKnown: rows.every((row) => row.is_known) };
}
