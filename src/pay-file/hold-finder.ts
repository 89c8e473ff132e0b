import { EmployerTransaction } from '../database/database';
import { HoldCode } from '../domain/hold';
import { Employer } from '../employer/employer.entity';
import { mayHaveForgotten, runsThatMayHavePaid } from '../pay-run/forgotten-pay';
import { foldedId } from '../pay-run/folded-id';
import { PayKey, RunOfKey } from '../pay-run/pay-key';
import { MAY_BE_KEPT } from '../pay-run/same-pay';
import { Compared, rowsOfRun } from '../pay-run/same-rows';
import { findAlikeIds, findAlikeNames } from './alike-ids';
import { createHoldTable, note, otherRuns } from './found-hold';
import { findPaidToOthers, findSameRows } from './same-rows';

/** What is known of payable rows before they are looked through. */
interface KnownOfRows {
  /** Where they are, as `payableRows` tells. */
  rows: string;
  /** Whether they join a run which has payments already: they are held against these as well. */
  joins: boolean;
  /** Whether they are payments by now, the first ones of their period: then each has an employee of its own. */
  early?: boolean;
  /** Whether what they are compared with was hashed under another key. */
  otherKey: boolean;
  /** Whether they are rows of a new run for a month that is far from its date. */
  farPeriod?: boolean;
}

/**
 * Finds what has to wait for a person before it is paid, among the payable rows of a run. The releases of the key must have
 * been taken; rows are joined by hash only.
 * @returns whether anything was found
 */
export async function findHolds(
  tx: EmployerTransaction,
  run: RunOfKey,
  { rows, joins, early, otherKey, farPeriod }: KnownOfRows,
): Promise<boolean> {
  const joined = joins ? run.id : null;
  const compared: Compared = { rows, joined };
  await createHoldTable(tx);
  if (farPeriod) await note(tx, 'PERIOD_FAR_FROM_DATE', 'line', 'SELECT $1, NULL::integer');
  if (otherKey) await note(tx, 'HASH_KEY_CHANGED', 'line', 'SELECT $1, NULL::integer');
  await findForgotten(tx, run);
  if (!early) await findTwice(tx, compared);
  await findSharedAccounts(tx, compared);
  await findAlikeNames(tx, compared);
  const inDoubt = await runsThatMayHavePaid(tx, run);
  if (!early) await findPaid(tx, run, rows);
  await findMayBePaid(tx, run, rows, inDoubt);
  if (!early) await findPaidUnknown(tx, rows);
  await findAlikeIds(tx, run, rows, inDoubt);
  await findSameRows(tx, run, compared, inDoubt);
  await findAboveLimits(tx, run, compared);
  if (joined !== null) await settleFoundBefore(tx, joined, rows);
  await findPaidToOthers(tx, run, rows, inDoubt);
  if (!early) await keepLaterPay(tx, run, rows);
  const found = await tx.query('SELECT FROM pg_temp.found_hold LIMIT 1');
  return found.length > 0;
}

/** A run that may be one which a restored database has forgotten, and the bank executed or will, of whatever date this one is. */
async function findForgotten(tx: EmployerTransaction, { period }: PayKey): Promise<void> {
  await note(
    tx,
    'RUN_MAY_BE_FORGOTTEN',
    'line',
    `SELECT $1, NULL::integer WHERE ${mayHaveForgotten('$2', '$3')}`,
    [tx.employerId, period],
  );
}

/** Rows whose employee stands in an earlier line. Only employees with several rows are sorted: as a rule there are few. */
async function findTwice(tx: EmployerTransaction, compared: Compared): Promise<void> {
  await note(
    tx,
    'EMPLOYEE_TWICE',
    'line, beside_line',
    `WITH pay AS NOT MATERIALIZED (${rowsOfRun(compared)}),
     several AS (SELECT employee_id FROM pay GROUP BY employee_id HAVING count(*) > 1)
     SELECT $1, line, first_line
     FROM (SELECT line, added, first_value(line) OVER of_employee AS first_line, row_number() OVER of_employee AS n
           FROM pay JOIN several USING (employee_id)
           WINDOW of_employee AS (PARTITION BY employee_id ORDER BY added, line)) AS compared
     WHERE added AND n > 1`,
    [tx.employerId, compared.joined],
  );
}

const SEEN_ACCOUNTS = 'SELECT DISTINCT iban_hash FROM pg_temp.uploaded_row WHERE payable AND account_seen';

