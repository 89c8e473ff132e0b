import { MigrationInterface, QueryRunner } from 'typeorm';

/** What people decided of a lack is another question once the account lacked nothing in between. */
export class KnowWhenAccountsLackedNothing1795132859987 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_run ADD COLUMN balance_even_at timestamptz;
      COMMENT ON COLUMN pay_run.balance_even_at IS
        'when its account was last found to lack nothing, while it is still compared; null where it never was';
      GRANT UPDATE (balance_even_at) ON pay_run TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE pay_run DROP COLUMN balance_even_at');
  }
}
