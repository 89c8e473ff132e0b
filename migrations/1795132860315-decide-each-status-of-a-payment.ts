import { MigrationInterface, QueryRunner } from 'typeorm';

const READ = ['payment_decision', 'attention_action'];

/**
 * What has ended unpaid may show one undocumented status after another, and people decide what each means: with one
 * decision for a payment the second was asked about and could never be decided. What has no end yet ends by one decision.
 */
export class DecideEachStatusOfAPayment1795132860315 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE payment_decision
        DROP CONSTRAINT payment_decision_pkey,
        DROP CONSTRAINT payment_decision_employer_id_payment_id_key;
      ALTER TABLE payment_decision
        ADD PRIMARY KEY (employer_id, instruction_id, row_no, bank_status),
        ADD UNIQUE (employer_id, payment_id, bank_status);
      COMMENT ON TABLE payment_decision IS
        'payments whose end, or what they show after it, is the word of two people, not a status of the bank';

      CREATE FUNCTION refuse_second_meaning() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      DECLARE
        ended text;
      BEGIN
        -- Of two at a time the later one sees the earlier.
        SELECT p.status INTO ended FROM payment p
        WHERE p.employer_id = NEW.employer_id AND p.id = NEW.payment_id FOR NO KEY UPDATE;
        IF EXISTS (SELECT FROM payment_decision d
             WHERE d.employer_id = NEW.employer_id AND d.payment_id = NEW.payment_id)
           AND NOT (ended IN ('FAILED', 'REJECTED', 'CANCELLED')
             AND EXISTS (SELECT FROM attention_action a
               WHERE a.employer_id = NEW.employer_id AND a.id = NEW.action_id AND a.action = 'NOT_PAID')) THEN
          RAISE EXCEPTION 'only what the bank ended unpaid is decided of by a further status, and so that it stays unpaid'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'one_decision_ends_a_payment';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_second_meaning BEFORE INSERT ON payment_decision
        FOR EACH ROW EXECUTE FUNCTION refuse_second_meaning();
    `);
  }

  /** The last decision of each payment is left, as the earlier version knows one. */
  async down(db: QueryRunner): Promise<void> {
    // The owner, who migrates, sees no row of any employer otherwise.
    for (const table of READ) await db.query(`ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY`);
    await db.query(`
      DROP TRIGGER refuse_second_meaning ON payment_decision;
      DROP FUNCTION refuse_second_meaning;
      DELETE FROM payment_decision d USING (
        SELECT o.employer_id, o.payment_id, o.bank_status, row_number() OVER (
          PARTITION BY o.employer_id, o.payment_id ORDER BY a.confirmed_at DESC) AS place
        FROM payment_decision o JOIN attention_action a ON a.employer_id = o.employer_id AND a.id = o.action_id) one
      WHERE place > 1 AND one.employer_id = d.employer_id AND one.payment_id = d.payment_id
        AND one.bank_status = d.bank_status;
      ALTER TABLE payment_decision
        DROP CONSTRAINT payment_decision_pkey,
        DROP CONSTRAINT payment_decision_employer_id_payment_id_bank_status_key;
      ALTER TABLE payment_decision
        ADD PRIMARY KEY (employer_id, instruction_id, row_no),
        ADD UNIQUE (employer_id, payment_id);
      COMMENT ON TABLE payment_decision IS 'payments whose end is the word of two people, not a status of the bank';
    `);
    for (const table of READ) await db.query(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`);
  }
}
