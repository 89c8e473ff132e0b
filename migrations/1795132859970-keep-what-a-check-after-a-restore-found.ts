import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the check after a restore found is found once: whether the bank showed everything decides whether two people need
 * its written word, and of whom nobody is paid again.
 */
export class KeepWhatACheckAfterARestoreFound1795132859970 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION refuse_change_of_a_passed_check() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        RAISE EXCEPTION 'what a check after a restore found never changes'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'passed_restore_check_stays';
      END $$;
      CREATE TRIGGER refuse_change_of_a_passed_check BEFORE UPDATE ON restore_check
        FOR EACH ROW WHEN (OLD.passed_at IS NOT NULL) EXECUTE FUNCTION refuse_change_of_a_passed_check()`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_change_of_a_passed_check ON restore_check;
      DROP FUNCTION refuse_change_of_a_passed_check()`);
  }
}
