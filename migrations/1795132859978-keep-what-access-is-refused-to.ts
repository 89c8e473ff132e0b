import { MigrationInterface, QueryRunner } from 'typeorm';

/** One question tells of all that the bank refuses an employer: its text alone did not say which refusal is of which run. */
export class KeepWhatAccessIsRefusedTo1795132859978 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention ADD COLUMN refusals jsonb;
      COMMENT ON COLUMN attention.refusals IS
        'of access that the bank refuses: run and instruction of each refusal, and how it is told; null where that is not asked about, or was not kept yet';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE attention DROP COLUMN refusals');
  }
}
