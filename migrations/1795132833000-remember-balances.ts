import { MigrationInterface, QueryRunner } from 'typeorm';

/** What an account had before a run was submitted, to be compared once with what it has when the run has ended. */
export class RememberBalances1795132833000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_run ADD COLUMN balance_before_minor bigint, ADD COLUMN balance_read_at timestamptz,
        ADD CONSTRAINT balance_has_its_time CHECK ((balance_before_minor IS NULL) = (balance_read_at IS NULL));
      COMMENT ON COLUMN pay_run.balance_before_minor IS
        'of the account, as the bank showed it at the run gate; null again once it was compared';
      GRANT UPDATE (balance_before_minor, balance_read_at) ON pay_run TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE pay_run DROP COLUMN balance_before_minor, DROP COLUMN balance_read_at');
  }
}
