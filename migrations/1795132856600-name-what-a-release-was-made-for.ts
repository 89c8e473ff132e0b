import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A release that was made with a payment, and not beforehand, allows that payment and what is paid instead of it. Once
 * the payment is left out, or its run is cancelled, it allows nobody anything.
 */
export class NameWhatAReleaseWasMadeFor1795132856600 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_release ADD COLUMN payment_id uuid,
        ADD CONSTRAINT release_is_of_a_payment FOREIGN KEY (employer_id, payment_id) REFERENCES payment (employer_id, id)
          DEFERRABLE;
      COMMENT ON COLUMN pay_release.payment_id IS
        'the payment it was made with; null where somebody made it beforehand, for whichever file comes next';
    `);
    await db.query(secondPayGuard(STANDS));
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(secondPayGuard('r.withdrawn_at IS NULL'));
    await db.query('ALTER TABLE pay_release DROP COLUMN payment_id');
  }
}

const STANDS = `r.withdrawn_at IS NULL AND (r.payment_id IS NULL OR r.payment_id = NEW.id OR (
               SELECT m.live OR m.status <> 'EXCLUDED' AND (
                 SELECT c.status FROM pay_run c WHERE c.employer_id = m.employer_id AND c.id = m.pay_run_id) <> 'CANCELLED'
               FROM payment m WHERE m.employer_id = r.employer_id AND m.id = r.payment_id))`;

function secondPayGuard(stands: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_unreleased_second_pay() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        -- Locked, so that who withdraws it waits and finds what uses it.
        PERFORM FROM pay_release r WHERE r.employer_id = NEW.employer_id
             AND r.period = NEW.period AND r.kind_of_pay = NEW.kind_of_pay
             AND r.employee_id = NEW.employee_id AND r.sequence = NEW.release_sequence AND ${stands}
             FOR SHARE OF r;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'second pay of a period without a release'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'second_pay_is_released';
        END IF;
        RETURN NEW;
      END $$`;
}
