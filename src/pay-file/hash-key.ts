import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { accountsOf } from '../employer/account.store';
import { PayKey } from '../pay-run/pay-key';

/** An IBAN as it is stored, and the hash by which it is compared. */
interface Hashed {
  ibanSealed: string;
  ibanHash: Buffer;
}

/**
 * Whether accounts of the employer, or rows that runs of the period begin or end with, were hashed under another key than
 * ours: what is hashed now equals nothing that was hashed so, and who is paid already would not be found by their account.
 */
export async function isHashedOtherwise(
  tx: EmployerTransaction,
  personal: PersonalData,
  { period }: Pick<PayKey, 'period'>,
): Promise<boolean> {
  const known: Hashed[] = [...(await accountsOf(tx)), ...(await outerRows(tx, period))];
  return known.some(({ ibanSealed, ibanHash }) => !personal.hash(personal.open(ibanSealed)).equals(ibanHash));
}

/** The first and the last row of each run of a period: all between were hashed by the upload of one of them. */
function outerRows(tx: EmployerTransaction, period: string): Promise<Hashed[]> {
  const row = (order: string) =>
    `(SELECT iban_sealed, iban_hash FROM payment
      WHERE pay_run_id = r.id AND employer_id = r.employer_id ORDER BY row_no ${order} LIMIT 1)`;
  return tx.query<Hashed>(
    `SELECT p.iban_sealed AS "ibanSealed", p.iban_hash AS "ibanHash"
     FROM pay_run r CROSS JOIN LATERAL (${row('ASC')} UNION ALL ${row('DESC')}) AS p
     WHERE r.employer_id = $1 AND r.period = $2 AND r.status NOT IN ('CANCELLING', 'CANCELLED')`,
    [tx.employerId, period],
  );
}
