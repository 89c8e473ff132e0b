import { MigrationInterface, QueryRunner } from 'typeorm';

/** How long work has waited for the same is counted from when it first lacked it, whichever process takes it up next. */
export class RememberWhatIsMissing1795132849000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE lease ADD COLUMN missing text, ADD COLUMN missing_since timestamptz,
        ADD CONSTRAINT missing_has_its_time CHECK ((missing IS NULL) = (missing_since IS NULL));
      COMMENT ON COLUMN lease.missing IS 'what its work waits for the bank to show; null while nothing is missing';
      COMMENT ON COLUMN lease.missing_since IS 'when just that was first missing';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE lease DROP COLUMN missing, DROP COLUMN missing_since');
  }
}
