import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What pays the employee in a later place as a row comes is kept with the hold of the row: it was taken for pay that came
 * since, so that a bonus which ended unpaid, and came again above a limit, could not be paid beside later expenses.
 */
export class KeepTheLaterPayThatAHeldRowCameBeside1795132860660 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_hold ADD COLUMN later_payment_ids uuid[];
      COMMENT ON COLUMN pay_hold.later_payment_ids IS 'what other runs paid the employee in later places than that of the row,
        by the same kind of pay and period, when it came as further pay';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE pay_hold DROP COLUMN later_payment_ids');
  }
}
