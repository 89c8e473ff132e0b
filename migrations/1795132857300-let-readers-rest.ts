import { MigrationInterface, QueryRunner } from 'typeorm';

/** What a webhook wakes is taken up again no sooner than the last reading of it has rested. */
export class LetReadersRest1795132857300 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE lease ADD COLUMN rest_until timestamptz;
      COMMENT ON COLUMN lease.rest_until IS 'until then no event from outside brings the work forward';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE lease DROP COLUMN rest_until');
  }
}
