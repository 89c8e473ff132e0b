import { MigrationInterface, QueryRunner } from 'typeorm';

/** The check after a restore deletes what showed that the bank lists what is not submitted: it is known after a restart, too. */
export class KeepThatWhatIsNotSubmittedWasListed1795132860300 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE database_restore ADD COLUMN unsubmitted_shown_at timestamptz;
      COMMENT ON COLUMN database_restore.unsubmitted_shown_at IS
        'when the bank''s list was known to show what is not submitted; null where it is not known to';
      GRANT UPDATE (unsubmitted_shown_at) ON database_restore TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE database_restore DROP COLUMN unsubmitted_shown_at');
  }
}
