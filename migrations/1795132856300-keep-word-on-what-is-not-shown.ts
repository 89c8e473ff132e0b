import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What ended unpaid, or came back, and is not shown by the bank any more, is paid again on the bank's written word: two
 * people keep it for each payment and the instruction that held it. What the bank shows later still goes before it.
 */
export class KeepWordOnWhatIsNotShown1795132856300 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE unseen_decision (
        employer_id uuid NOT NULL,
        instruction_id uuid NOT NULL,
        row_no integer NOT NULL,
        payment_id uuid NOT NULL,
        action_id uuid NOT NULL,
        PRIMARY KEY (employer_id, instruction_id, row_no),
        FOREIGN KEY (employer_id, action_id) REFERENCES attention_action,
        FOREIGN KEY (employer_id, payment_id) REFERENCES payment,
        FOREIGN KEY (employer_id, instruction_id, row_no) REFERENCES bank_payment
      );
      ALTER TABLE unseen_decision ALTER COLUMN employer_id SET STATISTICS 0;
      COMMENT ON TABLE unseen_decision IS
        'replaced payments that the bank does not show, of which two people have its written word that they are unpaid';
      ALTER TABLE unseen_decision ENABLE ROW LEVEL SECURITY;
      ALTER TABLE unseen_decision FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_employer ON unseen_decision TO payrun_app
        USING (employer_id = (SELECT current_employer()))
        WITH CHECK (employer_id = (SELECT current_employer()));
      GRANT SELECT, INSERT ON unseen_decision TO payrun_app;
    `);
    await db.query(`
      CREATE FUNCTION refuse_word_without_two_people() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action = 'NOT_PAID'
               AND d.confirmed_at IS NOT NULL AND NEW.payment_id = ANY (d.payment_ids)
               AND a.kind = 'REPLACED_UNSEEN')
           OR NOT EXISTS (SELECT FROM bank_payment b
             JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
             WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
               AND b.row_no = NEW.row_no AND b.payment_id = NEW.payment_id
               AND (NOT p.live OR p.returned_at IS NOT NULL)) THEN
          RAISE EXCEPTION 'two people who were asked about it say that a payment which is over was not paid'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'word_needs_two_people';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_word_without_two_people BEFORE INSERT ON unseen_decision
        FOR EACH ROW EXECUTE FUNCTION refuse_word_without_two_people();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP TABLE unseen_decision; DROP FUNCTION refuse_word_without_two_people;');
  }
}
