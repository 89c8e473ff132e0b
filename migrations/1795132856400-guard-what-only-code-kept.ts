import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What so far the code alone kept: a submit that may have left is not given up, its payments are at the bank for it, and
 * neither a declaration that it was not executed nor a resume is one person's; and whoever could be overtaken by what they
 * judge by waits for it.
 */
export class GuardWhatOnlyCodeKept1795132856400 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION refuse_giving_up_of_a_submit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM submit_attempt s WHERE s.employer_id = NEW.employer_id
             AND s.planned_instruction_id = NEW.planned_instruction_id AND s.instruction_id = NEW.id
             AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT') THEN
          RAISE EXCEPTION 'an instruction whose submit is not proven unsent does not become %', NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_is_not_given_up';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_giving_up_of_a_submit BEFORE UPDATE OF status ON instruction
        FOR EACH ROW WHEN (NEW.status <> OLD.status AND (NEW.status IN ('ABANDONED', 'RELEASED', 'CANCELLED')
          OR NEW.status = 'VERIFIED' AND OLD.status = 'SUBMIT_INTENT'))
        EXECUTE FUNCTION refuse_giving_up_of_a_submit();

      CREATE FUNCTION refuse_void_without_two_people() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT FROM attention a
             JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
             WHERE a.employer_id = NEW.employer_id AND a.instruction_id = NEW.id AND d.action = 'NOT_EXECUTED'
               AND d.confirmed_at IS NOT NULL) THEN
          RAISE EXCEPTION 'two people declare that a submit was not executed'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'void_needs_two_people';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_void_without_two_people BEFORE UPDATE OF status ON instruction
        FOR EACH ROW WHEN (NEW.status = 'VOID' AND OLD.status <> 'VOID')
        EXECUTE FUNCTION refuse_void_without_two_people();
    `);
    await db.query(submitGuard(`${READ_GATE}${LOCK_INTENT}${REFUSE_OVERLAP}`));
    await db.query(adoptionGuard(true));
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_submit_of_a_held_payment() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        held boolean;
        elsewhere boolean;
      BEGIN
        SELECT bool_or(one.status = 'HELD'), bool_or(one.status <> 'AT_BANK') INTO held, elsewhere
          FROM bank_payment b CROSS JOIN LATERAL (
            SELECT p.status FROM payment p
            WHERE p.employer_id = NEW.employer_id AND p.id = b.payment_id LIMIT 1) AS one
          WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id;
        IF held THEN
          ${REFUSE_HELD}
        END IF;
        -- What the bank shows as submitted is written down after the fact, whatever became of its payments.
        IF elsewhere AND NEW.outcome IS DISTINCT FROM 'EXECUTED' THEN
          RAISE EXCEPTION 'an instruction is submitted while each payment in it is at the bank'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_is_of_payments_at_bank';
        END IF;
        RETURN NEW;
      END $$`);
    await db.query(`
      CREATE FUNCTION refuse_taking_back_without_a_submit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF OLD.adopted_at IS NOT NULL OR NOT EXISTS (SELECT FROM submit_attempt s
             WHERE s.employer_id = NEW.employer_id AND s.bank_instruction_id = NEW.bank_instruction_id
               AND s.outcome = 'EXECUTED') THEN
          RAISE EXCEPTION 'what was forgotten is taken back once, with its submit in the record'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'taken_back_with_its_submit';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_taking_back_without_a_submit BEFORE UPDATE OF adopted_at ON forgotten_instruction
        FOR EACH ROW WHEN (NEW.adopted_at IS DISTINCT FROM OLD.adopted_at)
        EXECUTE FUNCTION refuse_taking_back_without_a_submit();

      CREATE FUNCTION refuse_second_decision() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'what becomes of a submit that is not in the record is decided once'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'unrecorded_submit_is_decided_once';
      END $$;
      CREATE TRIGGER refuse_second_decision BEFORE UPDATE OF action_id ON forgotten_instruction
        FOR EACH ROW WHEN (OLD.action_id IS NOT NULL AND NEW.action_id IS DISTINCT FROM OLD.action_id)
        EXECUTE FUNCTION refuse_second_decision();

      CREATE POLICY begins_at_the_beginning ON forgotten_instruction AS RESTRICTIVE FOR INSERT TO payrun_app
        WITH CHECK (adopted_at IS NULL);
      CREATE POLICY begins_at_the_beginning ON pay_hold AS RESTRICTIVE FOR INSERT TO payrun_app
        WITH CHECK (outcome IS NULL);

      CREATE FUNCTION refuse_resume_without_two_people() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        -- Of an attention that is resolved only what came after the stop: another stop of the same is another decision.
        IF NOT EXISTS (SELECT FROM attention a
             JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
             WHERE a.employer_id = NEW.employer_id AND a.kind = NEW.kind AND a.subject_id = NEW.subject_id
               AND d.action = 'RESUME' AND d.confirmed_at IS NOT NULL
               AND (a.resolved_at IS NULL OR d.confirmed_at >= NEW.stopped_at)) THEN
          RAISE EXCEPTION 'two people let submits go on after a breach that stops everything'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'resume_needs_two_people';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_resume_without_two_people BEFORE UPDATE OF lifted_at ON service_stop
        FOR EACH ROW WHEN (OLD.kind <> 'RESTORED' AND OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL)
        EXECUTE FUNCTION refuse_resume_without_two_people();
    `);
    await db.query(
      holdGuard(`${OPEN_HOLD} OR NOT EXISTS (SELECT FROM ${HOLD_OF_PAYMENT} AND h.outcome = 'RELEASED')`),
    );
    await db.query(detachmentGuard(WAIT_FOR_USERS));
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_unreleased_second_pay() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        -- Locked, so that who withdraws it waits and finds what uses it.
        PERFORM ${STANDING_RELEASE} FOR SHARE;
        IF NOT FOUND THEN
          ${REFUSE_SECOND_PAY}
        END IF;
        RETURN NEW;
      END $$`);
    await db.query(
      keyGuard(
        ', bank_payment_id',
        `OR OLD.bank_payment_id IS NOT NULL
            AND NEW.bank_payment_id IS DISTINCT FROM OLD.bank_payment_id`,
      ),
    );
    await db.query(`
      REVOKE UPDATE ON add_intent, bank_call FROM payrun_app;
      GRANT UPDATE (finished_at) ON add_intent TO payrun_app;
      GRANT UPDATE (outcome, outcome_detail, finished_at) ON bank_call TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      REVOKE UPDATE (finished_at) ON add_intent FROM payrun_app;
      REVOKE UPDATE (outcome, outcome_detail, finished_at) ON bank_call FROM payrun_app;
      GRANT UPDATE ON add_intent, bank_call TO payrun_app;
    `);
    await db.query(keyGuard('', ''));
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_unreleased_second_pay() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NOT EXISTS (SELECT ${STANDING_RELEASE}) THEN
          ${REFUSE_SECOND_PAY}
        END IF;
        RETURN NEW;
      END $$`);
    await db.query(detachmentGuard(''));
    await db.query(holdGuard(OPEN_HOLD));
    await db.query(`
      DROP TRIGGER refuse_resume_without_two_people ON service_stop;
      DROP POLICY begins_at_the_beginning ON pay_hold;
      DROP POLICY begins_at_the_beginning ON forgotten_instruction;
      DROP TRIGGER refuse_second_decision ON forgotten_instruction;
      DROP TRIGGER refuse_taking_back_without_a_submit ON forgotten_instruction;

      CREATE OR REPLACE FUNCTION refuse_submit_of_a_held_payment() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM bank_payment b
             WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
               AND (SELECT p.status FROM payment p
                 WHERE p.employer_id = NEW.employer_id AND p.id = b.payment_id) = 'HELD') THEN
          ${REFUSE_HELD}
        END IF;
        RETURN NEW;
      END $$`);
    await db.query(adoptionGuard(false));
    await db.query(submitGuard(`${FIND_INTENT}${READ_GATE}`));
    await db.query(`
      DROP TRIGGER refuse_void_without_two_people ON instruction;
      DROP TRIGGER refuse_giving_up_of_a_submit ON instruction;
      DROP FUNCTION refuse_resume_without_two_people, refuse_second_decision, refuse_taking_back_without_a_submit,
        refuse_void_without_two_people, refuse_giving_up_of_a_submit;
    `);
  }
}

