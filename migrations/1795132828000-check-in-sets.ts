import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What is asked before each call to the bank is one statement, whose plans the connection keeps; and what the bank's
 * payments refer to is looked up once for all that are added together, where two foreign keys took two look-ups and two
 * row locks for each.
 */
export class CheckInSets1795132828000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION run_state(of_employer uuid, run uuid,
        OUT run_status text, OUT ended boolean, OUT stopped boolean, OUT restored boolean) LANGUAGE plpgsql AS $$
      DECLARE
        switched_off boolean;
      BEGIN
        SELECT e.stopped_at IS NOT NULL OR s.submits_off OR EXISTS (SELECT FROM forgotten_instruction f
              WHERE f.employer_id = e.id AND f.pay_run_id = run AND f.adopted_at IS NULL),
            NOT database_is_known() OR EXISTS (SELECT FROM restore_check c
              WHERE c.employer_id = e.id AND c.passed_at IS NULL)
          INTO switched_off, restored
          FROM employer e, service_switch s WHERE e.id = of_employer FOR SHARE OF e, s;
        SELECT r.status, r.status IN ('CANCELLING', 'CANCELLED') OR r.lapse_reason IS NOT NULL OR EXISTS (SELECT FROM amendment a
              WHERE a.employer_id = r.employer_id AND a.pay_run_id = r.id AND a.applied_as_version IS NULL),
            switched_off OR r.stopped_at IS NOT NULL
          INTO run_status, ended, stopped
          FROM pay_run r WHERE r.employer_id = of_employer AND r.id = run;
      END $$;
      COMMENT ON FUNCTION run_state IS 'a run and what stands in its way; the switches stay as they are to the commit';

      CREATE FUNCTION lock_for_call(of_employer uuid, run uuid, of_instruction uuid, account uuid,
        subject uuid, of_holder text, of_epoch bigint,
        OUT run_status text, OUT ended boolean, OUT stopped boolean, OUT restored boolean,
        OUT instruction_status text, OUT held boolean, OUT account_status text) LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM FROM pay_run r WHERE r.employer_id = of_employer AND r.id = run FOR SHARE;
        SELECT s.run_status, s.ended, s.stopped, s.restored INTO run_status, ended, stopped, restored
          FROM run_state(of_employer, run) s;
        SELECT i.status INTO instruction_status FROM instruction i
          WHERE i.employer_id = of_employer AND i.id = of_instruction FOR NO KEY UPDATE;
        PERFORM FROM lease l WHERE l.subject_id = subject AND l.holder = of_holder AND l.epoch = of_epoch
          AND l.leased_until > clock_timestamp() FOR KEY SHARE;
        held := FOUND;
        SELECT a.bank_status INTO account_status FROM employer_account a
          WHERE a.employer_id = of_employer AND a.id = account FOR SHARE;
      END $$;
      COMMENT ON FUNCTION lock_for_call IS
        'whatever allows a call, each read after its lock was had, in the order of locks; all of it stays so to the commit';
    `);
    await db.query(`
      CREATE FUNCTION refuse_bank_payment_of_nobody() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        referred record;
      BEGIN
        -- By arrays: a join with rows this fresh, of which there are no statistics, may read all payments for each row.
        FOR referred IN SELECT employer_id, array_agg(DISTINCT payment_id) AS payments,
            array_agg(DISTINCT instruction_id) AS instructions FROM added GROUP BY employer_id LOOP
          IF (SELECT count(*) FROM payment p WHERE p.employer_id = referred.employer_id
                AND p.id = ANY (referred.payments)) < cardinality(referred.payments) THEN
            RAISE EXCEPTION 'a payment of the bank is of a payment of the same employer'
              USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'bank_payment_has_payment';
          END IF;
          IF (SELECT count(*) FROM instruction i WHERE i.employer_id = referred.employer_id
                AND i.id = ANY (referred.instructions)) < cardinality(referred.instructions) THEN
            RAISE EXCEPTION 'a payment of the bank is of an instruction of the same employer'
              USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'bank_payment_has_instruction';
          END IF;
        END LOOP;
        RETURN NULL;
      END $$;
      CREATE TRIGGER refuse_bank_payment_of_nobody AFTER INSERT ON bank_payment
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION refuse_bank_payment_of_nobody();
      CREATE FUNCTION refuse_change_of_a_key() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'what a row of % is, and of what, never changes', TG_TABLE_NAME
          USING ERRCODE = 'check_violation', CONSTRAINT = 'keys_never_change';
      END $$;
      CREATE TRIGGER refuse_change_of_a_key BEFORE UPDATE OF employer_id, instruction_id, row_no, payment_id
        ON bank_payment FOR EACH ROW WHEN ((NEW.employer_id, NEW.instruction_id, NEW.row_no, NEW.payment_id)
          IS DISTINCT FROM (OLD.employer_id, OLD.instruction_id, OLD.row_no, OLD.payment_id))
        EXECUTE FUNCTION refuse_change_of_a_key();
      CREATE TRIGGER refuse_change_of_a_key BEFORE UPDATE OF employer_id, id ON payment
        FOR EACH ROW WHEN ((NEW.employer_id, NEW.id) IS DISTINCT FROM (OLD.employer_id, OLD.id))
        EXECUTE FUNCTION refuse_change_of_a_key();
      CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION '% is never deleted from: others refer to it', TG_TABLE_NAME
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'never_deleted';
      END $$;
      CREATE TRIGGER never_deleted BEFORE DELETE ON payment FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
      CREATE TRIGGER never_deleted BEFORE DELETE ON instruction FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
      ALTER TABLE bank_payment DROP CONSTRAINT bank_payment_employer_id_instruction_id_fkey,
        DROP CONSTRAINT bank_payment_employer_id_payment_id_fkey;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment ADD FOREIGN KEY (employer_id, instruction_id) REFERENCES instruction,
        ADD FOREIGN KEY (employer_id, payment_id) REFERENCES payment;
      DROP TRIGGER never_deleted ON instruction;
      DROP TRIGGER never_deleted ON payment;
      DROP TRIGGER refuse_change_of_a_key ON payment;
      DROP TRIGGER refuse_change_of_a_key ON bank_payment;
      DROP TRIGGER refuse_bank_payment_of_nobody ON bank_payment;
      DROP FUNCTION refuse_deletion, refuse_change_of_a_key, refuse_bank_payment_of_nobody, lock_for_call, run_state;
    `);
  }
}
