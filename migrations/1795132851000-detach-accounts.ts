import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An account that its employer pays from no more: its row stays for what it has paid, and the account at the bank can be
 * attached again, by another employer too. It is detached for good, and only while nothing uses it.
 */
export class DetachAccounts1795132851000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE employer_account ADD COLUMN detached_at timestamptz,
        DROP CONSTRAINT employer_account_bank_account_id_key;
      CREATE UNIQUE INDEX employer_account_bank_account_id_key ON employer_account (bank_account_id)
        WHERE detached_at IS NULL;
      GRANT SELECT (detached_at) ON employer_account TO payrun_worker;

      CREATE FUNCTION refuse_detachment_in_use() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF OLD.detached_at IS NOT NULL
            OR EXISTS (SELECT FROM pay_schedule s
              WHERE s.employer_id = NEW.employer_id AND s.account_id = NEW.id AND s.active)
            OR EXISTS (SELECT FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.account_id = NEW.id
              AND r.status NOT IN ('SETTLED', 'PARTLY_SETTLED', 'FAILED', 'CANCELLED')) THEN
          RAISE EXCEPTION 'an account is detached once, and while no schedule and no open run uses it'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'detached_account_is_idle';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_detachment_in_use BEFORE UPDATE OF detached_at ON employer_account
        FOR EACH ROW WHEN (NEW.detached_at IS DISTINCT FROM OLD.detached_at) EXECUTE FUNCTION refuse_detachment_in_use();

      CREATE FUNCTION refuse_use_of_a_detached_account() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        detached timestamptz;
      BEGIN
        -- Locked, and judged as it is by then: who detaches it waits and finds what uses it, or has done so.
        SELECT a.detached_at INTO detached FROM employer_account a
          WHERE a.employer_id = NEW.employer_id AND a.id = NEW.account_id FOR KEY SHARE;
        IF detached IS NOT NULL THEN
          RAISE EXCEPTION 'a detached account pays nothing more'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'account_is_attached';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_use_of_a_detached_account BEFORE INSERT ON pay_run
        FOR EACH ROW EXECUTE FUNCTION refuse_use_of_a_detached_account();
      CREATE TRIGGER refuse_use_of_a_detached_account BEFORE INSERT ON pay_schedule
        FOR EACH ROW EXECUTE FUNCTION refuse_use_of_a_detached_account();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_use_of_a_detached_account ON pay_schedule;
      DROP TRIGGER refuse_use_of_a_detached_account ON pay_run;
      DROP TRIGGER refuse_detachment_in_use ON employer_account;
      DROP FUNCTION refuse_use_of_a_detached_account, refuse_detachment_in_use;
      REVOKE SELECT (detached_at) ON employer_account FROM payrun_worker;
      DROP INDEX employer_account_bank_account_id_key;
      ALTER TABLE employer_account DROP COLUMN detached_at,
        ADD CONSTRAINT employer_account_bank_account_id_key UNIQUE (bank_account_id);
    `);
  }
}
