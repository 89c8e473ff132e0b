import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What came back whole may have been paid in the stead of what came back in part: to replace that, too, would pay once more
 * what its payee may have kept.
 */
export class ReplaceNothingOverWhatMayBeKept1795132860570 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_successor_of_what_is_kept() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      DECLARE
        before uuid := NEW.replaces_payment_id;
        replaced record;
      BEGIN
        WHILE before IS NOT NULL LOOP
          SELECT p.replaces_payment_id, p.amount_minor - p.returned_minor AS lacking INTO replaced FROM payment p
            WHERE p.employer_id = NEW.employer_id AND p.id = before FOR SHARE;
          IF replaced.lacking IS NOT NULL AND may_be_kept(NEW.employer_id, before, replaced.lacking) THEN
            RAISE EXCEPTION 'a payment that came back in part is replaced once two people say that nobody kept the rest'
              USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_is_not_kept';
          END IF;
          before := replaced.replaces_payment_id;
        END LOOP;
        RETURN NEW;
      END $$;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE OR REPLACE FUNCTION refuse_successor_of_what_is_kept() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      DECLARE
        lacking bigint;
      BEGIN
        SELECT p.amount_minor - p.returned_minor INTO lacking FROM payment p
          WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id FOR SHARE;
        IF lacking IS NOT NULL AND may_be_kept(NEW.employer_id, NEW.replaces_payment_id, lacking) THEN
          RAISE EXCEPTION 'a payment that came back in part is replaced once two people say that nobody kept the rest'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_is_not_kept';
        END IF;
        RETURN NEW;
      END $$;
    `);
  }
}
