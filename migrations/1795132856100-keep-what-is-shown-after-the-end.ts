import { MigrationInterface, QueryRunner } from 'typeorm';

/** A status nobody documents, shown of a payment that has ended, does not replace its end: it is kept beside it. */
export class KeepWhatIsShownAfterTheEnd1795132856100 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment ADD COLUMN shown_status text;
      COMMENT ON COLUMN bank_payment.shown_status IS
        'as received, of a payment that has ended: an undocumented status that the bank shows instead of its end';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE bank_payment DROP COLUMN shown_status');
  }
}
