import { Transaction } from './database';

/**
 * Runs a statement that joins rows with an array of them, never by a nested loop: without statistics of these rows, as
 * soon after an upload, either side looks like a single row, and each would be compared with each.
 */
export async function queryByHash<Row = Record<string, unknown>>(
  tx: Transaction,
  sql: string,
  parameters: unknown[],
): Promise<Row[]> {
  await tx.query('SET LOCAL enable_nestloop = off');
  const rows = await tx.query<Row>(sql, parameters);
  await tx.query('SET LOCAL enable_nestloop TO DEFAULT');
  return rows;
}
