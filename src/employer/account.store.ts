import { EmployerTransaction, Transaction } from '../database/database';
import { wake } from '../database/leases';
import { PAY_RUN_FINALS } from '../domain/pay-run';
import { notFound, showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { EmployerAccount } from './employer.entity';

/** More accounts than one employer pays salaries from. */
const MAX_ACCOUNTS = 1_000;

/**
 * In SQL, the ids of all accounts of an employer ($1) that are one at the bank with an account ($2): it may have been detached
 * and attached again, or attached by another id of the bank's with the same IBAN, which the bank does not rule out (Account).
 */
export const ONE_AT_BANK = `ARRAY(SELECT one.id FROM employer_account own JOIN employer_account one
  ON one.employer_id = own.employer_id AND (one.bank_account_id = own.bank_account_id OR one.iban_hash = own.iban_hash)
  WHERE own.employer_id = $1 AND own.id = $2)`;

/** An account that is attached to the transaction's employer. @throws Problem 404 */
export async function findAccount(tx: EmployerTransaction, accountId: string): Promise<EmployerAccount> {
  const account = await findAccountEver(tx, accountId);
  if (account.detachedAt !== null) throw notFound('acc');
  return account;
}

/** An account that is, or was, attached to the transaction's employer. @throws Problem 404 */
export async function findAccountEver(tx: EmployerTransaction, accountId: string): Promise<EmployerAccount> {
  const account = await tx.manager.findOneBy(EmployerAccount, { employerId: tx.employerId, id: accountId });
  if (account === null) throw notFound('acc');
  return account;
}

/**
 * Checks that the account is attached and that the bank did not close it, as far as is known.
 * @param instead what a person can do about it
 * @throws Problem 409 `ACCOUNT_DETACHED`, `ACCOUNT_IS_CLOSED`
 */
export function assertCanPay(
  { bankStatus, detachedAt }: EmployerAccount,
  instead = 'name another account of the employer',
): void {
  if (detachedAt !== null)
    throw new Problem(409, 'ACCOUNT_DETACHED', `The account was detached: ${instead}.`);
  if (bankStatus === 'CLOSED')
    throw new Problem(409, 'ACCOUNT_IS_CLOSED', `The bank says the account is closed: ${instead}.`);
}

/**
 * Checks that no run on the account is open. Locks the account first: an upload that refers to it waits, and then finds
 * what was written. @throws Problem 409 `ACCOUNT_HAS_OPEN_RUNS`
 */
export async function assertNoOpenRun(tx: EmployerTransaction, accountId: string): Promise<void> {
  await tx.query('SELECT 1 FROM employer_account WHERE employer_id = $1 AND id = $2 FOR UPDATE', [
    tx.employerId,
    accountId,
  ]);
  const [open] = await tx.query<{ id: string; status: string }>(
    `SELECT id, status FROM pay_run WHERE employer_id = $1 AND account_id = $2 AND status <> ALL ($3)
     ORDER BY id LIMIT 1`,
    [tx.employerId, accountId, PAY_RUN_FINALS],
  );
  if (!open) return;
  const detail = `${showId('run', open.id)} on this account is ${open.status}: wait for its end, or cancel it where nothing of it was submitted.`;
  throw new Problem(409, 'ACCOUNT_HAS_OPEN_RUNS', detail);
}

/** Whether a run of the account was submitted, or may have been, and has not ended. */
export async function isFollowed(tx: EmployerTransaction, accountId: string): Promise<boolean> {
  const runs = await tx.query(
    `SELECT FROM pay_run WHERE employer_id = $1 AND account_id = $2 AND status IN ('SUBMITTING', 'FOLLOWING') LIMIT 1`,
    [tx.employerId, accountId],
  );
  return runs.length > 0;
}

/** Every account the transaction's employer ever had, oldest first. */
export function accountsOf(tx: EmployerTransaction): Promise<EmployerAccount[]> {
  return tx.manager.find(EmployerAccount, {
    where: { employerId: tx.employerId },
    order: { id: 'ASC' },
    take: MAX_ACCOUNTS,
  });
}

/** What the bank calls accounts that the transaction's employer has or had, by their ids. */
export async function bankAccountIdsOf(
  tx: EmployerTransaction,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.query<{ id: string; bank_account_id: string }>(
    'SELECT id, bank_account_id FROM employer_account WHERE employer_id = $1 AND id = ANY ($2)',
    [tx.employerId, accountIds],
  );
  return new Map(rows.map((row) => [row.id, row.bank_account_id]));
}

/** Those that are attached still. */
export async function attachedAccountsOf(tx: EmployerTransaction): Promise<EmployerAccount[]> {
  return (await accountsOf(tx)).filter(({ detachedAt }) => detachedAt === null);
}

/** Which employer each of the bank's accounts is attached to; those attached to none are absent. */
export async function ownersOf(
  worker: Transaction,
  bankAccountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await worker.query<{ bank_account_id: string; employer_id: string }>(
    `SELECT bank_account_id, employer_id FROM employer_account
     WHERE bank_account_id = ANY($1) AND detached_at IS NULL`,
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
    `UPDATE employer_account SET bank_status = $3, bank_status_at = clock_timestamp()
     WHERE employer_id = $1 AND id = $2 AND bank_status <> $3
     RETURNING id`,
    [tx.employerId, accountId, status],
  );
  return changed.length > 0;
}

/**
 * Keeps the status that a probe read a while ago, where the account still has the one it had before the probe;
 * otherwise somebody read it since, and it is read again.
 * @returns the status that stands
 */
export async function keepProbedStatus(
  tx: EmployerTransaction,
  { id, bankStatus: before }: Pick<EmployerAccount, 'id' | 'bankStatus'>,
  status: string | undefined,
): Promise<string> {
  const [now] = await tx.query<{ bank_status: string }>(
    `SELECT bank_status FROM employer_account WHERE employer_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    [tx.employerId, id],
  );
  const stands = now?.bank_status ?? before;
  if (status === undefined || status === stands) return stands;
  if (stands === before) {
    await keepBankStatus(tx, id, status);
    return status;
  }
  wake(tx, 'ACCOUNT', [id]);
  return stands;
}
