import { Database } from '../database/database';
import { DatabaseAway } from '../database/outage';

/** Ids read at once; a page costs a few kilobytes. */
const PAGE = 500;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

const SOURCES = {
  all: `SELECT id FROM employer WHERE id > $1 ORDER BY id LIMIT ${PAGE}`,
  'with an active schedule': `SELECT DISTINCT employer_id AS id FROM pay_schedule
    WHERE active AND employer_id > $1 ORDER BY employer_id LIMIT ${PAGE}`,
} as const;

/**
 * Does `work` for one employer after the other. One that fails does not keep the others from theirs; a database that is
 * away does.
 * @throws DatabaseAway at once.
 * @throws Error after the last employer when any failed, with the first failure as its cause.
 */
export async function forEveryEmployer(
  database: Database,
  which: keyof typeof SOURCES,
  work: (employerId: string) => Promise<void>,
): Promise<void> {
  let failures = 0;
  let cause: unknown;
  for await (const employerId of employerIds(database, which)) {
    try {
      await work(employerId);
    } catch (error) {
      if (error instanceof DatabaseAway) throw error;
      failures += 1;
      cause ??= error;
    }
  }
  if (failures > 0) throw new Error(`the work failed for ${failures} employers`, { cause });
}

async function* employerIds(database: Database, which: keyof typeof SOURCES): AsyncGenerator<string> {
  let last: string | undefined = BEFORE_ALL;
  while (last !== undefined) {
    const after: string = last;
    const rows = await database.asWorker((tx) => tx.query<{ id: string }>(SOURCES[which], [after]));
    for (const { id } of rows) yield id;
    last = rows.length === PAGE ? rows.at(-1)?.id : undefined;
  }
}
