import { MigrationInterface, QueryRunner } from 'typeorm';

/** A bank may go on with the payments of an instruction that it has ended: then no word of people ends them meanwhile. */
export class KnowThatPaymentsWentOn1795132859740 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE instruction ADD COLUMN went_on_at timestamptz;
      COMMENT ON COLUMN instruction.went_on_at IS
        'when a payment of it was last found a step further though it had been seen to be ended; null where none was';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE instruction DROP COLUMN went_on_at');
  }
}