const INTENT = `FROM instruction i
          JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
          WHERE i.employer_id = NEW.employer_id AND i.id = NEW.instruction_id AND i.status = 'SUBMIT_INTENT'
            AND i.planned_instruction_id = NEW.planned_instruction_id
            AND i.bank_instruction_id = NEW.bank_instruction_id AND p.row_hash = NEW.row_hash`;
const REFUSE_UNINTENDED = `RAISE EXCEPTION 'a submit needs an instruction in SUBMIT_INTENT with the approved row hash'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_intent';`;

const FIND_INTENT = `
        IF NOT EXISTS (SELECT ${INTENT}) THEN
          ${REFUSE_UNINTENDED}
        END IF;`;

const LOCK_INTENT = `
        -- After its run, as everything locks them: who would take the instruction back waits and finds the submit.
        PERFORM ${INTENT} FOR NO KEY UPDATE OF i;
        IF NOT FOUND THEN
          ${REFUSE_UNINTENDED}
        END IF;`;

const READ_GATE = `
        -- Locked, so that what allows the submit still does when its intent is committed.
        SELECT r.id, r.status, r.run_version, r.root_hash, p.run_version AS planned_version, e.approvals_required,
            p.first_row, p.last_row, r.stopped_at IS NOT NULL OR e.stopped_at IS NOT NULL OR s.submits_off AS stopped
          INTO gate
          FROM planned_instruction p
          JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
          JOIN employer e ON e.id = r.employer_id
          CROSS JOIN service_switch s
          WHERE p.employer_id = NEW.employer_id AND p.id = NEW.planned_instruction_id
          FOR SHARE OF r, e, s;`;

