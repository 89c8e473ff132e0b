import type { Database } from './database';
import { BEFORE_ALL } from './new-id';

/** Ids read at once; a page costs a few kilobytes. */
const PAGE = 500;

/**
 * Every id that a statement gives the worker's role, page by page. Its `$1` is the id to go on after, its `$2` how many
 * are wanted; it selects them as `id`, in their order.
 */
export async function* workerIds(database: Database, sql: string): AsyncGenerator<string> {
  let last: string | undefined = BEFORE_ALL;
  while (last !== undefined) {
    const after: string = last;
    const rows = await database.asWorker((tx) => tx.query<{ id: string }>(sql, [after, PAGE]));
    for (const { id } of rows) yield id;
    last = rows.length === PAGE ? rows.at(-1)?.id : undefined;
  }
}

/** Every employer there is. */
export function employerIds(database: Database): AsyncGenerator<string> {
  return workerIds(database, 'SELECT id FROM employer WHERE id > $1 ORDER BY id LIMIT $2');
}
