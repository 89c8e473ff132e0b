import { MigrationInterface, QueryRunner } from 'typeorm';

/** Pay files, pay runs with their versions and approvals, schedule periods and payments. */
export class CreatePayRuns1795132803000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE DOMAIN pay_period AS text CHECK (VALUE ~ '^[0-9]{4}-(0[1-9]|1[0-2])$');
      CREATE DOMAIN amount_minor AS bigint CHECK (VALUE BETWEEN 0 AND 9000000000000000);

      CREATE TABLE pay_run (
        employer_id uuid NOT NULL REFERENCES employer,
        id uuid NOT NULL,
        account_id uuid NOT NULL,
        period pay_period NOT NULL,
        kind_of_pay text NOT NULL CHECK (length(kind_of_pay) BETWEEN 1 AND 35),
        execution_date date NOT NULL,
        submit_at timestamptz,
        schedule_id uuid,
        sequence integer NOT NULL DEFAULT 0 CHECK (sequence >= 0),
        parent_run_id uuid,
        status text NOT NULL,
        run_version integer NOT NULL DEFAULT 1 CHECK (run_version >= 1),
        row_count integer NOT NULL CHECK (row_count >= 0),
        total_minor amount_minor NOT NULL,
        currency text NOT NULL CHECK (currency = 'EUR'),
        exponent smallint NOT NULL DEFAULT 2 CHECK (exponent = 2),
        root_hash bytea,
        stopped_at timestamptz,
        stopped_reason text,
        lapse_reason text,
        revision bigint NOT NULL DEFAULT 1,
        created_by uuid NOT NULL REFERENCES person,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, id),
        FOREIGN KEY (employer_id, account_id) REFERENCES employer_account,
        FOREIGN KEY (employer_id, schedule_id) REFERENCES pay_schedule,
        FOREIGN KEY (employer_id, parent_run_id) REFERENCES pay_run,
        CHECK ((sequence = 0) OR parent_run_id IS NOT NULL),
        CHECK ((stopped_at IS NULL) = (stopped_reason IS NULL))
      );
      CREATE UNIQUE INDEX one_run_per_schedule_period_and_sequence
        ON pay_run (employer_id, schedule_id, period, sequence)
        WHERE schedule_id IS NOT NULL AND status <> 'CANCELLED';

      CREATE TABLE schedule_period (
        employer_id uuid NOT NULL,
        schedule_id uuid NOT NULL,
        period pay_period NOT NULL,
        execution_date date NOT NULL,
        submit_at timestamptz NOT NULL,
        pay_run_id uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, schedule_id, period),
        UNIQUE (employer_id, pay_run_id),
        FOREIGN KEY (employer_id, schedule_id) REFERENCES pay_schedule,
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run
      );

      CREATE TABLE pay_file (
        employer_id uuid NOT NULL REFERENCES employer,
        id uuid NOT NULL,
        sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
        size_bytes bigint NOT NULL,
        content bytea NOT NULL,
        content_codec text NOT NULL CHECK (content_codec IN ('gzip')),
        file_name text,
        period pay_period NOT NULL,
        kind_of_pay text NOT NULL,
        execution_date date NOT NULL,
        account_id uuid NOT NULL,
        row_count integer NOT NULL,
        total_minor amount_minor NOT NULL,
        pay_run_id uuid NOT NULL,
        replayable boolean NOT NULL DEFAULT true,
        uploaded_by uuid NOT NULL REFERENCES person,
        uploaded_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, id),
        UNIQUE (employer_id, pay_run_id),
        FOREIGN KEY (employer_id, account_id) REFERENCES employer_account,
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run
      );
      CREATE UNIQUE INDEX one_live_upload_of_a_file
        ON pay_file (employer_id, sha256, period, kind_of_pay, execution_date, account_id) WHERE replayable;

      CREATE TABLE pay_run_version (
        employer_id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        run_version integer NOT NULL,
        root_hash bytea NOT NULL CHECK (octet_length(root_hash) = 32),
        row_count integer NOT NULL,
        total_minor amount_minor NOT NULL,
        execution_date date NOT NULL,
        prepared_by uuid NOT NULL REFERENCES person,
        reason text,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, pay_run_id, run_version),
        UNIQUE (employer_id, pay_run_id, run_version, root_hash, prepared_by),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run
      );

      CREATE TABLE amendment (
        employer_id uuid NOT NULL,
        id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        execution_date date,
        exclude_payment_ids uuid[] NOT NULL DEFAULT '{}',
        reason text NOT NULL,
        proposed_by uuid NOT NULL REFERENCES person,
        proposed_at timestamptz NOT NULL DEFAULT now(),
        applied_as_version integer,
        PRIMARY KEY (employer_id, id),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run
      );
      CREATE UNIQUE INDEX one_open_amendment_per_run ON amendment (employer_id, pay_run_id)
        WHERE applied_as_version IS NULL;

      CREATE TABLE approval (
        employer_id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        run_version integer NOT NULL,
        approver_id uuid NOT NULL REFERENCES person,
        prepared_by uuid NOT NULL,
        root_hash bytea NOT NULL,
        approved_at timestamptz NOT NULL DEFAULT now(),
        voided_at timestamptz,
        voided_reason text,
        id uuid NOT NULL,
        PRIMARY KEY (employer_id, id),
        CONSTRAINT approver_is_not_preparer CHECK (approver_id <> prepared_by),
        CHECK ((voided_at IS NULL) = (voided_reason IS NULL)),
        FOREIGN KEY (employer_id, pay_run_id, run_version, root_hash, prepared_by)
          REFERENCES pay_run_version (employer_id, pay_run_id, run_version, root_hash, prepared_by)
      );
      CREATE UNIQUE INDEX one_standing_approval_per_person
        ON approval (employer_id, pay_run_id, run_version, approver_id) WHERE voided_at IS NULL;

      CREATE FUNCTION refuse_approval_by_a_preparer() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM pay_run_version v WHERE v.employer_id = NEW.employer_id
                     AND v.pay_run_id = NEW.pay_run_id AND v.prepared_by = NEW.approver_id) THEN
          RAISE EXCEPTION 'approver_is_not_preparer' USING ERRCODE = 'check_violation',
            CONSTRAINT = 'approver_is_not_preparer';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_approval_by_a_preparer BEFORE INSERT ON approval
        FOR EACH ROW EXECUTE FUNCTION refuse_approval_by_a_preparer();

      CREATE FUNCTION refuse_change_of_a_voided_approval() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'an approval that was taken back stays so'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'voided_for_good';
      END $$;
      CREATE TRIGGER refuse_change_of_a_voided_approval BEFORE UPDATE ON approval
        FOR EACH ROW WHEN (OLD.voided_at IS NOT NULL AND NEW IS DISTINCT FROM OLD)
        EXECUTE FUNCTION refuse_change_of_a_voided_approval();

      CREATE TABLE planned_instruction (
        employer_id uuid NOT NULL,
        id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        run_version integer NOT NULL,
        ordinal integer NOT NULL CHECK (ordinal >= 1),
        first_row integer NOT NULL,
        last_row integer NOT NULL,
        row_count integer NOT NULL CHECK (row_count >= 1),
        total_minor amount_minor NOT NULL,
        row_hash bytea NOT NULL CHECK (octet_length(row_hash) = 32),
        PRIMARY KEY (employer_id, id),
        UNIQUE (employer_id, pay_run_id, run_version, ordinal),
        UNIQUE (employer_id, pay_run_id, id),
        CHECK (first_row <= last_row),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run
      );
      COMMENT ON TABLE planned_instruction IS
        'its payments are those of the run between first_row and last_row that are neither held nor excluded';

      CREATE TABLE pay_release (
        employer_id uuid NOT NULL REFERENCES employer,
        id uuid NOT NULL,
        period pay_period NOT NULL,
        kind_of_pay text NOT NULL,
        employee_id text NOT NULL,
        sequence smallint NOT NULL CHECK (sequence >= 1),
        reason text NOT NULL CHECK (length(reason) BETWEEN 3 AND 500),
        released_by uuid NOT NULL REFERENCES person,
        released_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, period, kind_of_pay, employee_id, sequence)
      );

      CREATE TABLE payment (
        employer_id uuid NOT NULL,
        id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        row_no integer NOT NULL CHECK (row_no >= 1),
        line integer NOT NULL CHECK (line >= 1),
        period pay_period NOT NULL,
        kind_of_pay text NOT NULL,
        employee_id text NOT NULL CHECK (length(employee_id) BETWEEN 1 AND 35),
        name_sealed text NOT NULL,
        written_name_sealed text,
        name_hash bytea NOT NULL,
        iban_sealed text NOT NULL,
        iban_hash bytea NOT NULL,
        bic text,
        amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND 99999999999),
        currency text NOT NULL CHECK (currency = 'EUR'),
        remittance text CHECK (length(remittance) BETWEEN 1 AND 140),
        row_hash bytea NOT NULL CHECK (octet_length(row_hash) = 32),
        status text NOT NULL CHECK (status IN ('READY', 'HELD', 'APPROVED', 'AT_BANK', 'SUBMITTED', 'SETTLED', 'FAILED',
          'REJECTED', 'CANCELLED', 'VOID', 'EXCLUDED')),
        live boolean NOT NULL DEFAULT true,
        release_sequence smallint NOT NULL DEFAULT 0,
        replaces_payment_id uuid,
        excluded_reason text,
        charges_minor bigint,
        settled_on date,
        returned_at timestamptz,
        PRIMARY KEY (employer_id, id),
        UNIQUE (employer_id, pay_run_id, row_no),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run,
        FOREIGN KEY (employer_id, replaces_payment_id) REFERENCES payment,
        CHECK (live = (status IN ('READY', 'HELD', 'APPROVED', 'AT_BANK', 'SUBMITTED', 'SETTLED'))),
        CHECK ((status = 'EXCLUDED') = (excluded_reason IS NOT NULL)),
        CHECK (returned_at IS NULL OR status = 'SETTLED')
      ) WITH (fillfactor = 60);
      COMMENT ON TABLE payment IS 'fillfactor and no index on status: the four moves of a payment stay on its page';
      CREATE UNIQUE INDEX one_live_payment_per_employee_and_period
        ON payment (employer_id, period, kind_of_pay, employee_id, release_sequence) WHERE live;
      CREATE UNIQUE INDEX one_live_successor_per_payment
        ON payment (employer_id, replaces_payment_id) WHERE replaces_payment_id IS NOT NULL AND live;

      CREATE FUNCTION refuse_illegal_payment_move() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'payment may not move from % to %', OLD.status, NEW.status
          USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_moves_only';
      END $$;
      CREATE TRIGGER refuse_illegal_payment_move BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
          ('READY', 'HELD'), ('READY', 'APPROVED'), ('READY', 'EXCLUDED'), ('READY', 'CANCELLED'),
          ('HELD', 'READY'), ('HELD', 'CANCELLED'),
          ('APPROVED', 'READY'), ('APPROVED', 'AT_BANK'), ('APPROVED', 'EXCLUDED'), ('APPROVED', 'CANCELLED'),
          ('AT_BANK', 'SUBMITTED'), ('AT_BANK', 'APPROVED'), ('AT_BANK', 'VOID'),
          ('SUBMITTED', 'SETTLED'), ('SUBMITTED', 'FAILED'), ('SUBMITTED', 'REJECTED'), ('SUBMITTED', 'CANCELLED'),
          ('SUBMITTED', 'VOID')))
        EXECUTE FUNCTION refuse_illegal_payment_move();
      COMMENT ON TRIGGER refuse_illegal_payment_move ON payment IS
        'the moves are in its condition, not in a table: a look-up for each of 100,000 rows would be felt';

      CREATE FUNCTION refuse_unreleased_second_pay() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM pay_release r WHERE r.employer_id = NEW.employer_id
             AND r.period = NEW.period AND r.kind_of_pay = NEW.kind_of_pay
             AND r.employee_id = NEW.employee_id AND r.sequence = NEW.release_sequence) THEN
          RAISE EXCEPTION 'second pay of a period without a release'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'second_pay_is_released';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_unreleased_second_pay BEFORE INSERT ON payment
        FOR EACH ROW WHEN (NEW.release_sequence > 0) EXECUTE FUNCTION refuse_unreleased_second_pay();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TABLE payment, pay_release, planned_instruction, approval, amendment, pay_run_version, pay_file,
        schedule_period, pay_run;
      DROP FUNCTION refuse_unreleased_second_pay, refuse_illegal_payment_move, refuse_change_of_a_voided_approval,
        refuse_approval_by_a_preparer;
      DROP DOMAIN amount_minor, pay_period;
    `);
  }
}
