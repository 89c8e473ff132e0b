import { MigrationInterface, QueryRunner } from 'typeorm';

/** What nobody could tell after a restore may be what a month lacks. */
export class KnowHowManyNobodyCouldTell1795132860330 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE restore_check ADD COLUMN unidentified integer NOT NULL DEFAULT 0;
      COMMENT ON COLUMN restore_check.unidentified IS
        'how many instructions the bank showed of which nobody can tell whether they are of the service, or for whom';
      GRANT UPDATE (unidentified) ON restore_check TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE restore_check DROP COLUMN unidentified');
  }
}
