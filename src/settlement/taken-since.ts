import { queryByHash } from '../database/by-hash';
import type { EmployerTransaction } from '../database/database';
import { words } from '../database/words';
import type { PaidByInstruction } from '../domain/balance';
import { NEVER_DEBITED } from '../domain/bank-status';
import { INSTRUCTION_UNDER_WAY } from '../domain/instruction';
import { ONE_AT_BANK } from '../employer/account.store';
import type { Followed } from './followed';
import { MAY_STILL_EXECUTE_DAYS } from './looks';

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
    `SELECT FROM ${OF_ACCOUNT} AND r.id <> $3
       AND EXISTS (SELECT FROM pay_run own WHERE own.employer_id = $1 AND own.id = $3 AND own.balance_before_minor IS NOT NULL)
       AND ${SENT_AT} < $4::timestamptz + make_interval(days => $6)
       AND (o.status IN (${UNDER_WAY}) OR o.closed_at > $5::timestamptz - make_interval(days => $6))
     LIMIT 1`,
    [tx.employerId, account.id, run.id, endedAt, now, days],
  );
  return others.length > 0;
}

/** Whether a run `r` is paid from the account at the bank. */
const FROM_ACCOUNT = `r.account_id = ANY (${ONE_AT_BANK})`;

/** What ended before that is in the balance of a run `r`; the parameters are those of `shownMs`. */
const shownFrom = (asked: string, read: string) =>
  `coalesce(r.balance_asked_at - make_interval(secs => ${asked}::float8 / 1000),
    r.balance_read_at - make_interval(secs => ${read}::float8 / 1000))`;

const UNDER_WAY = words(INSTRUCTION_UNDER_WAY);

/** The instructions `o` of the runs `r` paid from the account, with the submit `s` of each that the bank may have executed. */
const OF_ACCOUNT = `pay_run r JOIN instruction o ON o.employer_id = r.employer_id AND o.pay_run_id = r.id
  LEFT JOIN submit_attempt s ON s.employer_id = o.employer_id
    AND s.planned_instruction_id = o.planned_instruction_id AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT'
  WHERE r.employer_id = $1 AND ${FROM_ACCOUNT}`;

/**
 * When that was sent, by the clock of `balance_read_at`, too: the bank may have executed it at once, though a later read, or
 * people, found that out.
 */
const SENT_AT = `coalesce(s.attempted_at, o.submitted_at)`;

export interface Comparison extends Followed {
  /** What ended before that is in the balance from which the loss is counted. */
  shownFrom: Date;
  /** The same of another run: so long before its balance was asked for, or before it was read where nobody knows that. */
  shownMs: { asked: number; read: number };
  /** As in `Watch`. */
  againMs: number;
  /** What ended before that is not watched any more. */
  watchedFrom: Date;
}

export interface TakenByInstruction extends PaidByInstruction {
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

export interface Taken {
  paid: TakenByInstruction[];
  /** Whether all payments of each were read since a day after its end: the bank may have booked charges until then. */
  isKnown: boolean;
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
    `SELECT FROM ${OF_ACCOUNT} AND CASE WHEN r.id = $3
         THEN r.status = 'SUBMITTING' OR o.status IN (${UNDER_WAY}) OR (o.closed_at, o.id) > (coalesce($4::timestamptz, '-infinity'), $5)
         ELSE o.status IN (${UNDER_WAY}) OR (o.closed_at >= $7 AND coalesce(${SENT_AT}, '-infinity') < $6) END
     LIMIT 1`,
    [
      ...[tx.employerId, account.id, run.id, instruction.closedAt, instruction.id],
      ...[run.balanceReadAt, shownFrom],
    ],
  );
  return beside.length > 0;
}

/**
 * Whether another run of the account is to be submitted yet, whose balance may not show the end of what ended: the looks
 * over this one alone can compare it.
 */
export async function isUnsentBeside(
  tx: EmployerTransaction,
  { instruction, run, account, shownMs }: Comparison,
): Promise<boolean> {
  const beside = await tx.query(
    `SELECT FROM pay_run r
     WHERE r.employer_id = $1 AND ${FROM_ACCOUNT} AND r.id <> $3 AND r.status = 'SUBMITTING'
       AND ${shownFrom('$5', '$6')} <= $4
     LIMIT 1`,
    [tx.employerId, account.id, run.id, instruction.closedAt, shownMs.asked, shownMs.read],
  );
  return beside.length > 0;
}

