import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Where the cut-off passes while an instruction is built again in mid-run, it is released as a verified one is: else
 * its run could neither go on nor end.
 */
export class ReleaseWhatIsNotBuilt1795132847000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`INSERT INTO allowed_move VALUES ('instruction', 'BUILDING', 'RELEASED')`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(
      `DELETE FROM allowed_move WHERE subject = 'instruction' AND from_status = 'BUILDING' AND to_status = 'RELEASED'`,
    );
  }
}
