import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { inParts } from '../database/in-parts';
import { Employer } from '../employer/employer.entity';
import { PayRun } from './pay-run.entity';

/** What an employee was paid and kept. */
const KEPT = `status = 'SETTLED' AND returned_at IS NULL`;

/** What a run is compared with: the runs of the latest earlier period, the month's first run and its supplements. */
interface Before {
  period: string | null;
  run_ids: string[];
}

/**
 * Compares the standing version of a READY or DRAFT run, whose payments are READY, with the pay before it, once: with
 * what has settled by now and has not come back. The differences are those of exactly this version. Payments are held
 * against those of the same employee id, IBANs and names by their keyed hashes. Without pay before it nothing is
 * compared: every IBAN is new. What settles or comes back later changes nothing here, and is looked at by the approval
 * (`assertTicked`).
 */
export async function compareRun(tx: EmployerTransaction, run: PayRun): Promise<void> {
  const before = await findBefore(tx, run);
  const { netChangeBasisPoints } = await tx.manager.findOneByOrFail(Employer, { id: tx.employerId });
  await tx.query(
    `INSERT INTO run_comparison (employer_id, pay_run_id, run_version, before_period, before_run_ids,
       net_change_basis_points, before_count, before_minor)
     SELECT $1, $2, $3, $4, $5, $6, count(*), coalesce(sum(amount_minor), 0)
     FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($5) AND ${KEPT}`,
    [tx.employerId, run.id, run.runVersion, before.period, before.run_ids, netChangeBasisPoints],
  );
  if (before.period !== null) await insertDifferences(tx, run, before.run_ids, netChangeBasisPoints);
}

/** One stuck payment keeps a run in FOLLOWING, for weeks perhaps: it is of the pay before all the same. */
async function findBefore(tx: EmployerTransaction, run: PayRun): Promise<Before> {
  const [before] = await tx.query<Before>(
    `SELECT period, coalesce(run_ids, '{}') AS run_ids FROM paid_before($1, $2)`,
    [tx.employerId, run.id],
  );
  return before ?? { period: null, run_ids: [] };
}

async function insertDifferences(
  tx: EmployerTransaction,
  run: PayRun,
  beforeRunIds: string[],
  netChangeBasisPoints: number,
): Promise<void> {
  await tx.query(`
    CREATE TEMPORARY TABLE found_difference (place bigint GENERATED ALWAYS AS IDENTITY, kind text, n integer,
      payment_id uuid, before_payment_id uuid, amount_minor bigint, before_minor bigint) ON COMMIT DROP`);
  const besides = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND period = $2 AND kind_of_pay = $3 AND id <> $4
       AND status <> 'CANCELLED'`,
    [tx.employerId, run.period, run.kindOfPay, run.id],
  );
  const parameters = [
    tx.employerId,
    run.id,
    beforeRunIds,
    netChangeBasisPoints,
    run.parentRunId === null,
    besides.map(({ id }) => id),
  ];
  await queryByHash(tx, FIND_DIFFERENCES, parameters);
  const [found] = await tx.query<{ last: number }>(
    'SELECT coalesce(max(place), 0)::int AS last FROM pg_temp.found_difference',
  );
  await inParts(found?.last ?? 0, (first, last) =>
    tx.query(
      `INSERT INTO run_difference (employer_id, pay_run_id, run_version, kind, n, payment_id, before_payment_id,
         amount_minor, before_minor)
       SELECT $1, $2, $3, kind, n, payment_id, before_payment_id, amount_minor, before_minor
       FROM pg_temp.found_difference WHERE place BETWEEN $4 AND $5`,
      [tx.employerId, run.id, run.runVersion, first, last],
    ),
  );
  await tx.query('DROP TABLE pg_temp.found_difference');
}

/**
 * Each employee once by their newest payment (`nth` 1) with the sum of all they get. What is new is sought first, as it is
 * little, and then what it is to be held against.
 */
const FIND_DIFFERENCES = `
  WITH pay AS MATERIALIZED (
    SELECT id, row_no, employee_id, iban_hash, name_hash, amount_minor,
      sum(amount_minor) OVER (PARTITION BY employee_id) AS sum_minor,
      row_number() OVER (PARTITION BY employee_id ORDER BY row_no) AS nth
    FROM payment WHERE employer_id = $1 AND pay_run_id = $2 AND status = 'READY'),
  earlier AS MATERIALIZED (
    SELECT id, row_no, employee_id, iban_hash, name_hash, amount_minor,
      sum(amount_minor) OVER (PARTITION BY employee_id) AS sum_minor,
      row_number() OVER (PARTITION BY employee_id ORDER BY pay_run_id DESC, row_no) AS nth
    FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($3) AND ${KEPT}),
  new_iban AS MATERIALIZED (
    SELECT * FROM pay n WHERE NOT EXISTS (
      SELECT FROM earlier e WHERE e.employee_id = n.employee_id AND e.iban_hash = n.iban_hash)),
  new_name AS MATERIALIZED (
    SELECT * FROM pay n WHERE NOT EXISTS (
      SELECT FROM earlier e WHERE e.iban_hash = n.iban_hash AND e.name_hash = n.name_hash)),
  holder AS (
    SELECT DISTINCT ON (iban_hash) iban_hash, id, amount_minor FROM earlier
    WHERE iban_hash IN (SELECT iban_hash FROM new_name) ORDER BY iban_hash, nth, id),
  found AS (
    SELECT CASE WHEN b.id IS NULL THEN 'JOINED' ELSE 'IBAN_CHANGED' END AS kind, n.row_no, n.id, b.id AS before_id,
      n.amount_minor, coalesce(b.amount_minor, 0) AS before_minor
    FROM new_iban n LEFT JOIN earlier b ON b.employee_id = n.employee_id AND b.nth = 1
    UNION ALL
    SELECT 'LEFT', b.row_no, NULL, b.id, 0, b.sum_minor
    FROM earlier b LEFT JOIN pay n ON n.employee_id = b.employee_id AND n.nth = 1
    WHERE $5 AND b.nth = 1 AND n.id IS NULL AND NOT EXISTS (
      SELECT FROM payment o WHERE o.employer_id = $1 AND o.pay_run_id = ANY ($6) AND o.live
        AND o.employee_id = b.employee_id)
    UNION ALL
    SELECT 'NET_CHANGED', n.row_no, n.id, b.id, n.sum_minor, b.sum_minor
    FROM pay n JOIN earlier b ON b.employee_id = n.employee_id AND b.nth = 1
    WHERE n.nth = 1 AND abs(n.sum_minor - b.sum_minor) * 10000 > b.sum_minor * $4::integer
    UNION ALL
    SELECT 'NAME_CHANGED', n.row_no, n.id, h.id, n.amount_minor, h.amount_minor
    FROM new_name n JOIN holder h ON h.iban_hash = n.iban_hash)
  INSERT INTO pg_temp.found_difference (kind, n, payment_id, before_payment_id, amount_minor, before_minor)
  SELECT kind, row_number() OVER (PARTITION BY kind ORDER BY row_no, id, before_id), id, before_id,
    amount_minor, before_minor
  FROM found`;
