import { Client } from 'pg';
import { CONSTRAINTS, statusOfDomainCode } from '../../src/http/error-status';
import { sourcesIn } from '../support/readme-tables';
import { testDatabase, TestDatabase } from '../support/database';

/** Codes with the statuses that the sources give each. */
function statusesByCode(): Map<string, Set<number>> {
  const given = new Map<string, Set<number>>();
  const give = (code: string, status: number) => given.set(code, (given.get(code) ?? new Set()).add(status));
  for (const { text } of sourcesIn('src')) {
    for (const [, status, code] of text.matchAll(/new Problem\(\s*(\d{3}),\s*'([A-Z_]+)'/g))
      give(code ?? '', Number(status));
    for (const [, code = ''] of text.matchAll(/new DomainError\(\s*'([A-Z_]+)'/g))
      give(code, statusOfDomainCode(code));
    for (const [, code = ''] of text.matchAll(/\brefuse\('([A-Z_]+)'/g)) give(code, 422);
  }
  for (const { code, status = 409 } of Object.values(CONSTRAINTS)) give(code, status);
  return given;
}

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

  it('has one status for a code, wherever it is thrown', () => {
    const given = statusesByCode();
    expect([...given.keys()]).toEqual(expect.arrayContaining(['ACCOUNT_DETACHED', 'BALANCE_NOT_SHOWN']));
    expect([...given].filter(([, statuses]) => statuses.size > 1)).toEqual([]);
  });

  it('has a status for every code there is or will be', () => {
    expect(statusOfDomainCode('ANYTHING')).toBe(409);
    expect(statusOfDomainCode('ANYTHING_NOT_FOUND')).toBe(404);
    expect(statusOfDomainCode('DATE_INVALID')).toBe(422);
  });
});