/**
 * What each instruction of a run, and of the runs submitted since its balance was read, took from the account at the bank,
 * which may have been detached and attached again; and each that was declared not executed, and sent or dated within a
 * week before or later: the bank may have executed it after the balance was read. Undefined where `isUnderWayBeside`.
 */
export async function takenSince(
  tx: EmployerTransaction,
  comparison: Comparison,
): Promise<Taken | undefined> {
  if (await isUnderWayBeside(tx, comparison)) return undefined;
  const { run, account, shownMs, againMs, watchedFrom } = comparison;
  const rows = await queryByHash<TakenRow>(tx, TAKEN, [
    ...[tx.employerId, account.id, run.id, run.balanceReadAt, NEVER_DEBITED, againMs],
    ...[shownMs.asked, shownMs.read, watchedFrom],
  ]);
  return { paid: rows.map(takenBy), isKnown: rows.every((row) => row.is_known) };
}

/** What paid since, or may have: those of the run itself, those sent later, and what was declared not executed about then. */
const TOOK = `SELECT o.id, o.pay_run_id, r.balance_before_minor IS NOT NULL AS is_looked_at, r.balance_read_at,
    ${shownFrom('$7', '$8')} AS shown_from,
    o.status = 'VOID' AS is_void, coalesce(o.closed_at, s.attempted_at) AS ended_at,
    o.status = 'VOID'
      OR coalesce(o.payments_read_at >= o.closed_at + make_interval(secs => $6::float8 / 1000), false) AS is_known
  FROM ${OF_ACCOUNT} AND o.status IN ('CLOSED', 'VOID')
    AND (r.id = $3 OR ${SENT_AT} >= $4
      OR o.status = 'VOID' AND greatest(s.attempted_at, r.execution_date) >= $4 - interval '${MAY_STILL_EXECUTE_DAYS} days')`;

/** What ended since the first of their balances was asked for. */
const ENDED = `SELECT o.pay_run_id, o.closed_at, coalesce(${SENT_AT}, '-infinity') AS sent_at
  FROM ${OF_ACCOUNT} AND o.closed_at >= (SELECT min(shown_from) FROM took)`;

/** The runs of `took` over which a look may compare. */
const COMPARING = `SELECT c.pay_run_id FROM (SELECT pay_run_id, shown_from, balance_read_at FROM took
    GROUP BY pay_run_id, shown_from, balance_read_at HAVING max(ended_at) >= $9) c
  WHERE NOT EXISTS (SELECT FROM ended e
      WHERE e.pay_run_id <> c.pay_run_id AND e.closed_at >= c.shown_from AND e.sent_at < c.balance_read_at)
    AND NOT EXISTS (SELECT FROM pay_run r
      WHERE r.employer_id = $1 AND r.id = c.pay_run_id AND r.status = 'SUBMITTING')`;

/** What the payments of each of `took` come to. */
const SUMS = `SELECT b.instruction_id, max(p.returned_at) AS returned_at,
    count(*) FILTER (WHERE p.status = 'SETTLED')::int AS payments,
    coalesce(sum(p.amount_minor) FILTER (WHERE p.status = 'SETTLED'), 0) AS amount_minor,
    coalesce(sum(p.charges_minor) FILTER (WHERE p.status = 'SETTLED'), 0) AS charges_minor,
    coalesce(sum(coalesce(p.returned_minor, p.amount_minor))
      FILTER (WHERE p.status = 'SETTLED' AND p.returned_at IS NOT NULL), 0)
      AS returned_minor,
    coalesce(sum(p.amount_minor) FILTER (WHERE p.status <> 'SETTLED'
      AND (b.bank_status = ANY ($5)) IS NOT TRUE), 0) AS unpaid_minor,
    coalesce(sum(p.charges_minor) FILTER (WHERE p.status <> 'SETTLED'), 0) AS unpaid_charges_minor,
    sum(p.amount_minor) AS all_minor
  FROM bank_payment b JOIN payment p ON p.employer_id = $1 AND p.id = b.payment_id
    AND p.pay_run_id = ANY (ARRAY(SELECT pay_run_id FROM took))
  WHERE b.employer_id = $1 AND b.instruction_id = ANY (ARRAY(SELECT id FROM took))
  GROUP BY b.instruction_id`;

