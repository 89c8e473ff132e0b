import { MigrationInterface, QueryRunner } from 'typeorm';

/** After a restore, too, two people let submits go on, and on the bank's written word where it did not show everything. */
export class AskTwoPeopleAfterARestore1795132859100 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      resumeGuard(`
               AND (NEW.kind <> 'RESTORED' OR btrim(d.evidence) <> '' OR EXISTS (SELECT FROM restore_check c
                 WHERE c.employer_id = NEW.employer_id AND c.restore_id = NEW.subject_id AND NOT c.needs_evidence))`),
    );
    await db.query(resumeTrigger(''));
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(resumeTrigger(`OLD.kind <> 'RESTORED' AND `));
    await db.query(resumeGuard(''));
  }
}

function resumeGuard(onEvidence: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_resume_without_two_people() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        -- Of an attention that is resolved only what came after the stop: another stop of the same is another decision.
        IF NOT EXISTS (SELECT FROM attention a
             JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
             WHERE a.employer_id = NEW.employer_id AND a.kind = NEW.kind AND a.subject_id = NEW.subject_id
               AND d.action = 'RESUME' AND d.confirmed_at IS NOT NULL
               AND (a.resolved_at IS NULL OR d.confirmed_at >= NEW.stopped_at)${onEvidence}) THEN
          RAISE EXCEPTION 'two people let submits go on after a breach that stops everything'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'resume_needs_two_people';
        END IF;
        RETURN NEW;
      END $$`;
}

function resumeTrigger(when: string): string {
  return `
      DROP TRIGGER refuse_resume_without_two_people ON service_stop;
      CREATE TRIGGER refuse_resume_without_two_people BEFORE UPDATE OF lifted_at ON service_stop
        FOR EACH ROW WHEN (${when}OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL)
        EXECUTE FUNCTION refuse_resume_without_two_people()`;
}
