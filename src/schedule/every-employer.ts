import { Database } from '../database/database';
import { DatabaseAway } from '../database/outage';
import { employerIds, workerIds } from '../database/worker-ids';

const WITH_ACTIVE_SCHEDULE = `SELECT DISTINCT employer_id AS id FROM pay_schedule
  WHERE active AND employer_id > $1 ORDER BY employer_id LIMIT $2`;

const SOURCES = {
  all: employerIds,
  'with an active schedule': (database: Database) => workerIds(database, WITH_ACTIVE_SCHEDULE),
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
  for await (const employerId of SOURCES[which](database)) {
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
