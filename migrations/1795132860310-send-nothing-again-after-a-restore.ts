import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * That a submit was not executed, or never left, holds as long as nothing is forgotten of what came after it: of an
 * instruction whose last submit is older than a restore none is sent again.
 */
export class SendNothingAgainAfterARestore1795132860310 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION refuse_arming_after_a_restore() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        IF (SELECT max(s.attempted_at) FROM submit_attempt s WHERE s.employer_id = NEW.employer_id
              AND s.planned_instruction_id = NEW.planned_instruction_id AND s.instruction_id = NEW.id)
            < (SELECT max(noticed_at) FROM database_restore) THEN
          RAISE EXCEPTION 'a submit from before a restore is not sent again: that it was may be forgotten'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_before_a_restore_is_not_sent_again';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_arming_after_a_restore BEFORE UPDATE OF status ON instruction
        FOR EACH ROW WHEN (OLD.status = 'SUBMIT_INTENT' AND NEW.status = 'VERIFIED')
        EXECUTE FUNCTION refuse_arming_after_a_restore();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_arming_after_a_restore ON instruction;
      DROP FUNCTION refuse_arming_after_a_restore;
    `);
  }
}
