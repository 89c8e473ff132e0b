import { MigrationInterface, QueryRunner } from 'typeorm';

/** A doubt about one known run is none about pay of other months. */
export class KnowWhichChecksMayLackRuns1795132860220 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE restore_check ADD COLUMN may_lack_runs boolean NOT NULL DEFAULT true;
      COMMENT ON COLUMN restore_check.may_lack_runs IS
        'where resuming takes its written word: whether that may be of a run that the record lacks, and not of known ones alone';
      GRANT UPDATE (may_lack_runs) ON restore_check TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE restore_check DROP COLUMN may_lack_runs');
  }
}
