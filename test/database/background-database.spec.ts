import { DataSource } from 'typeorm';
import { BackgroundDatabase } from '../../src/database/background-database';
import { Database } from '../../src/database/database';
import { dataSourceOptions, DEFAULT_WAITS, openDataSource } from '../../src/database/data-source';
import { TestDatabase, testDatabase } from '../support/database';

describe('background work on the database', () => {
  let server: TestDatabase;
  let source: DataSource;

  beforeAll(async () => {
    server = await testDatabase();
  });
  afterEach(() => source.destroy());
  afterAll(() => server.drop());

  /** Begins so much background work over a pool of so many connections, none of which ends before `release`. */
  const busy = async (poolSize: number, works: number) => {
    source = await openDataSource(dataSourceOptions(server.url, [], poolSize));
    const database = new Database(source);
    const waits = { ...DEFAULT_WAITS, DATABASE_POOL_SIZE: poolSize };
    const background = new BackgroundDatabase(source, waits, database);
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    let begun = 0;
    const done = Promise.all(
      Array.from({ length: works }, () =>
        background.asWorker(async (tx) => {
          await tx.query('SELECT 1');
          begun += 1;
          await released;
        }),
      ),
    );
    while (begun === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    return { database, background, done, release, begun: () => begun };
  };

  it('leaves connections to what somebody waits for, however much of it there is, and is all done', async () => {
    const { database, done, release, begun } = await busy(5, 20);
    const answers = Promise.all([1, 2, 3].map(() => database.asWorker((tx) => tx.query('SELECT 1 AS one'))));
    expect(await answers).toEqual([1, 2, 3].map(() => [{ one: 1 }]));
    while (begun() < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(begun()).toBe(2);
    release();
    await done;
    expect(begun()).toBe(20);
  });

  it('waits for its turn also where it only asks a question', async () => {
    const { background, done, release } = await busy(5, 2);
    let answered = false;
    const asked = background.ask('SELECT 1 AS one').finally(() => (answered = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(false);
    release();
    expect(await asked).toEqual([{ one: 1 }]);
    await done;
  });

  it('goes on one by one where the pool is small', async () => {
    const { done, release, begun } = await busy(2, 3);
    expect(begun()).toBe(1);
    release();
    await done;
    expect(begun()).toBe(3);
  });

  it('tells of a database that is away as any other work does', async () => {
    const { database, background, done, release } = await busy(5, 1);
    release();
    await done;
    expect(background.availability).toBe(database.availability);
  });
});
