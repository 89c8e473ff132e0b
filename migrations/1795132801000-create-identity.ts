import { MigrationInterface, QueryRunner } from 'typeorm';

/** Persons apart from their API keys, and the roles a person holds at an employer. */
export class CreateIdentity1795132801000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE person (
        id uuid PRIMARY KEY,
        name text NOT NULL CHECK (length(name) BETWEEN 1 AND 140),
        administrator boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        disabled_at timestamptz
      );

      CREATE TABLE api_key (
        id uuid PRIMARY KEY,
        person_id uuid NOT NULL REFERENCES person,
        key_hash bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
        label text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        revoked_at timestamptz
      );

      CREATE TABLE employer (
        id uuid PRIMARY KEY,
        name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 70),
        time_zone text NOT NULL,
        rows_per_instruction integer NOT NULL DEFAULT 500 CHECK (rows_per_instruction BETWEEN 1 AND 10000),
        approvals_required smallint NOT NULL DEFAULT 1 CHECK (approvals_required BETWEEN 1 AND 5),
        stopped_at timestamptz,
        stopped_reason text,
        created_at timestamptz NOT NULL DEFAULT now(),
        CHECK ((stopped_at IS NULL) = (stopped_reason IS NULL))
      );

      CREATE TABLE person_role (
        employer_id uuid NOT NULL REFERENCES employer,
        person_id uuid NOT NULL REFERENCES person,
        role text NOT NULL CHECK (role IN ('preparer', 'approver', 'finance', 'operator')),
        granted_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, person_id, role)
      );
      CREATE INDEX person_role_by_person ON person_role (person_id);

      CREATE TABLE service_switch (
        id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
        submits_off boolean NOT NULL DEFAULT false,
        reason text,
        changed_at timestamptz NOT NULL DEFAULT now(),
        CHECK (submits_off = (reason IS NOT NULL))
      );
      INSERT INTO service_switch DEFAULT VALUES;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`DROP TABLE service_switch, person_role, employer, api_key, person`);
  }
}
