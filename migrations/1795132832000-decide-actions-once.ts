import { MigrationInterface, QueryRunner } from 'typeorm';

/** What two people decided about a doubt, or one took back, stays as it is. */
export class DecideActionsOnce1795132832000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION refuse_change_of_a_decided_action() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'an action is confirmed or withdrawn once, and stays as it was proposed'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'action_is_decided_once';
      END $$;
      CREATE TRIGGER refuse_change_of_a_decided_action BEFORE UPDATE ON attention_action
        FOR EACH ROW WHEN (OLD.confirmed_at IS NOT NULL OR OLD.withdrawn_at IS NOT NULL
          OR (OLD.attention_id, OLD.action, OLD.reason, OLD.evidence, OLD.proposed_by)
            IS DISTINCT FROM (NEW.attention_id, NEW.action, NEW.reason, NEW.evidence, NEW.proposed_by))
        EXECUTE FUNCTION refuse_change_of_a_decided_action();
      ALTER TABLE attention_action ADD CONSTRAINT confirmed_or_withdrawn
        CHECK (confirmed_at IS NULL OR withdrawn_at IS NULL);
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention_action DROP CONSTRAINT confirmed_or_withdrawn;
      DROP TRIGGER refuse_change_of_a_decided_action ON attention_action;
      DROP FUNCTION refuse_change_of_a_decided_action;
    `);
  }
}
