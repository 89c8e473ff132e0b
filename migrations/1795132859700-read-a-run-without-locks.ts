import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What stands in the way of a run is read without locks, so that long work which sends nothing holds up no stop; a call to
 * the bank locks the switches by itself.
 */
export class ReadARunWithoutLocks1795132859700 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(runState(''));
    await db.query(
      `COMMENT ON FUNCTION run_state IS 'a run and what stands in its way, as read at this moment'`,
    );
    await db.query(`
      CREATE FUNCTION lock_switches(of_employer uuid) RETURNS void LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        PERFORM FROM employer e, service_switch s WHERE e.id = of_employer FOR SHARE OF e, s;
      END $$;
      COMMENT ON FUNCTION lock_switches IS 'the switches stay as they are to the commit; what is read of them is read after it';
    `);
    await db.query(lockForCall('PERFORM lock_switches(of_employer);'));
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(lockForCall(''));
    await db.query(runState(' FOR SHARE OF e, s'));
    await db.query(`
      DROP FUNCTION lock_switches;
      COMMENT ON FUNCTION run_state IS 'a run and what stands in its way; the switches stay as they are to the commit'`);
  }
}

function runState(locks: string): string {
  return `
      CREATE OR REPLACE FUNCTION run_state(of_employer uuid, run uuid,
        OUT run_status text, OUT ended boolean, OUT stopped boolean, OUT restored boolean) LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      DECLARE
        switched_off boolean;
      BEGIN
        SELECT e.stopped_at IS NOT NULL OR s.submits_off OR EXISTS (SELECT FROM forgotten_instruction f
              WHERE f.employer_id = e.id AND f.pay_run_id = run AND f.adopted_at IS NULL),
            NOT database_is_known() OR EXISTS (SELECT FROM restore_check c
              WHERE c.employer_id = e.id AND c.passed_at IS NULL)
          INTO switched_off, restored
          FROM employer e, service_switch s WHERE e.id = of_employer${locks};
        SELECT r.status, r.status IN ('CANCELLING', 'CANCELLED') OR r.lapse_reason IS NOT NULL OR EXISTS (SELECT FROM amendment a
              WHERE a.employer_id = r.employer_id AND a.pay_run_id = r.id AND a.applied_as_version IS NULL),
            switched_off OR r.stopped_at IS NOT NULL
          INTO run_status, ended, stopped
          FROM pay_run r WHERE r.employer_id = of_employer AND r.id = run;
      END $$`;
}

function lockForCall(switches: string): string {
  return `
      CREATE OR REPLACE FUNCTION lock_for_call(of_employer uuid, run uuid, of_instruction uuid, account uuid,
        subject uuid, of_holder text, of_epoch bigint,
        OUT run_status text, OUT ended boolean, OUT stopped boolean, OUT restored boolean,
        OUT instruction_status text, OUT held boolean, OUT account_status text) LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        PERFORM FROM pay_run r WHERE r.employer_id = of_employer AND r.id = run FOR SHARE;
        ${switches}
        SELECT s.run_status, s.ended, s.stopped, s.restored INTO run_status, ended, stopped, restored
          FROM run_state(of_employer, run) s;
        SELECT i.status INTO instruction_status FROM instruction i
          WHERE i.employer_id = of_employer AND i.id = of_instruction FOR NO KEY UPDATE;
        PERFORM FROM lease l WHERE l.subject_id = subject AND l.holder = of_holder AND l.epoch = of_epoch
          AND l.leased_until > clock_timestamp() FOR KEY SHARE;
        held := FOUND;
        SELECT a.bank_status INTO account_status FROM employer_account a
          WHERE a.employer_id = of_employer AND a.id = account FOR SHARE;
      END $$`;
}
