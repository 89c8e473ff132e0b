import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A bank may go on with an instruction that it has ended: then the payments of it become void only where two people were
 * asked since, or decided what the status of each means.
 */
export class EndNoPaymentsOfWhatWentOn1795132860540 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION refuse_end_of_what_went_on() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        IF EXISTS (SELECT FROM instruction i
             WHERE i.employer_id = NEW.employer_id AND i.planned_instruction_id = ANY (ARRAY(
               SELECT n.id FROM planned_instruction n WHERE n.employer_id = NEW.employer_id
                 AND n.pay_run_id = NEW.pay_run_id AND NEW.row_no BETWEEN n.first_row AND n.last_row))
               AND i.status = 'SUBMITTED' AND i.went_on_at IS NOT NULL
               AND NOT EXISTS (SELECT FROM attention a
                 JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
                 WHERE a.employer_id = i.employer_id AND a.instruction_id = i.id AND a.opened_at > i.went_on_at
                   AND d.action = 'NOT_EXECUTED' AND d.confirmed_at IS NOT NULL))
           AND NOT EXISTS (SELECT FROM payment_decision d
             WHERE d.employer_id = NEW.employer_id AND d.payment_id = NEW.id) THEN
          RAISE EXCEPTION 'the bank went on with an instruction since two people were asked whether it was executed'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'void_is_asked_since';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_end_of_what_went_on BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (OLD.status = 'SUBMITTED' AND NEW.status = 'VOID')
        EXECUTE FUNCTION refuse_end_of_what_went_on();
      COMMENT ON COLUMN instruction.went_on_at IS
        'when it was last found taken up, or a payment of it a step further, though it had been seen to be ended; null where it was not';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      COMMENT ON COLUMN instruction.went_on_at IS
        'when a payment of it was last found a step further though it had been seen to be ended; null where none was';
      DROP TRIGGER refuse_end_of_what_went_on ON payment;
      DROP FUNCTION refuse_end_of_what_went_on;
    `);
  }
}
