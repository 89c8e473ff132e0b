import { MigrationInterface, QueryRunner } from 'typeorm';

/** Pay of which nobody has a record is held against as late a month as the bank executes it in. */
export class KnowDatesOfForgottenDebits1795132860200 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE forgotten_debit ADD COLUMN execution_date date;
      COMMENT ON COLUMN forgotten_debit.execution_date IS 'as the bank showed it; null where it did not';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE forgotten_debit DROP COLUMN execution_date');
  }
}