const REFUSE_OVERLAP = `
        SELECT array_agg(o.id) INTO overlapping FROM planned_instruction o
          WHERE o.employer_id = NEW.employer_id AND o.pay_run_id = gate.id AND o.id <> NEW.planned_instruction_id
            AND o.first_row <= gate.last_row AND o.last_row >= gate.first_row;
        IF overlapping IS NOT NULL AND EXISTS (SELECT FROM submit_attempt s WHERE s.employer_id = NEW.employer_id
             AND s.planned_instruction_id = ANY (overlapping) AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT') THEN
          RAISE EXCEPTION 'a row is submitted once, whatever became of the instruction it was in'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'one_submit_per_row';
        END IF;`;

function submitGuard(first: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_submit_without_intent() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        gate record;
        overlapping uuid[];
        approvals integer;
      BEGIN${first}
        IF (gate.status = 'SUBMITTING' AND gate.planned_version = gate.run_version) IS NOT TRUE THEN
          RAISE EXCEPTION 'a submit needs a run in SUBMITTING of which the plan is the standing version'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_gate';
        END IF;
        IF gate.stopped THEN
          RAISE EXCEPTION 'no submit while a switch stops the run, its employer or everything'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_is_stopped';
        END IF;
        SELECT count(*) INTO approvals FROM (SELECT FROM approval a
          WHERE a.employer_id = NEW.employer_id AND a.pay_run_id = gate.id AND a.run_version = gate.run_version
            AND a.root_hash = gate.root_hash AND a.voided_at IS NULL FOR SHARE) AS standing;
        IF approvals < gate.approvals_required THEN
          RAISE EXCEPTION 'a submit needs the approvals its employer requires, over what stands now'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_needs_approval';
        END IF;
        RETURN NEW;
      END $$`;
}

function adoptionGuard(locked: boolean): string {
  const evidence = `FROM forgotten_instruction f
             JOIN instruction i ON i.employer_id = f.employer_id AND i.bank_instruction_id = f.bank_instruction_id
             JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
             JOIN pay_run r ON r.employer_id = p.employer_id AND r.id = p.pay_run_id
             WHERE f.employer_id = NEW.employer_id AND f.bank_instruction_id = NEW.bank_instruction_id
               AND f.adopted_at IS NULL AND i.id = NEW.instruction_id AND i.status = 'SUBMIT_INTENT'
               AND p.id = NEW.planned_instruction_id AND p.row_hash = NEW.row_hash
               AND r.status = 'SUBMITTING' AND r.run_version = p.run_version`;
  return `
      CREATE OR REPLACE FUNCTION refuse_adoption_without_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        ${locked ? `PERFORM ${evidence} FOR NO KEY UPDATE OF i;` : ''}
        IF NOT ${locked ? 'FOUND' : `EXISTS (SELECT ${evidence})`} THEN
          RAISE EXCEPTION 'a submit is recorded as executed afterwards only where the bank showed a forgotten one'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'adoption_needs_evidence';
        END IF;
        RETURN NEW;
      END $$`;
}

const REFUSE_HELD = `RAISE EXCEPTION 'an instruction that holds a held payment is not submitted'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'no_submit_of_a_held_payment';`;

const HOLD_OF_PAYMENT = `pay_hold h WHERE h.employer_id = NEW.employer_id
             AND h.pay_run_id = NEW.pay_run_id AND h.payment_id = NEW.id`;
const OPEN_HOLD = `EXISTS (SELECT FROM ${HOLD_OF_PAYMENT} AND h.outcome IS NULL)`;

function holdGuard(isHeld: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_payment_on_hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF ${isHeld} THEN
          RAISE EXCEPTION 'a payment with an open hold stays held'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'held_until_released';
        END IF;
        RETURN NEW;
      END $$`;
}

