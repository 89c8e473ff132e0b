import { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['run_comparison', 'run_difference', 'iban_tick'] as const;

/** What each version of a run differs in from the pay before it, who looked at its new IBANs, and what payments say. */
export class CompareRuns1795132825000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE employer
        ADD COLUMN tick_ibans boolean NOT NULL DEFAULT true,
        ADD COLUMN net_change_basis_points integer NOT NULL DEFAULT 2000
          CHECK (net_change_basis_points BETWEEN 0 AND 1000000),
        ADD COLUMN remittance_template text CHECK (length(remittance_template) BETWEEN 1 AND 140);

      CREATE TABLE run_comparison (
        employer_id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        run_version integer NOT NULL,
        before_period pay_period,
        before_run_ids uuid[] NOT NULL,
        before_count integer NOT NULL,
        before_minor amount_minor NOT NULL,
        net_change_basis_points integer NOT NULL,
        PRIMARY KEY (employer_id, pay_run_id, run_version),
        FOREIGN KEY (employer_id, pay_run_id, run_version) REFERENCES pay_run_version,
        CHECK ((before_period IS NULL) = (before_run_ids = '{}'))
      );
      COMMENT ON COLUMN run_comparison.before_period IS
        'null: nothing of this kind of pay was settled before, so that every IBAN is new';

      CREATE TABLE run_difference (
        employer_id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        run_version integer NOT NULL,
        kind text NOT NULL CHECK (kind IN ('JOINED', 'LEFT', 'NET_CHANGED', 'IBAN_CHANGED', 'NAME_CHANGED')),
        n integer NOT NULL,
        payment_id uuid,
        before_payment_id uuid,
        amount_minor amount_minor NOT NULL,
        before_minor amount_minor NOT NULL,
        PRIMARY KEY (employer_id, pay_run_id, run_version, kind, n),
        FOREIGN KEY (employer_id, pay_run_id, run_version) REFERENCES run_comparison,
        FOREIGN KEY (employer_id, payment_id) REFERENCES payment,
        FOREIGN KEY (employer_id, before_payment_id) REFERENCES payment,
        CHECK ((kind = 'LEFT') = (payment_id IS NULL)),
        CHECK ((kind = 'JOINED') = (before_payment_id IS NULL))
      );
      COMMENT ON COLUMN run_difference.amount_minor IS
        'of the payment; of all payments of its employee where that is what differs';
      CREATE UNIQUE INDEX one_iban_to_tick_per_payment ON run_difference (payment_id, run_version, employer_id)
        WHERE kind IN ('JOINED', 'IBAN_CHANGED');

      CREATE TABLE iban_tick (
        employer_id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        run_version integer NOT NULL,
        payment_id uuid,
        reason text CHECK (length(reason) BETWEEN 3 AND 500),
        ticked_by uuid NOT NULL REFERENCES person,
        ticked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT one_tick_per_iban UNIQUE NULLS NOT DISTINCT (pay_run_id, employer_id, run_version, payment_id),
        CONSTRAINT a_bulk_decision_says_why CHECK ((payment_id IS NULL) = (reason IS NOT NULL)),
        FOREIGN KEY (employer_id, pay_run_id, run_version) REFERENCES pay_run_version,
        FOREIGN KEY (employer_id, payment_id) REFERENCES payment
      );
      COMMENT ON COLUMN iban_tick.payment_id IS 'null: the decision on all IBANs of the version at once';

      CREATE FUNCTION refuse_tick_by_a_preparer() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM pay_run_version v WHERE v.employer_id = NEW.employer_id
                     AND v.pay_run_id = NEW.pay_run_id AND v.prepared_by = NEW.ticked_by) THEN
          RAISE EXCEPTION 'who prepared the run does not tick its IBANs'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ticker_is_not_preparer';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_tick_by_a_preparer BEFORE INSERT ON iban_tick
        FOR EACH ROW EXECUTE FUNCTION refuse_tick_by_a_preparer();

      CREATE FUNCTION refuse_approval_of_unticked_ibans() RETURNS trigger LANGUAGE plpgsql
      SET enable_nestloop = off AS $$
      BEGIN
        IF (SELECT e.tick_ibans FROM employer e WHERE e.id = NEW.employer_id) IS NOT FALSE
          AND NOT EXISTS (SELECT FROM iban_tick t WHERE t.employer_id = NEW.employer_id
            AND t.pay_run_id = NEW.pay_run_id AND t.run_version = NEW.run_version AND t.payment_id IS NULL)
          AND (
            NOT EXISTS (SELECT FROM run_comparison c WHERE c.employer_id = NEW.employer_id
              AND c.pay_run_id = NEW.pay_run_id AND c.run_version = NEW.run_version AND c.before_period IS NOT NULL)
            OR EXISTS (SELECT FROM run_difference d WHERE d.employer_id = NEW.employer_id
              AND d.pay_run_id = NEW.pay_run_id AND d.run_version = NEW.run_version
              AND d.kind IN ('JOINED', 'IBAN_CHANGED')
              AND NOT EXISTS (SELECT FROM iban_tick t WHERE t.employer_id = d.employer_id
                AND t.pay_run_id = d.pay_run_id AND t.run_version = d.run_version AND t.payment_id = d.payment_id)))
        THEN
          RAISE EXCEPTION 'new IBANs of the version are not ticked'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ibans_are_ticked';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_approval_of_unticked_ibans BEFORE INSERT ON approval
        FOR EACH ROW EXECUTE FUNCTION refuse_approval_of_unticked_ibans();
      COMMENT ON FUNCTION refuse_approval_of_unticked_ibans IS
        'no nested loop: without statistics each difference would be compared with each tick';
    `);
    for (const table of TABLES) {
      await db.query(`
        ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
        ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;
        CREATE POLICY own_employer ON ${table} TO payrun_app
          USING (employer_id = (SELECT current_employer()))
          WITH CHECK (employer_id = (SELECT current_employer()));
        GRANT SELECT, INSERT ON ${table} TO payrun_app;
      `);
    }
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_approval_of_unticked_ibans ON approval;
      DROP TABLE iban_tick, run_difference, run_comparison;
      DROP FUNCTION refuse_approval_of_unticked_ibans, refuse_tick_by_a_preparer;
      ALTER TABLE employer DROP COLUMN remittance_template, DROP COLUMN net_change_basis_points,
        DROP COLUMN tick_ibans;
    `);
  }
}
