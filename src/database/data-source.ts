import { DataSource, DataSourceOptions, DefaultNamingStrategy, EntityTarget, ObjectLiteral } from 'typeorm';

/**
 * Waits are bounded: a statement that takes longer, a lock not had in time or a transaction left open is an
 * error that the caller meets again, not a request that hangs.
 */
const BOUNDS = {
  connectionTimeoutMillis: 5_000,
  statement_timeout: 120_000,
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 60_000,
};

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
    extra: BOUNDS,
    poolErrorHandler: () => undefined,
  };
}

/** Opens a DataSource. @throws when the server cannot be reached. */
export function openDataSource(options: DataSourceOptions): Promise<DataSource> {
  return new DataSource(options).initialize();
}
