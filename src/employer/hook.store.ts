import { IsNull } from 'typeorm';
import { Database, EmployerTransaction } from '../database/database';
import { BankHook } from './employer.entity';

/** More employers than one installation serves; beyond it their events wait for polling. */
const MAX_EMPLOYERS = 10_000;

/** Employers that have an account at the bank. */
export async function employersWithAccounts(database: Database): Promise<string[]> {
  const rows = await database.asWorker((tx) =>
    tx.query<{ employer_id: string }>(
      `SELECT DISTINCT employer_id FROM employer_account ORDER BY employer_id LIMIT ${MAX_EMPLOYERS}`,
    ),
  );
  return rows.map((row) => row.employer_id);
}

/**
 * Identities of the employer's accounts that the hook does not reach yet; those whose events were given up only
 * where `again` says so.
 */
export async function unreachedIdentities(
  tx: EmployerTransaction,
  bankHookId: string,
  again: boolean,
): Promise<string[]> {
  const rows = await tx.query<{ identity: string }>(
    `SELECT a.bank_user_id AS identity
     FROM (SELECT DISTINCT bank_user_id FROM employer_account WHERE employer_id = $1) a
     LEFT JOIN bank_hook h ON h.employer_id = $1 AND h.bank_identity_id = a.bank_user_id
     GROUP BY a.bank_user_id
     HAVING NOT coalesce(bool_or(h.bank_hook_id = $2 AND h.removed_at IS NULL), false)
       AND ($3 OR count(h.bank_hook_id) = 0 OR bool_or(h.removed_at IS NULL))
     ORDER BY a.bank_user_id`,
    [tx.employerId, bankHookId, again],
  );
  return rows.map(({ identity }) => identity);
}

/** Writes down that an identity's events reach the hook. */
export async function keepAssociation(
  tx: EmployerTransaction,
  bankHookId: string,
  bankIdentityId: string,
): Promise<void> {
  await tx.query(
    `INSERT INTO bank_hook (employer_id, bank_hook_id, bank_identity_id) VALUES ($1, $2, $3)
     ON CONFLICT (employer_id, bank_hook_id, bank_identity_id)
     DO UPDATE SET removed_at = NULL, associated_at = now()`,
    [tx.employerId, bankHookId, bankIdentityId],
  );
}

/** Gives the employer's associations up. @returns the hooks they were with. */
export async function giveUpAssociations(tx: EmployerTransaction, now: Date): Promise<string[]> {
  const rows = await tx.query<{ bank_hook_id: string }>(
    `UPDATE bank_hook SET removed_at = $2 WHERE employer_id = $1 AND removed_at IS NULL RETURNING bank_hook_id`,
    [tx.employerId, now],
  );
  return [...new Set(rows.map((row) => row.bank_hook_id))];
}

/** Whether any employer's events come through the hook. */
export async function isHookUsed(database: Database, bankHookId: string): Promise<boolean> {
  for (const employerId of await employersWithAccounts(database)) {
    const used = await database.inEmployer(employerId, (tx) =>
      tx.manager.existsBy(BankHook, { employerId, bankHookId, removedAt: IsNull() }),
    );
    if (used) return true;
  }
  return false;
}
