import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Where the cut-off passes while an instruction is built again in mid-run, it is released as a verified one is: else
 * its run could neither go on nor end. Nothing is released of a run of which a restored database may have forgotten a
 * submit: what is released is paid by another run.
 */
export class ReleaseWhatIsNotBuilt1795132847000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      INSERT INTO allowed_move VALUES ('instruction', 'BUILDING', 'RELEASED');

      CREATE FUNCTION may_be_forgotten(employer uuid, run uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT NOT database_is_known()
          OR EXISTS (SELECT FROM service_stop s
               WHERE s.employer_id = employer AND s.kind = 'RESTORED' AND s.lifted_at IS NULL)
          OR EXISTS (SELECT FROM forgotten_instruction f
               WHERE f.employer_id = employer AND f.pay_run_id = run AND f.adopted_at IS NULL) $$;
      COMMENT ON FUNCTION may_be_forgotten IS
        'whether a submit of the run may have been forgotten by a restored database: known so, or the bank is not read yet';

      CREATE FUNCTION refuse_release_after_a_restore() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF may_be_forgotten(NEW.employer_id, NEW.pay_run_id) THEN
          RAISE EXCEPTION 'nothing is released of a run of which a restored database may have forgotten a submit'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'forgotten_run_is_not_released';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_release_after_a_restore BEFORE UPDATE OF status ON instruction
        FOR EACH ROW WHEN (NEW.status = 'RELEASED' AND OLD.status <> 'RELEASED')
        EXECUTE FUNCTION refuse_release_after_a_restore();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_release_after_a_restore ON instruction;
      DROP FUNCTION refuse_release_after_a_restore, may_be_forgotten;
      DELETE FROM allowed_move WHERE subject = 'instruction' AND from_status = 'BUILDING' AND to_status = 'RELEASED';
    `);
  }
}
