import { MigrationInterface, QueryRunner } from 'typeorm';

/** The hooks this service made at the bank and where they deliver to, and the bank's events that concern no employer. */
export class RememberHooksAndEvents1795132816000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE hook_address (
        url text PRIMARY KEY,
        declared_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      COMMENT ON TABLE hook_address IS
        'every address this service ever had the bank deliver to; the one declared last is the current one';
      CREATE TABLE hook_subscription (
        bank_hook_id text PRIMARY KEY,
        url text,
        shown_as text,
        events text[] NOT NULL DEFAULT '{}',
        subscribed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        ended_at timestamptz
      );
      COMMENT ON COLUMN hook_subscription.shown_as IS 'the address as the bank gives it; null: from before it was kept';
      COMMENT ON COLUMN hook_subscription.ended_at IS 'when its end was first asked for';
      ALTER TABLE bank_hook NO FORCE ROW LEVEL SECURITY;
      INSERT INTO hook_subscription (bank_hook_id, subscribed_at)
        SELECT bank_hook_id, min(associated_at) FROM bank_hook GROUP BY bank_hook_id;
      ALTER TABLE bank_hook FORCE ROW LEVEL SECURITY;
      GRANT SELECT, INSERT ON hook_address, hook_subscription TO payrun_app;
      GRANT UPDATE (declared_at) ON hook_address TO payrun_app;
      GRANT UPDATE (url, shown_as, events, subscribed_at, ended_at) ON hook_subscription TO payrun_app;
      GRANT SELECT (bank_hook_id, subscribed_at) ON hook_subscription TO payrun_worker;
      CREATE POLICY every_employer ON bank_hook FOR SELECT TO payrun_worker USING (true);
      GRANT SELECT (employer_id, bank_hook_id, bank_identity_id, associated_at, removed_at)
        ON bank_hook TO payrun_worker;

      CREATE TABLE installation_event (
        id uuid PRIMARY KEY,
        body_hash bytea NOT NULL UNIQUE CHECK (octet_length(body_hash) = 32),
        event text NOT NULL CHECK (length(event) BETWEEN 1 AND 100),
        times integer NOT NULL DEFAULT 1,
        first_received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        last_received_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      COMMENT ON TABLE installation_event IS
        'events that concern no employer; one row for the same bytes, however often they came';
      CREATE INDEX installation_event_by_time ON installation_event (last_received_at, id);
      GRANT SELECT, INSERT ON installation_event TO payrun_app;
      GRANT UPDATE (times, last_received_at) ON installation_event TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TABLE installation_event;
      REVOKE SELECT (employer_id, bank_hook_id, bank_identity_id, associated_at, removed_at)
        ON bank_hook FROM payrun_worker;
      DROP POLICY every_employer ON bank_hook;
      DROP TABLE hook_subscription, hook_address;
    `);
  }
}
