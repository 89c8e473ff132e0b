import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Of the indexes that could serve a search by id only the primary key begins with the employer. Where statistics are
 * missing or old, as after an upload, a second one looks as good, and a foreign key's check that uses it reads all rows
 * of the employer for each row it checks, as long as its connection lives.
 */
export class FindRowsByKey1795132821000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE payment ADD CONSTRAINT one_payment_per_row_of_a_run UNIQUE (pay_run_id, employer_id, row_no),
        DROP CONSTRAINT payment_employer_id_pay_run_id_row_no_key;
      ALTER TABLE instruction
        ADD CONSTRAINT one_instruction_per_attempt UNIQUE (planned_instruction_id, employer_id, attempt),
        DROP CONSTRAINT instruction_employer_id_planned_instruction_id_attempt_key;
      DROP INDEX instruction_by_run;
      CREATE INDEX instruction_by_run ON instruction (pay_run_id, employer_id);
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP INDEX instruction_by_run;
      CREATE INDEX instruction_by_run ON instruction (employer_id, pay_run_id);
      ALTER TABLE instruction ADD UNIQUE (employer_id, planned_instruction_id, attempt),
        DROP CONSTRAINT one_instruction_per_attempt;
      ALTER TABLE payment ADD UNIQUE (employer_id, pay_run_id, row_no),
        DROP CONSTRAINT one_payment_per_row_of_a_run;
    `);
  }
}
