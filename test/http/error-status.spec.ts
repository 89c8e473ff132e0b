import { Client } from 'pg';
import { CONSTRAINTS, statusOfDomainCode } from '../../src/http/error-status';
import { testDatabase, TestDatabase } from '../support/database';

describe('the map of errors', () => {
  let store: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    store = await testDatabase();
    client = new Client({ connectionString: store.superuserUrl });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await store.drop();
  });

  it('names no constraint that the schema does not have', async () => {
    const { rows } = await client.query<{ name: string }>(`
      SELECT conname AS name FROM pg_constraint
      UNION SELECT relname FROM pg_class WHERE relkind = 'i'
      UNION SELECT (regexp_matches(prosrc, 'CONSTRAINT = ''(\\w+)''', 'g'))[1] FROM pg_proc`);
    const known = new Set(rows.map(({ name }) => name));
    expect(Object.keys(CONSTRAINTS).filter((name) => !known.has(name))).toEqual([]);
  });

  it('has a status for every code there is or will be', () => {
    expect(statusOfDomainCode('ANYTHING')).toBe(409);
    expect(statusOfDomainCode('ANYTHING_NOT_FOUND')).toBe(404);
    expect(statusOfDomainCode('DATE_INVALID')).toBe(422);
  });
});
