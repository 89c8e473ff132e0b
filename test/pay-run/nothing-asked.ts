import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { ENTITIES } from '../../src/entities';
import { twoEmployers } from '../database/two-employers';
import { execute, TestDatabase, testDatabase } from '../support/database';

/** A database of two employers with a run each, of whom nobody is asked anything. */
export interface NothingAsked {
  readonly server: TestDatabase;
  readonly database: Database;
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
  return { server, database: new Database(source), close };
}
