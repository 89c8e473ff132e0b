import { MigrationInterface, QueryRunner } from 'typeorm';

/** Holds on rows and on whole runs, and what an employer lets a payment, a run and a raise be at most. */
export class HoldPayments1795132827500 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE employer
        ADD COLUMN payment_limit_minor bigint CHECK (payment_limit_minor BETWEEN 1 AND 99999999999),
        ADD COLUMN run_limit_minor amount_minor CHECK (run_limit_minor >= 1),
        ADD COLUMN increase_limit_bp integer CHECK (increase_limit_bp BETWEEN 0 AND 1000000);

      CREATE TABLE pay_hold (
        employer_id uuid NOT NULL,
        pay_run_id uuid NOT NULL,
        row_no integer NOT NULL CHECK (row_no >= 0),
        code text NOT NULL CHECK (code ~ '^[A-Z_]{1,40}$'),
        payment_id uuid,
        beside_run_id uuid,
        beside_line integer,
        bound_minor bigint,
        same_rows integer,
        outcome text CHECK (outcome IN ('RELEASED', 'LEFT_OUT', 'CANCELLED')),
        reason text CHECK (length(reason) BETWEEN 3 AND 500),
        decided_by uuid REFERENCES person,
        decided_at timestamptz,
        PRIMARY KEY (employer_id, pay_run_id, row_no, code),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run,
        FOREIGN KEY (employer_id, payment_id) REFERENCES payment,
        FOREIGN KEY (employer_id, beside_run_id) REFERENCES pay_run,
        CONSTRAINT hold_is_of_a_row_or_the_run CHECK ((row_no = 0) = (payment_id IS NULL)),
        CONSTRAINT hold_is_open_or_decided CHECK ((outcome IS NULL) = (decided_at IS NULL)),
        CONSTRAINT decision_has_person_and_reason CHECK (
          (outcome IS NOT NULL AND outcome <> 'CANCELLED') = (decided_by IS NOT NULL)
          AND (decided_by IS NULL) = (reason IS NULL))
      );
      COMMENT ON COLUMN pay_hold.row_no IS '0: the whole run is held';
      CREATE INDEX open_hold_by_run ON pay_hold (pay_run_id, employer_id, payment_id) WHERE outcome IS NULL;
      ALTER TABLE pay_hold ENABLE ROW LEVEL SECURITY;
      ALTER TABLE pay_hold FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_employer ON pay_hold TO payrun_app
        USING (employer_id = (SELECT current_employer()))
        WITH CHECK (employer_id = (SELECT current_employer()));
      GRANT SELECT, INSERT ON pay_hold TO payrun_app;
      GRANT UPDATE (outcome, reason, decided_by, decided_at) ON pay_hold TO payrun_app;

      CREATE FUNCTION refuse_change_of_a_decided_hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'a hold is decided once'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'hold_is_decided_once';
      END $$;
      CREATE TRIGGER refuse_change_of_a_decided_hold BEFORE UPDATE ON pay_hold
        FOR EACH ROW WHEN (OLD.outcome IS NOT NULL) EXECUTE FUNCTION refuse_change_of_a_decided_hold();

      CREATE FUNCTION refuse_release_by_a_preparer() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM pay_run_version v WHERE v.employer_id = NEW.employer_id
             AND v.pay_run_id = NEW.pay_run_id AND v.prepared_by = NEW.decided_by) THEN
          RAISE EXCEPTION 'who prepared a run releases none of its holds'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'releaser_is_not_preparer';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_release_by_a_preparer BEFORE UPDATE ON pay_hold
        FOR EACH ROW WHEN (NEW.outcome = 'RELEASED') EXECUTE FUNCTION refuse_release_by_a_preparer();

      CREATE FUNCTION refuse_approval_over_a_hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = NEW.employer_id
             AND h.pay_run_id = NEW.pay_run_id AND h.outcome IS NULL) THEN
          RAISE EXCEPTION 'a run with an open hold is not approved'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'no_approval_over_a_hold';
        END IF;
        IF EXISTS (SELECT FROM pay_run_version v WHERE v.employer_id = NEW.employer_id
             AND v.pay_run_id = NEW.pay_run_id AND v.run_version = NEW.run_version AND v.row_count = 0) THEN
          RAISE EXCEPTION 'a run that pays nobody is not approved'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'approval_is_of_payments';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_approval_over_a_hold BEFORE INSERT ON approval
        FOR EACH ROW EXECUTE FUNCTION refuse_approval_over_a_hold();

      ALTER TABLE payment DROP CONSTRAINT payment_check, ADD CONSTRAINT payment_check
        CHECK (live = (status IN ('READY', 'APPROVED', 'AT_BANK', 'SUBMITTED', 'SETTLED')));

