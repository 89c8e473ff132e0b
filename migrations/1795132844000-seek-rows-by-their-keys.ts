import { MigrationInterface, QueryRunner } from 'typeorm';

/** Joined by equality, or sought by its key for each row before it. */
const JOINED = `JOIN payment p ON p.employer_id = NEW.employer_id AND p.id = r.id`;
const SOUGHT = `CROSS JOIN LATERAL (
                SELECT o.replaces_payment_id FROM payment o
                WHERE o.employer_id = NEW.employer_id AND o.id = r.id LIMIT 1) p`;

/**
 * What a submit is refused for is sought by the keys of the payments it is of: a connection that planned the checks
 * while there were few payments went on to compare each payment of the instruction with each of the employer. And of
 * the indexes by which a planned instruction may be sought, only the primary key begins with the employer any more.
 */
export class SeekRowsByTheirKeys1795132844000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_submit_of_a_held_payment() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM bank_payment b
             WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
               AND (SELECT p.status FROM payment p
                 WHERE p.employer_id = NEW.employer_id AND p.id = b.payment_id) = 'HELD') THEN
          ${HELD}
        END IF;
        RETURN NEW;
      END $$`);
    await db.query(contradictionGuard(SOUGHT));
    await indexPlans(db, 'pay_run_id, employer_id');
  }

  async down(db: QueryRunner): Promise<void> {
    await indexPlans(db, 'employer_id, pay_run_id');
    await db.query(contradictionGuard(JOINED));
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_submit_of_a_held_payment() RETURNS trigger LANGUAGE plpgsql
        -- By their keys: where statistics are old, a join by hash would read every payment of the employer.
        SET enable_hashjoin = off SET enable_mergejoin = off AS $$
      BEGIN
        IF EXISTS (SELECT FROM bank_payment b
             JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
             WHERE b.employer_id = NEW.employer_id AND b.instruction_id = NEW.instruction_id
               AND p.status = 'HELD') THEN
          ${HELD}
        END IF;
        RETURN NEW;
      END $$`);
  }
}

/** Makes the two unique indexes of planned instructions anew, whatever their names, to begin with these columns. */
async function indexPlans(db: QueryRunner, begin: string): Promise<void> {
  await db.query(`
    ALTER TABLE instruction DROP CONSTRAINT instruction_employer_id_pay_run_id_planned_instruction_id_fkey;
    DO $$ DECLARE
      old name;
    BEGIN
      FOR old IN SELECT conname FROM pg_constraint
          WHERE conrelid = 'planned_instruction'::regclass AND contype = 'u' LOOP
        EXECUTE format('ALTER TABLE planned_instruction DROP CONSTRAINT %I', old);
      END LOOP;
    END $$;
    ALTER TABLE planned_instruction ADD UNIQUE (${begin}, run_version, ordinal), ADD UNIQUE (${begin}, id);
    ALTER TABLE instruction ADD FOREIGN KEY (employer_id, pay_run_id, planned_instruction_id)
      REFERENCES planned_instruction (employer_id, pay_run_id, id)`);
}

const HELD = `RAISE EXCEPTION 'an instruction that holds a held payment is not submitted'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'no_submit_of_a_held_payment';`;

function contradictionGuard(replacedInTheirTurn: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_submit_over_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (
            WITH RECURSIVE replaced AS (
              SELECT p.replaces_payment_id AS id
              FROM planned_instruction i
              JOIN payment p ON p.employer_id = i.employer_id AND p.pay_run_id = i.pay_run_id
                AND p.row_no BETWEEN i.first_row AND i.last_row
              WHERE i.employer_id = NEW.employer_id AND i.id = NEW.planned_instruction_id
                AND p.replaces_payment_id IS NOT NULL AND p.live
              UNION
              SELECT p.replaces_payment_id FROM replaced r
              ${replacedInTheirTurn}
              WHERE p.replaces_payment_id IS NOT NULL)
            SELECT FROM replaced r JOIN attention a ON a.employer_id = NEW.employer_id AND a.payment_id = r.id
            WHERE a.kind = 'CONTRADICTION') THEN
          RAISE EXCEPTION 'what a payment of the instruction replaces may have been paid after all'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'submit_over_contradiction';
        END IF;
        RETURN NEW;
      END $$`;
}
