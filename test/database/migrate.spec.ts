import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { pendingMigrations, revertMigration, runMigrations } from '../../src/database/migrate';
import { startTemporaryServer, TemporaryServer } from '../../src/database/temporary-server';

let server: TemporaryServer;
let directory: string;

beforeAll(async () => {
  server = await startTemporaryServer();
});

afterAll(() => server.stop());

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'migrate-spec-[a]-'));
  await migration(
    '1700000000001-create-first',
    'CreateFirst1700000000001',
    'CREATE TABLE first (a int)',
    'DROP TABLE first',
  );
  await migration(
    '1700000000002-create-second',
    'CreateSecond1700000000002',
    'CREATE TABLE second (a int)',
    'DROP TABLE second',
  );
  await writeFile(join(directory, '1700000000003-types.d.ts'), 'export declare class NotThere {}');
  await writeFile(join(directory, '1700000000001-create-first.js.map'), '{}');
});

afterEach(async () => {
  await ask('DROP TABLE IF EXISTS migrations, first, second, third');
  await rm(directory, { recursive: true, force: true });
});

describe('runMigrations', () => {
  it('runs what is pending, oldest first, and once', async () => {
    const names = ['CreateFirst1700000000001', 'CreateSecond1700000000002'];
    expect(await pendingMigrations(server.databaseAdminUrl, directory)).toEqual(names);
    expect(await runMigrations(server.databaseAdminUrl, directory)).toEqual(names);
    expect(await runMigrations(server.databaseAdminUrl, directory)).toEqual([]);
    expect(await tables()).toEqual(['first', 'migrations', 'second']);
  });

  it('lets the application ask what is pending', async () => {
    await runMigrations(server.databaseAdminUrl, directory);
    expect(await pendingMigrations(server.databaseUrl, directory)).toEqual([]);
    await migration('1700000000003-create-third', 'CreateThird1700000000003', 'SELECT 1', 'SELECT 1');
    expect(await pendingMigrations(server.databaseUrl, directory)).toEqual(['CreateThird1700000000003']);
  });

  it('keeps what ran before a migration that fails, and nothing of that one', async () => {
    await migration(
      '1700000000003-fail',
      'Fail1700000000003',
      'CREATE TABLE third (a int); SELECT 1/0',
      'SELECT 1',
    );
    await expect(runMigrations(server.databaseAdminUrl, directory)).rejects.toThrow('division by zero');
    expect(await tables()).toEqual(['first', 'migrations', 'second']);
    expect(await pendingMigrations(server.databaseAdminUrl, directory)).toEqual(['Fail1700000000003']);
  });

  it('runs each migration once when several replicas start together', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => runMigrations(server.databaseAdminUrl, directory)));
    expect(runs.map((names) => names.length).sort()).toEqual([0, 0, 2]);
  });
});

describe('revertMigration', () => {
  it('undoes the one that ran last, until none is left', async () => {
    await runMigrations(server.databaseAdminUrl, directory);
    expect(await revertMigration(server.databaseAdminUrl, directory)).toBe('CreateSecond1700000000002');
    expect(await tables()).toEqual(['first', 'migrations']);
    expect(await revertMigration(server.databaseAdminUrl, directory)).toBe('CreateFirst1700000000001');
    expect(await revertMigration(server.databaseAdminUrl, directory)).toBeUndefined();
  });
});

function migration(file: string, name: string, up: string, down: string): Promise<void> {
  const source = `exports.${name} = class ${name} {
    async up(db) { await db.query(${JSON.stringify(up)}); }
    async down(db) { await db.query(${JSON.stringify(down)}); }
  };`;
  return writeFile(join(directory, `${file}.js`), source);
}

async function tables(): Promise<string[]> {
  const rows = await ask(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`);
  return rows.map(({ tablename }) => tablename ?? '');
}

async function ask(sql: string): Promise<Record<string, string>[]> {
  const client = new Client({ connectionString: server.databaseAdminUrl });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