${moveGuard(`('HELD', 'READY'), ('HELD', 'EXCLUDED'), ('HELD', 'CANCELLED')`)}

      CREATE FUNCTION refuse_payment_on_hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = NEW.employer_id
             AND h.pay_run_id = NEW.pay_run_id AND h.payment_id = NEW.id AND h.outcome IS NULL) THEN
          RAISE EXCEPTION 'a payment with an open hold stays held'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'held_until_released';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_payment_on_hold BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (OLD.status = 'HELD' AND NEW.status = 'READY') EXECUTE FUNCTION refuse_payment_on_hold();
      CREATE TRIGGER refuse_unlawful_successor_on_release BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (OLD.status = 'HELD' AND NEW.status = 'READY' AND NEW.replaces_payment_id IS NOT NULL)
        EXECUTE FUNCTION refuse_unlawful_successor();

      CREATE FUNCTION refuse_new_place_of_a_payment() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'only a held payment takes a release'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'release_is_taken_while_held';
      END $$;
      CREATE TRIGGER refuse_new_place_of_a_payment BEFORE UPDATE OF release_sequence ON payment
        FOR EACH ROW WHEN (NEW.release_sequence <> OLD.release_sequence AND OLD.status <> 'HELD')
        EXECUTE FUNCTION refuse_new_place_of_a_payment();
      CREATE TRIGGER refuse_unreleased_second_pay_on_release BEFORE UPDATE OF release_sequence ON payment
        FOR EACH ROW WHEN (NEW.release_sequence > 0) EXECUTE FUNCTION refuse_unreleased_second_pay();
      GRANT UPDATE (release_sequence) ON payment TO payrun_app;

      CREATE FUNCTION refuse_submit_of_a_held_payment() RETURNS trigger LANGUAGE plpgsql
        -- By their keys: where statistics are old, a join by hash would read every payment of the employer.
        SET enable_hashjoin = off SET enable_mergejoin = off AS $$
      BEGIN
        IF EXISTS (SELECT FROM bank_payment b
             JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
             WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
               AND p.status = 'HELD') THEN
          RAISE EXCEPTION 'an instruction that holds a held payment is not submitted'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'no_submit_of_a_held_payment';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_submit_of_a_held_payment BEFORE INSERT ON submit_attempt
        FOR EACH ROW EXECUTE FUNCTION refuse_submit_of_a_held_payment();
    `);
    await db.query(successorGuard(`s.status NOT IN ('EXCLUDED', 'HELD')`));
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(successorGuard(`s.status <> 'EXCLUDED'`));
    await db.query(`
      DROP TRIGGER refuse_submit_of_a_held_payment ON submit_attempt;
      REVOKE UPDATE (release_sequence) ON payment FROM payrun_app;
      DROP TRIGGER refuse_unreleased_second_pay_on_release ON payment;
      DROP TRIGGER refuse_new_place_of_a_payment ON payment;
      DROP TRIGGER refuse_unlawful_successor_on_release ON payment;
      DROP TRIGGER refuse_payment_on_hold ON payment;
