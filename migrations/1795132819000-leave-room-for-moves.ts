import { MigrationInterface, QueryRunner } from 'typeorm';

/** A page has room for a second version of each of its rows: the moves of a whole instruction stay on their pages. */
export class LeaveRoomForMoves1795132819000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE payment SET (fillfactor = 45);
      ALTER TABLE bank_payment SET (fillfactor = 45);
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment SET (fillfactor = 70);
      ALTER TABLE payment SET (fillfactor = 60);
    `);
  }
}
