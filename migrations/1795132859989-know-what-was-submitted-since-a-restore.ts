import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An instruction may be shown as submitted after a restore found it in a status that no document names: people are asked
 * anew then, and what was found stays.
 */
export class KnowWhatWasSubmittedSinceARestore1795132859989 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE forgotten_instruction ADD COLUMN submitted_as text;
      COMMENT ON COLUMN forgotten_instruction.submitted_as IS
        'the status past its submit that it was shown in since bank_status, which says nothing of one; null where in none';
      GRANT UPDATE (submitted_as) ON forgotten_instruction TO payrun_app;

      CREATE FUNCTION refuse_other_submitted_status() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        RAISE EXCEPTION 'that what a restore left open was submitted is written down once'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'shown_as_submitted_once';
      END $$;
      CREATE TRIGGER refuse_other_submitted_status BEFORE UPDATE OF submitted_as ON forgotten_instruction
        FOR EACH ROW WHEN (OLD.submitted_as IS NOT NULL AND NEW.submitted_as IS DISTINCT FROM OLD.submitted_as)
        EXECUTE FUNCTION refuse_other_submitted_status();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_other_submitted_status ON forgotten_instruction;
      DROP FUNCTION refuse_other_submitted_status;
      ALTER TABLE forgotten_instruction DROP COLUMN submitted_as;
    `);
  }
}
