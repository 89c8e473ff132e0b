import { MigrationInterface, QueryRunner } from 'typeorm';

/** A payment that the bank answers the same way whenever it is added is to be named, not only tried again. */
export class RememberHowDoubtsWereAnswered1795132856800 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment ADD COLUMN add_doubt text;
      COMMENT ON COLUMN bank_payment.add_doubt IS
        'the status with which the bank answered the add, where it says neither that it was done nor that it was not';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE bank_payment DROP COLUMN add_doubt');
  }
}
