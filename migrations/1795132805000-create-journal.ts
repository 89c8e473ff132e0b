import { MigrationInterface, QueryRunner } from 'typeorm';

/** What happened: state changes, intents of other calls, audit, attention, webhook inbox, idempotency keys. */
export class CreateJournal1795132805000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE fact_sequence (
        employer_id uuid PRIMARY KEY REFERENCES employer,
        last_seq bigint NOT NULL DEFAULT 0
      );
      COMMENT ON TABLE fact_sequence IS 'row lock held to the commit: the order of seq is the order of commits';

      CREATE TABLE state_change (
        employer_id uuid NOT NULL,
        seq bigint NOT NULL,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        subject text NOT NULL CHECK (subject IN ('pay_run', 'instruction', 'payment', 'payments_of_run',
          'payments_of_instruction')),
        subject_id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        from_status text NOT NULL,
        to_status text NOT NULL,
        payments integer NOT NULL DEFAULT 0,
        amount_minor bigint NOT NULL DEFAULT 0,
        actor text NOT NULL,
        reason text,
        PRIMARY KEY (employer_id, seq, at)
      ) PARTITION BY RANGE (at);
      CREATE INDEX state_change_by_run ON state_change (employer_id, pay_run_id, seq);
      CREATE FUNCTION refuse_rewriting_the_past() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
          USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
      END $$;
      CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON state_change
        FOR EACH ROW EXECUTE FUNCTION refuse_rewriting_the_past();
      CREATE TRIGGER never_emptied BEFORE TRUNCATE ON state_change
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_the_past();

      CREATE TABLE bank_call (
        employer_id uuid NOT NULL,
        id uuid NOT NULL,
        intended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        operation text NOT NULL CHECK (operation IN ('initiate', 'submit', 'delete')),
        instruction_id uuid NOT NULL,
        target text NOT NULL,
        body_hash bytea NOT NULL,
        attempt integer NOT NULL,
        epoch bigint NOT NULL,
        outcome text CHECK (outcome IN ('YES', 'NO', 'IN_DOUBT')),
        outcome_detail text,
        finished_at timestamptz,
        PRIMARY KEY (employer_id, id, intended_at)
      ) PARTITION BY RANGE (intended_at);
      CREATE INDEX bank_call_by_instruction ON bank_call (employer_id, instruction_id);

      CREATE TABLE webhook_inbox (
        id uuid NOT NULL,
        received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        body_hash bytea NOT NULL,
        event text NOT NULL,
        body bytea NOT NULL,
        matched integer NOT NULL DEFAULT 0,
        PRIMARY KEY (id, received_at)
      ) PARTITION BY RANGE (received_at);
      CREATE INDEX webhook_inbox_by_hash ON webhook_inbox (body_hash, received_at);

      CREATE FUNCTION ensure_month_partitions(first_month date, months integer) RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      DECLARE
        parent text; start date; part text; made integer := 0;
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('ensure_month_partitions'));
        FOREACH parent IN ARRAY ARRAY['state_change', 'bank_call', 'webhook_inbox'] LOOP
          FOR n IN 0 .. least(months, 24) - 1 LOOP
            start := (date_trunc('month', first_month) + make_interval(months => n))::date;
            part := parent || '_' || to_char(start, 'YYYYMM');
            IF to_regclass('public.' || part) IS NULL THEN
              EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', part, parent,
                start::timestamp AT TIME ZONE 'UTC', (start + interval '1 month') AT TIME ZONE 'UTC');
              -- A trigger on rows comes with the parent, one on TRUNCATE does not.
              IF parent = 'state_change' THEN
                EXECUTE format('CREATE TRIGGER never_emptied BEFORE TRUNCATE ON %I FOR EACH STATEMENT '
                  'EXECUTE FUNCTION refuse_rewriting_the_past()', part);
              END IF;
              made := made + 1;
            END IF;
          END LOOP;
        END LOOP;
        RETURN made;
      END $$;
      SELECT ensure_month_partitions(current_date, 3);
      CREATE TABLE state_change_rest PARTITION OF state_change DEFAULT;
      CREATE TRIGGER never_emptied BEFORE TRUNCATE ON state_change_rest
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_the_past();
      CREATE TABLE bank_call_rest PARTITION OF bank_call DEFAULT;
      CREATE TABLE webhook_inbox_rest PARTITION OF webhook_inbox DEFAULT;

      CREATE TABLE audit_head (
        chain_id uuid PRIMARY KEY,
        last_seq bigint NOT NULL DEFAULT 0,
        last_hash bytea NOT NULL CHECK (octet_length(last_hash) = 32)
      );
      CREATE TABLE audit_entry (
        chain_id uuid NOT NULL,
        seq bigint NOT NULL,
        at timestamptz NOT NULL,
        person_id uuid REFERENCES person,
        action text NOT NULL,
        subject text NOT NULL,
        detail jsonb NOT NULL,
        previous_hash bytea NOT NULL CHECK (octet_length(previous_hash) = 32),
        entry_hash bytea NOT NULL CHECK (octet_length(entry_hash) = 32),
        PRIMARY KEY (chain_id, seq)
      );
      COMMENT ON COLUMN audit_entry.chain_id IS 'the employer; the nil uuid for what concerns the installation';
      CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_entry
        FOR EACH ROW EXECUTE FUNCTION refuse_rewriting_the_past();
      CREATE TRIGGER never_emptied BEFORE TRUNCATE ON audit_entry
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_the_past();

      CREATE TABLE attention (
        employer_id uuid NOT NULL REFERENCES employer,
        id uuid NOT NULL,
        kind text NOT NULL,
        pay_run_id uuid,
        instruction_id uuid,
        payment_id uuid,
        subject_id uuid NOT NULL,
        happened text NOT NULL,
        certain text NOT NULL,
        ask_bank text NOT NULL,
        payments integer NOT NULL DEFAULT 0,
        amount_minor bigint NOT NULL DEFAULT 0,
        opened_at timestamptz NOT NULL DEFAULT now(),
        resolved_at timestamptz,
        resolution text,
        PRIMARY KEY (employer_id, id),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run,
        FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction,
        FOREIGN KEY (employer_id, payment_id) REFERENCES payment,
        CHECK ((resolved_at IS NULL) = (resolution IS NULL))
      );
      CREATE UNIQUE INDEX one_open_attention_per_kind_and_subject
        ON attention (employer_id, kind, subject_id) WHERE resolved_at IS NULL;
      CREATE FUNCTION refuse_change_of_a_resolved_attention() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'what was resolved stays as it was resolved; a new doubt is a new attention'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'resolved_for_good';
      END $$;
      CREATE TRIGGER refuse_change_of_a_resolved_attention BEFORE UPDATE ON attention
        FOR EACH ROW WHEN (OLD.resolved_at IS NOT NULL AND NEW IS DISTINCT FROM OLD)
        EXECUTE FUNCTION refuse_change_of_a_resolved_attention();

      CREATE TABLE attention_action (
        employer_id uuid NOT NULL,
        id uuid NOT NULL,
        attention_id uuid NOT NULL,
        action text NOT NULL,
        reason text NOT NULL CHECK (length(reason) BETWEEN 3 AND 500),
        evidence text,
        proposed_by uuid NOT NULL REFERENCES person,
        proposed_at timestamptz NOT NULL DEFAULT now(),
        confirmed_by uuid REFERENCES person,
        confirmed_at timestamptz,
        withdrawn_at timestamptz,
        PRIMARY KEY (employer_id, id),
        FOREIGN KEY (employer_id, attention_id) REFERENCES attention,
        CONSTRAINT two_people CHECK (confirmed_by IS NULL OR confirmed_by <> proposed_by),
        CHECK ((confirmed_by IS NULL) = (confirmed_at IS NULL))
      );
      CREATE UNIQUE INDEX one_open_action_per_attention ON attention_action (employer_id, attention_id)
        WHERE confirmed_at IS NULL AND withdrawn_at IS NULL;

      CREATE TABLE idempotency_key (
        employer_id uuid NOT NULL,
        person_id uuid NOT NULL REFERENCES person,
        key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
        fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
        response_status smallint,
        response_body jsonb,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, person_id, key)
      );
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TABLE idempotency_key, attention_action, attention, audit_entry, audit_head, webhook_inbox, bank_call,
        state_change, fact_sequence;
      DROP FUNCTION refuse_rewriting_the_past, refuse_change_of_a_resolved_attention, ensure_month_partitions;
    `);
  }
}
