import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Two people decide, on the bank's written word, what a status means that does not say what became of a payment: each
 * payment whose end rests on that names the decision.
 */
export class DecideUnclearStatuses1795132855100 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention_action ADD COLUMN payment_ids uuid[],
        ADD CONSTRAINT meaning_names_payments_and_evidence CHECK (
          CASE WHEN action IN ('PAID', 'NOT_PAID')
            THEN coalesce(cardinality(payment_ids), 0) > 0 AND coalesce(length(btrim(evidence)), 0) >= 3
            ELSE payment_ids IS NULL END) NOT VALID;
      COMMENT ON COLUMN attention_action.payment_ids IS
        'what PAID or NOT_PAID was proposed of: what comes to show the status later, nobody has decided';
      ${decidedOnce(', OLD.payment_ids', ', NEW.payment_ids')}

      CREATE TABLE payment_decision (
        employer_id uuid NOT NULL,
        instruction_id uuid NOT NULL,
        row_no integer NOT NULL,
        payment_id uuid NOT NULL,
        action_id uuid NOT NULL,
        bank_status text NOT NULL,
        PRIMARY KEY (employer_id, instruction_id, row_no),
        UNIQUE (employer_id, payment_id),
        FOREIGN KEY (employer_id, action_id) REFERENCES attention_action,
        FOREIGN KEY (employer_id, payment_id) REFERENCES payment,
        FOREIGN KEY (employer_id, instruction_id, row_no) REFERENCES bank_payment
      );
      ALTER TABLE payment_decision ALTER COLUMN employer_id SET STATISTICS 0;
      COMMENT ON TABLE payment_decision IS 'payments whose end is the word of two people, not a status of the bank';
      COMMENT ON COLUMN payment_decision.bank_status IS
        'whose meaning was decided: the payment''s own, or its instruction''s where that held it up';
      ALTER TABLE payment_decision ENABLE ROW LEVEL SECURITY;
      ALTER TABLE payment_decision FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_employer ON payment_decision TO payrun_app
        USING (employer_id = (SELECT current_employer()))
        WITH CHECK (employer_id = (SELECT current_employer()));
      GRANT SELECT, INSERT ON payment_decision TO payrun_app;
    `);
    await db.query(`
      CREATE FUNCTION refuse_meaning_without_two_people() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action IN ('PAID', 'NOT_PAID')
               AND d.confirmed_at IS NOT NULL AND NEW.payment_id = ANY (d.payment_ids)
               AND a.kind = 'UNKNOWN_STATUS' AND a.instruction_id = NEW.instruction_id
               AND strpos(a.happened, ' ' || NEW.bank_status || ' (') > 0
               AND EXISTS (SELECT FROM bank_payment b
                 WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
                   AND b.row_no = NEW.row_no AND b.payment_id = NEW.payment_id)) THEN
          RAISE EXCEPTION 'two people who were asked about this status decide what it means for a payment they named'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'meaning_needs_two_people';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_meaning_without_two_people BEFORE INSERT ON payment_decision
        FOR EACH ROW EXECUTE FUNCTION refuse_meaning_without_two_people();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TABLE payment_decision;
      DROP FUNCTION refuse_meaning_without_two_people;
      ${decidedOnce('', '')}
      ALTER TABLE attention_action DROP COLUMN payment_ids;
    `);
  }
}

function decidedOnce(before: string, after: string): string {
  return `
      DROP TRIGGER refuse_change_of_a_decided_action ON attention_action;
      CREATE TRIGGER refuse_change_of_a_decided_action BEFORE UPDATE ON attention_action
        FOR EACH ROW WHEN (OLD.confirmed_at IS NOT NULL OR OLD.withdrawn_at IS NOT NULL
          OR (OLD.attention_id, OLD.action, OLD.reason, OLD.evidence, OLD.proposed_by${before})
            IS DISTINCT FROM (NEW.attention_id, NEW.action, NEW.reason, NEW.evidence, NEW.proposed_by${after}))
        EXECUTE FUNCTION refuse_change_of_a_decided_action();`;
}
