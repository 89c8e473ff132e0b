import { Client, DatabaseError } from 'pg';
import { execute, TestDatabase, testDatabase } from '../support/database';
import { twoEmployers } from './two-employers';

/** The outcome of statements that went through. */
export const DONE = 'done';

/** Two employers in a database of the spec file's own, and a session to try statements in. */
export interface Trials {
  /** The superuser, whom only constraints and triggers stop; each test is a transaction that is rolled back. */
  readonly client: Client;
  readonly superuserUrl: string;
  /** What becomes of statements, which are undone: done, or the constraint or the code by which they were refused. */
  outcomeOf(...statements: string[]): Promise<string>;
}

/** Sets the trials up for every test of the spec file. */
export function trials(): Trials {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await testDatabase();
    await execute(database.superuserUrl, twoEmployers());
    client = new Client({ connectionString: database.superuserUrl });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });
  beforeEach(() => client.query('BEGIN'));
  afterEach(() => client.query('ROLLBACK'));
  return {
    get client() {
      return client;
    },
    get superuserUrl() {
      return database.superuserUrl;
    },
    async outcomeOf(...statements) {
      await client.query('SAVEPOINT trial');
      try {
        for (const statement of statements) await client.query(statement);
        return DONE;
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error;
        return error.constraint ?? error.code ?? error.message;
      } finally {
        await client.query('ROLLBACK TO SAVEPOINT trial');
      }
    },
  };
}
