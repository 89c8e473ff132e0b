import { MigrationInterface, QueryRunner } from 'typeorm';

/** Tables whose rows belong to an employer; those of the journal are made month by month, and read by their time. */
const TABLES = `SELECT format('%I', c.relname) AS name
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'employer_id' AND NOT a.attisdropped
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND NOT c.relispartition ORDER BY 1`;

/**
 * Statistics of employers are those of the past: an employer who just came has no row in them, so that each index that
 * begins with the employer looks as good as the one that finds the single row, and rows are compared each with each.
 * Without statistics any employer is expected to have a two-hundredth of a table.
 */
export class ExpectRowsOfAnyEmployer1795132842000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await eachTable(db, '0');
  }

  async down(db: QueryRunner): Promise<void> {
    await eachTable(db, '-1');
  }
}

async function eachTable(db: QueryRunner, target: string): Promise<void> {
  const tables = (await db.query(TABLES)) as { name: string }[];
  for (const { name } of tables)
    await db.query(`ALTER TABLE ${name} ALTER COLUMN employer_id SET STATISTICS ${target}`);
}
