import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * After a restore nobody knows whether an instruction with an undocumented status was submitted: two people may say so, on
 * the bank's written word; or that it was not, of what the record has as built, and gives up, so that it is watched.
 */
export class DecideWhatNoDocumentNames1795132859986 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      decisionGuard(`(d.action = 'EXECUTED'
                 AND (a.instruction_id = NEW.instruction_id OR NEW.restore_id IS NOT NULL AND d.evidence IS NOT NULL)
               OR d.action = 'NOT_EXECUTED' AND NEW.restore_id IS NOT NULL AND btrim(d.evidence) <> '')`),
    );
    await db.query(
      settlingGuard(` AND NOT EXISTS (SELECT FROM attention_action d
             JOIN instruction i ON i.employer_id = d.employer_id
               AND i.bank_instruction_id = NEW.bank_instruction_id AND i.status = 'ABANDONED'
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action = 'NOT_EXECUTED')`),
    );
    await db.query(`
      GRANT UPDATE (bank_status) ON forgotten_instruction TO payrun_app;
      COMMENT ON COLUMN forgotten_instruction.adopted_at IS
        'when it was taken back with its submit, or given up on the bank''s word that it was not submitted';
      COMMENT ON COLUMN forgotten_instruction.action_id IS
        'what two people decided: to take it over, or, where that cannot be, what the bank says in writing, that it was executed or that it was not';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(
      decisionGuard(`d.action = 'EXECUTED'
               AND (a.instruction_id = NEW.instruction_id OR NEW.restore_id IS NOT NULL AND d.evidence IS NOT NULL)`),
    );
    await db.query(settlingGuard(''));
    await db.query(`
      REVOKE UPDATE (bank_status) ON forgotten_instruction FROM payrun_app;
      COMMENT ON COLUMN forgotten_instruction.adopted_at IS NULL;
      COMMENT ON COLUMN forgotten_instruction.action_id IS
        'what two people decided: to take it over, or, where that cannot be, that the bank says in writing it was executed';
    `);
  }
}

function decisionGuard(word: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_decision_by_one_person() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.confirmed_at IS NOT NULL
               AND a.kind = 'UNRECORDED_SUBMIT' AND a.pay_run_id = NEW.pay_run_id AND ${word}) THEN
          RAISE EXCEPTION 'two people decide what becomes of a submit that is not in the record'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'unrecorded_submit_needs_two_people';
        END IF;
        RETURN NEW;
      END $$`;
}

function settlingGuard(unlessSaid: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_taking_back_without_a_submit() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        IF OLD.adopted_at IS NOT NULL OR NOT EXISTS (SELECT FROM submit_attempt s
             WHERE s.employer_id = NEW.employer_id AND s.bank_instruction_id = NEW.bank_instruction_id
               AND s.outcome = 'EXECUTED')${unlessSaid} THEN
          RAISE EXCEPTION 'what was forgotten is taken back once, with its submit in the record'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'taken_back_with_its_submit';
        END IF;
        RETURN NEW;
      END $$`;
}
