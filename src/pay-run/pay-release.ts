import { append } from '../audit/audit';
import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';

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

/** Makes the next release of an employee, period and kind of pay, whose key is locked, with its audit entry. */
export async function grantRelease(
  tx: EmployerTransaction,
  personId: string,
  request: ReleaseRequest,
): Promise<Release> {
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
