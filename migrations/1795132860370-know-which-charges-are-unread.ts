import { MigrationInterface, QueryRunner } from 'typeorm';

/** Charges that the bank shows and nobody can read are no charges of zero: of which payments they are outlasts a read. */
export class KnowWhichChargesAreUnread1795132860370 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment ADD COLUMN charges_unread boolean NOT NULL DEFAULT false;
      COMMENT ON COLUMN bank_payment.charges_unread IS
        'whether the bank has shown charges that cannot be read, and none that can be since';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE bank_payment DROP COLUMN charges_unread');
  }
}
