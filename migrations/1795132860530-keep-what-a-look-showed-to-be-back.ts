import { MigrationInterface, QueryRunner } from 'typeorm';

/** A look before a repay may show that less came back than is known: another read need not show it. */
export class KeepWhatALookShowedToBeBack1795132860530 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE moved_payment ADD COLUMN back_minor bigint;
      COMMENT ON COLUMN moved_payment.back_minor IS
        'the least that a look has shown as returned, where that was less than was known to be back; null where none did';
      GRANT UPDATE (back_minor) ON moved_payment TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE moved_payment DROP COLUMN back_minor');
  }
}
