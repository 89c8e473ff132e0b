import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { DifferenceKind, TICKED_KINDS } from '../domain/difference';
import { PayRunStatus } from '../domain/pay-run';
import { Employer } from '../employer/employer.entity';
import { PayRun } from './pay-run.entity';

/** Runs that have ended and paid somebody: what is SETTLED in them stays so. */
const PAID: readonly PayRunStatus[] = ['SETTLED', 'PARTLY_SETTLED'];

/** What a run is compared with: the runs of the latest earlier period, the month's first run and its supplements. */
interface Before {
  period: string | null;
  run_ids: string[];
}

/**
 * Compares the standing version of a READY or DRAFT run, whose payments are READY, with the pay before it, once: what is
 * settled in an ended run does not change, so that the differences are those of exactly this version. Payments are held
 * against those of the same employee id, IBANs and names by their keyed hashes. Without pay before it nothing is
 * compared: every IBAN is new.
 */
export async function compareRun(tx: EmployerTransaction, run: PayRun): Promise<void> {
  const before = await findBefore(tx, run);
  const { netChangeBasisPoints } = await tx.manager.findOneByOrFail(Employer, { id: tx.employerId });
  await tx.query(
    `INSERT INTO run_comparison (employer_id, pay_run_id, run_version, before_period, before_run_ids,
       net_change_basis_points, before_count, before_minor)
     SELECT $1, $2, $3, $4, $5, $6, count(*), coalesce(sum(amount_minor), 0)
     FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($5) AND status = 'SETTLED'`,
    [tx.employerId, run.id, run.runVersion, before.period, before.run_ids, netChangeBasisPoints],
  );
  if (before.period === null) return;
  await queryByHash(tx, INSERT_DIFFERENCES, [
    tx.employerId,
    run.id,
    run.runVersion,
    before.run_ids,
    netChangeBasisPoints,
    run.parentRunId === null,
  ]);
}

async function findBefore(tx: EmployerTransaction, run: PayRun): Promise<Before> {
  const [before] = await tx.query<Before>(
    `SELECT period, array_agg(id ORDER BY sequence, id) AS run_ids FROM pay_run
     WHERE employer_id = $1 AND kind_of_pay = $2 AND status = ANY ($4) AND period < $3
     GROUP BY period ORDER BY period DESC LIMIT 1`,
    [tx.employerId, run.kindOfPay, run.period, PAID],
  );
  return before ?? { period: null, run_ids: [] };
}

/** Each employee once by their newest payment (`nth` 1) with the sum of all they got; each join is one of hashes. */
const INSERT_DIFFERENCES = `
  WITH pay AS MATERIALIZED (
    SELECT id, row_no, employee_id, iban_hash, name_hash, amount_minor,
      sum(amount_minor) OVER (PARTITION BY employee_id) AS sum_minor,
      row_number() OVER (PARTITION BY employee_id ORDER BY row_no) AS nth
    FROM payment WHERE employer_id = $1 AND pay_run_id = $2 AND status = 'READY'),
  earlier AS MATERIALIZED (
    SELECT id, row_no, employee_id, iban_hash, name_hash, amount_minor,
      sum(amount_minor) OVER (PARTITION BY employee_id) AS sum_minor,
      row_number() OVER (PARTITION BY employee_id ORDER BY pay_run_id DESC, row_no) AS nth
    FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($4) AND status = 'SETTLED'),
  own AS (SELECT DISTINCT employee_id, iban_hash FROM earlier),
  named AS (SELECT DISTINCT iban_hash, name_hash FROM earlier),
  holder AS (SELECT DISTINCT ON (iban_hash) iban_hash, id, amount_minor FROM earlier ORDER BY iban_hash, nth, id),
  found AS (
    SELECT 'JOINED' AS kind, n.row_no, n.id, NULL::uuid AS before_id, n.amount_minor, 0 AS before_minor
    FROM pay n LEFT JOIN earlier b ON b.employee_id = n.employee_id AND b.nth = 1 WHERE b.id IS NULL
    UNION ALL
    SELECT 'LEFT', b.row_no, NULL, b.id, 0, b.sum_minor
    FROM earlier b LEFT JOIN pay n ON n.employee_id = b.employee_id AND n.nth = 1
    WHERE $6 AND b.nth = 1 AND n.id IS NULL
    UNION ALL
    SELECT 'NET_CHANGED', n.row_no, n.id, b.id, n.sum_minor, b.sum_minor
    FROM pay n JOIN earlier b ON b.employee_id = n.employee_id AND b.nth = 1
    WHERE n.nth = 1 AND abs(n.sum_minor - b.sum_minor) * 10000 > b.sum_minor * $5::integer
    UNION ALL
    SELECT 'IBAN_CHANGED', n.row_no, n.id, b.id, n.amount_minor, b.amount_minor
    FROM pay n JOIN earlier b ON b.employee_id = n.employee_id AND b.nth = 1
    LEFT JOIN own o ON o.employee_id = n.employee_id AND o.iban_hash = n.iban_hash WHERE o.iban_hash IS NULL
    UNION ALL
    SELECT 'NAME_CHANGED', n.row_no, n.id, h.id, n.amount_minor, h.amount_minor
    FROM pay n JOIN holder h ON h.iban_hash = n.iban_hash
    LEFT JOIN named o ON o.iban_hash = n.iban_hash AND o.name_hash = n.name_hash WHERE o.name_hash IS NULL)
  INSERT INTO run_difference (employer_id, pay_run_id, run_version, kind, n, payment_id, before_payment_id,
    amount_minor, before_minor)
  SELECT $1, $2, $3, kind, row_number() OVER (PARTITION BY kind ORDER BY row_no, id, before_id), id, before_id,
    amount_minor, before_minor
  FROM found`;

