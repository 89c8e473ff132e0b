import { escapeLiteral } from 'pg';
import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { inParts } from '../database/in-parts';
import { PayKey, RunOfKey } from '../pay-run/pay-key';
import { RELEASE_IS_BACKED, RELEASE_IS_KEPT, RELEASE_IS_OWED, RELEASE_STANDS } from '../pay-run/pay-release';
import { MAY_BE_KEPT } from '../pay-run/same-pay';
import { PAYABLE_COLUMNS } from './payable-row';

/**
 * Gives rows whose employee has a live payment the first release that no live payment has used, and no held one keeps: one by
 * which somebody was to be paid and was not, whoever made it, as others approved that. Another one by the person who uploads
 * the rows is none: nobody else would have seen that the employee is paid twice. Nor is one by which nobody was paid before
 * its person came to approve no more, nor any other where less of a payment came back than was paid: who made it did not know
 * what would be back.
 */
export async function takeReleases(tx: EmployerTransaction, key: PayKey, uploadedBy: string): Promise<void> {
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET release_sequence = unused.sequence
     FROM (SELECT r.employee_id, min(r.sequence) AS sequence FROM pay_release r
           WHERE r.employer_id = $1 AND r.period = $2 AND r.kind_of_pay = $3
             AND ${RELEASE_STANDS} AND NOT ${RELEASE_IS_KEPT}
             AND (${RELEASE_IS_OWED} OR r.released_by <> $4 AND ${RELEASE_IS_BACKED}
               AND NOT EXISTS (SELECT FROM payment p WHERE p.employer_id = r.employer_id AND p.period = r.period
                 AND p.kind_of_pay = r.kind_of_pay AND p.employee_id = r.employee_id AND p.live AND ${MAY_BE_KEPT}))
             AND NOT EXISTS (SELECT FROM payment p WHERE p.employer_id = r.employer_id AND p.period = r.period
               AND p.kind_of_pay = r.kind_of_pay AND p.employee_id = r.employee_id
               AND p.release_sequence = r.sequence AND p.live)
           GROUP BY r.employee_id) AS unused
     WHERE u.employee_id = unused.employee_id
       AND EXISTS (SELECT FROM payment p WHERE p.employer_id = $1 AND p.period = $2 AND p.kind_of_pay = $3
         AND p.employee_id = u.employee_id AND p.live)`,
    [tx.employerId, key.period, key.kindOfPay, uploadedBy],
  );
}

/** Gives back what corrected rows of a faulty file took of a release that one of their authors made: it is as their own. */
export async function leaveReleasesOfAuthors(
  tx: EmployerTransaction,
  key: PayKey,
  faultyFileId: string,
): Promise<void> {
  await tx.query(
    `UPDATE pg_temp.uploaded_row u SET release_sequence = 0
     FROM faulty_row k JOIN faulty_file f ON f.employer_id = k.employer_id AND f.id = k.faulty_file_id
     WHERE k.employer_id = $1 AND k.faulty_file_id = $2 AND k.line = u.corrects AND u.release_sequence > 0
       AND EXISTS (SELECT FROM pay_release r WHERE r.employer_id = $1 AND r.period = $3 AND r.kind_of_pay = $4
         AND r.employee_id = u.employee_id AND r.sequence = u.release_sequence
         AND (f.binds_author AND f.uploaded_by = r.released_by OR r.released_by = ANY (k.rewritten_by)))`,
    [tx.employerId, faultyFileId, key.period, key.kindOfPay],
  );
}

/** Tells the planner how many rows were copied, and of what it compares: it believes a fresh table to be small. */
export async function analyseRows(tx: EmployerTransaction): Promise<void> {
  await tx.query('ANALYZE pg_temp.uploaded_row (line, employee_id, row_no, release_sequence)');
}

/** Makes the payable rows, whose numbers go up to `lastRow`, payments of a run, in state READY or HELD. */
export async function insertPayments(tx: EmployerTransaction, run: RunOfKey, lastRow: number): Promise<void> {
  await inParts(lastRow, (first, last) =>
    tx.query(
      `INSERT INTO payment (employer_id, pay_run_id, period, kind_of_pay, status, live, release_sequence,
         replaces_payment_id, replaces_reason, ${PAYABLE_COLUMNS})
       SELECT $1, $2, $3, $4, CASE WHEN held THEN 'HELD' ELSE 'READY' END, NOT held,
         release_sequence, replaces_payment_id, replaces_reason, ${PAYABLE_COLUMNS}
       FROM pg_temp.uploaded_row WHERE row_no BETWEEN $5 AND $6 AND payable`,
      [tx.employerId, run.id, run.period, run.kindOfPay, first, last],
    ),
  );
}

/** Where the payable rows are: payments of the run by now, if it is said so, else rows of the row table. */
export function payableRows(
  { employerId }: EmployerTransaction,
  { id }: Pick<RunOfKey, 'id'>,
  paid = false,
): string {
  const [employer, run] = [employerId, id].map(escapeLiteral);
  return paid
    ? `(SELECT * FROM payment WHERE employer_id = ${employer}::uuid AND pay_run_id = ${run}::uuid)`
    : `(SELECT * FROM pg_temp.uploaded_row WHERE payable)`;
}

const FOUND_LINES = 'SELECT line FROM pg_temp.found_hold';

/** Marks the payable rows in which something was found. */
export async function markHeld(tx: EmployerTransaction): Promise<void> {
  await tx.query(`UPDATE pg_temp.uploaded_row SET held = true WHERE payable AND line IN (${FOUND_LINES})`);
}

/** Holds the payments of a run's rows that were made payments before they were found to be held. */
export async function holdInserted(
  tx: EmployerTransaction,
  payRunId: string,
  lastRow: number,
): Promise<void> {
  await inParts(lastRow, (first, last) =>
    queryByHash(
      tx,
      `UPDATE payment p SET status = 'HELD', live = false
       WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.row_no BETWEEN $3 AND $4 AND p.line IN (${FOUND_LINES})`,
      [tx.employerId, payRunId, first, last],
    ),
  );
}

/** How much of the copied rows is held. */
export interface HeldRows {
  payments: number;
  amountMinor: bigint;
}

/** Makes what was found in the payable `rows` holds of a run whose payments are there. */
export async function insertHolds(
  tx: EmployerTransaction,
  payRunId: string,
  rows: string,
): Promise<HeldRows> {
  await tx.query(
    `INSERT INTO pay_hold (employer_id, pay_run_id, row_no, payment_id, code, beside_run_id, beside_line, bound_minor,
       same_rows, also_beside_run_ids, beside_payment_ids, later_payment_ids)
     SELECT $1, $2, coalesce(u.row_no, 0), u.id, h.code, h.beside_run_id, h.beside_line, h.bound_minor, h.same_rows,
       h.also_beside_run_ids, h.beside_payment_ids, h.later_payment_ids
     FROM pg_temp.found_hold h LEFT JOIN ${rows} AS u ON u.line = h.line`,
    [tx.employerId, payRunId],
  );
  const [held] = await tx.query<{ payments: number; amount_minor: string }>(
    `SELECT count(*)::int AS payments, coalesce(sum(amount_minor), 0) AS amount_minor
     FROM ${rows} AS u WHERE line IN (${FOUND_LINES})`,
  );
  return { payments: held?.payments ?? 0, amountMinor: BigInt(held?.amount_minor ?? 0) };
}
