import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What is given up is built again: nothing is while the database may have forgotten a submit of it and not everybody was told,
 * as nothing is submitted or released then.
 */
export class GiveNothingUpBeforeARestoreIsTold1795132860340 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION refuse_giving_up_after_a_restore() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        IF NOT database_is_known() THEN
          RAISE EXCEPTION 'nothing is given up on a database that may have forgotten its submit'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'giving_up_needs_known_database';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_giving_up_after_a_restore BEFORE UPDATE OF status ON instruction
        FOR EACH ROW WHEN (NEW.status = 'ABANDONED' AND OLD.status <> 'ABANDONED')
        EXECUTE FUNCTION refuse_giving_up_after_a_restore();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_giving_up_after_a_restore ON instruction;
      DROP FUNCTION refuse_giving_up_after_a_restore;
    `);
  }
}