/** How many differences of one kind there are, and the sums now and before in minor units. */
export interface DifferenceTotal {
  kind: DifferenceKind;
  count: number;
  amount_minor: string;
  before_minor: string;
}

/** What the standing version of a run was compared with, and what people have said of its new IBANs. */
export interface ComparisonRecord {
  before: {
    before_period: string;
    before_run_ids: string[];
    before_count: number;
    before_minor: string;
    net_change_basis_points: number;
  } | null;
  differences: DifferenceTotal[];
  /** Payments to IBANs to be ticked, and how many are. */
  toTick: number;
  ticked: number;
  decision: TickRow | null;
}

/** Who ticked, and when; the decision on all IBANs at once has its reason. */
export interface TickRow {
  ticked_by: string;
  ticked_by_name: string;
  ticked_at: Date;
  reason: string;
}

/** What is known of the standing version. One that was never compared counts as without pay before it. */
export async function readComparison(tx: EmployerTransaction, run: PayRun): Promise<ComparisonRecord> {
  const version = [tx.employerId, run.id, run.runVersion];
  const [before] = await tx.query<NonNullable<ComparisonRecord['before']>>(
    `SELECT before_period, before_run_ids, before_count, before_minor, net_change_basis_points
     FROM run_comparison WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3
       AND before_period IS NOT NULL`,
    version,
  );
  const differences = await tx.query<DifferenceTotal>(
    `SELECT kind, count(*)::int AS count, sum(amount_minor) AS amount_minor, sum(before_minor) AS before_minor
     FROM run_difference WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3 GROUP BY kind`,
    version,
  );
  const [ticks] = await tx.query<{ count: number }>(
    `SELECT count(payment_id)::int AS count FROM iban_tick
     WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3`,
    version,
  );
  const [decision] = await tx.query<TickRow>(
    `SELECT t.ticked_by, p.name AS ticked_by_name, t.ticked_at, t.reason
     FROM iban_tick t JOIN person p ON p.id = t.ticked_by
     WHERE t.employer_id = $1 AND t.pay_run_id = $2 AND t.run_version = $3 AND t.payment_id IS NULL`,
    version,
  );
  const ticking = differences.filter(({ kind }) => TICKED_KINDS.includes(kind));
  return {
    before: before ?? null,
    differences,
    toTick: before ? ticking.reduce((sum, { count }) => sum + count, 0) : run.rowCount,
    ticked: ticks?.count ?? 0,
    decision: decision ?? null,
  };
}

/** A payment of a difference. */
export interface DifferingPayment {
  id: string;
  pay_run_id: string;
  row_no: number;
  employee_id: string;
  name_sealed: string;
  iban_sealed: string;
}

/** One difference: the payment of the run, the one before, or both, and who ticked it. */
export interface DifferenceRow {
  kind: DifferenceKind;
  n: number;
  amount_minor: string;
  before_minor: string;
  now: DifferingPayment | null;
  before: DifferingPayment | null;
  ticked: { by: string; name: string; at: string } | null;
}

/** Differences of one kind of the standing version after the `n`-th, in the order of the rows. */
export function listDifferences(
  tx: EmployerTransaction,
  run: PayRun,
  { kind, after }: { kind: DifferenceKind; after: number },
  limit: number,
): Promise<DifferenceRow[]> {
  return tx.query<DifferenceRow>(
    `WITH page AS MATERIALIZED (
       SELECT * FROM run_difference
       WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3 AND kind = $4 AND n > $5
       ORDER BY n LIMIT $6)
     SELECT d.kind, d.n, d.amount_minor, d.before_minor, ${differing('p')} AS now, ${differing('b')} AS before,
       CASE WHEN t.ticked_by IS NOT NULL THEN
         json_build_object('by', t.ticked_by, 'name', q.name, 'at', t.ticked_at) END AS ticked
     FROM page d
     LEFT JOIN payment p ON p.employer_id = d.employer_id AND p.id = d.payment_id
     LEFT JOIN payment b ON b.employer_id = d.employer_id AND b.id = d.before_payment_id
     LEFT JOIN iban_tick t ON t.employer_id = d.employer_id AND t.pay_run_id = d.pay_run_id
       AND t.run_version = d.run_version AND t.payment_id = d.payment_id AND d.kind = ANY ($7)
     LEFT JOIN person q ON q.id = t.ticked_by
     ORDER BY d.n`,
    [tx.employerId, run.id, run.runVersion, kind, after, limit, TICKED_KINDS],
  );
}

/** A payment as one column, null where there is none. */
function differing(payment: string): string {
  return `CASE WHEN ${payment}.id IS NOT NULL THEN json_build_object('id', ${payment}.id,
    'pay_run_id', ${payment}.pay_run_id, 'row_no', ${payment}.row_no, 'employee_id', ${payment}.employee_id,
    'name_sealed', ${payment}.name_sealed, 'iban_sealed', ${payment}.iban_sealed) END`;
}