${moveGuard(`('HELD', 'READY'), ('HELD', 'CANCELLED')`)}
      ALTER TABLE payment DROP CONSTRAINT payment_check, ADD CONSTRAINT payment_check
        CHECK (live = (status IN ('READY', 'HELD', 'APPROVED', 'AT_BANK', 'SUBMITTED', 'SETTLED')));
      DROP TRIGGER refuse_approval_over_a_hold ON approval;
      DROP TABLE pay_hold;
      DROP FUNCTION refuse_submit_of_a_held_payment, refuse_new_place_of_a_payment, refuse_payment_on_hold,
        refuse_approval_over_a_hold, refuse_release_by_a_preparer, refuse_change_of_a_decided_hold;
      ALTER TABLE employer DROP COLUMN increase_limit_bp, DROP COLUMN run_limit_minor,
        DROP COLUMN payment_limit_minor;
    `);
  }
}

/** The moves a payment may make, those out of HELD as given. */
function moveGuard(ofHeld: string): string {
  return `
      DROP TRIGGER refuse_illegal_payment_move ON payment;
      CREATE TRIGGER refuse_illegal_payment_move BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
          ('READY', 'HELD'), ('READY', 'APPROVED'), ('READY', 'EXCLUDED'), ('READY', 'CANCELLED'),
          ${ofHeld},
          ('APPROVED', 'READY'), ('APPROVED', 'AT_BANK'), ('APPROVED', 'EXCLUDED'), ('APPROVED', 'CANCELLED'),
          ('AT_BANK', 'SUBMITTED'), ('AT_BANK', 'APPROVED'), ('AT_BANK', 'VOID'),
          ('SUBMITTED', 'SETTLED'), ('SUBMITTED', 'FAILED'), ('SUBMITTED', 'REJECTED'), ('SUBMITTED', 'CANCELLED'),
          ('SUBMITTED', 'VOID')))
        EXECUTE FUNCTION refuse_illegal_payment_move();
      COMMENT ON TRIGGER refuse_illegal_payment_move ON payment IS
        'the moves are in its condition, not in a table: a look-up for each of 100,000 rows would be felt';`;
}

/** The guard of successors, in which a payment ends its chain when it was sent: one that is held was not. */
function successorGuard(sent: string): string {
  return `
    CREATE OR REPLACE FUNCTION refuse_unlawful_successor() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        replaced record;
      BEGIN
        -- Locked, so that what allows the successor still does when it is committed.
        SELECT p.period, p.kind_of_pay, p.employee_id, p.status, p.returned_at INTO replaced FROM payment p
          WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id FOR SHARE;
        IF NOT FOUND THEN
          RETURN NEW;
        END IF;
        IF (replaced.period, replaced.kind_of_pay, replaced.employee_id)
            IS DISTINCT FROM (NEW.period, NEW.kind_of_pay, NEW.employee_id) THEN
          RAISE EXCEPTION 'a payment replaces one of the same employee, period and kind of pay'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'successor_is_the_same_pay';
        END IF;
        IF replaced.status NOT IN ('VOID', 'FAILED', 'REJECTED', 'CANCELLED', 'EXCLUDED')
            AND NOT (replaced.status = 'SETTLED' AND replaced.returned_at IS NOT NULL
              AND NEW.replaces_reason IS NOT NULL) THEN
          RAISE EXCEPTION 'a payment that is % is not replaced', replaced.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_was_not_paid';
        END IF;
        IF EXISTS (SELECT FROM attention a WHERE a.employer_id = NEW.employer_id
             AND a.payment_id = NEW.replaces_payment_id AND a.kind = 'CONTRADICTION') THEN
          RAISE EXCEPTION 'a payment with two final statuses is never replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_is_not_contradicted';
        END IF;
        IF EXISTS (SELECT FROM payment s JOIN pay_run r ON r.employer_id = s.employer_id AND r.id = s.pay_run_id
             WHERE s.employer_id = NEW.employer_id AND s.replaces_payment_id = NEW.replaces_payment_id
               AND NOT s.live AND ${sent}
               AND NOT (s.status = 'CANCELLED' AND r.status IN ('CANCELLING', 'CANCELLED'))) THEN
          RAISE EXCEPTION 'the payment was replaced by one that was sent: that one is replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'last_of_the_chain_is_replaced';
        END IF;
        RETURN NEW;
      END $$`;
}
