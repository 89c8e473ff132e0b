import { MigrationInterface, QueryRunner } from 'typeorm';

const RUN = `PERFORM 1 FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.id = NEW.pay_run_id
          FOR NO KEY UPDATE;`;
const REFUSED = `RAISE EXCEPTION 'a row may be in one live instruction only'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'one_live_instruction_per_row';`;

/**
 * That a row is in no other live instruction is sought by the plan of the new one and then by those of its run: a connection
 * that made its plan of the check while there were few instructions went on to compare each planned one with each.
 */
export class SeekLiveInstructionsByTheirKeys1795132859960 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_row_in_two_live_instructions() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      DECLARE
        mine planned_instruction;
      BEGIN
        ${RUN}
        SELECT * INTO mine FROM planned_instruction p
        WHERE p.employer_id = NEW.employer_id AND p.id = NEW.planned_instruction_id;
        IF EXISTS (SELECT FROM planned_instruction other
             CROSS JOIN LATERAL (SELECT FROM instruction i
               WHERE i.employer_id = other.employer_id AND i.planned_instruction_id = other.id
                 AND i.status NOT IN ('ABANDONED', 'CANCELLED') LIMIT 1) AS live
             WHERE other.employer_id = mine.employer_id AND other.pay_run_id = mine.pay_run_id
               AND other.id <> mine.id AND other.first_row <= mine.last_row AND other.last_row >= mine.first_row) THEN
          ${REFUSED}
        END IF;
        RETURN NEW;
      END $$`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_row_in_two_live_instructions() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        ${RUN}
        IF EXISTS (SELECT FROM planned_instruction mine
             JOIN planned_instruction other ON other.employer_id = mine.employer_id
               AND other.pay_run_id = mine.pay_run_id AND other.id <> mine.id
               AND other.first_row <= mine.last_row AND other.last_row >= mine.first_row
             JOIN instruction i ON i.employer_id = other.employer_id AND i.planned_instruction_id = other.id
             WHERE mine.employer_id = NEW.employer_id AND mine.id = NEW.planned_instruction_id
               AND i.status NOT IN ('ABANDONED', 'CANCELLED')) THEN
          ${REFUSED}
        END IF;
        RETURN NEW;
      END $$`);
  }
}
