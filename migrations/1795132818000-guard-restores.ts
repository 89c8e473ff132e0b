import { MigrationInterface, QueryRunner } from 'typeorm';

/** Which database the service last ran on, what was noticed of restores, and what the bank showed after them. */
export class GuardRestores1795132818000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE database_identity (
        id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
        system_identifier text,
        timeline integer,
        database_oid bigint NOT NULL,
        written_by xid8 NOT NULL,
        known_since timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      COMMENT ON TABLE database_identity IS 'one row: the database the service last ran on; none before its first start';
      COMMENT ON COLUMN database_identity.written_by IS
        'the transaction that wrote this row: loaded from a dump, the row has another xmin, in whatever database';
      CREATE TABLE database_restore (
        id uuid PRIMARY KEY,
        what text NOT NULL CHECK (length(what) BETWEEN 1 AND 1000),
        data_until timestamptz,
        noticed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        told_at timestamptz
      );
      COMMENT ON COLUMN database_restore.data_until IS 'the last sign of life of a service in the data that was found';
      COMMENT ON COLUMN database_restore.told_at IS 'when every employer was stopped and told';
      CREATE TABLE restore_mark (
        id uuid PRIMARY KEY,
        seq bigint NOT NULL DEFAULT 1,
        seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
      ) WITH (fillfactor = 50);
      COMMENT ON TABLE restore_mark IS
        'a number for each witness outside, which remembers it: an older copy put back has a lower one';

      CREATE FUNCTION read_database(OUT system_identifier text, OUT timeline integer, OUT database_oid bigint)
        LANGUAGE plpgsql STABLE AS $$
      BEGIN
        SELECT oid INTO database_oid FROM pg_database WHERE datname = current_database();
        -- A server may not let its control data or its log be read: what is not known is not compared.
        BEGIN
          SELECT c.system_identifier INTO system_identifier FROM pg_control_system() c;
        EXCEPTION WHEN OTHERS THEN system_identifier := NULL;
        END;
        -- Not that of the last checkpoint, which a promoted standby makes minutes later.
        BEGIN
          timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer;
        EXCEPTION WHEN OTHERS THEN timeline := NULL;
        END;
      END $$;
      CREATE FUNCTION database_is_known() RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT NOT EXISTS (SELECT FROM database_restore WHERE told_at IS NULL) AND coalesce((
          SELECT coalesce(i.system_identifier = now.system_identifier, true)
            AND coalesce(i.timeline = now.timeline, true) AND i.database_oid = now.database_oid
            AND i.xmin::text::bigint = i.written_by::text::bigint % 4294967296
          FROM database_identity i, read_database() now), true) $$;

      GRANT SELECT, INSERT ON database_identity, database_restore, restore_mark TO payrun_app;
      GRANT UPDATE (system_identifier, timeline, database_oid, written_by, known_since) ON database_identity
        TO payrun_app;
      GRANT UPDATE (told_at) ON database_restore TO payrun_app;
      GRANT UPDATE (seq, seen_at) ON restore_mark TO payrun_app;
    `);
    await db.query(`
      CREATE TABLE restore_check (
        employer_id uuid NOT NULL REFERENCES employer,
        restore_id uuid NOT NULL REFERENCES database_restore,
        passed_at timestamptz,
        needs_evidence boolean NOT NULL DEFAULT true,
        PRIMARY KEY (employer_id, restore_id)
      );
      COMMENT ON COLUMN restore_check.passed_at IS 'when what the bank shows was reconciled with what was restored';
      COMMENT ON COLUMN restore_check.needs_evidence IS
        'the bank did not show everything: resuming takes its written word';
      CREATE TABLE forgotten_instruction (
        employer_id uuid NOT NULL REFERENCES employer,
        bank_instruction_id text NOT NULL,
        restore_id uuid NOT NULL REFERENCES database_restore,
        pay_run_id uuid,
        instruction_id uuid,
        reference text,
        bank_status text NOT NULL,
        found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        adopted_at timestamptz,
        PRIMARY KEY (employer_id, bank_instruction_id),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run
      );
      COMMENT ON COLUMN forgotten_instruction.instruction_id IS
        'our own id, as the message ids of its payments have it; the database may know no such instruction';
      COMMENT ON TABLE forgotten_instruction IS
        'submitted at the bank, and not so by what was restored; nothing more of its run is submitted until adopted';
      CREATE INDEX forgotten_instruction_by_run ON forgotten_instruction (employer_id, pay_run_id)
        WHERE adopted_at IS NULL;
    `);
    for (const table of ['restore_check', 'forgotten_instruction']) {
      await db.query(`
        ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
        ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;
        CREATE POLICY own_employer ON ${table} TO payrun_app
          USING (employer_id = (SELECT current_employer()))
          WITH CHECK (employer_id = (SELECT current_employer()));
        GRANT SELECT, INSERT ON ${table} TO payrun_app;
      `);
    }
    await db.query(`
      GRANT UPDATE (passed_at, needs_evidence) ON restore_check TO payrun_app;
      GRANT UPDATE (adopted_at) ON forgotten_instruction TO payrun_app;
      CREATE POLICY every_employer ON forgotten_instruction FOR SELECT TO payrun_worker USING (true);
      GRANT SELECT (employer_id, adopted_at) ON forgotten_instruction TO payrun_worker;

      CREATE FUNCTION refuse_submit_after_a_restore() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT database_is_known() THEN
          RAISE EXCEPTION 'no submit on a database that may have forgotten others'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_known_database';
        END IF;
        IF EXISTS (SELECT FROM planned_instruction p
             JOIN forgotten_instruction f ON f.employer_id = p.employer_id AND f.pay_run_id = p.pay_run_id
             WHERE p.employer_id = NEW.employer_id AND p.id = NEW.planned_instruction_id AND f.adopted_at IS NULL) THEN
          RAISE EXCEPTION 'no submit of a run of which a restored database had forgotten one'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'forgotten_run_is_not_paid_again';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_submit_after_a_restore BEFORE INSERT ON submit_attempt
        FOR EACH ROW WHEN (NEW.outcome IS DISTINCT FROM 'EXECUTED') EXECUTE FUNCTION refuse_submit_after_a_restore();

      DROP TRIGGER refuse_submit_without_intent ON submit_attempt;
      CREATE TRIGGER refuse_submit_without_intent BEFORE INSERT ON submit_attempt
        FOR EACH ROW WHEN (NEW.outcome IS DISTINCT FROM 'EXECUTED') EXECUTE FUNCTION refuse_submit_without_intent();
      CREATE FUNCTION refuse_adoption_without_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM forgotten_instruction f
             JOIN instruction i ON i.employer_id = f.employer_id AND i.bank_instruction_id = f.bank_instruction_id
             JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
             JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
             WHERE f.employer_id = NEW.employer_id AND f.bank_instruction_id = NEW.bank_instruction_id
               AND f.adopted_at IS NULL AND i.id = NEW.instruction_id AND i.status = 'SUBMIT_INTENT'
               AND p.id = NEW.planned_instruction_id AND p.row_hash = NEW.row_hash
               AND r.status = 'SUBMITTING' AND r.run_version = p.run_version) THEN
          RAISE EXCEPTION 'a submit is recorded as executed afterwards only where the bank showed a forgotten one'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'adoption_needs_evidence';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_adoption_without_evidence BEFORE INSERT ON submit_attempt
        FOR EACH ROW WHEN (NEW.outcome = 'EXECUTED') EXECUTE FUNCTION refuse_adoption_without_evidence();

      CREATE FUNCTION refuse_resume_before_the_bank_was_read() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM restore_check c WHERE c.employer_id = NEW.employer_id
             AND c.restore_id = NEW.subject_id AND c.passed_at IS NOT NULL) THEN
          RAISE EXCEPTION 'submits stay off until the bank was reconciled with what was restored'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'restore_is_reconciled';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_resume_before_the_bank_was_read BEFORE UPDATE OF lifted_at ON service_stop
        FOR EACH ROW WHEN (OLD.kind = 'RESTORED' AND OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL)
        EXECUTE FUNCTION refuse_resume_before_the_bank_was_read();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_resume_before_the_bank_was_read ON service_stop;
      DROP TRIGGER refuse_adoption_without_evidence ON submit_attempt;
      DROP TRIGGER refuse_submit_after_a_restore ON submit_attempt;
      DROP TRIGGER refuse_submit_without_intent ON submit_attempt;
      CREATE TRIGGER refuse_submit_without_intent BEFORE INSERT ON submit_attempt
        FOR EACH ROW EXECUTE FUNCTION refuse_submit_without_intent();
      DROP FUNCTION refuse_resume_before_the_bank_was_read, refuse_adoption_without_evidence,
        refuse_submit_after_a_restore, database_is_known, read_database;
      DROP TABLE forgotten_instruction, restore_check, restore_mark, database_restore, database_identity;
    `);
  }
}