/**
 * Each row is held against the first one of its account, so that what is left has one name for each account and no
 * amount twice. Only accounts with several rows are sorted, and a few that may have: what the reading had not seen before
 * need not be counted, where all rows were read at once.
 */
async function findSharedAccounts(tx: EmployerTransaction, compared: Compared): Promise<void> {
  const names: HoldCode = 'IBAN_UNDER_TWO_NAMES';
  const alike: HoldCode = 'IBAN_AND_AMOUNT_TWICE';
  const ids: HoldCode = 'EMPLOYEE_ID_ALIKE';
  await tx.query(
    `INSERT INTO pg_temp.found_hold (code, line, beside_line)
     WITH pay AS NOT MATERIALIZED (${rowsOfRun(compared)}),
     shared AS (${compared.joined === null ? SEEN_ACCOUNTS : 'SELECT iban_hash FROM pay GROUP BY iban_hash HAVING count(*) > 1'}),
     compared AS MATERIALIZED (
       SELECT line, added, name_hash <> first_value(name_hash) OVER of_account AS other_name,
         first_value(line) OVER of_account AS first_line,
         first_value(line) OVER alike AS first_alike, row_number() OVER alike AS n,
         employee_id <> first_value(employee_id) OVER of_id AS other_id, first_value(line) OVER of_id AS first_of_id
       FROM pay JOIN shared USING (iban_hash)
       WINDOW of_account AS (PARTITION BY iban_hash ORDER BY added, line),
         alike AS (PARTITION BY iban_hash, amount_minor ORDER BY added, line),
         of_id AS (PARTITION BY iban_hash, ${foldedId('employee_id')} ORDER BY added, line))
     SELECT $1::text, line, first_line FROM compared WHERE added AND other_name
     UNION ALL SELECT '${alike}', line, first_alike FROM compared WHERE added AND n > 1
     UNION ALL SELECT '${ids}', line, first_of_id FROM compared WHERE added AND other_id AND n = 1`,
    [names, tx.employerId, compared.joined],
  );
}

/**
 * Whether a payment `p` came back whole, or so that nobody kept the rest, of which the bank has not shown two ends: else it is
 * as paid as it is known to be.
 */
const CAME_BACK = `(p.returned_at IS NOT NULL AND NOT ${MAY_BE_KEPT} AND NOT EXISTS (SELECT FROM attention a
  WHERE a.employer_id = p.employer_id AND a.payment_id = p.id AND a.kind = 'CONTRADICTION'))`;

/**
 * Rows without a release whose employee has a live payment in another run, or had one that came back; also with the
 * release of a further payment that ended unpaid, where they pay another amount than the first one in its place: that was
 * released, not this; where less came back of the other payment than was paid: it may be less still by now; or where that
 * one may be made in the stead of the same as what the row replaces. Of several the last one that stands is named, and only
 * where none does the last one that came back.
 */
async function findPaid(tx: EmployerTransaction, run: RunOfKey, rows: string): Promise<void> {
  const returned: HoldCode = 'EMPLOYEE_PAY_RETURNED';
  await note(
    tx,
    'EMPLOYEE_ALREADY_PAID',
    'line, beside_run_id, beside_line, beside_payment_ids',
    `SELECT DISTINCT ON (line) CASE WHEN came_back THEN '${returned}' ELSE $1 END, line, pay_run_id, its_line, ids
     FROM (SELECT u.line, p.pay_run_id, p.line AS its_line, p.release_sequence, came_back,
             array_agg(p.id) OVER of_row AS ids,
             bool_or(u.release_sequence = 0 OR ${MAY_BE_KEPT}
               OR u.replaces_payment_id IS NOT NULL AND may_pay_the_same($2, u.replaces_payment_id, p.id)
               OR u.amount_minor <> (
                 SELECT r.amount_minor FROM payment r
                 JOIN pay_run o ON o.employer_id = r.employer_id AND o.id = r.pay_run_id
                 WHERE r.employer_id = $2 AND r.period = $3 AND r.kind_of_pay = $4 AND r.employee_id = u.employee_id
                   AND r.release_sequence = u.release_sequence AND r.pay_run_id <> $5
                   AND r.status <> 'HELD' AND o.status NOT IN ('CANCELLING', 'CANCELLED')
                 ORDER BY r.id LIMIT 1)) OVER of_row AS is_asked
           FROM ${rows} AS u
           JOIN payment p ON p.employer_id = $2 AND p.period = $3 AND p.kind_of_pay = $4
             AND p.employee_id = u.employee_id AND p.live AND p.pay_run_id <> $5,
             LATERAL (SELECT ${CAME_BACK} AS came_back) AS its
           WINDOW of_row AS (PARTITION BY u.line)) AS found
     WHERE is_asked
     ORDER BY line, came_back, release_sequence DESC`,
    [tx.employerId, run.period, run.kindOfPay, run.id],
  );
}

