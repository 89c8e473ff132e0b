import { MigrationInterface, QueryRunner } from 'typeorm';

/** What is built has places of its own among the work on instructions, and is told apart at every claim. */
export class FindWhatIsBuilt1795132857000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      `CREATE INDEX instruction_being_built ON instruction (id) WHERE status IN ('PLANNED', 'BUILDING')`,
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP INDEX instruction_being_built');
  }
}
