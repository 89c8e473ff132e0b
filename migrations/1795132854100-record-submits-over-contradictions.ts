import { MigrationInterface, QueryRunner } from 'typeorm';

/** What the bank shows as submitted is written down after the fact, whatever it contradicts: only a submit is refused. */
export class RecordSubmitsOverContradictions1795132854100 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_submit_over_contradiction ON submit_attempt;
      CREATE TRIGGER refuse_submit_over_contradiction BEFORE INSERT ON submit_attempt
        FOR EACH ROW WHEN (NEW.outcome IS DISTINCT FROM 'EXECUTED') EXECUTE FUNCTION refuse_submit_over_contradiction();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_submit_over_contradiction ON submit_attempt;
      CREATE TRIGGER refuse_submit_over_contradiction BEFORE INSERT ON submit_attempt
        FOR EACH ROW EXECUTE FUNCTION refuse_submit_over_contradiction();
    `);
  }
}
