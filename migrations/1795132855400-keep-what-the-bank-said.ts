import { MigrationInterface, QueryRunner } from 'typeorm';

/** The bank's words on a refusal may name a person: apart from what happened, which everybody reads. */
export class KeepWhatTheBankSaid1795132855400 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention ADD bank_words text;
      COMMENT ON COLUMN attention.bank_words IS
        'the bank''s own words on a refusal, masked; for whoever may see payments';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE attention DROP bank_words');
  }
}
