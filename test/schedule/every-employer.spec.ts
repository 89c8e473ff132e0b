import { DataSource } from 'typeorm';
import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { newId } from '../../src/database/new-id';
import { DatabaseAway } from '../../src/database/outage';
import { forEveryEmployer } from '../../src/schedule/every-employer';
import { execute, TestDatabase, testDatabase } from '../support/database';

const EMPLOYERS = [newId(), newId(), newId()].sort();

describe('work for every employer', () => {
  let store: TestDatabase;
  let source: DataSource;
  let database: Database;
  beforeAll(async () => {
    store = await testDatabase();
    for (const id of EMPLOYERS) {
      await execute(store.superuserUrl, `INSERT INTO employer (id, name, time_zone) VALUES ($1, $2, 'UTC')`, [
        id,
        id,
      ]);
    }
    source = await openDataSource(dataSourceOptions(store.url, [], 2));
    database = new Database(source);
  });
  afterAll(async () => {
    await source.destroy();
    await store.drop();
  });

  /** Those it came to when the work for the first of them fails. */
  async function reached(failure: Error): Promise<{ employers: string[]; error: unknown }> {
    const employers: string[] = [];
    const error: unknown = await forEveryEmployer(database, 'all', async (employerId) => {
      employers.push(employerId);
      if (employers.length === 1) throw failure;
    }).catch((thrown: unknown) => thrown);
    return { employers, error };
  }

  it('goes on to the others when it fails for one', async () => {
    const failure = new Error('of this one');
    const { employers, error } = await reached(failure);
    expect(employers).toEqual(EMPLOYERS);
    expect(error).toMatchObject({ message: 'the work failed for 1 employers', cause: failure });
  });

  it('ends at once when the database is away: it is so for all of them', async () => {
    const failure = new DatabaseAway(new Error('no'));
    expect(await reached(failure)).toEqual({ employers: EMPLOYERS.slice(0, 1), error: failure });
  });
});
