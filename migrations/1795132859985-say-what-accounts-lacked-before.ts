import { MigrationInterface, QueryRunner } from 'typeorm';

/** What an account was said to lack before it was known as that: what two people decided of it, or read, is no less told. */
export class SayWhatAccountsLackedBefore1795132859985 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      -- The owner, who migrates, sees no row of any employer otherwise.
      ALTER TABLE attention NO FORCE ROW LEVEL SECURITY;
      ALTER TABLE attention DISABLE TRIGGER refuse_change_of_a_resolved_attention;
      UPDATE attention SET lacking_minor = amount_minor
      WHERE kind = 'TOTALS_UNSEEN' AND subject_id = pay_run_id AND lacking_minor IS NULL;
      ALTER TABLE attention ENABLE TRIGGER refuse_change_of_a_resolved_attention;
      ALTER TABLE attention FORCE ROW LEVEL SECURITY;
    `);
  }

  /** What it says stays true. */
  down(): Promise<void> {
    return Promise.resolve();
  }
}
