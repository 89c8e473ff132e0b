import { MigrationInterface, QueryRunner } from 'typeorm';

/** Who confirms an action may have lost the right to while the bank was read for it. */
export class ConfirmAsWhoMayStill1795132860560 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION refuse_confirmation_without_role() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM person p
            JOIN person_role r ON r.employer_id = NEW.employer_id AND r.person_id = p.id
            WHERE p.id = NEW.confirmed_by AND p.disabled_at IS NULL AND r.role IN ('approver', 'operator')) THEN
          RAISE EXCEPTION 'who confirms an action holds no role any more that may'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'who_confirms_may';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_confirmation_without_role BEFORE UPDATE ON attention_action
        FOR EACH ROW WHEN (OLD.confirmed_by IS NULL AND NEW.confirmed_by IS NOT NULL)
        EXECUTE FUNCTION refuse_confirmation_without_role();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_confirmation_without_role ON attention_action;
      DROP FUNCTION refuse_confirmation_without_role;
    `);
  }
}