/** Rows without a later release whose employee may have been paid by another run; who surely is needs no second hold. */
async function findMayBePaid(
  tx: EmployerTransaction,
  run: RunOfKey,
  rows: string,
  inDoubt: readonly string[],
): Promise<void> {
  if (inDoubt.length === 0) return;
  await note(
    tx,
    'EMPLOYEE_MAY_BE_PAID',
    'line, beside_run_id, beside_line',
    `SELECT DISTINCT ON (u.line) $1, u.line, p.pay_run_id, p.line
     FROM ${rows} AS u
     JOIN payment p ON p.employer_id = $2 AND p.pay_run_id = ANY ($3) AND p.kind_of_pay = $4
       AND p.employee_id = u.employee_id AND u.release_sequence <= p.release_sequence
     WHERE NOT EXISTS (SELECT FROM pg_temp.found_hold h WHERE h.code = 'EMPLOYEE_ALREADY_PAID' AND h.line = u.line)
     ORDER BY u.line, p.release_sequence DESC`,
    [tx.employerId, inDoubt, run.kindOfPay],
  );
}

/** Keeps with what was found in further pay what pays its employee in later places by now: that did not come since. */
async function keepLaterPay(tx: EmployerTransaction, run: RunOfKey, rows: string): Promise<void> {
  await tx.query(
    `UPDATE pg_temp.found_hold h SET later_payment_ids = ARRAY(
       SELECT p.id FROM payment p WHERE p.employer_id = $1 AND p.period = $2 AND p.kind_of_pay = $3
         AND p.employee_id = u.employee_id AND p.release_sequence > u.release_sequence AND p.live AND p.pay_run_id <> $4)
     FROM ${rows} AS u WHERE u.line = h.line AND u.release_sequence > 0`,
    [tx.employerId, run.period, run.kindOfPay, run.id],
  );
}

/** Rows that pay again what a run did not pay before a restore of which nobody knows whom it has forgotten to have paid. */
async function findPaidUnknown(tx: EmployerTransaction, rows: string): Promise<void> {
  await note(
    tx,
    'EMPLOYEE_MAY_BE_PAID',
    'line, beside_run_id',
    `SELECT $1, u.line, p.pay_run_id
     FROM ${rows} AS u
     JOIN payment p ON p.employer_id = $2 AND p.id = u.replaces_payment_id
     JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
     WHERE restore_leaves_in_doubt(r.employer_id, r.known_restores, r.created_at)
       AND NOT EXISTS (SELECT FROM pg_temp.found_hold h
         WHERE h.code IN ($1, 'EMPLOYEE_ALREADY_PAID') AND h.line = u.line)`,
    [tx.employerId],
  );
}

/**
 * What the whole run is held for already needs no second hold. Once that was released, it was so of the rows that were
 * there then: the rows that join are held by themselves.
 */
async function settleFoundBefore(tx: EmployerTransaction, joined: string, rows: string): Promise<void> {
  const before = `pay_hold b WHERE b.employer_id = $1 AND b.pay_run_id = $2 AND b.row_no = 0 AND b.code = h.code
    AND h.line IS NULL`;
  await tx.query(
    `INSERT INTO pg_temp.found_hold (line, code, beside_run_id, bound_minor, same_rows, also_beside_run_ids)
     SELECT u.line, h.code, h.beside_run_id, h.bound_minor, h.same_rows, h.also_beside_run_ids
     FROM pg_temp.found_hold h, ${rows} AS u
     WHERE EXISTS (SELECT FROM ${before} AND b.outcome IS NOT NULL)`,
    [tx.employerId, joined],
  );
  await tx.query(`DELETE FROM pg_temp.found_hold h USING ${before}`, [tx.employerId, joined]);
}

