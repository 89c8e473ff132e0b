import { MigrationInterface, QueryRunner } from 'typeorm';

/** Which breaches stop everything: the switch may go on again only when each of them was decided. */
export class KeepServiceStops1795132813000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE service_stop (
        id uuid PRIMARY KEY,
        employer_id uuid NOT NULL REFERENCES employer,
        kind text NOT NULL,
        subject_id uuid NOT NULL,
        stopped_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        lifted_at timestamptz
      );
      COMMENT ON TABLE service_stop IS
        'open attentions of all employers that stop every submit; outside the policies, for it concerns everybody';
      CREATE UNIQUE INDEX one_standing_stop_per_breach
        ON service_stop (employer_id, kind, subject_id) WHERE lifted_at IS NULL;
      GRANT SELECT, INSERT, UPDATE (lifted_at) ON service_stop TO payrun_app;

      CREATE FUNCTION refuse_resume_over_a_stop() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM service_stop WHERE lifted_at IS NULL) THEN
          RAISE EXCEPTION 'submits stay off while a breach that stops everything is undecided'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'service_is_stopped';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_resume_over_a_stop BEFORE UPDATE OF submits_off ON service_switch
        FOR EACH ROW WHEN (OLD.submits_off AND NOT NEW.submits_off) EXECUTE FUNCTION refuse_resume_over_a_stop();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_resume_over_a_stop ON service_switch;
      DROP FUNCTION refuse_resume_over_a_stop;
      DROP TABLE service_stop;
    `);
  }
}
