import { MigrationInterface, QueryRunner } from 'typeorm';

/** What a list leaves out is read each payment by itself before it is paid again, which the estimate of a run counts. */
export class KnowWhichListsLackPayments1795132859830 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_list ADD COLUMN lacked_at timestamptz;
      COMMENT ON COLUMN bank_list.lacked_at IS
        'when it last lacked payments of an instruction that another read showed; null where it never did';
      GRANT UPDATE (lacked_at) ON bank_list TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE bank_list DROP COLUMN lacked_at');
  }
}
