import { MigrationInterface, QueryRunner } from 'typeorm';

/** How an employer's payroll systems write their files, and how each pay file was read. */
export class KeepPayFileProfiles1795132822000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE pay_file_profile (
        employer_id uuid NOT NULL REFERENCES employer,
        id uuid NOT NULL,
        name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
        definition jsonb NOT NULL CHECK (jsonb_typeof(definition) = 'object'),
        revision bigint NOT NULL DEFAULT 1,
        created_by uuid NOT NULL REFERENCES person,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        deleted_at timestamptz,
        PRIMARY KEY (employer_id, id)
      );
      COMMENT ON COLUMN pay_file_profile.deleted_at IS
        'a deleted profile stays for the files that were read by it, and frees its name';
      CREATE UNIQUE INDEX one_profile_of_a_name ON pay_file_profile (employer_id, name) WHERE deleted_at IS NULL;
      ALTER TABLE pay_file_profile ENABLE ROW LEVEL SECURITY;
      ALTER TABLE pay_file_profile FORCE ROW LEVEL SECURITY;
      CREATE POLICY own_employer ON pay_file_profile TO payrun_app
        USING (employer_id = (SELECT current_employer()))
        WITH CHECK (employer_id = (SELECT current_employer()));
      GRANT SELECT, INSERT ON pay_file_profile TO payrun_app;
      GRANT UPDATE (name, definition, revision, changed_at, deleted_at) ON pay_file_profile TO payrun_app;

      ALTER TABLE pay_file ADD COLUMN profile_id uuid, ADD COLUMN read_as jsonb NOT NULL DEFAULT '{}',
        ADD FOREIGN KEY (employer_id, profile_id) REFERENCES pay_file_profile;
      REVOKE UPDATE ON pay_file FROM payrun_app;
      GRANT UPDATE (replayable) ON pay_file TO payrun_app;
      COMMENT ON COLUMN pay_file.read_as IS 'what was said of the file: the profile as it was when the file was read';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      REVOKE UPDATE (replayable) ON pay_file FROM payrun_app;
      GRANT UPDATE ON pay_file TO payrun_app;
      ALTER TABLE pay_file DROP COLUMN read_as, DROP COLUMN profile_id;
      DROP TABLE pay_file_profile;
    `);
  }
}
