import { MigrationInterface, QueryRunner } from 'typeorm';

/** What was asked for is told apart from what is only due again, until somebody has answered it. */
export class RememberWakes1795132827000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE lease ADD COLUMN woken_at timestamptz;
      COMMENT ON COLUMN lease.woken_at IS 'when it was last asked for, until that was answered; null while it is only due again';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE lease DROP COLUMN woken_at');
  }
}
