import { randomBytes } from 'node:crypto';
import { Client, DatabaseError } from 'pg';
import { APP_ROLE, OWNER_ROLE, urlOfDatabase } from '../../src/database/roles';

/** Where the jest run's one server is; set by the global set-up. */
export const SERVER_ENV = {
  superuserUrl: 'PAYRUN_TEST_SUPERUSER_URL',
  appUrl: 'PAYRUN_TEST_APP_URL',
  ownerUrl: 'PAYRUN_TEST_OWNER_URL',
} as const;

/** SQLSTATE of the transaction that PostgreSQL undoes so that another can go on. */
const DEADLOCK = '40P01';
/** SQLSTATE of a database that cannot go, since connections that were cut had not ended within five seconds. */
const IN_USE = '55006';
const DROPS = 5;

/** The migrated database that every spec file copies. */
export const TEMPLATE = 'payrun';

/** A database of one spec file's own, migrated and empty. */
export interface TestDatabase {
  /** The application's role, as the service connects. */
  readonly url: string;
  /** The owner, as migrations connect; row-level security hides every row from it. */
  readonly adminUrl: string;
  /** The superuser, for what only an attacker or an accident does. */
  readonly superuserUrl: string;
  drop(): Promise<void>;
}

/**
 * Copies the template, or another database to which nobody is connected, into a new one. Close every connection to it
 * before `drop`, or they are cut.
 */
export async function testDatabase(template = TEMPLATE): Promise<TestDatabase> {
  const server = {
    superuserUrl: given(SERVER_ENV.superuserUrl),
    appUrl: given(SERVER_ENV.appUrl),
    ownerUrl: given(SERVER_ENV.ownerUrl),
  };
  const database = `test_${randomBytes(8).toString('hex')}`;
  // As `initRoles` makes one, without making the roles again: every connection would read them anew.
  await connected(server.superuserUrl, async (client) => {
    await client.query(
      `CREATE DATABASE ${database} OWNER ${OWNER_ROLE} TEMPLATE ${template} STRATEGY file_copy`,
    );
    await client.query(
      `REVOKE ALL ON DATABASE ${database} FROM PUBLIC;
       GRANT CONNECT, TEMPORARY ON DATABASE ${database} TO ${APP_ROLE}`,
    );
  });
  return {
    url: urlOfDatabase(server.appUrl, database),
    adminUrl: urlOfDatabase(server.ownerUrl, database),
    superuserUrl: urlOfDatabase(server.superuserUrl, database),
    drop: () => dropDatabase(server.superuserUrl, database),
  };
}

async function dropDatabase(superuserUrl: string, database: string, tries = DROPS): Promise<void> {
  try {
    await execute(superuserUrl, `DROP DATABASE ${database} WITH (FORCE)`);
  } catch (error) {
    if (tries <= 1 || !(error instanceof DatabaseError && error.code === IN_USE)) throw error;
    await dropDatabase(superuserUrl, database, tries - 1);
  }
}

/** Leaves every request as a kill does between the commit of its work and that of its answer, six minutes ago. */
export const LEAVES_UNANSWERED = `UPDATE idempotency_key SET response_status = NULL, response_body = NULL,
  created_at = created_at - interval '6 minutes'`;

/** Runs one statement over a connection of its own. */
export async function execute(url: string, sql: string, parameters: unknown[] = []): Promise<void> {
  await select(url, sql, parameters);
}

/**
 * Gives a run, or all, another time of its submit, as the passing of time would: an approved one keeps its own.
 * @param at in SQL
 */
export function dueAt(superuserUrl: string, at: string, payRunId?: string): Promise<void> {
  const which = payRunId === undefined ? '' : ` WHERE id = '${payRunId}'`;
  return execute(
    superuserUrl,
    `SET session_replication_role = replica; UPDATE pay_run SET submit_at = ${at}${which}`,
  );
}

/** The rows of one statement over a connection of its own; made again where it was undone for the sake of a deadlock. */
export async function select<Row = Record<string, string>>(
  url: string,
  sql: string,
  parameters: unknown[] = [],
): Promise<Row[]> {
  try {
    return await connected(url, async (client) => (await client.query(sql, parameters)).rows as Row[]);
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === DEADLOCK)) throw error;
    return select(url, sql, parameters);
  }
}

/** Whether a statement, or one like that, waits for a lock in the database of a superuser's address. */
export async function isLockAwaited(superuserUrl: string, like = '%'): Promise<boolean> {
  const waiting = `SELECT FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE $1`;
  return (await select(superuserUrl, waiting, [like])).length > 0;
}

/** Whether a statement waits for a lock that this very connection holds: others may wait for one another meanwhile. */
export async function isWaitedFor(holder: Client): Promise<boolean> {
  const waiting = `SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`;
  return (await holder.query(waiting)).rows.length > 0;
}

/** Work over a connection of its own. */
export async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run jest with its globalSetup`);
  return value;
}
