import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a whole run is held for is told of every run that pays its rows, whatever their kind of pay and month: once an
 * amendment ends that, these rows are asked about, too. One row that was left out let all others be paid once more. And a
 * hold keeps what else pays its employee by then: what came since was looked for in the newest place alone.
 */
export class AskOfAllThatAnAmendedRunRepeats1795132860640 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      COMMENT ON COLUMN pay_hold.also_beside_run_ids IS
        'the further runs beside which it was found; of a whole run those that pay most rows first';
      ALTER TABLE pay_hold ADD COLUMN beside_payment_ids uuid[];
      COMMENT ON COLUMN pay_hold.beside_payment_ids IS 'what other runs paid the employee when it was found, by the same kind of
        pay and period: of EMPLOYEE_ALREADY_PAID and EMPLOYEE_PAY_RETURNED, and of a payment that was in its run already';

      -- Payments of a run that have the account and the amount of others, in the runs beside which the whole run was held until
      -- an amendment, if these are near it still (DAYS_NEARBY); not of the same employee, period and kind of pay, who is found
      -- by that, nor those about which a hold of either payment asks or was released. One of either run is of all that the run
      -- which it names first pays, and of further ones but for who is paid for the same period as somebody else. Of what a run
      -- pays alike the first payment stands for all, and for its own employee the first of another one.
      CREATE OR REPLACE FUNCTION unasked_rows(employer uuid, run uuid, in_doubt uuid[])
      RETURNS TABLE (payment_id uuid, beside_run_id uuid, beside_line integer, also_beside_run_ids uuid[])
      LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET enable_nestloop = off AS $$
      DECLARE
        codes CONSTANT text[] := ARRAY['ROWS_OF_ANOTHER_RUN', 'IBAN_AND_AMOUNT_TWICE'];
        besides CONSTANT uuid[] := ARRAY(
          SELECT o.id FROM pay_run o JOIN pay_run r ON r.employer_id = o.employer_id AND r.id = run
          WHERE o.employer_id = employer AND (o.period = r.period OR abs(o.execution_date - r.execution_date) <= 14)
            AND o.id IN (SELECT unnest(h.beside_run_id || h.also_beside_run_ids) FROM pay_hold h
              WHERE h.employer_id = employer AND h.pay_run_id = run AND h.row_no = 0 AND h.code = codes[1]
                AND h.outcome = 'AMENDED'));
      BEGIN
        IF besides = '{}' THEN
          RETURN;
        END IF;
        RETURN QUERY
          WITH asked AS MATERIALIZED (
            SELECT CASE h.pay_run_id WHEN run THEN b.id ELSE h.pay_run_id END AS other, h.payment_id AS row,
              b.id = h.beside_run_id AS is_first
            FROM pay_hold h, unnest(h.beside_run_id || h.also_beside_run_ids) AS b(id)
            WHERE h.employer_id = employer AND h.code = ANY (codes) AND (h.outcome IS NULL OR h.outcome = 'RELEASED')
              AND (h.pay_run_id = run AND b.id = ANY (besides) OR h.pay_run_id = ANY (besides) AND b.id = run)),
          mine AS MATERIALIZED (
            SELECT u.id, u.employee_id, u.iban_hash, u.amount_minor, u.period, u.kind_of_pay FROM payment u
            WHERE u.employer_id = employer AND u.pay_run_id = run AND (u.live OR u.status = 'HELD')),
          theirs AS (
            SELECT p.id, p.pay_run_id, p.line, p.employee_id, p.iban_hash, p.amount_minor, p.period, p.kind_of_pay,
              p.employee_id <> first_value(p.employee_id) OVER (
                PARTITION BY p.pay_run_id, p.iban_hash, p.amount_minor ORDER BY p.id) AS of_another
            FROM payment p
            WHERE p.employer_id = employer AND (p.live OR p.status = 'HELD' OR p.pay_run_id = ANY (in_doubt))
              AND p.pay_run_id = ANY (ARRAY(SELECT unnest(besides)
                EXCEPT SELECT a.other FROM asked a WHERE a.row IS NULL AND a.is_first))
              AND (p.iban_hash, p.amount_minor) IN (SELECT m.iban_hash, m.amount_minor FROM mine m)
              AND NOT EXISTS (SELECT FROM asked a WHERE a.row = p.id)),
          first AS (
            SELECT DISTINCT ON (t.pay_run_id, t.iban_hash, t.amount_minor, t.of_another) t.* FROM theirs t
            ORDER BY t.pay_run_id, t.iban_hash, t.amount_minor, t.of_another, t.id),
          alike AS (
            SELECT DISTINCT ON (u.id, p.pay_run_id) u.id AS row, p.id, p.pay_run_id, p.line
            FROM mine u
            JOIN first p ON p.iban_hash = u.iban_hash AND p.amount_minor = u.amount_minor
              AND (p.period = u.period AND p.employee_id <> u.employee_id
                OR (p.period, p.kind_of_pay) <> (u.period, u.kind_of_pay)
                  AND p.pay_run_id <> ALL (ARRAY(SELECT a.other FROM asked a WHERE a.row IS NULL)))
            WHERE NOT EXISTS (SELECT FROM asked a WHERE a.row = u.id AND a.other = p.pay_run_id)
            ORDER BY u.id, p.pay_run_id, p.id)
          SELECT a.row, (array_agg(a.pay_run_id ORDER BY a.id))[1], (array_agg(a.line ORDER BY a.id))[1],
            (array_agg(a.pay_run_id ORDER BY a.id))[2:]
          FROM alike a GROUP BY a.row;
      END $$;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_hold DROP COLUMN beside_payment_ids;
      COMMENT ON COLUMN pay_hold.also_beside_run_ids IS 'the further runs beside which it was found';

      CREATE OR REPLACE FUNCTION unasked_rows(employer uuid, run uuid, in_doubt uuid[])
      RETURNS TABLE (payment_id uuid, beside_run_id uuid, beside_line integer, also_beside_run_ids uuid[])
      LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET enable_nestloop = off AS $$
      DECLARE
        codes CONSTANT text[] := ARRAY['ROWS_OF_ANOTHER_RUN', 'IBAN_AND_AMOUNT_TWICE'];
        besides CONSTANT uuid[] := ARRAY(SELECT h.beside_run_id FROM pay_hold h
          WHERE h.employer_id = employer AND h.pay_run_id = run AND h.row_no = 0 AND h.code = codes[1]
            AND h.outcome = 'AMENDED');
      BEGIN
        IF besides = '{}' THEN
          RETURN;
        END IF;
        RETURN QUERY
          WITH asked AS MATERIALIZED (
            SELECT h.pay_run_id, h.payment_id AS row, b.id AS beside
            FROM pay_hold h, unnest(h.beside_run_id || h.also_beside_run_ids) AS b(id)
            WHERE h.employer_id = employer AND h.code = ANY (codes) AND (h.outcome IS NULL OR h.outcome = 'RELEASED')
              AND (h.pay_run_id = run AND b.id = ANY (besides) OR h.pay_run_id = ANY (besides) AND b.id = run)),
          mine AS MATERIALIZED (
            SELECT u.id, u.employee_id, u.iban_hash, u.amount_minor, u.period FROM payment u
            WHERE u.employer_id = employer AND u.pay_run_id = run AND (u.live OR u.status = 'HELD')),
          theirs AS (
            SELECT p.id, p.pay_run_id, p.line, p.employee_id, p.iban_hash, p.amount_minor, p.period,
              p.employee_id <> first_value(p.employee_id) OVER (
                PARTITION BY p.pay_run_id, p.iban_hash, p.amount_minor ORDER BY p.id) AS of_another
            FROM payment p
            WHERE p.employer_id = employer AND (p.live OR p.status = 'HELD' OR p.pay_run_id = ANY (in_doubt))
              AND p.pay_run_id = ANY (ARRAY(SELECT unnest(besides)
                EXCEPT SELECT a.beside FROM asked a WHERE a.pay_run_id = run AND a.row IS NULL
                EXCEPT SELECT a.pay_run_id FROM asked a WHERE a.beside = run AND a.row IS NULL))
              AND (p.iban_hash, p.amount_minor) IN (SELECT m.iban_hash, m.amount_minor FROM mine m)
              AND NOT EXISTS (SELECT FROM asked a WHERE a.row = p.id AND a.beside = run)),
          first AS (
            SELECT DISTINCT ON (t.pay_run_id, t.iban_hash, t.amount_minor, t.of_another) t.* FROM theirs t
            ORDER BY t.pay_run_id, t.iban_hash, t.amount_minor, t.of_another, t.id),
          alike AS (
            SELECT DISTINCT ON (u.id, p.pay_run_id) u.id AS row, p.id, p.pay_run_id, p.line
            FROM mine u
            JOIN first p ON p.iban_hash = u.iban_hash AND p.amount_minor = u.amount_minor
              AND p.employee_id <> u.employee_id AND p.period = u.period
            WHERE NOT EXISTS (SELECT FROM asked a WHERE a.row = u.id AND a.beside = p.pay_run_id)
            ORDER BY u.id, p.pay_run_id, p.id)
          SELECT a.row, (array_agg(a.pay_run_id ORDER BY a.id))[1], (array_agg(a.line ORDER BY a.id))[1],
            (array_agg(a.pay_run_id ORDER BY a.id))[2:]
          FROM alike a GROUP BY a.row;
      END $$;
    `);
  }
}
