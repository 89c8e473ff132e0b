import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A payment that replaces none, as of several that came back it was unclear which it pays again, may come back itself, and be
 * paid by its own successor: to replace what came back before it pays its employee once more.
 */
export class PayNothingBesideWhatMayPayTheSame1795132860630 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      -- Each is sought by its key: joined, the planner may read every payment of the employer. What one run paid both of was
      -- never meant in the stead of the other; but what pays another amount than it replaces may be meant for another one,
      -- and what was left out was not paid.
      -- Of what less came back, only a later one was made in the stead: who made one after it knew of it.
      CREATE FUNCTION may_pay_the_same(of_employer uuid, one uuid, other uuid) RETURNS boolean
      LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
        WITH RECURSIVE paid AS (
          SELECT s.origin, p.amount_minor AS its_minor, p.amount_minor, p.status, p.pay_run_id, p.returned_at, p.replaces_payment_id
          FROM (VALUES (true, one), (false, other)) AS s(origin, id)
          JOIN LATERAL (SELECT * FROM payment WHERE employer_id = of_employer AND id = s.id LIMIT 1) p ON true
          UNION ALL
          SELECT c.origin, c.its_minor, p.amount_minor, p.status, p.pay_run_id, p.returned_at, p.replaces_payment_id
          FROM paid c
          JOIN LATERAL (SELECT * FROM payment WHERE employer_id = of_employer AND id = c.replaces_payment_id LIMIT 1) p ON true)
        SELECT EXISTS (SELECT FROM payment o WHERE o.employer_id = of_employer AND o.id = other AND o.live AND (
            o.returned_at IS NULL OR other > one AND o.returned_minor IS NOT NULL
              AND may_be_kept(o.employer_id, o.id, o.amount_minor - o.returned_minor)))
          AND EXISTS (SELECT FROM paid WHERE returned_at IS NOT NULL)
          AND NOT EXISTS (SELECT FROM paid a JOIN paid b ON b.pay_run_id = a.pay_run_id
            WHERE a.origin AND NOT b.origin AND a.amount_minor = a.its_minor AND b.amount_minor = b.its_minor
              AND a.status NOT IN ('HELD', 'EXCLUDED') AND b.status NOT IN ('HELD', 'EXCLUDED'))
      $$;
      COMMENT ON FUNCTION may_pay_the_same IS
        'whether of two payments of an employee the other one, which is not back whole, or what it replaces, may be made in the stead of the one, and something came back of either';

      CREATE FUNCTION may_pay_the_same_unasked(of_employer uuid, one uuid, other uuid) RETURNS boolean
      LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
        SELECT may_pay_the_same(of_employer, one, other)
          AND EXISTS (SELECT FROM payment p WHERE p.employer_id = of_employer AND p.id = greatest(one, other)
            AND p.replaces_payment_id IS NOT NULL
            AND NOT EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
              AND h.row_no = p.row_no AND h.payment_id = p.id AND h.outcome = 'RELEASED'
              AND h.code IN ('EMPLOYEE_TWICE', 'EMPLOYEE_ALREADY_PAID', 'EMPLOYEE_MAY_BE_PAID', 'EMPLOYEE_PAY_RETURNED')))
      $$;
      COMMENT ON FUNCTION may_pay_the_same_unasked IS
        'whether that is so, and the later of the two replaces another one and was released by nobody';

      CREATE FUNCTION refuse_successor_beside_the_same_pay() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        IF EXISTS (SELECT FROM payment o WHERE o.employer_id = NEW.employer_id AND o.period = NEW.period
             AND o.kind_of_pay = NEW.kind_of_pay AND o.employee_id = NEW.employee_id AND o.live
             AND may_pay_the_same(NEW.employer_id, NEW.replaces_payment_id, o.id)) THEN
          RAISE EXCEPTION 'another payment may be made in the stead of what came back: this one is held until a person releases it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_is_not_paid_otherwise';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_successor_beside_the_same_pay BEFORE INSERT ON payment
        FOR EACH ROW WHEN (NEW.replaces_payment_id IS NOT NULL AND NEW.status <> 'HELD')
        EXECUTE FUNCTION refuse_successor_beside_the_same_pay();

      CREATE FUNCTION refuse_submit_beside_the_same_pay() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        -- Counted for each row: joined, the planner may read every payment of the employer.
        IF EXISTS (
            SELECT FROM planned_instruction i
            JOIN payment p ON p.employer_id = i.employer_id AND p.pay_run_id = i.pay_run_id
              AND p.row_no BETWEEN i.first_row AND i.last_row
            WHERE i.employer_id = NEW.employer_id AND i.id = NEW.planned_instruction_id AND p.live
              AND (p.replaces_payment_id IS NOT NULL OR p.release_sequence > 0)
              AND (SELECT count(*) > 0 FROM payment o WHERE o.employer_id = p.employer_id AND o.period = p.period
                AND o.kind_of_pay = p.kind_of_pay AND o.employee_id = p.employee_id AND o.live
                AND o.id <> p.id AND may_pay_the_same_unasked(p.employer_id, p.id, o.id))) THEN
          RAISE EXCEPTION 'another payment than one of the instruction may be made in the stead of the same one, and nobody released it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_beside_the_same_pay';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_submit_beside_the_same_pay BEFORE INSERT ON submit_attempt
        FOR EACH ROW WHEN (NEW.outcome IS DISTINCT FROM 'EXECUTED') EXECUTE FUNCTION refuse_submit_beside_the_same_pay();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_submit_beside_the_same_pay ON submit_attempt;
      DROP TRIGGER refuse_successor_beside_the_same_pay ON payment;
      DROP FUNCTION refuse_submit_beside_the_same_pay, refuse_successor_beside_the_same_pay, may_pay_the_same_unasked,
        may_pay_the_same;
    `);
  }
}
