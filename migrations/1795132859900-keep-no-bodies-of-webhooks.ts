import { MigrationInterface, QueryRunner } from 'typeorm';

/** What the bank delivers may name people, and nobody reads it: by its hash one is known again (rule 11). */
export class KeepNoBodiesOfWebhooks1795132859900 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE webhook_inbox DROP COLUMN body');
    // A dropped column stays in the table's files until they are written anew.
    await db.query(`ALTER TABLE webhook_inbox ALTER COLUMN event TYPE text USING event || ''`);
  }

  /** What was dropped is not to be had again. */
  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE webhook_inbox ADD COLUMN body bytea NOT NULL DEFAULT '';
      ALTER TABLE webhook_inbox ALTER COLUMN body DROP DEFAULT;
    `);
  }
}
