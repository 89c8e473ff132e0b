import { MigrationInterface, QueryRunner } from 'typeorm';

const BEGINNINGS = [
  ['pay_run', "status = 'DRAFT'"],
  ['instruction', "status = 'PLANNED'"],
  ['payment', "status IN ('READY', 'HELD')"],
] as const;

/** No run, instruction or payment comes into the world further than its state table lets it begin. */
export class BeginAtTheBeginning1795132840000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    for (const [table, beginning] of BEGINNINGS)
      await db.query(
        `CREATE POLICY begins_at_the_beginning ON ${table} AS RESTRICTIVE FOR INSERT TO payrun_app WITH CHECK (${beginning})`,
      );
  }

  async down(db: QueryRunner): Promise<void> {
    for (const [table] of BEGINNINGS) await db.query(`DROP POLICY begins_at_the_beginning ON ${table}`);
  }
}
