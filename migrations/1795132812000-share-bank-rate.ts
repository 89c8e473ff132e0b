import { MigrationInterface, QueryRunner } from 'typeorm';

/** The rate of requests to the bank, shared by all replicas. */
export class ShareBankRate1795132812000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE bank_rate (
        id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
        learned_per_minute integer CHECK (learned_per_minute > 0),
        learned_at timestamptz,
        next_due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        paused_until timestamptz NOT NULL DEFAULT clock_timestamp(),
        CHECK ((learned_per_minute IS NULL) = (learned_at IS NULL))
      );
      COMMENT ON TABLE bank_rate IS 'one row: a service has one bank, and all replicas share its limit';
      INSERT INTO bank_rate DEFAULT VALUES;
      GRANT SELECT ON bank_rate TO payrun_app;
      GRANT UPDATE (learned_per_minute, learned_at, next_due_at, paused_until) ON bank_rate TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`DROP TABLE bank_rate`);
  }
}
