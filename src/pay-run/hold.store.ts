import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { HoldCode, Overtaken, PAID_BY_ANOTHER_RUN } from '../domain/hold';
import { PayRunStatus } from '../domain/pay-run';
import { PaymentStatus } from '../domain/payment';
import { MAY_HAVE_PAID } from './forgotten-pay';
import { HAS_RELEASE } from './pay-release';
import { PayRun } from './pay-run.entity';
import { twoEndsIn, unpaidOfPeriod } from './replaced.store';
import { samePay } from './same-pay';

/** What became of a hold that was decided; CANCELLED with its run, AMENDED where it is not true of the whole run any more. */
export const HOLD_OUTCOMES = ['RELEASED', 'LEFT_OUT', 'CANCELLED', 'AMENDED'] as const;
export type HoldOutcome = (typeof HOLD_OUTCOMES)[number];

/** A hold with the payment it keeps back; those columns are null where it keeps back the whole run. */
export interface HoldRow {
  row_no: number;
  code: HoldCode;
  run_version: number;
  beside_run_id: string | null;
  also_beside_run_ids: string[];
  beside_line: number | null;
  beside_status: PayRunStatus | null;
  overtaken: Overtaken | null;
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
  version: number;
}

/** Whether another payment pays the employee of a held one. */
const isPaid = (held: string) => `EXISTS (${samePay(held)} AND o.live)`;

/** Whether one of another run may have, whatever its state. */
const mayBePaid = (
  held: string,
) => `EXISTS (${samePay(held)} AND o.release_sequence >= ${held}.release_sequence
  AND o.pay_run_id <> ${held}.pay_run_id
  AND EXISTS (SELECT FROM ${byKey('pay_run', 'o.pay_run_id')} r WHERE ${MAY_HAVE_PAID}))`;

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
    `SELECT h.row_no, h.code, h.run_version, h.beside_run_id, h.also_beside_run_ids, h.beside_line, h.bound_minor, h.same_rows,
       h.outcome, h.reason, h.decided_by, h.decided_at, h.payment_id, held.line, held.employee_id, held.name_sealed, held.iban_sealed,
       held.amount_minor, held.status, beside.status AS beside_status,
       CASE WHEN h.code <> $9 OR h.outcome IS NOT NULL OR ${isPaid('held')} THEN NULL
         WHEN ${mayBePaid('held')} THEN 'MAY_BE_PAID'
         WHEN EXISTS (${twoEndsIn('held')}) THEN 'SHOWN_WITH_TWO_ENDS'
         WHEN EXISTS (SELECT FROM (${unpaidInItsPlace}) AS unpaid WHERE unpaid.id IS DISTINCT FROM held.replaces_payment_id)
           THEN 'UNPAID_BY_AN_ENDED_RUN'
         ELSE 'PAID_BY_NOBODY' END AS overtaken
     FROM pay_hold h LEFT JOIN ${byKey('payment', 'h.payment_id')} held ON true
     LEFT JOIN ${byKey('pay_run', 'h.beside_run_id')} beside ON true
     WHERE h.employer_id = $1 AND h.pay_run_id = $4 AND (h.row_no, h.code, h.run_version) > ($5, $6, $10)
       AND ($7::boolean IS NULL OR $7 = (h.outcome IS NULL))
     ORDER BY h.row_no, h.code, h.run_version LIMIT $8`,
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
      filter.after.version,
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

/**
 * Releases the open holds of a code of a payment, or without one of the whole run; of one version, or all.
 * @returns how many
 */
