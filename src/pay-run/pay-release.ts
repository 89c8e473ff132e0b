import { append, AuditedAction } from '../audit/audit';
import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { words } from '../database/words';
import { SECOND_PAY_CODES } from '../domain/hold';
import { PaymentStatus } from '../domain/payment';
import { lockPayKey } from './pay-key';
import { MAY_BE_KEPT } from './same-pay';

/** Whom to pay once more, for which period, and why. */
export interface ReleaseRequest {
  employeeId: string;
  period: string;
  kindOfPay: string;
  reason: string;
}

/** Of which employee, period and kind of pay. */
export type ReleaseKey = Omit<ReleaseRequest, 'reason'>;

/** A permission that was made. `sequence` counts the releases of an employee, period and kind of pay from 1. */
export interface Release {
  sequence: number;
  releasedAt: Date;
}

/** A release with who made it, and of what. */
export type MadeRelease = Release & ReleaseRequest & { personId: string };

/**
 * Whether a release `r` allows a payment still: it was not withdrawn, and the payment it was made with, if with one, was
 * neither left out nor cancelled with its run. Sought by key: joined, the planner may read every payment.
 */
export const RELEASE_STANDS = `r.withdrawn_at IS NULL AND (r.payment_id IS NULL OR (
  SELECT m.live OR m.status <> 'EXCLUDED' AND (
    SELECT c.status FROM pay_run c WHERE c.employer_id = m.employer_id AND c.id = m.pay_run_id) <> 'CANCELLED'
  FROM payment m WHERE m.employer_id = r.employer_id AND m.id = r.payment_id))`;

/**
 * A held payment `p` that keeps the place which a release `r` gives: an amendment held it (`pay_hold.run_version`), which may
 * have joined its run by then. Of what was held only as it came the next row may have the release.
 */
const KEEPS_PLACE = `${placeOf('NOT p.live')} AND p.status = 'HELD'
  AND EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
    AND h.row_no = p.row_no AND h.payment_id = p.id AND h.run_version > 1)`;

/** Whether a held payment keeps the place that a release `r` gives, until it is left out or its run cancelled. */
export const RELEASE_IS_KEPT = `EXISTS (SELECT FROM ${KEEPS_PLACE})`;

/** Whether a release `r` gave a payment `p` its place. */
const IS_BY_RELEASE = `r.employer_id = p.employer_id AND r.period = p.period AND r.kind_of_pay = p.kind_of_pay
  AND r.employee_id = p.employee_id AND r.sequence = p.release_sequence`;

/** Whether the release that gave a payment `p` its place allows it still. */
export const HAS_RELEASE = `EXISTS (SELECT FROM pay_release r WHERE ${IS_BY_RELEASE} AND ${RELEASE_STANDS})`;

/**
 * Whether who made a release `r` that no live payment uses may approve still, or a payment ended unpaid in its place, which
 * others had approved. Sought by key, as above.
 */
export const RELEASE_IS_BACKED = `coalesce((
  SELECT true FROM person_role o JOIN person h ON h.id = o.person_id AND h.disabled_at IS NULL
  WHERE o.employer_id = r.employer_id AND o.person_id = r.released_by AND o.role = 'approver' LIMIT 1), (
  SELECT true FROM ${placeEndedUnpaid(['HELD', 'EXCLUDED'])} LIMIT 1),
  false)`;

/** Whether a payment ended unpaid in the place that a release `r` gives, and may be paid again there. */
export const RELEASE_IS_OWED = `EXISTS (SELECT FROM ${placeEndedUnpaid(['HELD', 'EXCLUDED'])} AND NOT ${MAY_BE_KEPT})`;

/** Whether a release `r` stands, and nobody was paid by it nor can be any more: it may be withdrawn. */
export const RELEASE_IS_UNUSED = `${RELEASE_STANDS} AND NOT (${isTaken(['HELD', 'EXCLUDED'])})`;

/** The payment that takes or keeps the place which a release `r` gives, else the last one that ended unpaid there. */
export const RELEASE_USED_BY = `
  SELECT payment_id, pay_run_id FROM (
    SELECT p.id AS payment_id, p.pay_run_id, true AS live FROM ${placeOf('p.live')}
    UNION ALL SELECT p.id, p.pay_run_id, true FROM ${KEEPS_PLACE}
    UNION ALL SELECT p.id, p.pay_run_id, false FROM ${placeEndedUnpaid(['HELD', 'EXCLUDED'])}) AS taken
  ORDER BY live DESC, payment_id DESC LIMIT 1`;

/**
 * Who allowed a payment `p` beside another of its employee, when and why, as JSON: who released its row, held as such, or
 * else who made the release that gave it its place. Null where it needed none.
 */
