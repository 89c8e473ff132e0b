import { append } from '../audit/audit';
import { EmployerTransaction } from '../database/database';
import { DomainError } from '../domain/errors';
import { assertBankRead } from '../pay-run/bank-unread';
import { lockPayKey } from '../pay-run/pay-key';
import {
  grantRelease,
  Release,
  RELEASE_IS_KEPT,
  RELEASE_STANDS,
  releaseAction,
  ReleaseRequest,
  withdrawReleases,
} from '../pay-run/pay-release';

/**
 * Allows one further payment to an employee who has a live payment of the period and kind of pay. The next upload
 * by another person that names the employee uses it.
 * @throws DomainError NOT_RECONCILED, NO_LIVE_PAYMENT when nothing stands in the way of paying, RELEASE_UNUSED when one is open
 */
export async function releaseFurtherPay(
  tx: EmployerTransaction,
  personId: string,
  request: ReleaseRequest,
): Promise<Release> {
  await assertBankRead(tx);
  await lockPayKey(tx, request);
  await assertReleasable(tx, request);
  const made = await grantRelease(tx, personId, request);
  await append(tx, releaseAction(made));
  return made;
}

/**
 * Takes back what was allowed and not used: the employee is paid no further payment without another release.
 * @returns how many releases
 * @throws DomainError RELEASE_NOT_FOUND
 */
export async function withdrawFurtherPay(
  tx: EmployerTransaction,
  personId: string,
  request: ReleaseRequest,
): Promise<number> {
  await lockPayKey(tx, request);
  const { length } = await withdrawReleases(tx, personId, request);
  if (length > 0) return length;
  throw new DomainError(
    'RELEASE_NOT_FOUND',
    'The employee has no release that can be withdrawn: none is unused.',
  );
}

async function assertReleasable(tx: EmployerTransaction, request: ReleaseRequest): Promise<void> {
  const [found] = await tx.query<{ live: boolean; unused: boolean }>(
    `WITH live AS (SELECT release_sequence FROM payment WHERE employer_id = $1 AND period = $2
       AND kind_of_pay = $3 AND employee_id = $4 AND live)
     SELECT EXISTS (SELECT FROM live) AS live,
       EXISTS (SELECT FROM pay_release r WHERE r.employer_id = $1 AND r.period = $2 AND r.kind_of_pay = $3
         AND r.employee_id = $4 AND ${RELEASE_STANDS} AND NOT ${RELEASE_IS_KEPT}
         AND r.sequence NOT IN (SELECT release_sequence FROM live)) AS unused`,
    [tx.employerId, request.period, request.kindOfPay, request.employeeId],
  );
  if (!found?.live) {
    const message =
      'The employee has no live payment of this period and kind of pay: upload the row as it is.';
    throw new DomainError('NO_LIVE_PAYMENT', message);
  }
  if (found.unused) {
    const message =
      'The employee has a release that no live payment has used: a file that its releaser does not upload uses it, unless a row by it was left out. If it was a mistake, or such a row was, withdraw it.';
    throw new DomainError('RELEASE_UNUSED', message);
  }
}
