import { MigrationInterface, QueryRunner } from 'typeorm';

/** What was asked of the work list by a clock that was ahead is known as such once it was put right. */
export class KnowWhenLeasesWereWritten1795132860350 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE lease ADD COLUMN written_at timestamptz NOT NULL DEFAULT now();
      COMMENT ON COLUMN lease.written_at IS
        'the latest time by which it was written: one that is still to come was told by a clock that was put right since';
      CREATE INDEX lease_by_writing ON lease (written_at);
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE lease DROP COLUMN written_at');
  }
}
