import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource, MigrationExecutor, MigrationInterface } from 'typeorm';
import { APP_ROLE } from './roles';

/** Beside `src` in the checkout, and beside `dist/src` once compiled. */
const MIGRATIONS = join(__dirname, '..', '..', 'migrations');
const MIGRATION_FILE = /^\d{13}-[a-z0-9-]+\.(?:ts|js)$/;
/** Any number, the same in every replica. */
const MIGRATION_LOCK = 7_294_610_002;
/** Replicas that start together wait for the one that migrates; a migration of a large table takes minutes. */
const LOCK_TIMEOUT_MS = 15 * 60_000;
const CONNECT_TIMEOUT_MS = 10_000;

type MigrationClass = new () => MigrationInterface;

/**
 * Runs the migrations that are pending, oldest first, each in a transaction of its own. Replicas that start at once
 * take turns under an advisory lock.
 * @param adminUrl the owner's connection.
 * @returns the names of those that ran.
 */
export function runMigrations(adminUrl: string, directory = MIGRATIONS): Promise<string[]> {
  return withLock(adminUrl, () =>
    withDataSource(adminUrl, directory, async (dataSource) => {
      const done = await dataSource.runMigrations({ transaction: 'each' });
      await allowReading(dataSource);
      return done.map(({ name }) => name);
    }),
  );
}

/**
 * Undoes the migration that ran last.
 * @returns its name, or undefined when none has run.
 */
export function revertMigration(adminUrl: string, directory = MIGRATIONS): Promise<string | undefined> {
  return withLock(adminUrl, () =>
    withDataSource(adminUrl, directory, async (dataSource) => {
      const executor = new MigrationExecutor(dataSource);
      const [last] = await executor.getExecutedMigrations();
      if (last !== undefined) await dataSource.undoLastMigration({ transaction: 'each' });
      return last?.name;
    }),
  );
}

/** Names of the migrations that have not run yet; the application's role may ask. */
export function pendingMigrations(url: string, directory = MIGRATIONS): Promise<string[]> {
  return withDataSource(url, directory, async (dataSource) => {
    const pending = await new MigrationExecutor(dataSource).getPendingMigrations();
    return pending.map(({ name }) => name);
  });
}

/** TypeORM's own loader takes a glob pattern, which a checkout's path may not survive. */
async function loadMigrations(directory: string): Promise<MigrationClass[]> {
  const load = createRequire(__filename);
  const files = (await readdir(directory)).filter((name) => MIGRATION_FILE.test(name)).sort();
  const exported = files.flatMap((name) =>
    Object.values(load(join(directory, name)) as Record<string, unknown>),
  );
  return exported.filter(isMigration);
}

function isMigration(exported: unknown): exported is MigrationClass {
  if (typeof exported !== 'function') return false;
  const prototype = exported.prototype as Partial<MigrationInterface> | undefined;
  return typeof prototype?.up === 'function' && typeof prototype.down === 'function';
}

/** A replica compares the list with its own migrations before it starts. */
async function allowReading(dataSource: DataSource): Promise<void> {
  const roles: unknown[] = await dataSource.query('SELECT FROM pg_roles WHERE rolname = $1', [APP_ROLE]);
  if (roles.length > 0) await dataSource.query(`GRANT SELECT ON migrations TO ${APP_ROLE}`);
}

async function withDataSource<T>(
  url: string,
  directory: string,
  work: (dataSource: DataSource) => Promise<T>,
): Promise<T> {
  const dataSource = new DataSource({
    type: 'postgres',
    url,
    migrations: await loadMigrations(directory),
    migrationsTableName: 'migrations',
    synchronize: false,
    logging: false,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
  });
  await dataSource.initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

async function withLock<T>(url: string, work: () => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await client.connect();
  try {
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    return await work();
  } finally {
    await client.end();
  }
}
