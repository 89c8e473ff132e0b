import { MigrationInterface, QueryRunner } from 'typeorm';

/** What a check after a restore was shown is told by a later pass of it, too, of which the bank shows less. */
export class KnowHowMuchWasForgotten1795132860610 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE forgotten_instruction ADD COLUMN payments integer;
      COMMENT ON COLUMN forgotten_instruction.payments IS
        'how many payments of it the bank showed when it was found; null where that was not kept';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE forgotten_instruction DROP COLUMN payments');
  }
}
