import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { accountsOf } from '../employer/account.store';

/**
 * Whether accounts of the employer were hashed under another key than ours: what is hashed now equals nothing that was
 * hashed before, and who is paid already would not be found by their account.
 */
export async function isHashedOtherwise(tx: EmployerTransaction, personal: PersonalData): Promise<boolean> {
  const accounts = await accountsOf(tx);
  return accounts.some(
    ({ ibanSealed, ibanHash }) => !personal.hash(personal.open(ibanSealed)).equals(ibanHash),
  );
}
