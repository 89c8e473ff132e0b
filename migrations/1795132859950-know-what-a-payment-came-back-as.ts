import { MigrationInterface, QueryRunner } from 'typeorm';

/** A record that names the payment it brings back is asked about by nobody, and none that names no payment brought it. */
export class KnowWhatAPaymentCameBackAs1795132859950 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment ADD COLUMN came_back_as text;
      COMMENT ON COLUMN bank_payment.came_back_as IS
        'the id of the record of money that came in and names this payment; null while none was seen';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE bank_payment DROP COLUMN came_back_as');
  }
}
