import { MigrationInterface, QueryRunner } from 'typeorm';

/** What the answer to an upload tells of its payments is counted while the file is stored, not again in each answer. */
export class CountInPayFiles1795132836000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_file ADD COLUMN replacing integer NOT NULL DEFAULT 0,
        ADD COLUMN renamed integer NOT NULL DEFAULT 0,
        ADD CONSTRAINT pay_file_counts_its_rows
          CHECK (replacing BETWEEN 0 AND row_count AND renamed BETWEEN 0 AND row_count);
      COMMENT ON COLUMN pay_file.replacing IS 'rows that pay again what earlier payments did not';
      COMMENT ON COLUMN pay_file.renamed IS 'rows whose name is sent otherwise than it was written';
    `);
    await lift(db, () =>
      db.query(`
        UPDATE pay_file f SET replacing = c.replacing, renamed = c.renamed
        FROM (SELECT p.employer_id, p.pay_run_id, count(p.replaces_payment_id) AS replacing,
                count(p.written_name_sealed) AS renamed
              FROM payment p
              WHERE NOT EXISTS (SELECT FROM faulty_row k
                JOIN faulty_file o ON o.employer_id = k.employer_id AND o.id = k.faulty_file_id
                WHERE k.employer_id = p.employer_id AND k.payment_id = p.id AND o.pay_run_id = p.pay_run_id)
              GROUP BY p.employer_id, p.pay_run_id) AS c
        WHERE c.employer_id = f.employer_id AND c.pay_run_id = f.pay_run_id`),
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE pay_file DROP COLUMN renamed, DROP COLUMN replacing');
  }
}

/** The rows of all employers, which forced row-level security keeps from their owner as well. */
async function lift(db: QueryRunner, work: () => Promise<unknown>): Promise<void> {
  const tables = ['pay_file', 'payment', 'faulty_file', 'faulty_row'];
  for (const table of tables) await db.query(`ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY`);
  await work();
  for (const table of tables) await db.query(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`);
}
