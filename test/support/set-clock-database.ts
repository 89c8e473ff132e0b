import { connected, execute, TestDatabase, testDatabase } from './database';

/** A database with a clock that can be set: every function of time that the service calls, and what rows are dated by. */
export interface DatabaseWithClock {
  database: TestDatabase;
  /** Sets the clock ahead by an interval of PostgreSQL's; '0' puts it right. */
  setAhead(by: string): Promise<void>;
}

const FUNCTIONS = ['clock_timestamp', 'now', 'statement_timestamp'];
const DATED = ['state_change.at', 'approval.approved_at', 'pay_run.created_at', 'pay_run_version.created_at'];

/** Its functions come before those of the server on the path of every session. */
export async function databaseWithClock(): Promise<DatabaseWithClock> {
  const database = await testDatabase();
  const functions = FUNCTIONS.map(
    (name) => `CREATE FUNCTION faked.${name}() RETURNS timestamptz
      ${name === 'clock_timestamp' ? 'VOLATILE' : 'STABLE'} LANGUAGE sql
      AS 'SELECT pg_catalog.${name}() + by FROM faked.ahead'`,
  );
  const defaults = DATED.map((column) => {
    const [table, name] = column.split('.');
    return `ALTER TABLE ${table} ALTER COLUMN ${name} SET DEFAULT faked.clock_timestamp()`;
  });
  await connected(database.superuserUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
    const path = `ALTER DATABASE ${rows[0]?.name} SET search_path = public, faked, pg_catalog`;
    await client.query(
      [
        `CREATE SCHEMA faked; GRANT USAGE ON SCHEMA faked TO PUBLIC;
         CREATE TABLE faked.ahead (by interval NOT NULL); INSERT INTO faked.ahead VALUES ('0');
         GRANT SELECT ON faked.ahead TO PUBLIC`,
        ...functions,
        ...defaults,
        path,
      ].join(';\n'),
    );
  });
  return {
    database,
    setAhead: (by) => execute(database.superuserUrl, `UPDATE faked.ahead SET by = '${by}'`),
  };
}
