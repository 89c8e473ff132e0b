import { MigrationInterface, QueryRunner } from 'typeorm';

/** What an approval is of: rows, their plans and the version that says so. */
const APPROVED_TABLES = ['payment', 'planned_instruction', 'pay_run_version'];

/**
 * What so far the code alone kept: nothing joins a run beside its approval, a payment keeps its place while an instruction
 * that holds it is alive, two who replace payments of one chain take turns, and no table of a session passes for one of
 * the schema.
 */
export class GuardWhatJoinsAndLeaves1795132857610 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    for (const table of APPROVED_TABLES)
      await db.query(`
        CREATE POLICY joins_a_draft ON ${table} AS RESTRICTIVE FOR INSERT TO payrun_app
          WITH CHECK (pay_run_id IN (SELECT r.id FROM pay_run r
            WHERE r.employer_id = (SELECT current_employer()) AND r.status = 'DRAFT'))`);
    await db.query(`
      CREATE FUNCTION refuse_leaving_a_live_instruction() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM instruction i
             WHERE i.employer_id = NEW.employer_id AND i.planned_instruction_id = ANY (ARRAY(
               SELECT n.id FROM planned_instruction n WHERE n.employer_id = NEW.employer_id
                 AND n.pay_run_id = NEW.pay_run_id AND NEW.row_no BETWEEN n.first_row AND n.last_row))
               AND i.status NOT IN ('ABANDONED', 'CANCELLED')
               AND (NEW.status <> 'VOID' OR i.status NOT IN ('RELEASED', 'VOID'))) THEN
          RAISE EXCEPTION 'a payment at the bank becomes % only once no instruction that holds it may pay it', NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'leaves_with_its_instruction';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_leaving_a_live_instruction BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (OLD.status = 'AT_BANK' AND NEW.status IN ('APPROVED', 'VOID'))
        EXECUTE FUNCTION refuse_leaving_a_live_instruction();
    `);
    await db.query(branchGuard(TAKE_TURNS));
    // All but what reads no table, whose call the planner replaces by its body.
    await eachFunction(db, 'SET search_path = public, pg_temp');
  }

  async down(db: QueryRunner): Promise<void> {
    await eachFunction(db, 'RESET search_path');
    await db.query(branchGuard(''));
    await db.query(`
      DROP TRIGGER refuse_leaving_a_live_instruction ON payment;
      DROP FUNCTION refuse_leaving_a_live_instruction`);
    for (const table of APPROVED_TABLES) await db.query(`DROP POLICY joins_a_draft ON ${table}`);
  }
}

/** Sets or resets something of every function that had nothing set when it was made. */
async function eachFunction(db: QueryRunner, change: string): Promise<void> {
  await db.query(`
    DO $$ DECLARE
      one regprocedure;
    BEGIN
      FOR one IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
          AND p.proname NOT IN ('current_employer', 'ensure_month_partitions') LOOP
        EXECUTE format('ALTER FUNCTION %s ${change}', one);
      END LOOP;
    END $$`);
}

const TAKE_TURNS = `
        -- What another session replaces of the same chain meanwhile is seen once it is committed.
        PERFORM FROM payment WHERE employer_id = NEW.employer_id AND id = (
          WITH RECURSIVE chain AS (
            SELECT p.id, p.replaces_payment_id AS before FROM payment p
            WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id
            UNION SELECT o.id, o.replaces_payment_id
            FROM chain c JOIN LATERAL (SELECT * FROM payment
              WHERE employer_id = NEW.employer_id AND id = c.before LIMIT 1) o ON true)
          SELECT id FROM chain WHERE before IS NULL) FOR NO KEY UPDATE;`;

function branchGuard(first: string): string {
  return `
      -- Each is sought by its key: joined, the planner may read every payment of the employer.
      CREATE OR REPLACE FUNCTION refuse_successor_around_another() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN${first}
        IF EXISTS (
            WITH RECURSIVE chain AS (
              SELECT p.id, p.replaces_payment_id AS before, p.status FROM payment p
              WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id
              UNION SELECT o.id, o.replaces_payment_id, o.status
              FROM chain c JOIN LATERAL (SELECT * FROM payment
                WHERE employer_id = NEW.employer_id AND id = c.before LIMIT 1) o ON true),
            stead AS (
              SELECT id FROM chain WHERE before IS NULL
              UNION SELECT unnest(ARRAY(SELECT s.id FROM payment s
                WHERE s.employer_id = NEW.employer_id AND s.replaces_payment_id = stead.id))
              FROM stead)
            SELECT FROM chain replaced, stead
            JOIN LATERAL (SELECT * FROM payment WHERE employer_id = NEW.employer_id AND id = stead.id LIMIT 1) s ON true
            JOIN LATERAL (SELECT * FROM pay_run WHERE employer_id = NEW.employer_id AND id = s.pay_run_id LIMIT 1) r ON true
            WHERE replaced.id = NEW.replaces_payment_id AND stead.id NOT IN (SELECT id FROM chain)
              AND s.replaces_payment_id <> NEW.replaces_payment_id
              AND (s.live OR s.status NOT IN ('EXCLUDED', 'HELD')
                AND NOT (s.status = 'CANCELLED' AND r.status IN ('CANCELLING', 'CANCELLED')))
              AND (replaced.status = 'EXCLUDED' OR s.id > replaced.id)) THEN
          RAISE EXCEPTION 'another payment was sent in the stead of the same one: that one is replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'last_sent_is_replaced';
        END IF;
        RETURN NEW;
      END $$`;
}