const TAKEN = `WITH took AS MATERIALIZED (${TOOK}), ended AS MATERIALIZED (${ENDED}), comparing AS MATERIALIZED (${COMPARING})
  SELECT t.id, t.pay_run_id, t.is_void, t.is_looked_at, (SELECT bool_and(is_known) FROM took) AS is_known,
    t.pay_run_id IN (SELECT pay_run_id FROM comparing) AS can_compare,
    told.minor AS told_minor, greatest(t.ended_at, s.returned_at) AS last_end_at, s.*
  FROM (${SUMS}) s
  JOIN took t ON t.id = s.instruction_id
  LEFT JOIN (SELECT subject_id, max(lacking_minor) AS minor FROM attention
    WHERE employer_id = $1 AND kind = 'TOTALS_UNSEEN' GROUP BY subject_id) told ON told.subject_id = t.pay_run_id
  ORDER BY t.id`;

type TakenRow = Record<
  `${'amount' | 'charges' | 'returned' | 'unpaid' | 'unpaid_charges' | 'all'}_minor` | 'id' | 'pay_run_id',
  string
> & {
  is_void: boolean;
  payments: number;
  is_known: boolean;
  last_end_at: Date;
  is_looked_at: boolean;
  can_compare: boolean;
  told_minor: string | null;
};

function takenBy(row: TakenRow): TakenByInstruction {
  return {
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
  };
}

export interface TookBefore extends Pick<PaidByInstruction, 'amountMinor' | 'chargesMinor'> {
  /** Whether a look over its run found that nothing lacks, after all else had ended. */
  isEven: boolean;
}

/**
 * What each instruction of another run took that ended within `againMs` before what the balance of a run shows: the bank may
 * have booked it later. Only of runs whose own looks can tell what was taken again, or found nothing after all else had ended.
 */
export async function tookJustBefore(
  tx: EmployerTransaction,
  { run, account, shownFrom, shownMs, againMs, watchedFrom }: Comparison,
  paid: readonly TakenByInstruction[],
): Promise<TookBefore[]> {
  const lastEndMs = paid.reduce((last, one) => Math.max(last, one.lastEndAt.getTime()), 0);
  const rows = await queryByHash<TookBeforeRow>(tx, TOOK_BEFORE, [
    ...[tx.employerId, account.id, run.id, shownFrom, againMs, new Date(lastEndMs)],
    ...[shownMs.asked, shownMs.read, watchedFrom],
  ]);
  return rows.map((row) => ({
    amountMinor: BigInt(row.amount_minor),
    chargesMinor: BigInt(row.charges_minor),
    isEven: row.is_even,
  }));
}

interface TookBeforeRow {
  amount_minor: string;
  charges_minor: string;
  is_even: boolean;
}

const TOOK_BEFORE = `WITH took AS MATERIALIZED (
    SELECT o.id, o.pay_run_id, r.balance_read_at, ${shownFrom('$7', '$8')} AS shown_from, o.closed_at AS ended_at,
      coalesce(r.balance_even_at >= $6, false) AS is_even
    FROM ${OF_ACCOUNT} AND r.id <> $3 AND o.status = 'CLOSED'
      AND o.closed_at < $4 AND o.closed_at >= $4::timestamptz - make_interval(secs => $5::float8 / 1000)),
  ended AS MATERIALIZED (${ENDED}), comparing AS MATERIALIZED (${COMPARING}),
  before AS MATERIALIZED (
    SELECT id, pay_run_id, is_even FROM took
    WHERE is_even OR balance_read_at IS NOT NULL AND pay_run_id IN (SELECT pay_run_id FROM comparing))
  SELECT s.amount_minor, s.charges_minor, e.is_even
  FROM (
    SELECT b.instruction_id, sum(p.amount_minor) AS amount_minor, coalesce(sum(p.charges_minor), 0) AS charges_minor
    FROM bank_payment b JOIN payment p ON p.employer_id = $1 AND p.id = b.payment_id AND p.status = 'SETTLED'
      AND p.pay_run_id = ANY (ARRAY(SELECT pay_run_id FROM before))
    WHERE b.employer_id = $1 AND b.instruction_id = ANY (ARRAY(SELECT id FROM before))
    GROUP BY b.instruction_id) s
  JOIN before e ON e.id = s.instruction_id`;
