import { MigrationInterface, QueryRunner } from 'typeorm';

/** An employer that a restored database has forgotten, with its runs, is made again later, and has no record of its own. */
export class HoldEmployersMadeAgain1795132858600 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE database_restore ADD COLUMN bank_read_at timestamptz;
      COMMENT ON COLUMN database_restore.bank_read_at IS
        'when the bank showed its list to the end: what the database did not know of it is in forgotten_debit';
      UPDATE database_restore SET bank_read_at = told_at;
      GRANT UPDATE (bank_read_at) ON database_restore TO payrun_app;
      CREATE TABLE forgotten_debit (
        restore_id uuid NOT NULL REFERENCES database_restore,
        bank_instruction_id text NOT NULL,
        debtor_hash bytea,
        found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (restore_id, bank_instruction_id)
      );
      COMMENT ON TABLE forgotten_debit IS
        'submitted at the bank, or perhaps, and in no record: held against employers that are made after the restore';
      COMMENT ON COLUMN forgotten_debit.debtor_hash IS 'of the IBAN that it debits; null where the bank does not show that';
      GRANT SELECT, INSERT ON forgotten_debit TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP TABLE forgotten_debit; ALTER TABLE database_restore DROP COLUMN bank_read_at');
  }
}
