import { append } from '../audit/audit';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { DomainError } from '../domain/errors';
import { lockPayKey } from './pay-file.store';

/** Whom to pay once more, for which period, and why. */
export interface ReleaseRequest {
  employeeId: string;
  period: string;
  kindOfPay: string;
  reason: string;
}

/** A permission that was made. `sequence` counts the releases of an employee, period and kind of pay from 1. */
export interface Release {
  sequence: number;
  releasedAt: Date;
}

/**
 * Allows one further payment to an employee who has a live payment of the period and kind of pay. The next upload
 * that names the employee uses it.
 * @throws DomainError NO_LIVE_PAYMENT when nothing stands in the way of paying, RELEASE_UNUSED when one is open
 */
export async function releaseFurtherPay(
  tx: EmployerTransaction,
  personId: string,
  request: ReleaseRequest,
): Promise<Release> {
  await lockPayKey(tx, request);
  await assertReleasable(tx, request);
  const { employeeId, period, kindOfPay, reason } = request;
  const [made] = await tx.query<{ sequence: number; released_at: Date }>(
    `INSERT INTO pay_release (employer_id, id, period, kind_of_pay, employee_id, sequence, reason, released_by)
     SELECT $1, $2, $3::text, $4, $5, coalesce(max(sequence), 0) + 1, $6, $7 FROM pay_release
     WHERE employer_id = $1 AND period = $3::text AND kind_of_pay = $4 AND employee_id = $5
     RETURNING sequence, released_at`,
    [tx.employerId, newId(), period, kindOfPay, employeeId, reason, personId],
  );
  if (!made) throw new Error('the release was not inserted');
  const { sequence, released_at: releasedAt } = made;
  await append(tx, {
    personId,
    action: 'pay.released',
    subject: employeeId,
    detail: { period, kindOfPay, sequence, reason },
  });
  return { sequence, releasedAt };
}

async function assertReleasable(tx: EmployerTransaction, request: ReleaseRequest): Promise<void> {
  const [found] = await tx.query<{ live: boolean; unused: boolean }>(
    `WITH live AS (SELECT release_sequence FROM payment WHERE employer_id = $1 AND period = $2
       AND kind_of_pay = $3 AND employee_id = $4 AND live)
     SELECT EXISTS (SELECT FROM live) AS live,
       EXISTS (SELECT FROM pay_release WHERE employer_id = $1 AND period = $2 AND kind_of_pay = $3
         AND employee_id = $4 AND sequence NOT IN (SELECT release_sequence FROM live)) AS unused`,
    [tx.employerId, request.period, request.kindOfPay, request.employeeId],
  );
  if (!found?.live) {
    const message =
      'The employee has no live payment of this period and kind of pay: upload the row as it is.';
    throw new DomainError('NO_LIVE_PAYMENT', message);
  }
  if (found.unused) {
    throw new DomainError('RELEASE_UNUSED', 'The employee has a release that no live payment has used.');
  }
}
