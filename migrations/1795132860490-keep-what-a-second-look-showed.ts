import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a look before a repay shows to have moved is kept for each payment: the bank may show it no more, and its word in
 * writing counts only where people were asked for it since.
 */
export class KeepWhatASecondLookShowed1795132860490 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE moved_payment (
        employer_id uuid NOT NULL,
        instruction_id uuid NOT NULL,
        row_no integer NOT NULL,
        bank_status text NOT NULL,
        is_elsewhere boolean NOT NULL,
        seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (employer_id, instruction_id, row_no),
        FOREIGN KEY (employer_id, instruction_id, row_no) REFERENCES bank_payment
      );
      ALTER TABLE moved_payment ALTER COLUMN employer_id SET STATISTICS 0;
      COMMENT ON TABLE moved_payment IS
        'replaced payments that a look before they were paid again has shown to have moved, as they were shown last';
      COMMENT ON COLUMN moved_payment.is_elsewhere IS
        'whether one was ever shown under its message id in an instruction that is none of ours';
      ALTER TABLE moved_payment ENABLE ROW LEVEL SECURITY;
      ALTER TABLE moved_payment FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_employer ON moved_payment TO payrun_app
        USING (employer_id = (SELECT current_employer()))
        WITH CHECK (employer_id = (SELECT current_employer()));
      GRANT SELECT, INSERT, UPDATE (bank_status, is_elsewhere, seen_at) ON moved_payment TO payrun_app;

      ALTER TABLE unseen_decision DROP CONSTRAINT unseen_decision_pkey,
        ADD PRIMARY KEY (employer_id, instruction_id, row_no, action_id);
    `);
    await db.query(
      wordOfTwo(`AND NOT EXISTS (SELECT FROM moved_payment m
                 WHERE m.employer_id = NEW.employer_id AND m.instruction_id = NEW.instruction_id
                   AND m.row_no = NEW.row_no AND m.seen_at >= a.opened_at)`),
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(wordOfTwo(''));
    await db.query(`
      DELETE FROM unseen_decision u USING unseen_decision o
        WHERE o.employer_id = u.employer_id AND o.instruction_id = u.instruction_id AND o.row_no = u.row_no
          AND o.action_id < u.action_id;
      ALTER TABLE unseen_decision DROP CONSTRAINT unseen_decision_pkey,
        ADD PRIMARY KEY (employer_id, instruction_id, row_no);
      DROP TABLE moved_payment;
    `);
  }
}

function wordOfTwo(since: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_word_without_two_people() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention_action d
             JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
             WHERE d.employer_id = NEW.employer_id AND d.id = NEW.action_id AND d.action = 'NOT_PAID'
               AND d.confirmed_at IS NOT NULL AND NEW.payment_id = ANY (d.payment_ids)
               AND a.kind = 'REPLACED_UNSEEN' ${since})
           OR NOT EXISTS (SELECT FROM bank_payment b
             JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
             WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
               AND b.row_no = NEW.row_no AND b.payment_id = NEW.payment_id
               AND (NOT p.live OR p.returned_at IS NOT NULL)) THEN
          RAISE EXCEPTION 'two people who were asked about it say that a payment which is over was not paid'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'word_needs_two_people';
        END IF;
        RETURN NEW;
      END $$;`;
}
