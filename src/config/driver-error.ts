/** The parts of a database error that hold no data of a row. */
export interface DriverError {
  readonly sqlState: string;
  readonly constraint: string | undefined;
  readonly table: string | undefined;
}

const SQL_STATE = /^[0-9A-Z]{5}$/;

/**
 * Reads a PostgreSQL error, wrapped by TypeORM or bare, by its shape. Its message and `detail` are left out: they
 * quote values of the row.
 */
export function readDriverError(error: unknown): DriverError | undefined {
  if (!(error instanceof Error)) return undefined;
  const driver: unknown = 'driverError' in error ? error.driverError : error;
  if (!(driver instanceof Error) || !('severity' in driver)) return undefined;
  const sqlState = textOf(driver, 'code');
  if (sqlState === undefined || !SQL_STATE.test(sqlState)) return undefined;
  return { sqlState, constraint: textOf(driver, 'constraint'), table: textOf(driver, 'table') };
}

function textOf(error: Error, member: string): string | undefined {
  const value: unknown = Object.getOwnPropertyDescriptor(error, member)?.value;
  return typeof value === 'string' ? value : undefined;
}
