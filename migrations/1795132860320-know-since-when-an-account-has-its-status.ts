import { MigrationInterface, QueryRunner } from 'typeorm';

/** What was decided of a blocked account says nothing of one that is blocked again. */
export class KnowSinceWhenAnAccountHasItsStatus1795132860320 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE employer_account ADD COLUMN bank_status_at timestamptz;
      COMMENT ON COLUMN employer_account.bank_status_at IS
        'when another bank_status was kept last; null where none was since it was attached, or since this was kept';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE employer_account DROP COLUMN bank_status_at');
  }
}
