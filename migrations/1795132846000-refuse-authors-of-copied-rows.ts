import { MigrationInterface, QueryRunner } from 'typeorm';

const OWN_VERSIONS = (person: string): string => `EXISTS (SELECT FROM pay_run_version v
          WHERE v.employer_id = NEW.employer_id AND v.pay_run_id = NEW.pay_run_id AND v.prepared_by = ${person})`;
const OWN_ROWS = (person: string): string => `has_prepared(NEW.employer_id, NEW.pay_run_id, ${person})`;
const REFUSE_TICK = `RAISE EXCEPTION 'who prepared the run does not tick its IBANs'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ticker_is_not_preparer';`;

/**
 * A row that was left out of its run was approved by nobody. A successor of that run that copies the row is prepared by
 * whom it was made by, and could be approved by who wrote the row: now it is not, nor are its IBANs ticked by them.
 */
export class RefuseAuthorsOfCopiedRows1795132846000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION has_prepared(employer uuid, run uuid, person uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
      BEGIN
        IF EXISTS (SELECT FROM pay_run_version v
             WHERE v.employer_id = employer AND v.pay_run_id = run AND v.prepared_by = person) THEN
          RETURN true;
        END IF;
        -- The rows are read last, and for hardly anybody: of a successor of 100,000 that takes half a second.
        RETURN EXISTS (
            WITH RECURSIVE origin AS (
              SELECT run AS id
              UNION
              SELECT r.parent_run_id FROM origin o JOIN pay_run r ON r.employer_id = employer AND r.id = o.id
              WHERE r.parent_run_id IS NOT NULL
                AND NOT EXISTS (SELECT FROM pay_file f WHERE f.employer_id = employer AND f.pay_run_id = r.id))
            SELECT FROM origin o JOIN pay_run_version v ON v.employer_id = employer AND v.pay_run_id = o.id
            WHERE v.prepared_by = person)
          AND EXISTS (SELECT FROM payment p
            CROSS JOIN LATERAL (
              SELECT o.status FROM payment o
              WHERE o.employer_id = employer AND o.id = p.replaces_payment_id LIMIT 1) AS replaced
            WHERE p.employer_id = employer AND p.pay_run_id = run AND p.live
              AND p.replaces_payment_id IS NOT NULL AND replaced.status = 'EXCLUDED');
      END $$;
      COMMENT ON FUNCTION has_prepared IS
        'a version of the run, or, where the run has no file and copies rows that were left out, of one that it descends from';
    `);
    await db.query(approvalGuard(OWN_ROWS));
    // Once for all ticks of a statement: there may be thousands.
    await db.query(`
      DROP TRIGGER refuse_tick_by_a_preparer ON iban_tick;
      CREATE OR REPLACE FUNCTION refuse_tick_by_a_preparer() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM (SELECT DISTINCT employer_id, pay_run_id, ticked_by FROM ticked) AS t
             WHERE has_prepared(t.employer_id, t.pay_run_id, t.ticked_by)) THEN
          ${REFUSE_TICK}
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER refuse_tick_by_a_preparer AFTER INSERT ON iban_tick
        REFERENCING NEW TABLE AS ticked FOR EACH STATEMENT EXECUTE FUNCTION refuse_tick_by_a_preparer();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_tick_by_a_preparer ON iban_tick;
      CREATE OR REPLACE FUNCTION refuse_tick_by_a_preparer() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF ${OWN_VERSIONS('NEW.ticked_by')} THEN
          ${REFUSE_TICK}
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_tick_by_a_preparer BEFORE INSERT ON iban_tick
        FOR EACH ROW EXECUTE FUNCTION refuse_tick_by_a_preparer();
    `);
    await db.query(approvalGuard(OWN_VERSIONS));
    await db.query('DROP FUNCTION has_prepared');
  }
}

function approvalGuard(hasPrepared: (person: string) => string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_approval_by_a_preparer() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF ${hasPrepared('NEW.approver_id')} THEN
          RAISE EXCEPTION 'approver_is_not_preparer' USING ERRCODE = 'check_violation',
            CONSTRAINT = 'approver_is_not_preparer';
        END IF;
        RETURN NEW;
      END $$`;
}
