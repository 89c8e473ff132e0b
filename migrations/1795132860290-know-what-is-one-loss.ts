import { MigrationInterface, QueryRunner } from 'typeorm';

/** What an account lost once may be of any of several runs, each of which is asked: a month counted it of each. */
export class KnowWhatIsOneLoss1795132860290 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention ADD COLUMN loss jsonb;
      COMMENT ON COLUMN attention.loss IS
        'of which loss of its account it is asked, where other runs are asked of it too; null where none is, or that was not kept yet';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE attention DROP COLUMN loss');
  }
}
