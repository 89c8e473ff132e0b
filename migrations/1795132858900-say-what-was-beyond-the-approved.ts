import { MigrationInterface, QueryRunner } from 'typeorm';

/** What two people let go on, though the bank executed more or less than was approved, stays in the report with its amount. */
export class SayWhatWasBeyondTheApproved1795132858900 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention ADD COLUMN beyond_payments integer, ADD COLUMN beyond_minor bigint,
        ADD CONSTRAINT attention_beyond_whole CHECK ((beyond_payments IS NULL) = (beyond_minor IS NULL));
      COMMENT ON COLUMN attention.beyond_payments IS
        'what the bank shows, or seems to have paid, beyond the approved payments; negative where it is less; null where that is not asked about, or is not known';
      COMMENT ON COLUMN attention.beyond_minor IS 'the same in cents';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE attention DROP COLUMN beyond_payments, DROP COLUMN beyond_minor');
  }
}
