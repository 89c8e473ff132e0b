import { MigrationInterface, QueryRunner } from 'typeorm';

/** An employer's accounts at the bank, what each was found to allow, its hook, and its pay schedules. */
export class CreateEmployerAccounts1795132802000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE TABLE employer_account (
        employer_id uuid NOT NULL REFERENCES employer,
        id uuid NOT NULL,
        bank_account_id text NOT NULL,
        bank_user_id text NOT NULL,
        debtor_name text NOT NULL CHECK (length(debtor_name) BETWEEN 1 AND 70),
        iban_sealed text NOT NULL,
        iban_hash bytea NOT NULL,
        bic text,
        currency text NOT NULL CHECK (currency = 'EUR'),
        bank_status text NOT NULL,
        reads text[] NOT NULL DEFAULT '{}',
        page_base smallint CHECK (page_base IN (0, 1)),
        probed_at timestamptz,
        unit_confirmed text CHECK (unit_confirmed IN ('minor', 'major')),
        unit_confirmed_at timestamptz,
        unit_confirmed_by uuid REFERENCES person,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, id),
        UNIQUE (bank_account_id),
        CHECK ((unit_confirmed IS NULL) = (unit_confirmed_at IS NULL)),
        CHECK ((unit_confirmed IS NULL) = (unit_confirmed_by IS NULL))
      );

      CREATE TABLE bank_hook (
        employer_id uuid NOT NULL REFERENCES employer,
        bank_hook_id text NOT NULL,
        bank_identity_id text NOT NULL,
        associated_at timestamptz NOT NULL DEFAULT now(),
        removed_at timestamptz,
        PRIMARY KEY (employer_id, bank_hook_id, bank_identity_id)
      );

      CREATE TABLE pay_schedule (
        employer_id uuid NOT NULL,
        id uuid NOT NULL,
        account_id uuid NOT NULL,
        kind_of_pay text NOT NULL,
        day_of_month smallint CHECK (day_of_month BETWEEN 1 AND 31),
        when_closed text NOT NULL CHECK (when_closed IN ('PREVIOUS', 'NEXT')),
        submit_days_before smallint NOT NULL CHECK (submit_days_before BETWEEN 0 AND 20),
        submit_time text NOT NULL CHECK (submit_time ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'),
        time_zone text NOT NULL,
        first_period text NOT NULL CHECK (first_period ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
        active boolean NOT NULL DEFAULT true,
        created_by uuid NOT NULL REFERENCES person,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (employer_id, id),
        FOREIGN KEY (employer_id, account_id) REFERENCES employer_account
      );
      COMMENT ON COLUMN pay_schedule.day_of_month IS 'null: the last banking day of the month';
      CREATE UNIQUE INDEX one_active_schedule_per_kind_of_pay
        ON pay_schedule (employer_id, account_id, kind_of_pay) WHERE active;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`DROP TABLE pay_schedule, bank_hook, employer_account`);
  }
}
