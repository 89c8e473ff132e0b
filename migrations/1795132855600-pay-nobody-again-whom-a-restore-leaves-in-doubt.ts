import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whom a run that a restored database has forgotten, or cancelled, may have paid is paid instead by no successor: it has
 * no hold that a person could release. Of a submit whose run nobody knows, nobody knows whom it paid.
 */
export class PayNobodyAgainWhomARestoreLeavesInDoubt1795132855600 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION restore_leaves_in_doubt(employer uuid, since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT EXISTS (SELECT FROM database_restore d WHERE d.noticed_at > since
            AND NOT EXISTS (SELECT FROM restore_check c WHERE c.employer_id = employer AND c.restore_id = d.id
              AND c.passed_at IS NOT NULL AND NOT c.needs_evidence))
          OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = employer AND f.pay_run_id IS NULL
            AND f.adopted_at IS NULL AND f.found_at > since) $$;
      COMMENT ON FUNCTION restore_leaves_in_doubt IS
        'whether a submit may be forgotten of which nobody knows whom it paid, among those who were owed at a moment';

      CREATE FUNCTION may_be_paid_by_another(employer uuid, replaced uuid, release integer) RETURNS boolean
        LANGUAGE sql STABLE AS $$
        SELECT EXISTS (SELECT FROM payment p JOIN pay_run own ON own.employer_id = p.employer_id AND own.id = p.pay_run_id
          WHERE p.employer_id = employer AND p.id = replaced
            AND (restore_leaves_in_doubt(employer, own.created_at) OR EXISTS (
              SELECT FROM pay_run r
              WHERE r.employer_id = employer AND r.period = p.period AND r.id <> own.id
                AND (EXISTS (SELECT FROM forgotten_instruction f
                    WHERE f.employer_id = employer AND f.pay_run_id = r.id AND f.adopted_at IS NULL)
                  OR r.status = 'CANCELLED'
                    AND EXISTS (SELECT FROM database_restore d WHERE d.noticed_at > r.created_at))
                AND EXISTS (SELECT FROM payment o
                  WHERE o.employer_id = employer AND o.period = p.period AND o.kind_of_pay = p.kind_of_pay
                    AND o.employee_id = p.employee_id AND o.pay_run_id = r.id AND o.release_sequence >= release)))) $$;
      COMMENT ON FUNCTION may_be_paid_by_another IS
        'whether another run, forgotten or cancelled by a restored database, may have paid what a payment did not pay';

      CREATE OR REPLACE ${refuseSuccessor(`
        IF NEW.status <> 'HELD'
            AND may_be_paid_by_another(NEW.employer_id, NEW.replaces_payment_id, NEW.release_sequence) THEN
          RAISE EXCEPTION 'whom a run may have paid that a restored database has forgotten is held before it is paid again'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_was_not_paid_by_another';
        END IF;`)};
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE ${refuseSuccessor('')};
      DROP FUNCTION may_be_paid_by_another, restore_leaves_in_doubt;
    `);
  }
}

function refuseSuccessor(andOthers: string): string {
  return `FUNCTION refuse_successor_of_a_forgotten_run() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM payment p
             JOIN forgotten_instruction f ON f.employer_id = p.employer_id AND f.pay_run_id = p.pay_run_id
             WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id AND f.adopted_at IS NULL) THEN
          RAISE EXCEPTION 'what a submit that is not in the record may have paid is never replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_was_not_forgotten';
        END IF;${andOthers}
        RETURN NEW;
      END $$`;
}
