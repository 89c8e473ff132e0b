import { MigrationInterface, QueryRunner } from 'typeorm';

/** A release of a further payment that was a mistake is taken back while no live payment uses it. */
export class WithdrawReleases1795132850002 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_release
        ADD COLUMN withdrawn_at timestamptz,
        ADD COLUMN withdrawn_by uuid REFERENCES person,
        ADD COLUMN withdrawn_reason text CHECK (length(withdrawn_reason) BETWEEN 3 AND 500),
        ADD CONSTRAINT withdrawal_has_person_and_reason
          CHECK (num_nulls(withdrawn_at, withdrawn_by, withdrawn_reason) IN (0, 3));
      GRANT UPDATE (withdrawn_at, withdrawn_by, withdrawn_reason) ON pay_release TO payrun_app;

      CREATE FUNCTION refuse_change_of_a_withdrawn_release() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'a release is withdrawn once'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'release_is_withdrawn_once';
      END $$;
      CREATE TRIGGER refuse_change_of_a_withdrawn_release BEFORE UPDATE ON pay_release
        FOR EACH ROW WHEN (OLD.withdrawn_at IS NOT NULL) EXECUTE FUNCTION refuse_change_of_a_withdrawn_release();

      CREATE FUNCTION refuse_withdrawal_of_a_used_release() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM payment p WHERE p.employer_id = NEW.employer_id AND p.period = NEW.period
             AND p.kind_of_pay = NEW.kind_of_pay AND p.employee_id = NEW.employee_id
             AND p.release_sequence = NEW.sequence AND p.live) THEN
          RAISE EXCEPTION 'a release that a live payment uses is not withdrawn'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'used_release_stands';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_withdrawal_of_a_used_release BEFORE UPDATE ON pay_release
        FOR EACH ROW WHEN (OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL)
        EXECUTE FUNCTION refuse_withdrawal_of_a_used_release();
    `);
    await db.query(secondPayGuard('AND r.withdrawn_at IS NULL'));
    await db.query(`
      CREATE TRIGGER refuse_unreleased_second_pay_on_joining BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (OLD.status = 'HELD' AND NEW.status = 'READY' AND NEW.release_sequence > 0)
        EXECUTE FUNCTION refuse_unreleased_second_pay();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP TRIGGER refuse_unreleased_second_pay_on_joining ON payment');
    await db.query(secondPayGuard(''));
    await db.query(`
      DROP TRIGGER refuse_withdrawal_of_a_used_release ON pay_release;
      DROP TRIGGER refuse_change_of_a_withdrawn_release ON pay_release;
      DROP FUNCTION refuse_withdrawal_of_a_used_release, refuse_change_of_a_withdrawn_release;
      ALTER TABLE pay_release DROP COLUMN withdrawn_at, DROP COLUMN withdrawn_by, DROP COLUMN withdrawn_reason;
    `);
  }
}

function secondPayGuard(stands: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_unreleased_second_pay() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM pay_release r WHERE r.employer_id = NEW.employer_id
             AND r.period = NEW.period AND r.kind_of_pay = NEW.kind_of_pay
             AND r.employee_id = NEW.employee_id AND r.sequence = NEW.release_sequence ${stands}) THEN
          RAISE EXCEPTION 'second pay of a period without a release'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'second_pay_is_released';
        END IF;
        RETURN NEW;
      END $$`;
}
