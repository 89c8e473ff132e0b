import { EmployerTransaction, Transaction } from '../database/database';
import { notFound } from '../http/prefixed-id';
import { EmployerAccount } from './employer.entity';

/** More accounts than one employer pays salaries from. */
const MAX_ACCOUNTS = 1_000;

/** An account of the transaction's employer. @throws Problem 404 */
export async function findAccount(tx: EmployerTransaction, accountId: string): Promise<EmployerAccount> {
  const account = await tx.manager.findOneBy(EmployerAccount, { employerId: tx.employerId, id: accountId });
  if (account === null) throw notFound('acc');
  return account;
}

/** Every account of the transaction's employer, oldest first. */
export function accountsOf(tx: EmployerTransaction): Promise<EmployerAccount[]> {
  return tx.manager.find(EmployerAccount, {
    where: { employerId: tx.employerId },
    order: { id: 'ASC' },
    take: MAX_ACCOUNTS,
  });
}

/** Which employer each of the bank's accounts is attached to; those attached to none are absent. */
export async function ownersOf(
  worker: Transaction,
  bankAccountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await worker.query<{ bank_account_id: string; employer_id: string }>(
    'SELECT bank_account_id, employer_id FROM employer_account WHERE bank_account_id = ANY($1)',
    [bankAccountIds],
  );
  return new Map(rows.map((row) => [row.bank_account_id, row.employer_id]));
}

/**
 * Keeps the status that the bank gives an account. An intent that reads the row waits for it.
 * @returns whether it is another one than before.
 */
export async function keepBankStatus(
  tx: EmployerTransaction,
  accountId: string,
  status: string,
): Promise<boolean> {
  const changed = await tx.query(
    `UPDATE employer_account SET bank_status = $3 WHERE employer_id = $1 AND id = $2 AND bank_status <> $3
     RETURNING id`,
    [tx.employerId, accountId, status],
  );
  return changed.length > 0;
}
