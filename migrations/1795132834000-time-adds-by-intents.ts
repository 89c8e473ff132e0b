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
    // Forced row-level security would keep every row from the owner as well.
    await db.query(`
      ALTER TABLE instruction ADD COLUMN last_add_at timestamptz, NO FORCE ROW LEVEL SECURITY;
      ALTER TABLE add_intent NO FORCE ROW LEVEL SECURITY;
      UPDATE instruction i SET last_add_at = (SELECT max(coalesce(a.finished_at, a.intended_at)) FROM add_intent a
        WHERE a.employer_id = i.employer_id AND a.instruction_id = i.id);
      ALTER TABLE add_intent FORCE ROW LEVEL SECURITY;
      ALTER TABLE instruction FORCE ROW LEVEL SECURITY;
    `);
  }
}