export const ALLOWED_BY = `CASE WHEN p.release_sequence > 0 THEN (
  SELECT jsonb_build_object('sequence', p.release_sequence, 'reason', d.reason, 'at', d.at, 'by', d.by,
    'name', (SELECT h.name FROM person h WHERE h.id = d.by))
  FROM (
    (SELECT h.reason, h.decided_at AS at, h.decided_by AS by FROM pay_hold h
     WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id AND h.row_no = p.row_no
       AND h.payment_id = p.id AND h.code IN (${words(SECOND_PAY_CODES)}) AND h.outcome = 'RELEASED'
     ORDER BY h.decided_at LIMIT 1)
    UNION ALL (SELECT r.reason, r.released_at, r.released_by FROM pay_release r WHERE ${IS_BY_RELEASE})
    LIMIT 1) AS d) END`;

/** As `ALLOWED_BY` is read. */
export interface AllowedBy {
  sequence: number;
  reason: string;
  /** An instant in ISO 8601. */
  at: string;
  by: string;
  name: string;
}

/**
 * Makes the next release of an employee, period and kind of pay, whose key is locked; `releaseAction` of it is appended once
 * the rest of the transaction is done.
 * @param paymentId the payment that it is made with; beforehand, for whichever file comes next, it is of none
 */
export async function grantRelease(
  tx: EmployerTransaction,
  personId: string,
  { employeeId, ...of }: ReleaseRequest,
  paymentId: string | null = null,
): Promise<MadeRelease> {
  const [made] = await grantReleases(tx, personId, of, [{ employeeId, paymentId }]);
  if (!made) throw new Error('the release was not inserted');
  return made;
}

/** As `grantRelease`, one for each payment, in their order: of an employee with several of them one after another. */
export async function grantReleases<Id extends string | null>(
  tx: EmployerTransaction,
  personId: string,
  of: Omit<ReleaseRequest, 'employeeId'>,
  payments: readonly { employeeId: string; paymentId: Id }[],
): Promise<(MadeRelease & { paymentId: Id })[]> {
  const releases = payments.map((payment) => ({ ...payment, id: newId() }));
  const rows = await tx.query<{ id: string; sequence: number; released_at: Date }>(
    `INSERT INTO pay_release (employer_id, id, period, kind_of_pay, employee_id, sequence, reason, released_by,
       payment_id)
     SELECT $1, n.id, $2::text, $3::text, n.employee_id,
       (SELECT coalesce(max(r.sequence), 0) FROM pay_release r WHERE ${ofKey('n.employee_id')})
         + row_number() OVER (PARTITION BY n.employee_id ORDER BY n.nth), $4, $5, n.payment_id
     FROM unnest($6::uuid[], $7::text[], $8::uuid[]) WITH ORDINALITY AS n(id, employee_id, payment_id, nth)
     RETURNING id, sequence, released_at`,
    [
      tx.employerId,
      of.period,
      of.kindOfPay,
      of.reason,
      personId,
      releases.map(({ id }) => id),
      releases.map(({ employeeId }) => employeeId),
      releases.map(({ paymentId }) => paymentId),
    ],
  );
  const inserted = new Map(rows.map((row) => [row.id, row]));
  return releases.flatMap(({ id, employeeId, paymentId }) => {
    const row = inserted.get(id);
    return row === undefined
      ? []
      : [{ ...of, employeeId, paymentId, personId, sequence: row.sequence, releasedAt: row.released_at }];
  });
}

/** What the audit chain, whose head every stop of the employer needs, says of a release that was made. */
export function releaseAction({
  personId,
  employeeId,
  period,
  kindOfPay,
  sequence,
  reason,
}: MadeRelease): AuditedAction {
  const detail = { period, kindOfPay, sequence, reason };
  return { personId, action: 'pay.released', subject: employeeId, detail };
}

/** The first release of an employee, period and kind of pay, whose key is locked, that no payment was ever made by. */
export async function unusedRelease(
  tx: EmployerTransaction,
  { employeeId, ...key }: ReleaseKey,
): Promise<number | undefined> {
  return (await unusedReleases(tx, key, [employeeId])).get(employeeId);
}

/** The same of each employee that has one. */
export async function unusedReleases(
  tx: EmployerTransaction,
  { period, kindOfPay }: Omit<ReleaseKey, 'employeeId'>,
  employeeIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await tx.query<{ employee_id: string; sequence: number }>(
    `SELECT e.employee_id, u.sequence FROM unnest($4::text[]) AS e(employee_id), LATERAL (
       SELECT r.sequence FROM pay_release r
       WHERE ${ofKey('e.employee_id')} AND ${RELEASE_STANDS} AND NOT (${isTaken(['HELD'])})
       ORDER BY r.sequence LIMIT 1) AS u`,
    [tx.employerId, period, kindOfPay, employeeIds],
  );
  return new Map(rows.map((row) => [row.employee_id, row.sequence]));
}

