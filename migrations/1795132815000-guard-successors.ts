import { MigrationInterface, QueryRunner } from 'typeorm';

/** Payments that replace others: only what was not paid, once, and never what may have been paid after all. */
export class GuardSuccessors1795132815000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE payment ADD COLUMN replaces_reason text
        CHECK (replaces_reason IS NULL OR replaces_payment_id IS NOT NULL AND length(replaces_reason) BETWEEN 3 AND 500);
      CREATE INDEX payment_by_replaced ON payment (employer_id, replaces_payment_id)
        WHERE replaces_payment_id IS NOT NULL;
      CREATE INDEX unpaid_payment_by_employee ON payment (employer_id, period, kind_of_pay, employee_id)
        WHERE NOT live;
      CREATE INDEX contradiction_by_payment ON attention (employer_id, payment_id) WHERE kind = 'CONTRADICTION';

      CREATE FUNCTION refuse_unlawful_successor() RETURNS trigger LANGUAGE plpgsql AS $$
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
               AND NOT s.live AND s.status <> 'EXCLUDED'
               AND NOT (s.status = 'CANCELLED' AND r.status IN ('CANCELLING', 'CANCELLED'))) THEN
          RAISE EXCEPTION 'the payment was replaced by one that was sent: that one is replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'last_of_the_chain_is_replaced';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_unlawful_successor BEFORE INSERT ON payment
        FOR EACH ROW WHEN (NEW.replaces_payment_id IS NOT NULL) EXECUTE FUNCTION refuse_unlawful_successor();
      COMMENT ON TRIGGER refuse_unlawful_successor ON payment IS
        'on insert only: what is replaced is final, and the application may not change whom a payment replaces';

      CREATE FUNCTION refuse_submit_over_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (
            WITH RECURSIVE replaced AS (
              SELECT p.replaces_payment_id AS id
              FROM planned_instruction i
              JOIN payment p ON p.employer_id = i.employer_id AND p.pay_run_id = i.pay_run_id
                AND p.row_no BETWEEN i.first_row AND i.last_row
              WHERE i.employer_id = NEW.employer_id AND i.id = NEW.planned_instruction_id
                AND p.replaces_payment_id IS NOT NULL AND p.live
              UNION
              SELECT p.replaces_payment_id FROM replaced r
              JOIN payment p ON p.employer_id = NEW.employer_id AND p.id = r.id
              WHERE p.replaces_payment_id IS NOT NULL)
            SELECT FROM replaced r JOIN attention a ON a.employer_id = NEW.employer_id AND a.payment_id = r.id
            WHERE a.kind = 'CONTRADICTION') THEN
          RAISE EXCEPTION 'what a payment of the instruction replaces may have been paid after all'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_over_contradiction';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_submit_over_contradiction BEFORE INSERT ON submit_attempt
        FOR EACH ROW EXECUTE FUNCTION refuse_submit_over_contradiction();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_submit_over_contradiction ON submit_attempt;
      DROP TRIGGER refuse_unlawful_successor ON payment;
      DROP FUNCTION refuse_submit_over_contradiction, refuse_unlawful_successor;
      DROP INDEX contradiction_by_payment, unpaid_payment_by_employee, payment_by_replaced;
      ALTER TABLE payment DROP COLUMN replaces_reason;
    `);
  }
}