const WAIT_FOR_USERS = `
        -- What uses the account keeps its key, for which an update alone does not wait; and waits for no gate, which
        -- would wait for a long upload if that shared the row.
        PERFORM FROM employer_account a WHERE a.employer_id = NEW.employer_id AND a.id = NEW.id FOR UPDATE;`;

function detachmentGuard(first: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_detachment_in_use() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN${first}
        IF OLD.detached_at IS NOT NULL
            OR EXISTS (SELECT FROM pay_schedule s
              WHERE s.employer_id = NEW.employer_id AND s.account_id = NEW.id AND s.active)
            OR EXISTS (SELECT FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.account_id = NEW.id
              AND r.status NOT IN ('SETTLED', 'PARTLY_SETTLED', 'FAILED', 'CANCELLED')) THEN
          RAISE EXCEPTION 'an account is detached once, and while no schedule and no open run uses it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'detached_account_is_idle';
        END IF;
        RETURN NEW;
      END $$`;
}

const STANDING_RELEASE = `FROM pay_release r WHERE r.employer_id = NEW.employer_id
             AND r.period = NEW.period AND r.kind_of_pay = NEW.kind_of_pay
             AND r.employee_id = NEW.employee_id AND r.sequence = NEW.release_sequence AND r.withdrawn_at IS NULL`;
const REFUSE_SECOND_PAY = `RAISE EXCEPTION 'second pay of a period without a release'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'second_pay_is_released';`;

function keyGuard(andColumn: string, orChanged: string): string {
  return `
      DROP TRIGGER refuse_change_of_a_key ON bank_payment;
      CREATE TRIGGER refuse_change_of_a_key BEFORE UPDATE OF employer_id, instruction_id, row_no, payment_id${andColumn}
        ON bank_payment FOR EACH ROW WHEN ((NEW.employer_id, NEW.instruction_id, NEW.row_no, NEW.payment_id)
          IS DISTINCT FROM (OLD.employer_id, OLD.instruction_id, OLD.row_no, OLD.payment_id) ${orChanged})
        EXECUTE FUNCTION refuse_change_of_a_key()`;
}
