import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { ENTITIES } from '../../src/entities';
import { idsOf, twoEmployers } from '../database/two-employers';
import { execute, TestDatabase, testDatabase } from '../support/database';

const { employer } = idsOf(1);

const DECIDED = `
  WITH open AS (UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE resolved_at IS NULL RETURNING id)
  INSERT INTO attention_action (employer_id, id, attention_id, action, reason, proposed_by, confirmed_by, confirmed_at)
  SELECT '${employer}', gen_random_uuid(), open.id, 'RESUME', 'seen', prepared_by, approver_id, clock_timestamp()
  FROM open, (SELECT * FROM approval WHERE employer_id = '${employer}' LIMIT 1) a`;

const GOES_ON = `
  UPDATE service_stop SET lifted_at = clock_timestamp();
  UPDATE service_switch SET submits_off = false, reason = NULL`;

/** A database of two employers with a run each, of whom nobody is asked anything. */
export interface NothingAsked {
  readonly server: TestDatabase;
  readonly database: Database;
  /** Two people of the first employer decide with RESUME all that is asked; what is stopped stays so. */
  decide(): Promise<void>;
  /** As `decide`, and what was stopped goes on. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

export async function nothingAsked(): Promise<NothingAsked> {
  const server = await testDatabase();
  await execute(server.superuserUrl, twoEmployers());
  await execute(
    server.superuserUrl,
    `UPDATE attention SET resolved_at = now(), resolution = 'before the test'`,
  );
  const source = await openDataSource(dataSourceOptions(server.url, ENTITIES, 2));
  const close = async () => {
    await source.destroy();
    await server.drop();
  };
  const decide = () => execute(server.superuserUrl, DECIDED);
  const resume = () => execute(server.superuserUrl, `${DECIDED};${GOES_ON}`);
  return { server, database: new Database(source), decide, resume, close };
}
