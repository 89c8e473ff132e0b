import { EmployerTransaction } from '../database/database';
import { DomainError } from '../domain/errors';

/**
 * Before people give up an instruction that the check after a restore looks at, or allow what it is about to hold against
 * the bank: the database was not restored, or the bank was read since and held against the employer's record.
 * @throws DomainError NOT_RECONCILED
 */
export async function assertBankRead(tx: EmployerTransaction): Promise<void> {
  const [found] = await tx.query<{ unread: boolean }>(
    `SELECT NOT database_is_known() OR EXISTS (SELECT FROM restore_check
       WHERE employer_id = $1 AND passed_at IS NULL) AS unread`,
    [tx.employerId],
  );
  if (found?.unread === false) return;
  throw new DomainError(
    'NOT_RECONCILED',
    'The database was restored, and the bank was not yet read and held against the record: a submit may be forgotten. It is tried again and again; decide this once RESTORED tells what the bank shows.',
  );
}
