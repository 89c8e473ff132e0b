import { MigrationInterface, QueryRunner } from 'typeorm';

/** After a restore the service itself withdraws what nobody used, since it may have been withdrawn before. */
export class WithdrawReleasesAfterARestore1795132859200 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_release DROP CONSTRAINT withdrawal_has_person_and_reason,
        ADD CONSTRAINT withdrawal_has_reason CHECK (num_nulls(withdrawn_at, withdrawn_reason) IN (0, 2)
          AND (withdrawn_by IS NULL OR withdrawn_at IS NOT NULL))
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_release DROP CONSTRAINT withdrawal_has_reason,
        ADD CONSTRAINT withdrawal_has_person_and_reason
          CHECK (num_nulls(withdrawn_at, withdrawn_by, withdrawn_reason) IN (0, 3)) NOT VALID
    `);
  }
}