/** Notes what is above the limits that the employer has set; without a limit nothing is read. */
async function findAboveLimits(tx: EmployerTransaction, run: RunOfKey, compared: Compared): Promise<void> {
  const limits = await tx.manager.findOneByOrFail(Employer, { id: tx.employerId });
  const { paymentLimitMinor, runLimitMinor, increaseLimitBp } = limits;
  if (paymentLimitMinor !== null) {
    await note(
      tx,
      'PAYMENT_ABOVE_LIMIT',
      'line, bound_minor',
      `SELECT $1, line, $2::bigint FROM ${compared.rows} AS u WHERE amount_minor > $2::bigint`,
      [paymentLimitMinor.toString()],
    );
  }
  if (runLimitMinor !== null) {
    await note(
      tx,
      'RUN_ABOVE_LIMIT',
      'bound_minor',
      `SELECT $1, $4::bigint FROM (${rowsOfRun(compared)}) AS pay HAVING sum(amount_minor) > $4::bigint`,
      [tx.employerId, compared.joined, runLimitMinor.toString()],
    );
  }
  if (increaseLimitBp !== null) await findAboveHistory(tx, run, compared, increaseLimitBp);
}

/** Periods looked back at: of three the median passes over one odd one, and a million employees stay quick. */
const HISTORY_PERIODS = 3;

/** The median of what employees of an employer ($2) were paid for each period before one ($4), of a kind of pay ($5). */
const USUAL = `
  SELECT employee_id, percentile_disc(0.5) WITHIN GROUP (ORDER BY amount_minor) AS amount_minor
  FROM (SELECT p.employee_id, sum(p.amount_minor)::bigint AS amount_minor FROM payment p
        WHERE p.employer_id = $2 AND p.kind_of_pay = $5 AND p.live AND p.status = 'SETTLED' AND p.returned_at IS NULL
          AND p.period IN (SELECT DISTINCT period FROM pay_run WHERE employer_id = $2 AND kind_of_pay = $5
            AND period < $4 AND status IN ('FOLLOWING', 'SETTLED', 'PARTLY_SETTLED')
            ORDER BY period DESC LIMIT ${HISTORY_PERIODS})
        GROUP BY p.employee_id, p.period) AS paid
  GROUP BY employee_id`;

/** What other runs ($7) pay of it now, besides to those whose rows are held for that: a person compares these with it. */
const elsewhere = (rows: string) => `
  SELECT p.employee_id, sum(p.amount_minor)::bigint AS amount_minor FROM payment p
  WHERE p.employer_id = $2 AND p.kind_of_pay = $5 AND p.period = $4 AND p.live AND p.returned_at IS NULL
    AND p.pay_run_id = ANY ($7)
    AND NOT EXISTS (SELECT FROM ${rows} AS u JOIN pg_temp.found_hold h ON h.line = u.line
      WHERE h.code = 'EMPLOYEE_ALREADY_PAID' AND u.employee_id = p.employee_id)
  GROUP BY p.employee_id`;

/**
 * Basis points of what an employee was paid for a period; who has no settled payment is not compared. Compared is the pay
 * for this one, by other runs and by the rows up to that which brings it above. Only rows of who is above are sorted.
 */
async function findAboveHistory(
  tx: EmployerTransaction,
  run: RunOfKey,
  compared: Compared,
  increaseLimitBp: number,
): Promise<void> {
  const others = (await otherRuns(tx, run, [])).filter((id) => id !== run.id);
  await note(
    tx,
    'PAY_ABOVE_HISTORY',
    'line, bound_minor',
    `WITH pay AS NOT MATERIALIZED (${rowsOfRun(compared)}),
     above AS (
       SELECT employee_id, bound, room
       FROM (SELECT employee_id, sum(amount_minor) AS amount_minor FROM pay GROUP BY employee_id) AS mine
       JOIN (${USUAL}) AS usual USING (employee_id) LEFT JOIN (${elsewhere(compared.rows)}) AS e USING (employee_id),
         LATERAL (SELECT usual.amount_minor * (10000 + $6::bigint) / 10000) AS most(bound),
         LATERAL (SELECT bound - coalesce(e.amount_minor, 0)) AS left_of_it(room)
       WHERE mine.amount_minor > room)
     SELECT $1, line, bound
     FROM (SELECT line, added, bound, room,
             sum(amount_minor) OVER (PARTITION BY employee_id ORDER BY added, line) AS amount_minor
           FROM pay JOIN above USING (employee_id)) AS counted
     WHERE added AND amount_minor > room`,
    [tx.employerId, compared.joined, run.period, run.kindOfPay, increaseLimitBp, others],
  );
}
