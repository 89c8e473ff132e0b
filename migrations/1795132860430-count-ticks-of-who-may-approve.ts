import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An IBAN was looked at where somebody ticked it who may approve the run still: who left ticked for nobody else, and another
 * could not tick it in their stead.
 */
export class CountTicksOfWhoMayApprove1795132860430 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION may_approve(employer uuid, run uuid, person uuid) RETURNS boolean LANGUAGE sql STABLE
      SET search_path = public, pg_temp AS $$
        SELECT EXISTS (SELECT FROM person p
            JOIN person_role r ON r.employer_id = $1 AND r.person_id = p.id AND r.role = 'approver'
            WHERE p.id = $3 AND p.disabled_at IS NULL)
          AND NOT has_prepared($1, $2, $3) $$;
      COMMENT ON FUNCTION may_approve IS 'whether a person is entitled now to approve a run, whatever version of it stands';

      CREATE FUNCTION entitled_tickers(employer uuid, run uuid, version integer) RETURNS uuid[] LANGUAGE sql STABLE
      SET search_path = public, pg_temp AS $$
        SELECT ARRAY(
          SELECT t.ticked_by FROM (SELECT DISTINCT k.ticked_by FROM iban_tick k
            WHERE k.employer_id = $1 AND k.pay_run_id = $2 AND k.run_version = $3) AS t
          WHERE may_approve($1, $2, t.ticked_by)) $$;
      COMMENT ON FUNCTION entitled_tickers IS 'whose ticks of a version count';

      ALTER TABLE iban_tick
        DROP CONSTRAINT one_tick_per_iban,
        ADD CONSTRAINT one_tick_per_iban_and_person
          UNIQUE NULLS NOT DISTINCT (pay_run_id, employer_id, run_version, payment_id, ticked_by);
    `);
    await db.query(approvalGuard('AND t.ticked_by = ANY (entitled)'));
  }

  /** The first tick of each IBAN is left, as the earlier version knows one. */
  async down(db: QueryRunner): Promise<void> {
    await db.query(approvalGuard(''));
    // The owner, who migrates, sees no row of any employer otherwise.
    await db.query('ALTER TABLE iban_tick NO FORCE ROW LEVEL SECURITY');
    await db.query(`
      DELETE FROM iban_tick WHERE ctid IN (
        SELECT id FROM (SELECT ctid AS id, row_number() OVER (
          PARTITION BY pay_run_id, employer_id, run_version, payment_id ORDER BY ticked_at, ticked_by) AS place
          FROM iban_tick) AS one
        WHERE place > 1);
      ALTER TABLE iban_tick
        DROP CONSTRAINT one_tick_per_iban_and_person,
        ADD CONSTRAINT one_tick_per_iban UNIQUE NULLS NOT DISTINCT (pay_run_id, employer_id, run_version, payment_id);
      DROP FUNCTION entitled_tickers, may_approve;
    `);
    await db.query('ALTER TABLE iban_tick FORCE ROW LEVEL SECURITY');
  }
}

/** `counts` in SQL, of a tick `t`. */
function approvalGuard(counts: string): string {
  const entitled =
    counts === '' ? `'{}'` : 'entitled_tickers(NEW.employer_id, NEW.pay_run_id, NEW.run_version)';
  return `
      CREATE OR REPLACE FUNCTION refuse_approval_of_unticked_ibans() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp SET enable_nestloop = off AS $$
      DECLARE
        entitled CONSTANT uuid[] := ${entitled};
      BEGIN
        IF (SELECT e.tick_ibans FROM employer e WHERE e.id = NEW.employer_id) IS NOT FALSE
          AND NOT EXISTS (SELECT FROM iban_tick t WHERE t.employer_id = NEW.employer_id
            AND t.pay_run_id = NEW.pay_run_id AND t.run_version = NEW.run_version AND t.payment_id IS NULL ${counts})
          AND (
            NOT EXISTS (SELECT FROM run_comparison c WHERE c.employer_id = NEW.employer_id
              AND c.pay_run_id = NEW.pay_run_id AND c.run_version = NEW.run_version AND c.before_period IS NOT NULL)
            OR EXISTS (SELECT FROM run_difference d WHERE d.employer_id = NEW.employer_id
              AND d.pay_run_id = NEW.pay_run_id AND d.run_version = NEW.run_version
              AND d.kind IN ('JOINED', 'IBAN_CHANGED')
              AND NOT EXISTS (SELECT FROM iban_tick t WHERE t.employer_id = d.employer_id
                AND t.pay_run_id = d.pay_run_id AND t.run_version = d.run_version AND t.payment_id = d.payment_id ${counts})))
        THEN
          RAISE EXCEPTION 'new IBANs of the version are not ticked'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ibans_are_ticked';
        END IF;
        RETURN NEW;
      END $$`;
}
