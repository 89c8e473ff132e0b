import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who wrote a row that was kept back could approve it in the supplement of a colleague who mended one of its cells: now
 * they do not, nor do those who changed its cells and left it faulty, wherever copies of it are paid.
 */
export class RefuseAuthorsOfCorrectedRows1795132857200 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE faulty_row ADD COLUMN rewritten_by uuid[] NOT NULL DEFAULT '{}';
      COMMENT ON COLUMN faulty_row.rewritten_by IS 'who sent its cells anew and left it faulty';
      GRANT UPDATE (rewritten_by) ON faulty_row TO payrun_app;
      -- What was approved before this rule was approved lawfully.
      ALTER TABLE faulty_file ADD COLUMN binds_author boolean NOT NULL DEFAULT false;
      ALTER TABLE faulty_file ALTER COLUMN binds_author SET DEFAULT true;
      COMMENT ON COLUMN faulty_file.binds_author IS 'whether its uploader approves none of its rows once others corrected them';
    `);
    // Of the run as it was made, never of a version that its parent had since: an approval that was lawful stays so.
    await db.query(
      hasPrepared(`
        -- A row that was kept back is corrected in its run or in a supplement of it, which is where copies begin.
        IF EXISTS (
            WITH RECURSIVE ${ORIGIN},
            written AS (
              SELECT unnest(ARRAY(SELECT k.payment_id FROM faulty_row k
                WHERE k.employer_id = employer AND k.faulty_file_id = f.id AND k.payment_id IS NOT NULL
                  AND (f.binds_author AND f.uploaded_by = person OR person = ANY (k.rewritten_by)))) AS id
              FROM origin o JOIN pay_run r ON r.employer_id = employer AND r.id = o.id
              JOIN faulty_file f ON f.employer_id = employer AND f.pay_run_id IN (r.id, r.parent_run_id)
              UNION
              SELECT unnest(ARRAY(SELECT s.id FROM payment s
                WHERE s.employer_id = employer AND s.replaces_payment_id = w.id
                  AND NOT EXISTS (SELECT FROM pay_file f WHERE f.employer_id = employer AND f.pay_run_id = s.pay_run_id)))
              FROM written w
              WHERE (SELECT p.status FROM payment p WHERE p.employer_id = employer AND p.id = w.id) = 'EXCLUDED')
            SELECT FROM written w
            CROSS JOIN LATERAL (SELECT * FROM payment p WHERE p.employer_id = employer AND p.id = w.id LIMIT 1) AS paid
            WHERE paid.pay_run_id = run AND (paid.live OR paid.status = 'HELD')) THEN
          RETURN true;
        END IF;`),
    );
    await db.query(`COMMENT ON FUNCTION has_prepared IS
      'a version of the run, or a row of it that was kept back and others corrected, or, where the run has no file and copies rows that were left out, a version of one that it descends from'`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(hasPrepared(''));
    await db.query(`COMMENT ON FUNCTION has_prepared IS
      'a version of the run, or, where the run has no file and copies rows that were left out, of one that it descends from'`);
    await db.query(`
      ALTER TABLE faulty_file DROP COLUMN binds_author;
      ALTER TABLE faulty_row DROP COLUMN rewritten_by;
    `);
  }
}

const ORIGIN = `origin AS (
              SELECT run AS id
              UNION
              SELECT r.parent_run_id FROM origin o JOIN pay_run r ON r.employer_id = employer AND r.id = o.id
              WHERE r.parent_run_id IS NOT NULL
                AND NOT EXISTS (SELECT FROM pay_file f WHERE f.employer_id = employer AND f.pay_run_id = r.id))`;

function hasPrepared(orWritten: string): string {
  return `
      CREATE OR REPLACE FUNCTION has_prepared(employer uuid, run uuid, person uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
      BEGIN
        IF EXISTS (SELECT FROM pay_run_version v
             WHERE v.employer_id = employer AND v.pay_run_id = run AND v.prepared_by = person) THEN
          RETURN true;
        END IF;${orWritten}
        -- The rows are read last, and for hardly anybody: of a successor of 100,000 that takes half a second.
        RETURN EXISTS (
            WITH RECURSIVE ${ORIGIN}
            SELECT FROM origin o JOIN pay_run_version v ON v.employer_id = employer AND v.pay_run_id = o.id
            WHERE v.prepared_by = person)
          AND EXISTS (SELECT FROM payment p
            CROSS JOIN LATERAL (
              SELECT o.status FROM payment o
              WHERE o.employer_id = employer AND o.id = p.replaces_payment_id LIMIT 1) AS replaced
            WHERE p.employer_id = employer AND p.pay_run_id = run AND p.live
              AND p.replaces_payment_id IS NOT NULL AND replaced.status = 'EXCLUDED');
      END $$`;
}
