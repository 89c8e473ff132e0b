import type { Client, ClientConfig, Pool } from 'pg';
import { DataSource, DataSourceOptions } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import { execute, select } from './database';
import { eventually } from './eventually';

/** A statement one of whose parts looked at more rows than it may. */
export interface Excess {
  rows: number;
  node: string;
  statement: string;
}

/** Has the server explain to each later connection of a database what it carries out, by one of its own modules. */
export async function explainPlans(superuserUrl: string): Promise<void> {
  const database = new URL(superuserUrl).pathname.slice(1);
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    // Which a connection hears whatever it wants to hear.
    'auto_explain.log_level': 'info',
    'auto_explain.log_format': 'text',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_nested_statements': 'on',
  };
  for (const [name, value] of Object.entries(settings))
    await execute(superuserUrl, `ALTER DATABASE ${database} SET ${name} = '${value}'`);
}

/** Collects, of the connections a source will open, the statements of which a part looks at more rows than `limit`. */
export function watchPlans(
  options: DataSourceOptions,
  limit: number,
): { options: DataSourceOptions; found: Excess[] } {
  const found: Excess[] = [];
  const { extra } = options as { extra: { Client: typeof Client } };
  class Watched extends extra.Client {
    constructor(config?: ClientConfig) {
      super(config);
      listen(this, limit, found);
    }
  }
  return { options: { ...options, extra: { ...extra, Client: Watched } }, found };
}

/** As `watchPlans`, of a source that is open: the connections it has are cut, so that it opens others. */
export async function watchOpened(
  source: DataSource,
  superuserUrl: string,
  limit: number,
): Promise<Excess[]> {
  const found: Excess[] = [];
  const { master: pool } = source.driver as PostgresDriver as { master: Pool };
  pool.on('connect', (client) => listen(client, limit, found));
  await execute(
    superuserUrl,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'payrun'`,
  );
  await eventually(
    () => isHeard(source, found, limit),
    5_000,
    () => 'no plan is heard of',
  );
  return found;
}

/** Whether a statement that looks at more rows than it may is noted, which it is no longer then. */
export async function isHeard(source: DataSource, found: Excess[], limit: number): Promise<boolean> {
  // A connection may be one that was just cut.
  await source.query(`SELECT count(*) FROM generate_series(0, ${limit})`).catch(() => undefined);
  return found.splice(0).length > 0;
}

function listen(client: Pick<Client, 'on'>, limit: number, found: Excess[]): void {
  client.on('notice', ({ message = '' }) => found.push(...excessOf(message, limit)));
}

/** Leaves statistics of every table to the test. */
export async function withoutAutovacuum(superuserUrl: string): Promise<void> {
  const tables = await select<{ name: string }>(
    superuserUrl,
    `SELECT format('%I', relname) AS name FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  for (const { name } of tables)
    await execute(superuserUrl, `ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
}

/** What is explained of one part of a plan: how many rows it gave in each loop, and then how many it left out in each. */
const LOOKED =
  /^([^\n]*?) {2}\(cost=[^)]*\) \(actual rows=([\d.]+) loops=(\d+)\)|Rows Removed by (?:Join )?Filter: (\d+)/gm;

function excessOf(notice: string, limit: number): Excess[] {
  const [, statement, plan] =
    /^duration: [\d.]+ ms {2}plan:\nQuery Text: ([^]*?)\n([^\n]* {2}\(cost=[^]+)$/.exec(notice) ?? [];
  if (statement === undefined || plan === undefined)
    // What cannot be read must not pass for little.
    return notice.startsWith('duration: ') ? [{ rows: Infinity, node: 'unreadable', statement: notice }] : [];
  const parts: Excess[] = [];
  let loops = 0;
  for (const [, node = '', given, times, removed] of plan.matchAll(LOOKED)) {
    const part = parts.at(-1);
    if (removed === undefined) {
      loops = Number(times);
      parts.push({ rows: loops * Number(given), node: node.replace(/^.*-> {2}/, '').trim(), statement });
    } else if (part) part.rows += loops * Number(removed);
  }
  return parts.filter(({ rows }) => rows > limit);
}
