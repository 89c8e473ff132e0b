import { MigrationInterface, QueryRunner } from 'typeorm';

const UNSENT = `AND p.status NOT IN ('SUBMITTED', 'SETTLED')`;

/**
 * What a run has submitted itself is in the record and is paid once whatever is forgotten: it holds back nothing else of
 * the run, of which people could be told no payment that may be paid twice.
 */
export class CountWhatWasSentAsPaidOnce1795132856000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(repaysForgotten(UNSENT));
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(repaysForgotten(''));
  }
}

function repaysForgotten(ofForgotten: string): string {
  return `
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
              AND p.release_sequence <= o.release_sequence ${ofForgotten}
            WHERE o.employer_id = employer AND o.pay_run_id = ANY (runs)) THEN
          RETURN true;
        END IF;
        SELECT array_agg(m.instruction_id) INTO moved FROM moved_instruction m WHERE m.employer_id = employer;
        RETURN moved IS NOT NULL AND EXISTS (SELECT FROM bank_payment b
            JOIN payment o ON o.employer_id = b.employer_id AND o.id = b.payment_id
            JOIN payment p ON p.employer_id = o.employer_id AND p.period = o.period AND p.kind_of_pay = o.kind_of_pay
              AND p.employee_id = o.employee_id AND p.pay_run_id = run AND p.live
              AND p.release_sequence <= o.release_sequence ${UNSENT}
            WHERE b.employer_id = employer AND b.instruction_id = ANY (moved));
      END $$`;
}
