import { MigrationInterface, QueryRunner } from 'typeorm';

/** How gently an instruction is filled goes by adds that were refused, too. */
export class FindAddsNotTaken1795132860090 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('DROP INDEX bank_payment_in_doubt');
    await db.query(
      `CREATE INDEX bank_payment_not_taken ON bank_payment (employer_id, instruction_id)
       WHERE add_outcome IN ('IN_DOUBT', 'REFUSED')`,
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP INDEX bank_payment_not_taken');
    await db.query(
      `CREATE INDEX bank_payment_in_doubt ON bank_payment (employer_id, instruction_id) WHERE add_outcome = 'IN_DOUBT'`,
    );
  }
}
