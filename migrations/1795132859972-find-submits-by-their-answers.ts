import { MigrationInterface, QueryRunner } from 'typeorm';

/** What the bank answered to the last submits of an employer, each time one is turned away: not by reading all calls there were. */
export class FindSubmitsByTheirAnswers1795132859972 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      `CREATE INDEX bank_call_submit_answered ON bank_call (employer_id, outcome, finished_at) WHERE operation = 'submit'`,
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP INDEX bank_call_submit_answered');
  }
}
