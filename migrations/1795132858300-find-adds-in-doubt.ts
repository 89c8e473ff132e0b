import { MigrationInterface, QueryRunner } from 'typeorm';

/** Before each instruction is filled it is asked which others of its run were filled in vain: few rows of very many. */
export class FindAddsInDoubt1795132858300 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      `CREATE INDEX bank_payment_in_doubt ON bank_payment (employer_id, instruction_id) WHERE add_outcome = 'IN_DOUBT'`,
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP INDEX bank_payment_in_doubt');
  }
}
