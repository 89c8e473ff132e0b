import { MigrationInterface, QueryRunner } from 'typeorm';

/** After a restore the bank's list is believed to lack nothing where it was seen to show what is not submitted, too. */
export class KnowThatWhatIsNotSubmittedIsListed1795132860280 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_list ADD COLUMN unsubmitted_shown_at timestamptz;
      COMMENT ON COLUMN bank_list.unsubmitted_shown_at IS
        'when it last showed a payment of ours that was not submitted; null where it was never seen to';
      GRANT UPDATE (unsubmitted_shown_at) ON bank_list TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE bank_list DROP COLUMN unsubmitted_shown_at');
  }
}
