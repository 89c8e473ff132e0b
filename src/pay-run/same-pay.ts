import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';

/** Whether a payment is of the same employee, period and kind of pay as another one, by their names in a statement. */
const isSamePay = (one: string, other: string) => `${one}.employer_id = ${other}.employer_id
  AND ${one}.period = ${other}.period AND ${one}.kind_of_pay = ${other}.kind_of_pay AND ${one}.employee_id = ${other}.employee_id`;

/** Payments `o` of the same employee, period and kind of pay as another one, and it. */
export const samePay = (other: string) => `SELECT FROM payment o WHERE ${isSamePay('o', other)}`;

/** A live payment `o` beside a payment `p`, of the same employee, period and kind of pay. */
const LIVE_BESIDE = `${samePay('p')} AND o.live AND o.id <> p.id`;

/** As that, of one that did not come back. */
export const OTHER_PAY = `${LIVE_BESIDE} AND o.returned_at IS NULL`;

/**
 * Whether another one pays the employee of a payment `p`: in its place, or where either of the two, or one that it replaces,
 * came back. Then the one may have been made in the stead of the other, whatever it replaces, unless one run paid both.
 */
export const PAID_OTHERWISE = `EXISTS (${LIVE_BESIDE}
  AND (o.returned_at IS NULL AND o.release_sequence = p.release_sequence
    OR may_pay_the_same(p.employer_id, p.id, o.id)))`;

/** Whether that is so, and nobody has released the later of the two as further pay. */
export const PAID_OTHERWISE_UNASKED = `(SELECT count(*) > 0
  FROM (${LIVE_BESIDE} AND may_pay_the_same_unasked(p.employer_id, p.id, o.id)) AS same)`;

/** Whether less of a payment came back than was paid, and two people have not said that its payee kept nothing. */
export const restMayBeKept = (payment: string) => `(${payment}.returned_minor IS NOT NULL AND may_be_kept(
  ${payment}.employer_id, ${payment}.id, ${payment}.amount_minor - ${payment}.returned_minor))`;

/** A payment `p`, or so named, and those before it, each made instead of the one before. */
const chainOf = (p: string) => `chain AS (
    SELECT ${p}.id, ${p}.replaces_payment_id AS before
    UNION SELECT o.id, o.replaces_payment_id FROM chain c JOIN ${byKey('payment', 'c.before', `${p}.employer_id`)} o ON true)`;
export const CHAIN = chainOf('p');

const mayBeKeptOf = (p: string) => `EXISTS (WITH RECURSIVE ${chainOf(p)}
  SELECT FROM chain c JOIN ${byKey('payment', 'c.id', `${p}.employer_id`)} o ON true WHERE ${restMayBeKept('o')})`;

/** Whether that is so of a payment `p`, or of one before it: it would pay the rest a second time. */
export const MAY_BE_KEPT = mayBeKeptOf('p');

/**
 * Whether a payment `p` is for the employee, period and kind of pay of another one `b` that came back, and its run was made
 * since: unlinked it may still be meant in its stead. Of what is known to be kept in part that is only owed.
 */
export const MADE_SINCE_BACK = `${isSamePay('p', 'b')} AND p.id <> b.id AND b.returned_at IS NOT NULL
  AND NOT ${mayBeKeptOf('b')}
  AND (SELECT created_at FROM ${byKey('pay_run', 'p.pay_run_id', 'p.employer_id')} AS own) > b.returned_at`;

/** The runs by which the employee of a payment is paid so, but not in its place. */
export async function runsPayingTheSame(tx: EmployerTransaction, paymentId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT DISTINCT o.pay_run_id AS id FROM payment p JOIN payment o ON ${isSamePay('o', 'p')}
     WHERE p.employer_id = $1 AND p.id = $2 AND o.live AND o.id <> p.id
       AND may_pay_the_same(p.employer_id, p.id, o.id) ORDER BY id`,
    [tx.employerId, paymentId],
  );
  return rows.map(({ id }) => id);
}

/** The least that was told to be back of a payment `p` where two people say that its payee kept nothing: to see as much is no news. */
export const LEAST_NOT_KEPT = `(SELECT min(p.amount_minor - a.lacking_minor) FROM attention a
  WHERE a.employer_id = p.employer_id AND a.kind = 'ECHO_MISMATCH' AND a.subject_id = p.id AND p.returned_minor IS NOT NULL
    AND NOT may_be_kept(p.employer_id, p.id, a.lacking_minor))`;

/** Whether the bank has shown two ends of a payment `p`, or of one before it, or otherwise than two people declared it. */
export const CONTRADICTED = `EXISTS (WITH RECURSIVE ${CHAIN}
  SELECT FROM chain c JOIN attention a ON a.employer_id = p.employer_id AND a.payment_id = c.id
  WHERE a.kind = 'CONTRADICTION')`;
