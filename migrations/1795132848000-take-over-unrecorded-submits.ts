import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the bank shows as submitted without a submit in the record may be taken over, or be said to be executed, by two
 * people; nobody whom it may have paid is paid by another payment.
 */
export class TakeOverUnrecordedSubmits1795132848000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE forgotten_instruction ALTER COLUMN restore_id DROP NOT NULL,
        ADD COLUMN action_id uuid,
        ADD CONSTRAINT forgotten_instruction_has_cause CHECK (restore_id IS NOT NULL OR action_id IS NOT NULL),
        ADD FOREIGN KEY (employer_id, action_id) REFERENCES attention_action;
      COMMENT ON COLUMN forgotten_instruction.restore_id IS 'null where no restore explains it: somebody else submitted it';
      COMMENT ON COLUMN forgotten_instruction.action_id IS
        'what two people decided: to take it over, or, where that cannot be, that the bank says in writing it was executed';
      GRANT UPDATE (action_id) ON forgotten_instruction TO payrun_app;

      CREATE FUNCTION refuse_decision_by_one_person() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action = 'EXECUTED'
               AND d.confirmed_at IS NOT NULL AND a.kind = 'UNRECORDED_SUBMIT' AND a.pay_run_id = NEW.pay_run_id
               AND (a.instruction_id = NEW.instruction_id OR NEW.restore_id IS NOT NULL AND d.evidence IS NOT NULL)) THEN
          RAISE EXCEPTION 'two people decide what becomes of a submit that is not in the record'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'unrecorded_submit_needs_two_people';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_decision_by_one_person BEFORE INSERT OR UPDATE OF action_id ON forgotten_instruction
        FOR EACH ROW WHEN (NEW.action_id IS NOT NULL) EXECUTE FUNCTION refuse_decision_by_one_person();

      CREATE OR REPLACE ${mayBeForgotten('f.adopted_at IS NULL AND f.action_id IS NULL')};
    `);
    await db.query(`
      CREATE FUNCTION refuse_successor_of_a_forgotten_run() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM payment p
             JOIN forgotten_instruction f ON f.employer_id = p.employer_id AND f.pay_run_id = p.pay_run_id
             WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id AND f.adopted_at IS NULL) THEN
          RAISE EXCEPTION 'what a submit that is not in the record may have paid is never replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_was_not_forgotten';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_successor_of_a_forgotten_run BEFORE INSERT ON payment
        FOR EACH ROW WHEN (NEW.replaces_payment_id IS NOT NULL) EXECUTE FUNCTION refuse_successor_of_a_forgotten_run();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_successor_of_a_forgotten_run ON payment;
      DROP FUNCTION refuse_successor_of_a_forgotten_run;
      CREATE OR REPLACE ${mayBeForgotten('f.adopted_at IS NULL')};
      DROP TRIGGER refuse_decision_by_one_person ON forgotten_instruction;
      DROP FUNCTION refuse_decision_by_one_person;
      ALTER TABLE forgotten_instruction DROP COLUMN action_id, ALTER COLUMN restore_id SET NOT NULL;
    `);
  }
}

function mayBeForgotten(open: string): string {
  return `FUNCTION may_be_forgotten(employer uuid, run uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT NOT database_is_known()
          OR EXISTS (SELECT FROM service_stop s
               WHERE s.employer_id = employer AND s.kind = 'RESTORED' AND s.lifted_at IS NULL)
          OR EXISTS (SELECT FROM forgotten_instruction f
               WHERE f.employer_id = employer AND f.pay_run_id = run AND ${open}) $$`;
}
