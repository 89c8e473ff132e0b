import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a whole run is held for (ROWS_OF_ANOTHER_RUN) hides what its rows would be held for: once an amendment ends that, each
 * of them is asked about, and while one is not the run is not approved.
 */
export class AskOfEachRowWhatNoRunIsHeldFor1795132860580 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      -- Payments of a run that have the account and the amount of somebody else's, in a run beside which the whole run was held
      -- until an amendment; not those about which a hold of either run, or of either payment, asks or was released.
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

      CREATE FUNCTION refuse_approval_of_unasked_rows() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        IF EXISTS (SELECT FROM unasked_rows(NEW.employer_id, NEW.pay_run_id, '{}')) THEN
          RAISE EXCEPTION 'rows of the run are those of another one, and nobody was asked about them'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'alike_rows_are_asked_about';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_approval_of_unasked_rows BEFORE INSERT ON approval
        FOR EACH ROW EXECUTE FUNCTION refuse_approval_of_unasked_rows();

      COMMENT ON COLUMN pay_hold.run_version IS
        'the version with which an amendment made the whole run be held, or a row of it that this had hidden; else 1';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_approval_of_unasked_rows ON approval;
      DROP FUNCTION refuse_approval_of_unasked_rows;
      DROP FUNCTION unasked_rows;
      COMMENT ON COLUMN pay_hold.run_version IS
        'the version with which an amendment made the whole run be held; else 1, as a row is held once for one thing';
    `);
  }
}
