import { MigrationInterface, QueryRunner } from 'typeorm';

/** Nobody declares a payment not paid that went on since that was proposed: the bank's word was given before. */
export class SayOfWhatStatusAWordWasGiven1795132857400 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention_action ADD COLUMN payment_statuses text[],
        ADD CONSTRAINT statuses_are_of_payments
          CHECK (cardinality(payment_statuses) = coalesce(cardinality(payment_ids), 0));
      COMMENT ON COLUMN attention_action.payment_statuses IS
        'what each of payment_ids showed when its meaning was proposed; null where no status is decided on';
      ${decidedOnce(', OLD.payment_statuses', ', NEW.payment_statuses')}
    `);
    await db.query(
      meaning(`
               AND (d.action = 'PAID' OR d.payment_statuses IS NULL
                 OR d.payment_statuses[array_position(d.payment_ids, NEW.payment_id)] = NEW.bank_status)`),
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ${meaning('')}
      ${decidedOnce('', '')}
      ALTER TABLE attention_action DROP COLUMN payment_statuses;
    `);
  }
}

function decidedOnce(before: string, after: string): string {
  return `
      DROP TRIGGER refuse_change_of_a_decided_action ON attention_action;
      CREATE TRIGGER refuse_change_of_a_decided_action BEFORE UPDATE ON attention_action
        FOR EACH ROW WHEN (OLD.confirmed_at IS NOT NULL OR OLD.withdrawn_at IS NOT NULL
          OR (OLD.attention_id, OLD.action, OLD.reason, OLD.evidence, OLD.proposed_by, OLD.payment_ids${before})
            IS DISTINCT FROM
             (NEW.attention_id, NEW.action, NEW.reason, NEW.evidence, NEW.proposed_by, NEW.payment_ids${after}))
        EXECUTE FUNCTION refuse_change_of_a_decided_action();`;
}

function meaning(ofStatus: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_meaning_without_two_people() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action IN ('PAID', 'NOT_PAID')
               AND d.confirmed_at IS NOT NULL AND NEW.payment_id = ANY (d.payment_ids)${ofStatus}
               AND a.kind = 'UNKNOWN_STATUS' AND a.instruction_id = NEW.instruction_id
               AND strpos(a.happened, ' ' || NEW.bank_status || ' (') > 0
               AND EXISTS (SELECT FROM bank_payment b
                 WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
                   AND b.row_no = NEW.row_no AND b.payment_id = NEW.payment_id)) THEN
          RAISE EXCEPTION 'two people who were asked about this status decide what it means for a payment they named'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'meaning_needs_two_people';
        END IF;
        RETURN NEW;
      END $$;`;
}
