import { MigrationInterface, QueryRunner } from 'typeorm';

const REPAYS_FORGOTTEN_BEFORE = `FUNCTION repays_forgotten(employer uuid, run uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT EXISTS (SELECT FROM forgotten_instruction f
            WHERE f.employer_id = employer AND f.pay_run_id = run AND f.adopted_at IS NULL)
          OR EXISTS (SELECT FROM forgotten_instruction f
            JOIN payment o ON o.employer_id = f.employer_id AND o.pay_run_id = f.pay_run_id
            JOIN payment p ON p.employer_id = o.employer_id AND p.period = o.period AND p.kind_of_pay = o.kind_of_pay
              AND p.employee_id = o.employee_id AND p.pay_run_id = run AND p.live
              AND p.release_sequence <= o.release_sequence
            WHERE f.employer_id = employer AND f.pay_run_id <> run AND f.adopted_at IS NULL) $$`;

/**
 * What was given up and is past its submit at the bank all the same may have paid its rows: no run, its own not
 * excepted, pays the same employees unless a person released exactly that.
 */
export class KeepMovedInstructions1795132855500 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE moved_instruction (
        employer_id uuid NOT NULL REFERENCES employer,
        instruction_id uuid NOT NULL,
        bank_status text NOT NULL,
        seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (employer_id, instruction_id),
        FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction
      );
      COMMENT ON TABLE moved_instruction IS
        'given up by us, and seen past its submit: somebody else submitted it, and what was added to it may be paid';
      ALTER TABLE moved_instruction ALTER COLUMN employer_id SET STATISTICS 0;
      ALTER TABLE moved_instruction ENABLE ROW LEVEL SECURITY;
      ALTER TABLE moved_instruction FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_employer ON moved_instruction TO payrun_app
        USING (employer_id = (SELECT current_employer()))
        WITH CHECK (employer_id = (SELECT current_employer()));
      GRANT SELECT, INSERT ON moved_instruction TO payrun_app;

      -- In steps: almost always there is nothing of the kind, and then no payment is to be looked at.
      CREATE OR REPLACE FUNCTION repays_forgotten(employer uuid, run uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
      DECLARE
        runs uuid[];
        moved uuid[];
      BEGIN
        SELECT array_agg(DISTINCT f.pay_run_id) INTO runs FROM forgotten_instruction f
          WHERE f.employer_id = employer AND f.pay_run_id IS NOT NULL AND f.adopted_at IS NULL;
        IF run = ANY (runs) THEN
          RETURN true;
        END IF;
        IF runs IS NOT NULL AND EXISTS (SELECT FROM payment o
            JOIN payment p ON p.employer_id = o.employer_id AND p.period = o.period AND p.kind_of_pay = o.kind_of_pay
              AND p.employee_id = o.employee_id AND p.pay_run_id = run AND p.live
              AND p.release_sequence <= o.release_sequence
            WHERE o.employer_id = employer AND o.pay_run_id = ANY (runs)) THEN
          RETURN true;
        END IF;
        SELECT array_agg(m.instruction_id) INTO moved FROM moved_instruction m WHERE m.employer_id = employer;
        RETURN moved IS NOT NULL AND EXISTS (SELECT FROM bank_payment b
            JOIN payment o ON o.employer_id = b.employer_id AND o.id = b.payment_id
            JOIN payment p ON p.employer_id = o.employer_id AND p.period = o.period AND p.kind_of_pay = o.kind_of_pay
              AND p.employee_id = o.employee_id AND p.pay_run_id = run AND p.live
              AND p.release_sequence <= o.release_sequence AND p.status NOT IN ('SUBMITTED', 'SETTLED')
            WHERE b.employer_id = employer AND b.instruction_id = ANY (moved));
      END $$;
      COMMENT ON FUNCTION repays_forgotten IS
        'whether the run pays whom a submit that is not in the record may have paid: its own, or without a later release';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE ${REPAYS_FORGOTTEN_BEFORE};
      COMMENT ON FUNCTION repays_forgotten IS
        'whether the run pays whom a forgotten submit, of it or of another run, may have paid: its own, or without a later release';
      DROP TABLE moved_instruction;
    `);
  }
}
