import { MigrationInterface, QueryRunner } from 'typeorm';

/** Of questions that overlap each record is counted once, by the last decision, and none is lost: words tell only some. */
export class KeepRecordsAskedAbout1795132858700 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention ADD COLUMN records jsonb;
      COMMENT ON COLUMN attention.records IS
        'of what moved besides rows: id and cents of each record; null where no records are asked about, or were not kept yet';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE attention DROP COLUMN records');
  }
}
