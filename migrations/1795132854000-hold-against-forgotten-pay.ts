import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a restored database has forgotten may have paid every payment of its run, whatever became of them since: no
 * other run pays the same employees unless a person released exactly that.
 */
export class HoldAgainstForgottenPay1795132854000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION repays_forgotten(employer uuid, run uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT EXISTS (SELECT FROM forgotten_instruction f
            WHERE f.employer_id = employer AND f.pay_run_id = run AND f.adopted_at IS NULL)
          OR EXISTS (SELECT FROM forgotten_instruction f
            JOIN payment o ON o.employer_id = f.employer_id AND o.pay_run_id = f.pay_run_id
            JOIN payment p ON p.employer_id = o.employer_id AND p.period = o.period AND p.kind_of_pay = o.kind_of_pay
              AND p.employee_id = o.employee_id AND p.pay_run_id = run AND p.live
              AND p.release_sequence <= o.release_sequence
            WHERE f.employer_id = employer AND f.pay_run_id <> run AND f.adopted_at IS NULL) $$;
      COMMENT ON FUNCTION repays_forgotten IS
        'whether the run pays whom a forgotten submit, of it or of another run, may have paid: its own, or without a later release';
      CREATE OR REPLACE ${refuseSubmit(`
        IF EXISTS (SELECT FROM planned_instruction p WHERE p.employer_id = NEW.employer_id
             AND p.id = NEW.planned_instruction_id AND repays_forgotten(p.employer_id, p.pay_run_id)) THEN
          RAISE EXCEPTION 'no submit for employees whom one that a restored database had forgotten may have paid'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'forgotten_pay_is_not_paid_again';
        END IF;`)};
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE ${refuseSubmit('')};
      DROP FUNCTION repays_forgotten;
    `);
  }
}

function refuseSubmit(andOthers: string): string {
  return `FUNCTION refuse_submit_after_a_restore() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT database_is_known() THEN
          RAISE EXCEPTION 'no submit on a database that may have forgotten others'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_known_database';
        END IF;
        IF EXISTS (SELECT FROM planned_instruction p
             JOIN forgotten_instruction f ON f.employer_id = p.employer_id AND f.pay_run_id = p.pay_run_id
             WHERE p.employer_id = NEW.employer_id AND p.id = NEW.planned_instruction_id AND f.adopted_at IS NULL) THEN
          RAISE EXCEPTION 'no submit of a run of which a restored database had forgotten one'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'forgotten_run_is_not_paid_again';
        END IF;${andOthers}
        RETURN NEW;
      END $$`;
}
