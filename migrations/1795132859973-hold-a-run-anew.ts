import { MigrationInterface, QueryRunner } from 'typeorm';

/** What is held of a whole run follows its amendments: it ends where it is not true any more, and is held again where it is. */
export class HoldARunAnew1795132859973 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE pay_hold
        ADD COLUMN run_version integer NOT NULL DEFAULT 1,
        DROP CONSTRAINT pay_hold_pkey,
        ADD PRIMARY KEY (employer_id, pay_run_id, row_no, code, run_version),
        DROP CONSTRAINT pay_hold_outcome_check,
        ADD CONSTRAINT pay_hold_outcome_check
          CHECK (outcome IN ('RELEASED', 'LEFT_OUT', 'CANCELLED') OR outcome = 'AMENDED' AND row_no = 0);
      COMMENT ON COLUMN pay_hold.run_version IS
        'the version with which an amendment made the whole run be held; else 1, as a row is held once for one thing';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      -- The owner, who migrates, sees no row of any employer otherwise.
      ALTER TABLE pay_hold NO FORCE ROW LEVEL SECURITY, DISABLE TRIGGER refuse_change_of_a_decided_hold;
      DELETE FROM pay_hold h USING pay_hold later
        WHERE later.employer_id = h.employer_id AND later.pay_run_id = h.pay_run_id AND later.row_no = h.row_no
          AND later.code = h.code AND later.run_version > h.run_version;
      UPDATE pay_hold SET outcome = 'LEFT_OUT' WHERE outcome = 'AMENDED';
      ALTER TABLE pay_hold FORCE ROW LEVEL SECURITY, ENABLE TRIGGER refuse_change_of_a_decided_hold;
      ALTER TABLE pay_hold
        DROP CONSTRAINT pay_hold_outcome_check,
        ADD CONSTRAINT pay_hold_outcome_check CHECK (outcome IN ('RELEASED', 'LEFT_OUT', 'CANCELLED')),
        DROP CONSTRAINT pay_hold_pkey,
        ADD PRIMARY KEY (employer_id, pay_run_id, row_no, code),
        DROP COLUMN run_version;
    `);
  }
}
