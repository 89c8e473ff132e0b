import { MigrationInterface, QueryRunner } from 'typeorm';

/** Payments that came back are few, and every upload asks for those of its employees. */
export class FindReturnedPayments1795132851100 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE INDEX returned_payment_by_employee ON payment (employer_id, period, kind_of_pay, employee_id)
        WHERE returned_at IS NOT NULL`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP INDEX returned_payment_by_employee');
  }
}
