import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A row that several runs pay is held once, and asks about all of them: it named the first alone, so that the approval was
 * refused for another one once it was released, also while the run was being submitted and could not be amended.
 */
export class KnowEveryRunAHoldAsksAbout1795132860590 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_hold ADD COLUMN also_beside_run_ids uuid[] NOT NULL DEFAULT '{}';
      COMMENT ON COLUMN pay_hold.also_beside_run_ids IS 'the further runs beside which it was found';

      DROP FUNCTION unasked_rows;
      -- Payments of a run that have the account and the amount of somebody else's, in runs beside which the whole run was held
      -- until an amendment; not those about which a hold of either run, or of either payment, asks or was released. Of what a
      -- run pays alike the first payment stands for all, and for its own employee the first of another one.
      CREATE FUNCTION unasked_rows(employer uuid, run uuid, in_doubt uuid[])
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

      CREATE OR REPLACE FUNCTION refuse_approval_of_unasked_rows() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        -- What is being submitted can be amended no more, and was approved once: what others pay since is asked of them.
        IF (SELECT r.status FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.id = NEW.pay_run_id)
            <> 'SUBMITTING'
          AND EXISTS (SELECT FROM unasked_rows(NEW.employer_id, NEW.pay_run_id, '{}')) THEN
          RAISE EXCEPTION 'rows of the run are those of another one, and nobody was asked about them'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'alike_rows_are_asked_about';
        END IF;
        RETURN NEW;
      END $$;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_approval_of_unasked_rows() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        IF EXISTS (SELECT FROM unasked_rows(NEW.employer_id, NEW.pay_run_id, '{}')) THEN
          RAISE EXCEPTION 'rows of the run are those of another one, and nobody was asked about them'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'alike_rows_are_asked_about';
        END IF;
        RETURN NEW;
      END $$;

      DROP FUNCTION unasked_rows;
      CREATE FUNCTION unasked_rows(employer uuid, run uuid, in_doubt uuid[])
      RETURNS TABLE (payment_id uuid, beside_run_id uuid, beside_line integer)
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
            SELECT h.pay_run_id, h.payment_id AS row, h.beside_run_id AS beside FROM pay_hold h
            WHERE h.employer_id = employer AND h.code = ANY (codes) AND (h.outcome IS NULL OR h.outcome = 'RELEASED')
              AND (h.pay_run_id = run AND h.beside_run_id = ANY (besides)
                OR h.pay_run_id = ANY (besides) AND h.beside_run_id = run))
          SELECT DISTINCT ON (u.id) u.id, p.pay_run_id, p.line
          FROM payment u
          JOIN payment p ON p.iban_hash = u.iban_hash AND p.amount_minor = u.amount_minor
            AND p.employee_id <> u.employee_id AND p.period = u.period
          WHERE u.employer_id = employer AND u.pay_run_id = run AND (u.live OR u.status = 'HELD')
            AND p.employer_id = employer AND (p.live OR p.status = 'HELD' OR p.pay_run_id = ANY (in_doubt))
            AND p.pay_run_id = ANY (ARRAY(SELECT unnest(besides)
              EXCEPT SELECT a.beside FROM asked a WHERE a.pay_run_id = run AND a.row IS NULL
              EXCEPT SELECT a.pay_run_id FROM asked a WHERE a.beside = run AND a.row IS NULL))
            AND NOT EXISTS (SELECT FROM asked a WHERE a.row = u.id AND a.beside = p.pay_run_id)
            AND NOT EXISTS (SELECT FROM asked a WHERE a.row = p.id AND a.beside = run)
          ORDER BY u.id, p.id;
      END $$;

      ALTER TABLE pay_hold DROP COLUMN also_beside_run_ids;
    `);
  }
}