export async function markReleased(
  tx: EmployerTransaction,
  payRunId: string,
  { paymentId, code, version }: { paymentId?: string; code: HoldCode; version?: number },
  { personId, reason }: HoldDecision,
): Promise<number> {
  const [released] = await tx.query<{ holds: number }>(
    `WITH released AS (
       UPDATE pay_hold SET outcome = 'RELEASED', decided_at = clock_timestamp(), decided_by = $5, reason = $6
       WHERE employer_id = $1 AND pay_run_id = $2 AND payment_id IS NOT DISTINCT FROM $3 AND code = $4
         AND outcome IS NULL AND ($7::integer IS NULL OR run_version = $7)
       RETURNING code)
     SELECT count(*)::int AS holds FROM released`,
    [tx.employerId, payRunId, paymentId ?? null, code, personId, reason, version ?? null],
  );
  return released?.holds ?? 0;
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

/** Whether a run, with what is held of it, is above a limit that it is held for still. */
export async function isRunAbove(tx: EmployerTransaction, payRunId: string): Promise<boolean> {
  const code: HoldCode = 'RUN_ABOVE_LIMIT';
  const above = await tx.query(
    `SELECT FROM pay_hold h WHERE h.employer_id = $1 AND h.pay_run_id = $2 AND h.row_no = 0 AND h.code = $3
       AND h.outcome IS NULL AND h.bound_minor < (SELECT sum(amount_minor) FROM payment
         WHERE employer_id = $1 AND pay_run_id = $2 AND status IN ('READY', 'HELD'))`,
    [tx.employerId, payRunId, code],
  );
  return above.length > 0;
}

/** How many rows of a run others have already, which of these has most of them, and the further ones. */
export interface FoundBeside {
  besideRunId: string;
  alsoBesideRunIds: string[];
  rows: number;
}

/** Holds a whole run, by its version, unless it is held for that. */
export async function holdRun(
  tx: EmployerTransaction,
  { id, runVersion }: Pick<PayRun, 'id' | 'runVersion'>,
  code: HoldCode,
  found?: FoundBeside,
): Promise<void> {
  await tx.query(
    `INSERT INTO pay_hold (employer_id, pay_run_id, row_no, code, run_version, beside_run_id, same_rows,
       also_beside_run_ids)
     SELECT $1, $2, 0, $3, $4, $5::uuid, $6::integer, $7::uuid[] WHERE NOT EXISTS (SELECT FROM pay_hold
       WHERE employer_id = $1 AND pay_run_id = $2 AND row_no = 0 AND code = $3 AND outcome IS NULL)`,
    [
      tx.employerId,
      id,
      code,
      runVersion,
      found?.besideRunId ?? null,
      found?.rows ?? null,
      found?.alsoBesideRunIds ?? [],
    ],
  );
}

/** Ends the open hold of a whole run that an amendment made untrue: that says something else than what was `found`. */
export async function markAmended(
  tx: EmployerTransaction,
  payRunId: string,
  code: HoldCode,
  { personId, reason }: HoldDecision,
  found?: FoundBeside,
): Promise<void> {
  await tx.query(
    `UPDATE pay_hold SET outcome = 'AMENDED', decided_at = clock_timestamp(), decided_by = $4, reason = $5
     WHERE employer_id = $1 AND pay_run_id = $2 AND row_no = 0 AND code = $3 AND outcome IS NULL
       AND ($6::uuid IS NULL
         OR (beside_run_id, same_rows, also_beside_run_ids) IS DISTINCT FROM ($6, $7::integer, $8::uuid[]))`,
    [
      tx.employerId,
      payRunId,
      code,
      personId,
      reason,
      found?.besideRunId ?? null,
      found?.rows ?? null,
      found?.alsoBesideRunIds ?? null,
    ],
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
  /** Whether its release stands, or it needs none: it was in its run as the first pay before it was held again. */
  place_stands: boolean;
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
       ${isPaid('p')} OR ${mayBePaid('p')} AS paid,
       EXISTS (${samePay('p')} AND o.live AND o.release_sequence = p.release_sequence) OR ${mayBePaid('p')} AS place_taken,
       ${HAS_RELEASE} OR p.release_sequence = 0 AND EXISTS (SELECT FROM pay_hold h
         WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id AND h.payment_id = p.id
           AND h.code <> ALL ($4) AND h.beside_payment_ids IS NOT NULL) AS place_stands
     FROM payment p WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.id = $3 AND p.status = 'HELD'`,
    [tx.employerId, payRunId, paymentId, PAID_BY_ANOTHER_RUN],
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
