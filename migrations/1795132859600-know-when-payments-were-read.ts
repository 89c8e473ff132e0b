import { MigrationInterface, QueryRunner } from 'typeorm';

/** Charges are known of an ended instruction once all its payments were read after the bank may have booked them. */
export class KnowWhenPaymentsWereRead1795132859600 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE instruction ADD COLUMN payments_read_at timestamptz;
      COMMENT ON COLUMN instruction.payments_read_at IS
        'when the last read after its end began that showed all its payments; null before the first';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE instruction DROP COLUMN payments_read_at');
  }
}
