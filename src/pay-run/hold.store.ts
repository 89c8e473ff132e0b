import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { HoldCode, Unpaid } from '../domain/hold';
import { PayRunStatus } from '../domain/pay-run';
import { PaymentStatus } from '../domain/payment';
import { RELEASE_STANDS } from './pay-release';
import { PayRun } from './pay-run.entity';
import { unpaidOfPeriod } from './replaced.store';

/** What became of a hold that was decided; CANCELLED with its run. */
export type HoldOutcome = 'RELEASED' | 'LEFT_OUT' | 'CANCELLED';

/** A hold with the payment it keeps back; those columns are null where it keeps back the whole run. */
export interface HoldRow {
  row_no: number;
  code: HoldCode;
  beside_run_id: string | null;
  beside_line: number | null;
  beside_status: PayRunStatus | null;
  unpaid: Unpaid | null;
  bound_minor: string | null;
  same_rows: number | null;
  outcome: HoldOutcome | null;
  reason: string | null;
  decided_by: string | null;
  decided_at: Date | null;
  payment_id: string | null;
  line: number | null;
  employee_id: string | null;
  name_sealed: string | null;
  iban_sealed: string | null;
  amount_minor: string | null;
  status: PaymentStatus | null;
}

/** Where a page of holds begins: after this one. */
export interface HoldPosition {
  row: number;
  code: string;
}

const otherOf = (held: string) => `SELECT FROM payment o WHERE o.employer_id = ${held}.employer_id
  AND o.period = ${held}.period AND o.kind_of_pay = ${held}.kind_of_pay AND o.employee_id = ${held}.employee_id`;

/** Whether the employee of a held payment may have been paid by a submit that a restored database had forgotten. */
const mayBePaid = (
  held: string,
) => `EXISTS (${otherOf(held)} AND o.release_sequence >= ${held}.release_sequence
  AND o.pay_run_id IN (
    SELECT f.pay_run_id FROM forgotten_instruction f
    WHERE f.employer_id = ${held}.employer_id AND f.pay_run_id <> ${held}.pay_run_id AND f.adopted_at IS NULL
    UNION ALL SELECT i.pay_run_id FROM moved_instruction m
    JOIN instruction i ON i.employer_id = m.employer_id AND i.id = m.instruction_id
    WHERE m.employer_id = ${held}.employer_id AND i.pay_run_id <> ${held}.pay_run_id))`;

/** Whether the employee of a held payment is, or may have been, paid by another. */
const isPaid = (held: string) => `(EXISTS (${otherOf(held)} AND o.live) OR ${mayBePaid(held)})`;

/** Holds of a run in the order of its rows, those of the whole run first; open ones, decided ones, or all. */
export function listHolds(
  tx: EmployerTransaction,
  run: PayRun,
  filter: { after: HoldPosition; open?: boolean },
  limit: number,
): Promise<HoldRow[]> {
  const code: HoldCode = 'EMPLOYEE_ALREADY_PAID';
  const unpaidInItsPlace = unpaidOfPeriod(
    'p.employee_id = held.employee_id AND p.release_sequence = held.release_sequence AND p.pay_run_id <> $4',
  );
  return tx.query<HoldRow>(
    `SELECT h.row_no, h.code, h.beside_run_id, h.beside_line, h.bound_minor, h.same_rows, h.outcome, h.reason,
       h.decided_by, h.decided_at, h.payment_id, held.line, held.employee_id, held.name_sealed, held.iban_sealed,
       held.amount_minor, held.status, beside.status AS beside_status,
       CASE WHEN h.code <> $9 OR h.outcome IS NOT NULL OR ${isPaid('held')} THEN NULL
         WHEN EXISTS (SELECT FROM (${unpaidInItsPlace}) AS unpaid WHERE unpaid.id IS DISTINCT FROM held.replaces_payment_id)
           THEN 'BY_AN_ENDED_RUN'
         ELSE 'BY_NOBODY' END AS unpaid
     FROM pay_hold h LEFT JOIN ${byKey('payment', 'h.payment_id')} held ON true
     LEFT JOIN ${byKey('pay_run', 'h.beside_run_id')} beside ON true
     WHERE h.employer_id = $1 AND h.pay_run_id = $4 AND (h.row_no, h.code) > ($5, $6)
       AND ($7::boolean IS NULL OR $7 = (h.outcome IS NULL))
     ORDER BY h.row_no, h.code LIMIT $8`,
    [
      tx.employerId,
      run.period,
      run.kindOfPay,
      run.id,
      filter.after.row,
      filter.after.code,
      filter.open ?? null,
      limit,
      code,
    ],
  );
}

