import { MigrationInterface, QueryRunner } from 'typeorm';

/** Whoever funds the account needs to know by how much. */
export class SayWhatABalanceLacks1795132856700 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention ADD COLUMN lacking_minor bigint;
      COMMENT ON COLUMN attention.lacking_minor IS
        'by how much the available balance fell short when it was asked, charges to be expected included';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE attention DROP COLUMN lacking_minor');
  }
}
