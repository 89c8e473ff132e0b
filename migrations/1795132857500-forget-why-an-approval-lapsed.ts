import { MigrationInterface, QueryRunner } from 'typeorm';

/** A run that is to be approved, or was approved anew, waits for nothing that its last approval lacked. */
export class ForgetWhyAnApprovalLapsed1795132857500 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      -- The owner, who migrates, sees no row of any employer otherwise.
      ALTER TABLE pay_run NO FORCE ROW LEVEL SECURITY;
      UPDATE pay_run SET lapse_reason = NULL WHERE status IN ('READY', 'APPROVED') AND lapse_reason IS NOT NULL;
      ALTER TABLE pay_run FORCE ROW LEVEL SECURITY;
      ALTER TABLE pay_run ADD CONSTRAINT lapse_is_over_once_ready CHECK (status <> 'READY' OR lapse_reason IS NULL);
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE pay_run DROP CONSTRAINT lapse_is_over_once_ready');
  }
}
