import { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { EmployerTransaction } from './database';

const LOCKS = {
  none: '',
  for_no_key_update: 'FOR NO KEY UPDATE',
  for_key_share: 'FOR KEY SHARE',
  pessimistic_read: 'FOR SHARE',
} as const;
export type RowLock = keyof typeof LOCKS;

/**
 * Reads a row of the employer by its id, as TypeORM reads it and with a plan that is kept: TypeORM puts each read
 * together anew, and the server plans it anew, which costs either more than the row.
 */
export async function findById<Row extends ObjectLiteral>(
  tx: EmployerTransaction,
  entity: EntityTarget<Row>,
  id: string,
  lock: RowLock = 'none',
): Promise<Row | undefined> {
  const { driver } = tx.manager.connection;
  const metadata = tx.manager.connection.getMetadata(entity);
  const select = `${selectOf(tx.manager, entity)} ${LOCKS[lock]}`;
  const [stored] = await tx.query(select, [tx.employerId, id], 'kept');
  if (stored === undefined) return undefined;
  const row = metadata.create() as Row;
  for (const column of metadata.columns) {
    const value: unknown = driver.prepareHydratedValue(stored[column.databaseName], column);
    column.setEntityValue(row, value);
  }
  return row;
}

/** As `findById`, for a row that is there. @throws Error when it is not */
export async function readById<Row extends ObjectLiteral>(
  tx: EmployerTransaction,
  entity: EntityTarget<Row>,
  id: string,
): Promise<Row> {
  const row = await findById(tx, entity, id);
  if (row === undefined)
    throw new Error(`a row of ${tx.manager.connection.getMetadata(entity).tableName} is gone`);
  return row;
}

/**
 * Writes fields of a row of the employer, found by its id and what else it must still be, as TypeORM writes them and with
 * a plan that is kept.
 */
export async function updateById<Row extends ObjectLiteral>(
  tx: EmployerTransaction,
  entity: EntityTarget<Row>,
  still: Partial<Row> & { id: string },
  fields: Partial<Row>,
): Promise<void> {
  const { driver } = tx.manager.connection;
  const { columns, tableName } = tx.manager.connection.getMetadata(entity);
  const values: unknown[] = [tx.employerId];
  const given = (row: Partial<Row>) =>
    columns
      .filter((column) => row[column.propertyName] !== undefined)
      .map((column) => {
        values.push(driver.preparePersistentValue(row[column.propertyName], column));
        return `${column.databaseName} = $${values.length}`;
      });
  const [set, where] = [given(fields), given(still)];
  const update = `UPDATE ${tableName} SET ${set.join(', ')} WHERE employer_id = $1 AND ${where.join(' AND ')}`;
  await tx.query(update, values, 'kept');
}

const SELECTS = new Map<EntityTarget<ObjectLiteral>, string>();

function selectOf({ connection }: EntityManager, entity: EntityTarget<ObjectLiteral>): string {
  const known = SELECTS.get(entity);
  if (known !== undefined) return known;
  const { columns, tableName } = connection.getMetadata(entity);
  const names = columns.map((column) => column.databaseName).join(', ');
  const select = `SELECT ${names} FROM ${tableName} WHERE employer_id = $1 AND id = $2`;
  SELECTS.set(entity, select);
  return select;
}
