import { MigrationInterface, QueryRunner } from 'typeorm';

/** While a payment is shown otherwise than it was sent, no sum over what was sent explains it, whatever people decide. */
export class RememberWhatIsShownOtherwise1795132856900 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment ADD COLUMN shown_otherwise text;
      COMMENT ON COLUMN bank_payment.shown_otherwise IS
        'the fields, by commas, that the bank has shown after the submit otherwise than they were sent; null once as sent';
      CREATE INDEX bank_payment_shown_otherwise ON bank_payment (employer_id, instruction_id)
        WHERE shown_otherwise IS NOT NULL;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE bank_payment DROP COLUMN shown_otherwise');
  }
}
