import { MigrationInterface, QueryRunner } from 'typeorm';

/** What a restore found in a status that no document names may be executed on its date, and is watched until after that. */
export class KnowDatesOfWhatWasForgotten1795132860070 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE forgotten_instruction ADD COLUMN execution_date date;
      COMMENT ON COLUMN forgotten_instruction.execution_date IS 'as the bank showed it; null where it did not';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE forgotten_instruction DROP COLUMN execution_date');
  }
}
