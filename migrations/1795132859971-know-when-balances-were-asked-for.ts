import { MigrationInterface, QueryRunner } from 'typeorm';

/** A balance shows what ended longer before it was asked for than a read can be old, however late its answer came. */
export class KnowWhenBalancesWereAskedFor1795132859971 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_run ADD COLUMN balance_asked_at timestamptz;
      COMMENT ON COLUMN pay_run.balance_asked_at IS
        'when the balance at the run gate was asked for; null where it is not compared, or was read before this was kept';
      GRANT UPDATE (balance_asked_at) ON pay_run TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE pay_run DROP COLUMN balance_asked_at');
  }
}
