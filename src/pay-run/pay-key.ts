import { EmployerTransaction } from '../database/database';

/** What a payment is unique by, besides its employee. */
export interface PayKey {
  period: string;
  kindOfPay: string;
}

/** A run with the key of its payments. */
export interface RunOfKey extends PayKey {
  id: string;
}

/**
 * Makes uploads, releases and successors of one period take turns to the end of their transactions: the second of two
 * equal ones finds the first, and of two different ones for the same people the later is told who is paid, also where
 * the same rows come as two kinds of pay. Whoever locks a run too locks the run first.
 */
export async function lockPayKey(tx: EmployerTransaction, { period }: Pick<PayKey, 'period'>): Promise<void> {
  const name = JSON.stringify(['pay', tx.employerId, period]);
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

/**
 * Makes uploads, amendments and successors of any periods take turns from their comparison to the end of their
 * transactions: of two that come at once with the same rows the second finds the first. Taken after the key and the runs,
 * whoever needs those.
 */
export async function lockComparison(tx: EmployerTransaction): Promise<void> {
  const name = JSON.stringify(['compare', tx.employerId]);
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

/** The next place among the runs of a period and kind of pay, whose key is locked. */
export async function nextSequence(tx: EmployerTransaction, key: PayKey): Promise<number> {
  const [row] = await tx.query<{ next: number }>(
    `SELECT coalesce(max(sequence), 0) + 1 AS next FROM pay_run
     WHERE employer_id = $1 AND period = $2 AND kind_of_pay = $3`,
    [tx.employerId, key.period, key.kindOfPay],
  );
  return row?.next ?? 1;
}
