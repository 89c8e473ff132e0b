import { MigrationInterface, QueryRunner } from 'typeorm';

const OWN_VERSIONS = `EXISTS (SELECT FROM pay_run_version v WHERE v.employer_id = NEW.employer_id
             AND v.pay_run_id = NEW.pay_run_id AND v.prepared_by = NEW.decided_by)`;

/** Who may not approve a run for the rows that it copies releases none of its holds either. */
export class RefuseReleaseByAuthorsOfCopies1795132850000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(releaseGuard('has_prepared(NEW.employer_id, NEW.pay_run_id, NEW.decided_by)'));
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(releaseGuard(OWN_VERSIONS));
  }
}

function releaseGuard(hasPrepared: string): string {
  return `
      CREATE OR REPLACE FUNCTION refuse_release_by_a_preparer() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF ${hasPrepared} THEN
          RAISE EXCEPTION 'who prepared a run releases none of its holds'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'releaser_is_not_preparer';
        END IF;
        RETURN NEW;
      END $$`;
}
