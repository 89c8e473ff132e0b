import { Client, type ClientConfig } from 'pg';
import { DataSource, DataSourceOptions, DefaultNamingStrategy, EntityTarget, ObjectLiteral } from 'typeorm';
import { Config } from '../config/env';
import { settleSession } from './session';

/** How long PostgreSQL is waited for: a connection, a statement, a COMMIT. */
export type Waits = Pick<Config, 'DATABASE_CONNECT_MS' | 'DATABASE_STATEMENT_MS' | 'DATABASE_COMMIT_MS'>;

/** The defaults of the configuration. */
export const DEFAULT_WAITS: Waits = {
  DATABASE_CONNECT_MS: 5_000,
  DATABASE_STATEMENT_MS: 120_000,
  DATABASE_COMMIT_MS: 10_000,
};

/** Who holds a lock for longer than this hangs; a transaction left open ends after six times that. */
export const LOCK_TIMEOUT_MS = 10_000;
const IDLE_TRANSACTION_MS = 60_000;

/**
 * Waits are bounded: a statement that takes longer, a lock not had in time or a transaction left open is an
 * error that the caller meets again, not a request that hangs.
 */
function boundsOf({ DATABASE_CONNECT_MS, DATABASE_STATEMENT_MS }: Waits): Record<string, number | boolean> {
  return {
    connectionTimeoutMillis: DATABASE_CONNECT_MS,
    statement_timeout: DATABASE_STATEMENT_MS,
    lock_timeout: Math.min(LOCK_TIMEOUT_MS, DATABASE_STATEMENT_MS),
    idle_in_transaction_session_timeout: Math.min(IDLE_TRANSACTION_MS, DATABASE_STATEMENT_MS),
    // An idle connection whose other end is gone is noticed before somebody is given it.
    keepAlive: true,
    keepAliveInitialDelayMillis: DATABASE_CONNECT_MS,
  };
}

/** `rowCount` in an entity is `row_count` in the schema. */
class SnakeCase extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined): string {
    return customName ?? propertyName.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  }
}

/** The options of the one DataSource. `synchronize` is never true: the schema is migrations by hand. */
export function dataSourceOptions(
  url: string,
  entities: EntityTarget<ObjectLiteral>[],
  poolSize: number,
  waits: Waits = DEFAULT_WAITS,
): DataSourceOptions {
  return {
    type: 'postgres',
    url,
    entities: entities as NonNullable<DataSourceOptions['entities']>,
    namingStrategy: new SnakeCase(),
    synchronize: false,
    logging: false,
    poolSize,
    applicationName: 'payrun',
    extra: {
      ...boundsOf(waits),
      Client: HeardClient,
      onConnect: (client: Client) => settleSession(client, waits.DATABASE_CONNECT_MS),
    },
    poolErrorHandler: () => undefined,
  };
}

/**
 * Between the pool and whoever asked it for a new connection nobody listens: a server that ends the connection in that
 * moment would end this process. Whoever uses the connection is told all the same.
 */
class HeardClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}

/** Opens a DataSource. @throws when the server cannot be reached. */
export function openDataSource(options: DataSourceOptions): Promise<DataSource> {
  return new DataSource(options).initialize();
}
