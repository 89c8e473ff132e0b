import { Transaction } from './database';

/**
 * Does work whose statements join rows so fresh that there are no statistics of them, never by a nested loop: soon after
 * an upload either side looks like a single row, and each would be compared with each. It ends with the work: none of it
 * may stand within another.
 */
export async function joiningByHash<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  const off = tx.query('SET LOCAL enable_nestloop = off');
  const [done] = await Promise.all([work(), off]);
  await tx.query('SET LOCAL enable_nestloop TO DEFAULT');
  return done;
}

/** Runs one statement that joins rows with an array of them, as `joiningByHash` does. */
export function queryByHash<Row = Record<string, unknown>>(
  tx: Transaction,
  sql: string,
  parameters: unknown[],
): Promise<Row[]> {
  return joiningByHash(tx, () => tx.query<Row>(sql, parameters));
}
