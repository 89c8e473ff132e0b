import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a payment replaces may turn out to have come back in part after its successor was made: then that is not submitted
 * either, before two people say that its payee kept nothing. What the bank shows as submitted is recorded all the same.
 */
export class SubmitNothingOverWhatMayBeKept1795132860520 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION refuse_submit_over_what_is_kept() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        -- Each is sought by its key: joined, the planner may read every payment of the employer.
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
              JOIN LATERAL (SELECT * FROM payment WHERE employer_id = NEW.employer_id AND id = r.id LIMIT 1) p ON true
              WHERE p.replaces_payment_id IS NOT NULL)
            SELECT FROM replaced r
            JOIN LATERAL (SELECT * FROM payment WHERE employer_id = NEW.employer_id AND id = r.id LIMIT 1) p ON true
            WHERE p.returned_minor IS NOT NULL
              AND may_be_kept(NEW.employer_id, p.id, p.amount_minor - p.returned_minor)) THEN
          RAISE EXCEPTION 'what a payment of the instruction replaces came back in part, and somebody may have kept the rest'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_over_what_is_kept';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_submit_over_what_is_kept BEFORE INSERT ON submit_attempt
        FOR EACH ROW WHEN (NEW.outcome IS DISTINCT FROM 'EXECUTED') EXECUTE FUNCTION refuse_submit_over_what_is_kept();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_submit_over_what_is_kept ON submit_attempt;
      DROP FUNCTION refuse_submit_over_what_is_kept;
    `);
  }
}
