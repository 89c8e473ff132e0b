import { MigrationInterface, QueryRunner } from 'typeorm';

/** The worker's role counts what is open, for the metrics: kinds, states and times, and nothing of whom. */
export class CountOpenWork1795132826000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE POLICY every_employer ON attention FOR SELECT TO payrun_worker USING (true);
      GRANT SELECT (kind, opened_at, resolved_at) ON attention TO payrun_worker;
      CREATE POLICY every_employer ON pay_run FOR SELECT TO payrun_worker USING (true);
      GRANT SELECT (status) ON pay_run TO payrun_worker;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      REVOKE SELECT (status) ON pay_run FROM payrun_worker;
      DROP POLICY every_employer ON pay_run;
      REVOKE SELECT (kind, opened_at, resolved_at) ON attention FROM payrun_worker;
      DROP POLICY every_employer ON attention;
    `);
  }
}
