import type { Client, ClientConfig, Pool } from 'pg';
import { DataSource, DataSourceOptions } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import { execute, select } from './database';

/** A part of a plan that was carried out, as the server explains it. */
interface PlanNode {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: PlanNode[];
}

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
    'auto_explain.log_level': 'notice',
    'auto_explain.log_format': 'json',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_parameter_max_length': '0',
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
  return found;
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

function excessOf(notice: string, limit: number): Excess[] {
  const explained = /^duration: [\d.]+ ms {2}plan:\n([^]+)$/.exec(notice)?.[1];
  if (explained === undefined) return [];
  const { 'Query Text': statement, Plan: plan } = JSON.parse(explained) as {
    'Query Text': string;
    Plan: PlanNode;
  };
  return [...nodesOf(plan)]
    .map((node) => ({ rows: looked(node), node: node['Node Type'], statement }))
    .filter(({ rows }) => rows > limit);
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const part of node.Plans ?? []) yield* nodesOf(part);
}

function looked(node: PlanNode): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  return node['Actual Loops'] * (node['Actual Rows'] + removed);
}
