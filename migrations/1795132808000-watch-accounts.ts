import { MigrationInterface, QueryRunner } from 'typeorm';

/** The bank's events as each employer may see them, work on accounts, and the intents of opening and closing one. */
export class WatchAccounts1795132808000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE lease DROP CONSTRAINT lease_kind_check;
      ALTER TABLE lease ADD CONSTRAINT lease_kind_check
        CHECK (kind IN ('RUN', 'INSTRUCTION', 'FOLLOW', 'ACCOUNT'));
      ALTER TABLE bank_call DROP CONSTRAINT bank_call_operation_check;
      ALTER TABLE bank_call ADD CONSTRAINT bank_call_operation_check
        CHECK (operation IN ('initiate', 'submit', 'delete', 'open_account', 'close_account'));
      COMMENT ON COLUMN bank_call.instruction_id IS
        'what the call is about: the instruction, the probe, or the account to be opened or closed';

      CREATE TABLE bank_event (
        employer_id uuid NOT NULL REFERENCES employer,
        id uuid NOT NULL,
        body_hash bytea NOT NULL CHECK (octet_length(body_hash) = 32),
        event text NOT NULL CHECK (length(event) BETWEEN 1 AND 100),
        account_ids uuid[] NOT NULL DEFAULT '{}',
        times integer NOT NULL DEFAULT 1,
        first_received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        last_received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (employer_id, id),
        UNIQUE (employer_id, body_hash)
      );
      COMMENT ON TABLE bank_event IS 'one row for the same bytes, however often they came';
      CREATE INDEX bank_event_by_time ON bank_event (employer_id, last_received_at, id);
      ALTER TABLE bank_event ENABLE ROW LEVEL SECURITY;
      ALTER TABLE bank_event FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_employer ON bank_event TO payrun_app
        USING (employer_id = (SELECT current_employer()))
        WITH CHECK (employer_id = (SELECT current_employer()));
      GRANT SELECT, INSERT ON bank_event TO payrun_app;
      GRANT UPDATE (times, last_received_at) ON bank_event TO payrun_app;

      CREATE INDEX employer_account_by_bank_user ON employer_account (bank_user_id);
      CREATE INDEX employer_account_by_iban ON employer_account (iban_hash);
      GRANT SELECT (iban_hash) ON employer_account TO payrun_worker;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      REVOKE SELECT (iban_hash) ON employer_account FROM payrun_worker;
      DROP INDEX employer_account_by_bank_user, employer_account_by_iban;
      DROP TABLE bank_event;
      COMMENT ON COLUMN bank_call.instruction_id IS NULL;
      ALTER TABLE bank_call NO FORCE ROW LEVEL SECURITY;
      DELETE FROM bank_call WHERE operation IN ('open_account', 'close_account');
      ALTER TABLE bank_call FORCE ROW LEVEL SECURITY;
      ALTER TABLE bank_call DROP CONSTRAINT bank_call_operation_check;
      ALTER TABLE bank_call ADD CONSTRAINT bank_call_operation_check
        CHECK (operation IN ('initiate', 'submit', 'delete'));
      DELETE FROM lease WHERE kind = 'ACCOUNT';
      ALTER TABLE lease DROP CONSTRAINT lease_kind_check;
      ALTER TABLE lease ADD CONSTRAINT lease_kind_check CHECK (kind IN ('RUN', 'INSTRUCTION', 'FOLLOW'));
    `);
  }
}
