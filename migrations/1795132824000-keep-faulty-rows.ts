import { MigrationInterface, QueryRunner } from 'typeorm';

/** Rows of pay files that are kept back because of their faults, and what an employer wants done about them. */
export class KeepFaultyRows1795132824000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE employer ADD COLUMN fault_policy jsonb NOT NULL DEFAULT '{"policy": "strict"}'
        CONSTRAINT employer_fault_policy_check
        CHECK (coalesce(fault_policy ->> 'policy', '') IN ('strict', 'hold', 'threshold'));
      ALTER TABLE pay_file ADD COLUMN fault_policy jsonb NOT NULL DEFAULT '{"policy": "strict"}'
        CONSTRAINT pay_file_fault_policy_check
        CHECK (coalesce(fault_policy ->> 'policy', '') IN ('strict', 'hold', 'threshold'));
      COMMENT ON COLUMN pay_file.fault_policy IS 'the policy of the employer by which the file was taken';
      COMMENT ON COLUMN pay_file.row_count IS 'the rows that became payments of its run; those kept back are faulty rows';

      CREATE TABLE faulty_file (
        employer_id uuid NOT NULL REFERENCES employer,
        id uuid NOT NULL,
        pay_run_id uuid,
        sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
        layout jsonb NOT NULL CHECK (jsonb_typeof(layout) = 'object'),
        row_count integer NOT NULL CHECK (row_count >= 1),
        fault_count integer NOT NULL CHECK (fault_count >= row_count),
        read_rows integer NOT NULL,
        read_total_minor numeric(24),
        uploaded_by uuid NOT NULL REFERENCES person,
        uploaded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz,
        PRIMARY KEY (employer_id, id),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run,
        CONSTRAINT refused_file_expires CHECK ((pay_run_id IS NULL) = (expires_at IS NOT NULL))
      );
      COMMENT ON TABLE faulty_file IS 'a file with faulty rows: taken as a run without them, or refused and kept for some days';
      CREATE UNIQUE INDEX one_faulty_file_of_a_run ON faulty_file (employer_id, pay_run_id)
        WHERE pay_run_id IS NOT NULL;

      CREATE TABLE faulty_row (
        employer_id uuid NOT NULL,
        faulty_file_id uuid NOT NULL,
        line integer NOT NULL CHECK (line >= 1),
        row_no integer NOT NULL CHECK (row_no >= 1),
        employee_id text,
        amount_minor bigint,
        cells_sealed text NOT NULL,
        faults_sealed text NOT NULL,
        fault_count integer NOT NULL CHECK (fault_count >= 1),
        payment_id uuid,
        PRIMARY KEY (employer_id, faulty_file_id, line),
        FOREIGN KEY (employer_id, faulty_file_id) REFERENCES faulty_file ON DELETE CASCADE,
        FOREIGN KEY (employer_id, payment_id) REFERENCES payment
      );
      COMMENT ON COLUMN faulty_row.payment_id IS 'the payment of the corrected row; none as long as it is kept back';
      CREATE UNIQUE INDEX one_faulty_row_of_a_payment ON faulty_row (employer_id, payment_id)
        WHERE payment_id IS NOT NULL;

      CREATE FUNCTION refuse_forgetting_of_a_run() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'the rows kept back of a run stay with it'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'kept_with_its_run';
      END $$;
      CREATE TRIGGER refuse_forgetting_of_a_run BEFORE DELETE ON faulty_file
        FOR EACH ROW WHEN (OLD.pay_run_id IS NOT NULL) EXECUTE FUNCTION refuse_forgetting_of_a_run();

      CREATE FUNCTION refuse_change_of_a_corrected_row() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        paying uuid;
      BEGIN
        SELECT pay_run_id INTO paying FROM payment WHERE employer_id = OLD.employer_id AND id = OLD.payment_id;
        IF NOT EXISTS (SELECT FROM pay_run WHERE employer_id = OLD.employer_id AND id = paying
             AND status IN ('CANCELLING', 'CANCELLED')) THEN
          RAISE EXCEPTION 'a row that was corrected stays so unless its run is cancelled'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'corrected_once';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_change_of_a_corrected_row BEFORE UPDATE ON faulty_row
        FOR EACH ROW WHEN (OLD.payment_id IS NOT NULL AND NEW IS DISTINCT FROM OLD)
        EXECUTE FUNCTION refuse_change_of_a_corrected_row();

      CREATE FUNCTION refuse_foreign_correction() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        paying uuid;
      BEGIN
        SELECT pay_run_id INTO paying FROM payment WHERE employer_id = NEW.employer_id AND id = NEW.payment_id;
        IF EXISTS (SELECT FROM pay_run r
             JOIN faulty_file f ON f.employer_id = r.employer_id AND f.id = NEW.faulty_file_id
             WHERE r.employer_id = NEW.employer_id AND r.id = paying
               AND (f.pay_run_id IN (r.id, r.parent_run_id)) IS NOT TRUE) THEN
          RAISE EXCEPTION 'a row is corrected in its run or in a supplement of it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'corrected_in_its_run';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_foreign_correction BEFORE INSERT OR UPDATE ON faulty_row
        FOR EACH ROW WHEN (NEW.payment_id IS NOT NULL) EXECUTE FUNCTION refuse_foreign_correction();
    `);
    for (const table of ['faulty_file', 'faulty_row']) {
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
      GRANT DELETE ON faulty_file TO payrun_app;
      GRANT UPDATE (employee_id, amount_minor, cells_sealed, faults_sealed, fault_count, payment_id)
        ON faulty_row TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TABLE faulty_row, faulty_file;
      DROP FUNCTION refuse_foreign_correction, refuse_change_of_a_corrected_row, refuse_forgetting_of_a_run;
      ALTER TABLE pay_file DROP COLUMN fault_policy;
      ALTER TABLE employer DROP COLUMN fault_policy;
      COMMENT ON COLUMN pay_file.row_count IS NULL;
    `);
  }
}
