import { append } from '../audit/audit';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { DomainError } from '../domain/errors';
import {
  HoldCode,
  joiningOf,
  NOTHING_IN_ITS_PLACE,
  PAID_BY_ANOTHER_RUN,
  SECOND_PAY_CODES,
} from '../domain/hold';
import { showId } from '../http/prefixed-id';
import { assertBankRead } from './bank-unread';
import { HeldPayment, HoldDecision, markReleased, readHeld, releasedBeside, releasedBy } from './hold.store';
import { lockPayKey } from './pay-key';
import { grantRelease, HAS_RELEASE, MadeRelease, releaseAction, unusedRelease } from './pay-release';
import { PayRun } from './pay-run.entity';
import { currentVersion, moveRun } from './pay-run.store';
import { movePayments } from './payment.store';
import { planRun } from './plan';
import { PLACE_IS_FREE, twoEndsIn, unpaidOfPeriod } from './replaced.store';
import { MAY_BE_KEPT } from './same-pay';

/** Which hold: of a payment, or without one of the whole run; by its version where several of the code are open. */
export interface HoldChoice {
  paymentId?: string;
  code: HoldCode;
  version?: number;
}

/**
 * Releases one hold of a READY run. A payment whose last hold it was joins the run, which becomes its next version,
 * prepared by whom the last one was; its releaser chose among the rows of that person and may approve them. The
 * database refuses a releaser who prepared any version, or a row left out elsewhere that the run copies
 * (`releaser_is_not_preparer`).
 * @throws DomainError NOT_RECONCILED, NOT_RELEASABLE, HOLD_NOT_FOUND, SEVERAL_HOLDS, HELD_PAYMENT_OUTDATED
 */
export async function releaseHold(
  tx: EmployerTransaction,
  personal: PersonalData,
  run: PayRun,
  choice: HoldChoice,
  decision: HoldDecision,
): Promise<void> {
  await assertBankRead(tx);
  if (run.status !== 'READY') {
    const message = `The run is ${run.status}: holds are released while it waits for approval.`;
    throw new DomainError('NOT_RELEASABLE', message);
  }
  const released = await markReleased(tx, run.id, choice, decision);
  if (released === 0) throw new DomainError('HOLD_NOT_FOUND', 'The run has no such open hold.');
  if (released > 1) {
    const message = `${released} such holds are open, as an amendment asked again: look at each, and name its version.`;
    throw new DomainError('SEVERAL_HOLDS', message);
  }
  if (choice.paymentId === undefined) return;
  await lockPayKey(tx, run);
  const held = await readHeld(tx, run.id, choice.paymentId);
  if (!held || held.still_held) return;
  const made = await takePlace(tx, run, choice.paymentId, held);
  const { preparedBy } = await currentVersion(tx, run);
  const actor = `person:${decision.personId}` as const;
  await moveRun(tx, run, 'DRAFT', actor, decision.reason);
  await movePayments(
    tx,
    run.id,
    'HELD',
    [{ paymentId: choice.paymentId, to: 'READY', reason: decision.reason }],
    actor,
  );
  run.runVersion += 1;
  await planRun(tx, personal, run, { by: preparedBy, reason: decision.reason, actor });
  if (made) await append(tx, releaseAction(made));
}

/**
 * Gives the payment the place among those of its employee that it is paid in, or refuses it.
 * @returns the release that was made for it
 */
async function takePlace(
  tx: EmployerTransaction,
  run: PayRun,
  paymentId: string,
  held: HeldPayment,
): Promise<MadeRelease | undefined> {
  const secondPay =
    (await releasedBy(tx, run.id, paymentId, SECOND_PAY_CODES)) ??
    (await releasedBeside(tx, run.id, paymentId));
  const joining = joiningOf({
    paid: held.paid,
    hasPlace: held.place_stands && !held.place_taken,
    secondPayReleased: secondPay !== undefined,
  });
  if (joining === 'AS_IT_IS') {
    // What joined before and was held once more still has its place: another may have been given beside it since.
    if (await isPaidUnseen(tx, run, paymentId, held)) throw paidSince();
    await assertPassesOverNone(tx, run, held, OWN_PLACE);
    return undefined;
  }
  if (joining === 'REFUSED' || !secondPay || (await isPaidUnseen(tx, run, paymentId, held)))
    throw paidSince();
  await assertPassesOverNone(tx, run, held, OPEN_PLACE_ABOVE);
  const key = { employeeId: held.employee_id, period: run.period, kindOfPay: run.kindOfPay };
  // One that was given beforehand is used up: left open, it would let a later file pay the employee once more.
  const unused = await unusedRelease(tx, key);
  const made =
    unused === undefined
      ? await grantRelease(tx, secondPay.personId, { ...key, reason: secondPay.reason }, paymentId)
      : undefined;
  await tx.query(`UPDATE payment SET release_sequence = $3 WHERE employer_id = $1 AND id = $2`, [
    tx.employerId,
    paymentId,
    made?.sequence ?? unused,
  ]);
  return made;
}

