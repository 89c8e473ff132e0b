import { MigrationInterface, QueryRunner } from 'typeorm';

/** An employer whose events were switched off stays without them when the service starts again. */
export class RememberRemovedHooks1795132807000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`ALTER TABLE bank_hook ADD COLUMN removed_at timestamptz`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`ALTER TABLE bank_hook DROP COLUMN removed_at`);
  }
}
