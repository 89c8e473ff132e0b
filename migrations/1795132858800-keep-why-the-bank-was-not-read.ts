import { MigrationInterface, QueryRunner } from 'typeorm';

/** Who may not resume yet after a restore is told what is in the way, without the log. */
export class KeepWhyTheBankWasNotRead1795132858800 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE restore_check ADD COLUMN waits_for text,
        ADD CONSTRAINT restore_check_waits_until_it_passed CHECK (waits_for IS NULL OR passed_at IS NULL);
      COMMENT ON COLUMN restore_check.waits_for IS
        'what the reading of the bank last failed in, for people; null before the first try and once it was read';
      GRANT UPDATE (waits_for) ON restore_check TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE restore_check DROP COLUMN waits_for');
  }
}
