import { escapeLiteral } from 'pg';
import { joiningByHash, queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { DAYS_NEARBY, HoldCode } from '../domain/hold';
import { runsThatMayHavePaid } from './forgotten-pay';
import { FoundBeside, HoldDecision, holdRun, markAmended } from './hold.store';
import { lockComparison, RunOfKey } from './pay-key';
import { PayRun } from './pay-run.entity';
import { tellOfMovedSet } from './payment.store';
import { repaidRuns } from './repaid-runs';

export const SAME_ROWS = 'ROWS_OF_ANOTHER_RUN' satisfies HoldCode;

const COMPARED = 'line, employee_id, name_hash, iban_hash, amount_minor';

/** The payable rows, and the run that they join, if any. */
export interface Compared {
  rows: string;
  joined: string | null;
}

/** The payable rows, and those of an employer's ($2) run ($3) that they join; null: none. */
export function rowsOfRun({ rows }: Compared): string {
  return `
    SELECT ${COMPARED}, true AS added FROM ${rows} AS u
    UNION ALL SELECT ${COMPARED}, false FROM payment
    WHERE employer_id = $2 AND pay_run_id = $3::uuid AND status IN ('READY', 'HELD')`;
}

/** A run that other rows are compared with. */
export interface ComparedRun {
  id: string;
  period: string;
}

/** The other runs of the period, and those executed about the same day: for what month such a run pays may be a slip. */
export function runsToCompare(tx: EmployerTransaction, { id, period }: RunOfKey): Promise<ComparedRun[]> {
  return tx.query<ComparedRun>(
    `SELECT r.id, r.period FROM pay_run r
     JOIN pay_run mine ON mine.employer_id = r.employer_id AND mine.id = $2
     WHERE r.employer_id = $1 AND r.id <> $2
       AND (r.period = $3 OR abs(r.execution_date - mine.execution_date) <= ${DAYS_NEARBY})`,
    [tx.employerId, id, period],
  );
}

/**
 * Whether other runs (`runsToCompare`), of whatever kind of pay, pay or hold most of the rows of a run already, with those that join it, whoever they are said to be and in whatever order: as when a file comes again with
 * new employee ids, as another kind of pay, or for another month. What came back and is paid again, at whatever attempt,
 * counts for nothing. Both sides are counted first, so that equal rows never meet one by one.
 * @param inDoubt runs that may have paid what is not live, too
 */
export async function sameRows(
  tx: EmployerTransaction,
  others: readonly ComparedRun[],
  { rows, joined }: Compared,
  inDoubt: readonly string[],
): Promise<FoundBeside | undefined> {
  if (others.length === 0) return undefined;
  const [found] = await tx.query<FoundBeside>(
    `WITH RECURSIVE replaced AS (
       SELECT id FROM (
         SELECT u.replaces_payment_id AS id FROM ${rows} AS u
         UNION ALL SELECT s.replaces_payment_id FROM payment s
         WHERE s.employer_id = $2 AND s.period = ANY ($4) AND s.live) AS first
       WHERE id IS NOT NULL
       UNION SELECT p.replaces_payment_id FROM replaced r
       JOIN LATERAL (SELECT * FROM payment WHERE employer_id = $2 AND id = r.id LIMIT 1) p
         ON p.replaces_payment_id IS NOT NULL),
     theirs AS (
       SELECT pay_run_id, iban_hash, amount_minor, count(*) AS rows
       FROM (SELECT pay_run_id, iban_hash, amount_minor FROM payment
             WHERE employer_id = $2 AND pay_run_id = ANY ($1) AND live
               AND (returned_at IS NULL OR id NOT IN (SELECT id FROM replaced))
             UNION ALL SELECT pay_run_id, iban_hash, amount_minor FROM payment
             WHERE employer_id = $2 AND pay_run_id = ANY ($5) AND NOT live
             UNION ALL SELECT p.pay_run_id, p.iban_hash, p.amount_minor
             FROM (SELECT DISTINCT h.payment_id AS id FROM pay_run r
                   JOIN pay_hold h ON h.employer_id = r.employer_id AND h.pay_run_id = r.id AND h.outcome IS NULL
                   WHERE r.employer_id = $2 AND r.id = ANY ($1) AND r.id <> ALL ($5)) AS held
             JOIN LATERAL (SELECT * FROM payment WHERE employer_id = $2 AND id = held.id LIMIT 1) p
               ON p.status = 'HELD') AS paid
       GROUP BY 1, 2, 3),
     mine AS (
       SELECT iban_hash, amount_minor, count(*) AS rows FROM (${rowsOfRun({ rows, joined })}) AS u
       WHERE EXISTS (SELECT FROM theirs) GROUP BY 1, 2),
     alike AS MATERIALIZED (
       SELECT t.pay_run_id, m.iban_hash, m.amount_minor, least(t.rows, m.rows) AS rows, m.rows AS most
       FROM theirs t JOIN mine m USING (iban_hash, amount_minor)),
     besides AS (
       SELECT array_agg(pay_run_id ORDER BY rows DESC, pay_run_id) AS runs
       FROM (SELECT pay_run_id, sum(rows) AS rows FROM alike GROUP BY 1) AS beside)
     SELECT (SELECT runs[1] FROM besides) AS "besideRunId", (SELECT runs[2:] FROM besides) AS "alsoBesideRunIds",
       sum(rows)::int AS rows
     FROM (SELECT least(sum(rows), most) AS rows FROM alike GROUP BY iban_hash, amount_minor, most) AS taken
     HAVING 2 * sum(rows) > (SELECT sum(rows) FROM mine)`,
    [others.map(({ id }) => id), tx.employerId, joined, others.map(({ period }) => period), inDoubt],
  );
  return found;
}

/** Runs that a whole run is, or was once, held beside and released, or that are so beside it, and those that it repays. */
async function decidedBeside(
  tx: EmployerTransaction,
  { id }: RunOfKey,
  others: readonly ComparedRun[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ id: string }>(
    `SELECT h.beside_run_id AS id FROM pay_hold h
     WHERE h.employer_id = $1 AND h.pay_run_id = $2 AND h.row_no = 0 AND h.code = $3 AND h.outcome = 'RELEASED'
     UNION ALL SELECT h.pay_run_id FROM pay_hold h
     WHERE h.employer_id = $1 AND h.pay_run_id = ANY ($4) AND h.row_no = 0 AND h.code = $3 AND h.beside_run_id = $2
       AND (h.outcome IS NULL OR h.outcome = 'RELEASED')
     UNION ALL (${repaidRuns('$2')})`,
    [tx.employerId, id, SAME_ROWS, others.map((other) => other.id)],
  );
  return new Set(rows.map((row) => row.id));
}

/** How a stored run is compared with the runs near it beside which nobody has decided about it. */
interface Neighbours {
  /** Runs that may have paid what is not live. */
  inDoubt(): Promise<string[]>;
  find(inDoubt: readonly string[]): Promise<FoundBeside | undefined>;
}

async function neighboursOf(tx: EmployerTransaction, run: PayRun): Promise<Neighbours> {
  await lockComparison(tx);
  const [employer, id] = [tx.employerId, run.id].map(escapeLiteral);
  const rows = `(SELECT * FROM payment
    WHERE employer_id = ${employer}::uuid AND pay_run_id = ${id}::uuid AND status IN ('READY', 'HELD'))`;
  const near = await runsToCompare(tx, run);
  const decided = await decidedBeside(tx, run, near);
  const others = near.filter((one) => !decided.has(one.id));
  return {
    inDoubt: async () => (await runsThatMayHavePaid(tx, run)).filter((other) => !decided.has(other)),
    find: (inDoubt) => joiningByHash(tx, () => sameRows(tx, others, { rows, joined: null }, inDoubt)),
  };
}

/** Holds a whole run that was made without a file where other runs pay, or may have paid, most of its rows already. */
export async function holdForSameRows(tx: EmployerTransaction, run: PayRun): Promise<void> {
  const neighbours = await neighboursOf(tx, run);
  const found = await neighbours.find(await neighbours.inDoubt());
  if (found !== undefined) await holdRun(tx, run, SAME_ROWS, found);
}

/**
 * Lets a DRAFT be held as a whole for the rows that other runs have already as it stands after an amendment of its date or
 * its rows; asked again of another run than its release was for, and not where the other one asks, or asked, about both.
 * Rows that a run in doubt may have paid let no hold end, and begin none: leaving these out is what an amendment answers
 * that with. What a hold that ends has hidden is held by itself.
 */
export async function followSameRows(
  tx: EmployerTransaction,
  run: PayRun,
  decision: HoldDecision,
): Promise<void> {
  const neighbours = await neighboursOf(tx, run);
  const found = await neighbours.find([]);
  const inDoubt = await neighbours.inDoubt();
  if (found === undefined && inDoubt.length > 0 && (await neighbours.find(inDoubt)) !== undefined) return;
  await markAmended(tx, run.id, SAME_ROWS, decision, found);
  if (found !== undefined) await holdRun(tx, run, SAME_ROWS, found);
  await holdUnasked(tx, run, inDoubt, decision);
}

/**
 * Holds the rows that no hold of the whole run asks about any more (`unasked_rows`), as an upload would have. What was in
 * the run already stood beside all that pays its employee by now, and may again.
 */
async function holdUnasked(
  tx: EmployerTransaction,
  { id, runVersion, period, kindOfPay }: PayRun,
  inDoubt: readonly string[],
  { personId, reason }: HoldDecision,
): Promise<void> {
  const code: HoldCode = 'IBAN_AND_AMOUNT_TWICE';
  const [held] = await queryByHash<{ count: string; sum: string }>(
    tx,
    `WITH unasked AS MATERIALIZED (SELECT * FROM unasked_rows($1, $2, $3)),
     others AS (
       SELECT employee_id, array_agg(id) AS ids FROM payment
       WHERE employer_id = $1 AND period = $6 AND kind_of_pay = $7 AND live AND pay_run_id <> $2 GROUP BY 1),
     asked AS (
       INSERT INTO pay_hold (employer_id, pay_run_id, row_no, payment_id, code, run_version, beside_run_id, beside_line,
         also_beside_run_ids, beside_payment_ids)
       SELECT $1, $2, p.row_no, p.id, $4, $5, u.beside_run_id, u.beside_line, u.also_beside_run_ids,
         CASE WHEN p.live THEN coalesce(o.ids, '{}') END
       FROM unasked u JOIN payment p ON p.employer_id = $1 AND p.pay_run_id = $2 AND p.id = u.payment_id
       LEFT JOIN others o USING (employee_id)),
     held AS (
       UPDATE payment p SET status = 'HELD', live = false FROM unasked u
       WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.id = u.payment_id AND p.status = 'READY'
       RETURNING p.amount_minor)
     SELECT count(*) AS count, coalesce(sum(amount_minor), 0) AS sum FROM held`,
    [tx.employerId, id, inDoubt, code, runVersion, period, kindOfPay],
  );
  const move = { payRunId: id, from: 'READY', to: 'HELD', actor: `person:${personId}`, reason } as const;
  tellOfMovedSet(tx, move, held);
}
