import { MigrationInterface, QueryRunner } from 'typeorm';

/** Where the standing reconciler is with each employer, and the breaches it has told of. */
export class KeepReconciler1795132814000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE reconciler_pass (
        employer_id uuid PRIMARY KEY REFERENCES employer,
        checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        position jsonb NOT NULL DEFAULT '{}'
      ) WITH (fillfactor = 50);
      COMMENT ON TABLE reconciler_pass IS 'the next pass over an employer is claimed by moving checked_at';

      CREATE TABLE invariant_breach (
        employer_id uuid NOT NULL REFERENCES employer,
        invariant text NOT NULL CHECK (length(invariant) BETWEEN 1 AND 60),
        subject_id uuid NOT NULL,
        id uuid NOT NULL,
        pay_run_id uuid,
        found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        gone_at timestamptz,
        PRIMARY KEY (employer_id, invariant, subject_id),
        FOREIGN KEY (employer_id, pay_run_id) REFERENCES pay_run
      );
      COMMENT ON TABLE invariant_breach IS 'what was told is not told again while it lasts, also when people resolved it';
    `);
    for (const table of ['reconciler_pass', 'invariant_breach']) {
      await db.query(`
        ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
        ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;
        CREATE POLICY own_employer ON ${table} TO payrun_app
          USING (employer_id = (SELECT current_employer()))
          WITH CHECK (employer_id = (SELECT current_employer()));
        GRANT SELECT, INSERT ON ${table} TO payrun_app;
      `);
    }
    await db.query(`
      GRANT UPDATE (checked_at, position) ON reconciler_pass TO payrun_app;
      GRANT UPDATE (id, found_at, gone_at) ON invariant_breach TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP TABLE invariant_breach, reconciler_pass');
  }
}
