import { MigrationInterface, QueryRunner } from 'typeorm';

/** What is built at the bank: instructions, intents, submit attempts and the bank's payments. */
export class CreateInstructions1795132804000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE instruction (
        employer_id uuid NOT NULL,
        id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        planned_instruction_id uuid NOT NULL,
        attempt integer NOT NULL CHECK (attempt >= 1),
        status text NOT NULL,
        bank_instruction_id text,
        bank_status text,
        bank_rank smallint NOT NULL DEFAULT 0,
        last_add_at timestamptz,
        verified_at timestamptz,
        submitted_at timestamptz,
        totals_checked_at timestamptz,
        closed_at timestamptz,
        outcome text CHECK (outcome IN ('SETTLED', 'PARTLY_SETTLED', 'FAILED')),
        ended_reason text,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, id),
        UNIQUE (bank_instruction_id),
        UNIQUE (employer_id, planned_instruction_id, attempt),
        FOREIGN KEY (employer_id, pay_run_id, planned_instruction_id)
          REFERENCES planned_instruction (employer_id, pay_run_id, id),
        CHECK (status <> 'CLOSED' OR outcome IS NOT NULL)
      );
      CREATE UNIQUE INDEX one_live_instruction_per_planned_instruction
        ON instruction (employer_id, planned_instruction_id) WHERE status NOT IN ('ABANDONED', 'CANCELLED');
      CREATE INDEX instruction_by_run ON instruction (employer_id, pay_run_id);

      CREATE FUNCTION refuse_change_of_identity() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'what an instruction is of, and its id at the bank, never change'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'identity_never_changes';
      END $$;
      CREATE TRIGGER refuse_change_of_identity BEFORE UPDATE ON instruction
        FOR EACH ROW WHEN (
          (NEW.employer_id, NEW.id, NEW.pay_run_id, NEW.planned_instruction_id, NEW.attempt)
            IS DISTINCT FROM (OLD.employer_id, OLD.id, OLD.pay_run_id, OLD.planned_instruction_id, OLD.attempt)
          OR OLD.bank_instruction_id IS NOT NULL
            AND NEW.bank_instruction_id IS DISTINCT FROM OLD.bank_instruction_id)
        EXECUTE FUNCTION refuse_change_of_identity();

      CREATE TABLE submit_attempt (
        employer_id uuid NOT NULL,
        id uuid NOT NULL,
        planned_instruction_id uuid NOT NULL,
        instruction_id uuid NOT NULL,
        bank_instruction_id text NOT NULL,
        row_hash bytea NOT NULL CHECK (octet_length(row_hash) = 32),
        epoch bigint NOT NULL,
        attempted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        outcome text CHECK (outcome IN ('EXECUTED', 'REFUSED', 'IN_DOUBT', 'PROVEN_UNSENT')),
        outcome_detail text,
        finished_at timestamptz,
        PRIMARY KEY (employer_id, id),
        FOREIGN KEY (employer_id, planned_instruction_id) REFERENCES planned_instruction,
        FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction
      );
      CREATE UNIQUE INDEX one_submit_per_planned_instruction
        ON submit_attempt (employer_id, planned_instruction_id) WHERE outcome IS DISTINCT FROM 'PROVEN_UNSENT';

      CREATE FUNCTION refuse_submit_without_intent() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        gate record;
        approvals integer;
      BEGIN
        IF NOT EXISTS (SELECT FROM instruction i
             JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
             WHERE i.employer_id = NEW.employer_id AND i.id = NEW.instruction_id AND i.status = 'SUBMIT_INTENT'
               AND i.planned_instruction_id = NEW.planned_instruction_id
               AND i.bank_instruction_id = NEW.bank_instruction_id AND p.row_hash = NEW.row_hash) THEN
          RAISE EXCEPTION 'a submit needs an instruction in SUBMIT_INTENT with the approved row hash'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_intent';
        END IF;
        -- Locked, so that what allows the submit still does when its intent is committed.
        SELECT r.id, r.status, r.run_version, r.root_hash, p.run_version AS planned_version, e.approvals_required,
            r.stopped_at IS NOT NULL OR e.stopped_at IS NOT NULL OR s.submits_off AS stopped
          INTO gate
          FROM planned_instruction p
          JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
          JOIN employer e ON e.id = r.employer_id
          CROSS JOIN service_switch s
          WHERE p.employer_id = NEW.employer_id AND p.id = NEW.planned_instruction_id
          FOR SHARE OF r, e, s;
        IF (gate.status = 'SUBMITTING' AND gate.planned_version = gate.run_version) IS NOT TRUE THEN
          RAISE EXCEPTION 'a submit needs a run in SUBMITTING of which the plan is the standing version'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_gate';
        END IF;
        IF gate.stopped THEN
          RAISE EXCEPTION 'no submit while a switch stops the run, its employer or everything'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_is_stopped';
        END IF;
        SELECT count(*) INTO approvals FROM (SELECT FROM approval a
          WHERE a.employer_id = NEW.employer_id AND a.pay_run_id = gate.id AND a.run_version = gate.run_version
            AND a.root_hash = gate.root_hash AND a.voided_at IS NULL FOR SHARE) AS standing;
        IF approvals < gate.approvals_required THEN
          RAISE EXCEPTION 'a submit needs the approvals its employer requires, over what stands now'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_approval';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_submit_without_intent BEFORE INSERT ON submit_attempt
        FOR EACH ROW EXECUTE FUNCTION refuse_submit_without_intent();

      CREATE FUNCTION refuse_change_of_a_final_outcome() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'a submit that was % does not become %', OLD.outcome, coalesce(NEW.outcome, 'unanswered')
          USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_outcome_is_final';
      END $$;
      CREATE TRIGGER refuse_change_of_a_final_outcome BEFORE UPDATE OF outcome ON submit_attempt
        FOR EACH ROW WHEN (OLD.outcome IS NOT NULL AND NEW.outcome IS DISTINCT FROM OLD.outcome
          AND ((OLD.outcome, NEW.outcome) IN (('IN_DOUBT', 'EXECUTED'), ('IN_DOUBT', 'REFUSED'),
            ('IN_DOUBT', 'PROVEN_UNSENT'), ('REFUSED', 'EXECUTED'))) IS NOT TRUE)
        EXECUTE FUNCTION refuse_change_of_a_final_outcome();
      COMMENT ON TRIGGER refuse_change_of_a_final_outcome ON submit_attempt IS
        'what was executed must not pass for unsent, which would arm it again; a refusal may turn out executed';

      CREATE TABLE add_intent (
        employer_id uuid NOT NULL,
        instruction_id uuid NOT NULL,
        batch integer NOT NULL CHECK (batch >= 1),
        row_nos integer[] NOT NULL,
        body_hashes bytea NOT NULL,
        epoch bigint NOT NULL,
        intended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        finished_at timestamptz,
        PRIMARY KEY (employer_id, instruction_id, batch),
        FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction,
        CHECK (cardinality(row_nos) BETWEEN 1 AND 200),
        CHECK (octet_length(body_hashes) = 32 * cardinality(row_nos))
      );
      COMMENT ON TABLE add_intent IS 'one row for up to 200 adds: a kill leaves at most that many in doubt';

      CREATE TABLE bank_payment (
        employer_id uuid NOT NULL,
        instruction_id uuid NOT NULL,
        row_no integer NOT NULL,
        payment_id uuid NOT NULL,
        bank_payment_id text,
        bank_transaction_id text,
        add_outcome text NOT NULL CHECK (add_outcome IN ('ADDED', 'ADOPTED', 'IN_DOUBT', 'REFUSED')),
        bank_status text,
        bank_rank smallint NOT NULL DEFAULT 0,
        bank_status_at timestamptz,
        last_seen_at timestamptz,
        PRIMARY KEY (employer_id, instruction_id, row_no),
        FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction,
        FOREIGN KEY (employer_id, payment_id) REFERENCES payment,
        CHECK ((add_outcome IN ('ADDED', 'ADOPTED')) = (bank_payment_id IS NOT NULL))
      ) WITH (fillfactor = 70);
      CREATE UNIQUE INDEX one_row_per_bank_payment ON bank_payment (bank_payment_id)
        WHERE bank_payment_id IS NOT NULL;
      CREATE INDEX bank_payment_by_transaction ON bank_payment (bank_transaction_id)
        WHERE bank_transaction_id IS NOT NULL;

      CREATE FUNCTION refuse_falling_rank() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'the bank''s ladder only climbs: % to %', OLD.bank_rank, NEW.bank_rank
          USING ERRCODE = 'check_violation', CONSTRAINT = 'ladder_only_climbs';
      END $$;
      CREATE TRIGGER refuse_falling_rank BEFORE UPDATE OF bank_rank ON bank_payment
        FOR EACH ROW WHEN (NEW.bank_rank < OLD.bank_rank) EXECUTE FUNCTION refuse_falling_rank();
      CREATE TRIGGER refuse_falling_rank BEFORE UPDATE OF bank_rank ON instruction
        FOR EACH ROW WHEN (NEW.bank_rank < OLD.bank_rank) EXECUTE FUNCTION refuse_falling_rank();

      CREATE TABLE allowed_move (
        subject text NOT NULL CHECK (subject IN ('pay_run', 'instruction')),
        from_status text NOT NULL,
        to_status text NOT NULL,
        PRIMARY KEY (subject, from_status, to_status)
      );
      INSERT INTO allowed_move VALUES
        ('pay_run', 'DRAFT', 'READY'),
        ('pay_run', 'DRAFT', 'CANCELLING'),
        ('pay_run', 'READY', 'DRAFT'),
        ('pay_run', 'READY', 'APPROVED'),
        ('pay_run', 'READY', 'CANCELLING'),
        ('pay_run', 'APPROVED', 'READY'),
        ('pay_run', 'APPROVED', 'BUILDING'),
        ('pay_run', 'APPROVED', 'CANCELLING'),
        ('pay_run', 'BUILDING', 'VERIFIED'),
        ('pay_run', 'BUILDING', 'READY'),
        ('pay_run', 'BUILDING', 'CANCELLING'),
        ('pay_run', 'VERIFIED', 'BUILDING'),
        ('pay_run', 'VERIFIED', 'READY'),
        ('pay_run', 'VERIFIED', 'SUBMITTING'),
        ('pay_run', 'VERIFIED', 'CANCELLING'),
        ('pay_run', 'SUBMITTING', 'FOLLOWING'),
        ('pay_run', 'FOLLOWING', 'SETTLED'),
        ('pay_run', 'FOLLOWING', 'PARTLY_SETTLED'),
        ('pay_run', 'FOLLOWING', 'FAILED'),
        ('pay_run', 'CANCELLING', 'CANCELLED'),
        ('instruction', 'PLANNED', 'BUILDING'),
        ('instruction', 'PLANNED', 'CANCELLED'),
        ('instruction', 'BUILDING', 'VERIFIED'),
        ('instruction', 'BUILDING', 'ABANDONED'),
        ('instruction', 'VERIFIED', 'SUBMIT_INTENT'),
        ('instruction', 'VERIFIED', 'ABANDONED'),
        ('instruction', 'VERIFIED', 'RELEASED'),
        ('instruction', 'SUBMIT_INTENT', 'SUBMITTED'),
        ('instruction', 'SUBMIT_INTENT', 'VERIFIED'),
        ('instruction', 'SUBMIT_INTENT', 'SUBMIT_REFUSED'),
        ('instruction', 'SUBMIT_INTENT', 'SUBMIT_UNKNOWN'),
        ('instruction', 'SUBMITTED', 'CLOSED'),
        ('instruction', 'SUBMIT_REFUSED', 'SUBMITTED'),
        ('instruction', 'SUBMIT_REFUSED', 'VOID'),
        ('instruction', 'SUBMIT_UNKNOWN', 'SUBMITTED'),
        ('instruction', 'SUBMIT_UNKNOWN', 'VOID');
      CREATE FUNCTION refuse_illegal_move() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM allowed_move m WHERE m.subject = TG_TABLE_NAME
             AND m.from_status = OLD.status AND m.to_status = NEW.status) THEN
          RAISE EXCEPTION '% may not move from % to %', TG_TABLE_NAME, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_moves_only';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_illegal_move BEFORE UPDATE OF status ON pay_run
        FOR EACH ROW WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION refuse_illegal_move();
      CREATE TRIGGER refuse_illegal_move BEFORE UPDATE OF status ON instruction
        FOR EACH ROW WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION refuse_illegal_move();

      CREATE FUNCTION refuse_row_in_two_live_instructions() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM 1 FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.id = NEW.pay_run_id
          FOR NO KEY UPDATE;
        IF EXISTS (SELECT FROM planned_instruction mine
             JOIN planned_instruction other ON other.employer_id = mine.employer_id
               AND other.pay_run_id = mine.pay_run_id AND other.id <> mine.id
               AND other.first_row <= mine.last_row AND other.last_row >= mine.first_row
             JOIN instruction i ON i.employer_id = other.employer_id AND i.planned_instruction_id = other.id
             WHERE mine.employer_id = NEW.employer_id AND mine.id = NEW.planned_instruction_id
               AND i.status NOT IN ('ABANDONED', 'CANCELLED')) THEN
          RAISE EXCEPTION 'a row may be in one live instruction only'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'one_live_instruction_per_row';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_row_in_two_live_instructions BEFORE INSERT ON instruction
        FOR EACH ROW EXECUTE FUNCTION refuse_row_in_two_live_instructions();
    `);
    await db.query(`
      CREATE TABLE lease (
        subject_id uuid PRIMARY KEY,
        kind text NOT NULL CHECK (kind IN ('RUN', 'INSTRUCTION', 'FOLLOW')),
        employer_id uuid NOT NULL REFERENCES employer,
        wake_at timestamptz NOT NULL,
        holder text,
        epoch bigint NOT NULL DEFAULT 0,
        leased_until timestamptz,
        CHECK ((holder IS NULL) = (leased_until IS NULL))
      ) WITH (fillfactor = 50);
      CREATE INDEX lease_by_due ON lease (kind, coalesce(leased_until, wake_at));
      COMMENT ON INDEX lease_by_due IS 'what is held is due when its lease ends, whenever it was woken';
      COMMENT ON TABLE lease IS 'the work list: claimed with SKIP LOCKED, fenced by epoch, by this server''s clock';

      CREATE FUNCTION refuse_falling_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'the epoch of a lease only climbs: % to %', OLD.epoch, NEW.epoch
          USING ERRCODE = 'check_violation', CONSTRAINT = 'epoch_only_climbs';
      END $$;
      CREATE TRIGGER refuse_falling_epoch BEFORE UPDATE OF epoch ON lease
        FOR EACH ROW WHEN (NEW.epoch < OLD.epoch) EXECUTE FUNCTION refuse_falling_epoch();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TABLE lease, bank_payment, add_intent, submit_attempt, instruction;
      DROP TRIGGER refuse_illegal_move ON pay_run;
      DROP TABLE allowed_move;
      DROP FUNCTION refuse_illegal_move, refuse_falling_rank, refuse_falling_epoch, refuse_change_of_identity,
        refuse_submit_without_intent, refuse_change_of_a_final_outcome, refuse_row_in_two_live_instructions;
    `);
  }
}
