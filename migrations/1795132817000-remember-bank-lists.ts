import { MigrationInterface, QueryRunner } from 'typeorm';

/** How long the bank's lists of payments were last seen to be, shared by all replicas. */
export class RememberBankLists1795132817000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE bank_list (
        list text PRIMARY KEY CHECK (list IN ('PAYMENTS', 'INSTRUCTION_PAYMENTS')),
        row_count integer NOT NULL CHECK (row_count >= 0),
        page_rows integer CHECK (page_rows > 0),
        read_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      COMMENT ON TABLE bank_list IS
        'what the last reading showed: of the general list, over some day, and of one instruction''s payments';
      GRANT SELECT, INSERT ON bank_list TO payrun_app;
      GRANT UPDATE (row_count, page_rows, read_at) ON bank_list TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP TABLE bank_list');
  }
}
