import { MigrationInterface, QueryRunner } from 'typeorm';

/** When a run is submitted may be amended; it is no part of the hash, and so changes only while nothing is approved. */
export class AmendWhenARunIsSubmitted1795132860010 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE amendment ADD COLUMN submit_at timestamptz;
      COMMENT ON COLUMN amendment.submit_at IS 'when the run is submitted instead; null where that stays';
      GRANT UPDATE (submit_at) ON pay_run TO payrun_app;

      CREATE FUNCTION refuse_other_submit_time() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        RAISE EXCEPTION 'when a run is submitted changes only in a draft, which is approved anew'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_time_is_of_a_draft';
      END $$;
      CREATE TRIGGER refuse_other_submit_time BEFORE UPDATE OF submit_at ON pay_run
        FOR EACH ROW WHEN (OLD.status <> 'DRAFT' AND NEW.submit_at IS DISTINCT FROM OLD.submit_at)
        EXECUTE FUNCTION refuse_other_submit_time();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_other_submit_time ON pay_run;
      DROP FUNCTION refuse_other_submit_time;
      REVOKE UPDATE (submit_at) ON pay_run FROM payrun_app;
      ALTER TABLE amendment DROP COLUMN submit_at;
    `);
  }
}