/**
 * Whether another run came to pay the employee, or to pay more, after the row was held: of several runs that hold the same
 * row each says which payment there was, and who releases it in each of them would have allowed one further payment, not
 * as many as there are. Seen is what a hold of the row names, and beside that what there was by then; what stood beside the
 * row while both were in their runs, as a hold of either tells; and, where no hold speaks of other pay, what has an earlier
 * place, and what had a later one already when the row came. Once nothing is left of what was named or stood beside it,
 * nothing is seen.
 */
async function isPaidUnseen(
  tx: EmployerTransaction,
  run: PayRun,
  paymentId: string,
  held: HeldPayment,
): Promise<boolean> {
  const [others] = await tx.query<{ unseen: boolean | null }>(
    `WITH holds AS MATERIALIZED (
       SELECT h.*, h.code = ANY ($8) AS of_pay FROM pay_hold h
       WHERE h.employer_id = $1 AND h.pay_run_id = $2 AND h.payment_id = $7)
     SELECT bool_or(NOT told AND NOT known) OR NOT bool_or(told) AS unseen
     FROM payment o, LATERAL (
       SELECT EXISTS (SELECT FROM holds h WHERE CASE WHEN h.of_pay
             THEN h.beside_run_id = o.pay_run_id AND coalesce(h.beside_line, o.line) = o.line
             ELSE o.id = ANY (h.beside_payment_ids) END)
           OR EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = o.employer_id AND h.pay_run_id = o.pay_run_id
             AND h.payment_id = o.id AND $7 = ANY (h.beside_payment_ids)) AS told,
         EXISTS (SELECT FROM holds h WHERE h.of_pay AND o.id = ANY (h.beside_payment_ids)) AS known) AS seen
     WHERE o.employer_id = $1 AND o.period = $3 AND o.kind_of_pay = $4 AND o.employee_id = $5 AND o.live
       AND o.pay_run_id <> $2 AND (o.release_sequence >= $6
         AND NOT EXISTS (SELECT FROM holds h WHERE o.id = ANY (h.later_payment_ids))
         OR EXISTS (SELECT FROM holds h WHERE h.of_pay AND h.beside_payment_ids IS NOT NULL))`,
    [
      tx.employerId,
      run.id,
      run.period,
      run.kindOfPay,
      held.employee_id,
      held.release_sequence,
      paymentId,
      PAID_BY_ANOTHER_RUN,
    ],
  );
  return others?.unseen ?? false;
}

const OWN_PLACE = 'p.release_sequence = $5';

/** A place that was given after the held one, and that the next upload or successor may pay in. */
const OPEN_PLACE_ABOVE = `p.release_sequence > $5 AND ${HAS_RELEASE} AND ${PLACE_IS_FREE}`;

/**
 * What ended unpaid in another run is still owed, unless the held payment replaces it, as its hash says, or nothing does: it
 * was to pay again what came back in part.
 */
async function assertPassesOverNone(
  tx: EmployerTransaction,
  run: PayRun,
  held: HeldPayment,
  places: string,
): Promise<void> {
  const unpaidElsewhere = unpaidOfPeriod(`p.employee_id = $4 AND p.pay_run_id <> $6 AND ${places}
    AND NOT ${MAY_BE_KEPT}`);
  const [unpaid] = await tx.query<PassedOver>(
    `SELECT id, (${twoEndsIn('unpaid')}) AS two_ends, (SELECT min(h.line) FROM payment h
         WHERE h.employer_id = $1 AND h.replaces_payment_id = unpaid.id AND h.pay_run_id = $6 AND h.status = 'HELD') AS held_line
     FROM (${unpaidElsewhere}) AS unpaid WHERE id IS DISTINCT FROM $7::uuid ORDER BY release_sequence LIMIT 1`,
    [
      tx.employerId,
      run.period,
      run.kindOfPay,
      held.employee_id,
      held.release_sequence,
      run.id,
      held.replaces_payment_id,
    ],
  );
  if (unpaid) throw passesOver(unpaid);
}

/** A payment that ended unpaid and that the released one does not replace. */
interface PassedOver {
  id: string;
  /** The one in its place of which the bank has shown two ends. */
  two_ends: string | null;
  /** The row of the run that replaces it, and is held itself. */
  held_line: number | null;
}

function passesOver({ id, two_ends: twoEnds, held_line: heldLine }: PassedOver): DomainError {
  if (twoEnds !== null) {
    const shown = `The bank has shown two ends of ${showId('pay', twoEnds)} of the employee, which may be paid`;
    return new DomainError(
      'HELD_PAYMENT_OUTDATED',
      `${shown}: leave the row out for good: ${NOTHING_IN_ITS_PLACE}`,
    );
  }
  const unpaid = `${showId('pay', id)} of the employee, which another run did not pay`;
  if (heldLine !== null)
    return new DomainError(
      'HELD_PAYMENT_OUTDATED',
      `Line ${heldLine} of this file replaces ${unpaid}: release that row first, and then this one.`,
    );
  return outdated(
    `The row does not replace ${unpaid}`,
    'upload it as a supplement or make a successor of that run',
  );
}

function paidSince(): DomainError {
  return outdated('The employee is paid by another run since the row was held', 'upload it as a supplement');
}

function outdated(why: string, instead: string): DomainError {
  const message = `${why}: leave the row out, and ${instead} if it is still owed.`;
  return new DomainError('HELD_PAYMENT_OUTDATED', message);
}
