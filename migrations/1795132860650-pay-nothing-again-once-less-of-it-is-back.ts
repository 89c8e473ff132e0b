import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What pays an employee again need not be linked to what came back, where that was several payments or stood beside others:
 * whatever was made since is held up once the bank shows that less of it is back.
 */
export class PayNothingAgainOnceLessOfItIsBack1795132860650 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      -- Each is sought by its key: joined, the planner may read every payment of the employer.
      CREATE FUNCTION less_is_back_since(of_employer uuid, one uuid, other uuid) RETURNS timestamptz
      LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
        SELECT max(a.opened_at)
        FROM (SELECT * FROM payment WHERE employer_id = of_employer AND id = one LIMIT 1) p
        JOIN LATERAL (SELECT * FROM pay_run WHERE employer_id = of_employer AND id = p.pay_run_id LIMIT 1) own ON true
        JOIN LATERAL (SELECT * FROM payment WHERE employer_id = of_employer AND id = other LIMIT 1) o ON true
        JOIN attention a ON a.employer_id = of_employer AND a.payment_id = o.id AND a.opened_at > own.created_at
        WHERE o.returned_at IS NOT NULL AND (a.kind = 'CONTRADICTION' OR a.kind = 'ECHO_MISMATCH'
          AND o.returned_minor IS NOT NULL AND may_be_kept(o.employer_id, o.id, o.amount_minor - o.returned_minor))
      $$;
      COMMENT ON FUNCTION less_is_back_since IS
        'when people were last told that the other payment, which had come back, may not be back, or not whole; null if not since the run of the one was made';
    `);
    await define(db, MAY_PAY_THE_SAME);
    await define(db, MAY_PAY_THE_SAME_UNASKED);
  }

  async down(db: QueryRunner): Promise<void> {
    await define(db, MAY_PAY_THE_SAME_BEFORE);
    await define(db, MAY_PAY_THE_SAME_UNASKED_BEFORE);
    await db.query('DROP FUNCTION less_is_back_since');
  }
}

function define(db: QueryRunner, [name, body]: readonly [string, string]): Promise<unknown> {
  return db.query(`
    CREATE OR REPLACE FUNCTION ${name}(of_employer uuid, one uuid, other uuid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$${body}$$`);
}

/** @param since a further reason why what came back may be paid */
const mayPayTheSame = (since: string) =>
  [
    'may_pay_the_same',
    `
        WITH RECURSIVE paid AS (
          SELECT s.origin, p.id, p.amount_minor AS its_minor, p.amount_minor, p.status, p.pay_run_id, p.returned_at, p.replaces_payment_id
          FROM (VALUES (true, one), (false, other)) AS s(origin, id)
          JOIN LATERAL (SELECT * FROM payment WHERE employer_id = of_employer AND id = s.id LIMIT 1) p ON true
          UNION ALL
          SELECT c.origin, p.id, c.its_minor, p.amount_minor, p.status, p.pay_run_id, p.returned_at, p.replaces_payment_id
          FROM paid c
          JOIN LATERAL (SELECT * FROM payment WHERE employer_id = of_employer AND id = c.replaces_payment_id LIMIT 1) p ON true)
        SELECT EXISTS (SELECT FROM payment o WHERE o.employer_id = of_employer AND o.id = other AND o.live AND (
            o.returned_at IS NULL OR other > one AND o.returned_minor IS NOT NULL
              AND may_be_kept(o.employer_id, o.id, o.amount_minor - o.returned_minor)${since}))
          AND EXISTS (SELECT FROM paid WHERE returned_at IS NOT NULL)
          AND NOT EXISTS (SELECT FROM paid a JOIN paid b ON b.pay_run_id = a.pay_run_id
            WHERE a.origin AND NOT b.origin AND a.amount_minor = a.its_minor AND b.amount_minor = b.its_minor
              AND a.status NOT IN ('HELD', 'EXCLUDED') AND b.status NOT IN ('HELD', 'EXCLUDED'))
      `,
  ] as const;

const MAY_PAY_THE_SAME_BEFORE = mayPayTheSame('');

/** What it replaces has guards of its own. */
const MAY_PAY_THE_SAME = mayPayTheSame(`
            OR less_is_back_since(of_employer, one, other) IS NOT NULL AND other NOT IN (SELECT id FROM paid WHERE origin)`);

const RELEASED = `h.outcome = 'RELEASED'
              AND h.code IN ('EMPLOYEE_TWICE', 'EMPLOYEE_ALREADY_PAID', 'EMPLOYEE_MAY_BE_PAID', 'EMPLOYEE_PAY_RETURNED')`;

const MADE_UNASKED = `EXISTS (SELECT FROM payment p WHERE p.employer_id = of_employer AND p.id = greatest(one, other)
            AND p.replaces_payment_id IS NOT NULL
            AND NOT EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
              AND h.row_no = p.row_no AND h.payment_id = p.id AND ${RELEASED}))`;

/** Who released it before less was back did not know. */
const LESS_IS_BACK_UNASKED = `EXISTS (SELECT FROM payment p WHERE p.employer_id = of_employer AND p.id = one
            AND NOT EXISTS (SELECT FROM pay_hold h WHERE h.employer_id = p.employer_id AND h.pay_run_id = p.pay_run_id
              AND h.row_no = p.row_no AND h.payment_id = p.id AND ${RELEASED}
              AND h.decided_at > less_is_back_since(of_employer, one, other)))`;

const MAY_PAY_THE_SAME_UNASKED_BEFORE = [
  'may_pay_the_same_unasked',
  `
        SELECT may_pay_the_same(of_employer, one, other)
          AND ${MADE_UNASKED}
      `,
] as const;

const MAY_PAY_THE_SAME_UNASKED = [
  'may_pay_the_same_unasked',
  `
        SELECT may_pay_the_same(of_employer, one, other)
          AND (${MADE_UNASKED}
          OR less_is_back_since(of_employer, one, other) IS NOT NULL
            AND ${LESS_IS_BACK_UNASKED})
      `,
] as const;