/** Which of some payments took a release that does not stand any more: only another one lets them be paid. */
export async function withoutRelease(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ id: string }>(
    `SELECT p.id FROM payment p WHERE p.employer_id = $1 AND p.id = ANY ($2) AND p.release_sequence > 0
       AND p.status <> 'SETTLED' AND NOT ${HAS_RELEASE}`,
    [tx.employerId, paymentIds],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * How many payments of a run are further ones by a release of somebody who may approve no more. Who released a row, held
 * with it or not, has decided of the row itself.
 */
export async function countUnbacked(tx: EmployerTransaction, payRunId: string): Promise<number> {
  const [row] = await tx.query<{ payments: number }>(
    `SELECT count(*)::int AS payments
     FROM payment p JOIN pay_release r ON ${IS_BY_RELEASE}
     WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.live AND p.release_sequence > 0
       AND r.payment_id IS DISTINCT FROM p.id AND NOT ${RELEASE_IS_BACKED}
       AND NOT EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
         AND h.payment_id = p.id AND h.code = ANY ($3) AND h.outcome = 'RELEASED')`,
    [tx.employerId, payRunId, SECOND_PAY_CODES],
  );
  return row?.payments ?? 0;
}

/**
 * Takes back every release of an employee, period and kind of pay, whose key is locked, by which nobody was paid or can
 * be any more, with its audit entry.
 * @returns their sequences
 */
export async function withdrawReleases(
  tx: EmployerTransaction,
  personId: string,
  { employeeId, period, kindOfPay, reason }: ReleaseRequest,
): Promise<number[]> {
  const withdrawn = await tx.query<{ sequence: number }>(
    `UPDATE pay_release r SET withdrawn_at = clock_timestamp(), withdrawn_by = $5, withdrawn_reason = $6
     WHERE ${ofKey('$4')} AND ${RELEASE_IS_UNUSED}
     RETURNING r.sequence`,
    [tx.employerId, period, kindOfPay, employeeId, personId, reason],
  );
  const sequences = withdrawn.map(({ sequence }) => sequence).sort((one, other) => one - other);
  if (sequences.length > 0) {
    const detail = { period, kindOfPay, sequences, reason };
    await append(tx, { personId, action: 'pay.release-withdrawn', subject: employeeId, detail });
  }
  return sequences;
}

/** A release with what it is of. */
export type KeyedRelease = ReleaseKey & Pick<Release, 'sequence'>;

/**
 * Takes back, by the service, every release that is older than a restore and by which nobody was paid or can be any more.
 * @returns which; whoever calls appends them to the audit chain
 */
export async function withdrawReleasesBefore(
  tx: EmployerTransaction,
  restoreId: string,
  reason: string,
): Promise<KeyedRelease[]> {
  const unused = `r.employer_id = $1 AND r.known_restores < (SELECT nth FROM database_restore WHERE id = $2)
    AND ${RELEASE_IS_UNUSED}`;
  const periods = await tx.query<{ period: string }>(
    `SELECT DISTINCT r.period FROM pay_release r WHERE ${unused} ORDER BY r.period`,
    [tx.employerId, restoreId],
  );
  for (const key of periods) await lockPayKey(tx, key);
  return tx.query<KeyedRelease>(
    `UPDATE pay_release r SET withdrawn_at = clock_timestamp(), withdrawn_reason = $3
     WHERE ${unused} AND r.period = ANY ($4)
     RETURNING r.employee_id AS "employeeId", r.period, r.kind_of_pay AS "kindOfPay", r.sequence`,
    [tx.employerId, restoreId, reason, periods.map(({ period }) => period)],
  );
}

/** Releases `r` of an employee in the period ($2) and kind of pay ($3). */
function ofKey(employeeId: string): string {
  return `r.employer_id = $1 AND r.period = $2 AND r.kind_of_pay = $3 AND r.employee_id = ${employeeId}`;
}

/** Whether a payment has or keeps the place that a release `r` gives, besides those in `free` states and of cancelled runs. */
function isTaken(free: readonly PaymentStatus[]): string {
  return `EXISTS (SELECT FROM ${placeOf('p.live')}) OR EXISTS (SELECT FROM ${placeEndedUnpaid(free)}) OR ${RELEASE_IS_KEPT}`;
}

/** As `placeOf`, of payments that ended, besides those in `free` states and of cancelled runs. */
function placeEndedUnpaid(free: readonly PaymentStatus[]): string {
  return `${placeOf('NOT p.live')} AND p.status NOT IN (${words(free)}) AND o.status <> 'CANCELLED'`;
}

/**
 * Payments `p`, with their runs `o`, that have the place which a release `r` gives; live or not finds them by an index, and
 * the run by its key: joined, the planner may begin at the runs.
 */
function placeOf(live: string): string {
  return `payment p JOIN ${byKey('pay_run', 'p.pay_run_id', 'p.employer_id')} o ON true
    WHERE p.employer_id = r.employer_id AND p.period = r.period AND p.kind_of_pay = r.kind_of_pay
      AND p.employee_id = r.employee_id AND p.release_sequence = r.sequence AND ${live}`;
}
