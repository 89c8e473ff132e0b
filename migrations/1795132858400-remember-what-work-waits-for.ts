import { MigrationInterface, QueryRunner } from 'typeorm';

/** How long work has not got on is counted from its first failure, whichever process tries it next. */
export class RememberWhatWorkWaitsFor1795132858400 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE lease ADD COLUMN waits_for text, ADD COLUMN waits_since timestamptz,
        ADD CONSTRAINT waiting_has_its_time CHECK ((waits_for IS NULL) = (waits_since IS NULL));
      COMMENT ON COLUMN lease.waits_for IS 'what its last step failed in; null where that got on, or waits for what is told otherwise';
      COMMENT ON COLUMN lease.waits_since IS 'since when every step failed, in whatever';
      CREATE INDEX lease_by_waiting ON lease (employer_id) WHERE waits_since IS NOT NULL;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE lease DROP COLUMN waits_for, DROP COLUMN waits_since');
  }
}
