import { MigrationInterface, QueryRunner } from 'typeorm';

/** Under another key than that of the stored hashes nobody is found to be paid already. */
export class KeepFingerprintOfHashKey1795132858500 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE hash_key (
        id uuid PRIMARY KEY,
        fingerprint bytea NOT NULL,
        known_since timestamptz NOT NULL DEFAULT clock_timestamp(),
        given_up_at timestamptz
      );
      COMMENT ON TABLE hash_key IS 'by which key names and IBANs are hashed; the first start makes the row, and that after the key was changed';
      COMMENT ON COLUMN hash_key.fingerprint IS 'of a constant, as of a name: says whether a key is this one, and not what it is';
      CREATE UNIQUE INDEX one_hash_key ON hash_key ((given_up_at IS NULL)) WHERE given_up_at IS NULL;
      GRANT SELECT, INSERT ON hash_key TO payrun_app;
      GRANT UPDATE (given_up_at) ON hash_key TO payrun_app;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('DROP TABLE hash_key');
  }
}