/** How many holds of a run are open. */
export async function countOpenHolds(tx: EmployerTransaction, payRunId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pay_hold WHERE employer_id = $1 AND pay_run_id = $2 AND outcome IS NULL`,
    [tx.employerId, payRunId],
  );
  return row?.count ?? 0;
}

/** Who decides, and why. */
export interface HoldDecision {
  personId: string;
  reason: string;
}

/** Releases an open hold of a payment, or without one of the whole run; false where there is none. */
export async function markReleased(
  tx: EmployerTransaction,
  payRunId: string,
  { paymentId, code }: { paymentId?: string; code: HoldCode },
  { personId, reason }: HoldDecision,
): Promise<boolean> {
  const [released] = await tx.query<{ code: string }>(
    `WITH released AS (
       UPDATE pay_hold SET outcome = 'RELEASED', decided_at = clock_timestamp(), decided_by = $5, reason = $6
       WHERE employer_id = $1 AND pay_run_id = $2 AND payment_id IS NOT DISTINCT FROM $3 AND code = $4
         AND outcome IS NULL
       RETURNING code)
     SELECT code FROM released`,
    [tx.employerId, payRunId, paymentId ?? null, code, personId, reason],
  );
  return released !== undefined;
}

/** Ends the open holds of payments that are left out. */
export async function markLeftOut(
  tx: EmployerTransaction,
  payRunId: string,
  paymentIds: readonly string[],
  { personId, reason }: HoldDecision,
): Promise<void> {
  await tx.query(
    `UPDATE pay_hold SET outcome = 'LEFT_OUT', decided_at = clock_timestamp(), decided_by = $4, reason = $5
     WHERE employer_id = $1 AND pay_run_id = $2 AND payment_id = ANY ($3) AND outcome IS NULL`,
    [tx.employerId, payRunId, paymentIds, personId, reason],
  );
}

/** Which payments of a run were held until somebody left them out of it. */
export async function leftOutWhileHeld(
  tx: EmployerTransaction,
  payRunId: string,
  paymentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ id: string }>(
    `SELECT DISTINCT payment_id AS id FROM pay_hold
     WHERE employer_id = $1 AND pay_run_id = $2 AND payment_id = ANY ($3) AND outcome = 'LEFT_OUT'`,
    [tx.employerId, payRunId, paymentIds],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Ends every open hold of a run that is cancelled. */
export async function markCancelled(tx: EmployerTransaction, payRunId: string): Promise<void> {
  await tx.query(
    `UPDATE pay_hold SET outcome = 'CANCELLED', decided_at = clock_timestamp()
     WHERE employer_id = $1 AND pay_run_id = $2 AND outcome IS NULL`,
    [tx.employerId, payRunId],
  );
}

/** A held payment with what decides how it joins its run. */
export interface HeldPayment {
  employee_id: string;
  release_sequence: number;
  replaces_payment_id: string | null;
  still_held: boolean;
  paid: boolean;
  place_taken: boolean;
  release_stands: boolean;
}

/** Reads a held payment of a run. The key of its pay must be locked for what it says to stay true. */
export async function readHeld(
  tx: EmployerTransaction,
  payRunId: string,
  paymentId: string,
): Promise<HeldPayment | undefined> {
  const [held] = await tx.query<HeldPayment>(
    `SELECT p.employee_id, p.release_sequence, p.replaces_payment_id,
       EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
         AND h.payment_id = p.id AND h.outcome IS NULL) AS still_held,
       ${isPaid('p')} AS paid,
       EXISTS (${otherOf('p')} AND o.live AND o.release_sequence = p.release_sequence) OR ${mayBePaid('p')} AS place_taken,
       EXISTS (SELECT FROM pay_release r WHERE r.employer_id = p.employer_id AND r.period = p.period
         AND r.kind_of_pay = p.kind_of_pay AND r.employee_id = p.employee_id AND r.sequence = p.release_sequence
         AND ${RELEASE_STANDS}) AS release_stands
     FROM payment p WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.id = $3 AND p.status = 'HELD'`,
    [tx.employerId, payRunId, paymentId],
  );
  return held;
}

/** Who released a hold of one of these codes of a payment of a run, and why: the first that was. */
export async function releasedBy(
  tx: EmployerTransaction,
  payRunId: string,
  paymentId: string,
  codes: readonly HoldCode[],
): Promise<HoldDecision | undefined> {
  const [row] = await tx.query<{ decided_by: string; reason: string }>(
    `SELECT decided_by, reason FROM pay_hold
     WHERE employer_id = $1 AND pay_run_id = $2 AND payment_id = $3 AND code = ANY ($4) AND outcome = 'RELEASED'
     ORDER BY decided_at LIMIT 1`,
    [tx.employerId, payRunId, paymentId, codes],
  );
  return row && { personId: row.decided_by, reason: row.reason };
}

/**
 * Who released a row of a run, which pays, beside this held one of the same employee, and why: that both are owed is said
 * of both, whichever row is released first.
 */
export async function releasedBeside(
  tx: EmployerTransaction,
  payRunId: string,
  paymentId: string,
): Promise<HoldDecision | undefined> {
  const code: HoldCode = 'EMPLOYEE_TWICE';
  const [row] = await tx.query<{ decided_by: string; reason: string }>(
    `SELECT h.decided_by, h.reason
     FROM payment p JOIN pay_hold h ON h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
       AND h.beside_run_id IS NULL AND h.beside_line = p.line
     JOIN payment s ON s.employer_id = h.employer_id AND s.id = h.payment_id
     WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.id = $3 AND h.code = $4 AND h.outcome = 'RELEASED'
       AND s.employee_id = p.employee_id AND s.live
     ORDER BY h.decided_at LIMIT 1`,
    [tx.employerId, payRunId, paymentId, code],
  );
  return row && { personId: row.decided_by, reason: row.reason };
}
