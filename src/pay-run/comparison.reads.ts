import { EmployerTransaction } from '../database/database';
import { DifferenceKind, TICKED_KINDS } from '../domain/difference';
import { PayRun } from './pay-run.entity';

/** How many differences of one kind there are, and the sums now and before in minor units. */
export interface DifferenceTotal {
  kind: DifferenceKind;
  count: number;
  amount_minor: string;
  before_minor: string;
}

/** What the standing version of a run was compared with, and what people who may approve it have said of its new IBANs. */
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

/** The pay before it that the standing version was compared with; null where there was none. */
export async function readBefore(tx: EmployerTransaction, run: PayRun): Promise<ComparisonRecord['before']> {
  const [before] = await tx.query<NonNullable<ComparisonRecord['before']>>(
    `SELECT before_period, before_run_ids, before_count, before_minor, net_change_basis_points
     FROM run_comparison WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3
       AND before_period IS NOT NULL`,
    [tx.employerId, run.id, run.runVersion],
  );
  return before ?? null;
}

/** In SQL, whose ticks of a version ($3) of a run ($2) of an employer ($1) count: of those who may approve it still. */
const ENTITLED = 'ANY ((SELECT entitled_tickers($1, $2, $3))::uuid[])';

/** What is known of the standing version. One that was never compared counts as without pay before it. */
export async function readComparison(tx: EmployerTransaction, run: PayRun): Promise<ComparisonRecord> {
  const version = [tx.employerId, run.id, run.runVersion];
  const before = await readBefore(tx, run);
  const differences = await tx.query<DifferenceTotal>(
    `SELECT kind, count(*)::int AS count, sum(amount_minor) AS amount_minor, sum(before_minor) AS before_minor
     FROM run_difference WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3 GROUP BY kind`,
    version,
  );
  const [ticks] = await tx.query<{ count: number }>(
    `SELECT count(DISTINCT payment_id)::int AS count FROM iban_tick
     WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3 AND ticked_by = ${ENTITLED}`,
    version,
  );
  const [decision] = await tx.query<TickRow>(
    `SELECT t.ticked_by, p.name AS ticked_by_name, t.ticked_at, t.reason
     FROM iban_tick t JOIN person p ON p.id = t.ticked_by
     WHERE t.employer_id = $1 AND t.pay_run_id = $2 AND t.run_version = $3 AND t.payment_id IS NULL
       AND t.ticked_by = ${ENTITLED}
     ORDER BY t.ticked_at, t.ticked_by LIMIT 1`,
    version,
  );
  const ticking = differences.filter(({ kind }) => TICKED_KINDS.includes(kind));
  return {
    before,
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

/** One difference: the payment of the run, the one before, or both, and who ticked it first of those who may approve. */
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
     LEFT JOIN LATERAL (
       SELECT k.ticked_by, k.ticked_at FROM iban_tick k
       WHERE k.employer_id = $1 AND k.pay_run_id = $2 AND k.run_version = $3 AND k.payment_id = d.payment_id
         AND d.kind = ANY ($7) AND k.ticked_by = ${ENTITLED}
       ORDER BY k.ticked_at, k.ticked_by LIMIT 1) t ON true
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
