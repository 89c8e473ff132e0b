import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A payment that has ended and is shown as it stood before may be read stale once; what is shown so later than any read
 * can be old contradicts its end.
 */
export class RememberWhatIsShownBehindAnEnd1795132856500 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment ADD COLUMN behind_since timestamptz;
      COMMENT ON COLUMN bank_payment.behind_since IS
        'when the bank first showed a payment that has ended as it stood before its end';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE bank_payment DROP COLUMN behind_since');
  }
}
