import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When an instruction was last added to is said by its intents. Written beside them as well, it had two batches of one
 * instruction wait for each other.
 */
export class TimeAddsByIntents1795132834000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE instruction DROP COLUMN last_add_at');
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE instruction ADD COLUMN last_add_at timestamptz;
      UPDATE instruction i SET last_add_at = (SELECT max(a.finished_at) FROM add_intent a
        WHERE a.employer_id = i.employer_id AND a.instruction_id = i.id);
    `);
  }
}
