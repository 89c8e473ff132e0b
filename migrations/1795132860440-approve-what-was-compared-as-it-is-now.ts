import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A run is compared as it is made, and may be approved weeks later: an IBAN that its employee was paid at no more by the pay
 * settled since was approved without anybody's look.
 */
export class ApproveWhatWasComparedAsItIsNow1795132860440 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      CREATE FUNCTION paid_before(employer uuid, run uuid, OUT period pay_period, OUT run_ids uuid[]) LANGUAGE sql STABLE
      SET search_path = public, pg_temp AS $$
        SELECT r.period, array_agg(r.id ORDER BY r.sequence, r.id)
        FROM pay_run own
        JOIN pay_run r ON r.employer_id = own.employer_id AND r.kind_of_pay = own.kind_of_pay AND r.period < own.period
          AND r.status IN ('FOLLOWING', 'SETTLED', 'PARTLY_SETTLED')
        CROSS JOIN LATERAL (SELECT FROM payment p WHERE p.employer_id = $1 AND p.pay_run_id = r.id
          AND p.status = 'SETTLED' AND p.returned_at IS NULL LIMIT 1) AS paid
        WHERE own.employer_id = $1 AND own.id = $2
        GROUP BY r.period ORDER BY r.period DESC LIMIT 1 $$;
      COMMENT ON FUNCTION paid_before IS
        'the latest earlier period of which a payment of the kind of pay of a run was kept, and its runs; null: there is none';

      CREATE FUNCTION has_unseen_iban(employer uuid, run uuid, version integer) RETURNS boolean LANGUAGE sql STABLE
      SET search_path = public, pg_temp SET enable_nestloop = off AS $$
        -- By run: the index of what is live has the payments of every run.
        WITH pay AS MATERIALIZED (
          SELECT p.id, p.employee_id, p.iban_hash, p.live FROM payment p
          WHERE p.employer_id = $1 AND p.pay_run_id = $2),
        earlier AS MATERIALIZED (
          SELECT p.employee_id, p.iban_hash, p.live AND p.returned_at IS NULL AS paid FROM payment p
          WHERE p.employer_id = $1 AND p.pay_run_id = ANY ((SELECT b.run_ids FROM paid_before($1, $2) b)::uuid[])),
        asked AS MATERIALIZED (
          SELECT d.payment_id FROM run_difference d
          WHERE d.employer_id = $1 AND d.pay_run_id = $2 AND d.run_version = $3 AND d.kind IN ('JOINED', 'IBAN_CHANGED'))
        SELECT EXISTS (SELECT FROM run_comparison c WHERE c.employer_id = $1 AND c.pay_run_id = $2 AND c.run_version = $3
            AND c.before_period IS NOT NULL)
          AND EXISTS (SELECT FROM pay n
            WHERE n.live
              AND NOT EXISTS (SELECT FROM earlier e
                WHERE e.paid AND e.employee_id = n.employee_id AND e.iban_hash = n.iban_hash)
              AND NOT EXISTS (SELECT FROM asked a WHERE a.payment_id = n.id)) $$;
      COMMENT ON FUNCTION has_unseen_iban IS
        'whether the pay before a run, as it is now and with what of it is on its way, lacks an IBAN that the comparison of a version did not ask about; without pay before it every IBAN is asked about';

      CREATE FUNCTION refuse_approval_by_an_old_comparison() RETURNS trigger LANGUAGE plpgsql
      SET search_path = public, pg_temp AS $$
      BEGIN
        -- What is being submitted cannot be compared anew, and was approved once.
        IF (SELECT e.tick_ibans FROM employer e WHERE e.id = NEW.employer_id) IS NOT FALSE
          AND (SELECT r.status FROM pay_run r WHERE r.employer_id = NEW.employer_id AND r.id = NEW.pay_run_id)
            <> 'SUBMITTING'
          AND has_unseen_iban(NEW.employer_id, NEW.pay_run_id, NEW.run_version) THEN
          RAISE EXCEPTION 'the version was compared before other pay settled or came back'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'comparison_is_of_now';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_approval_by_an_old_comparison BEFORE INSERT ON approval
        FOR EACH ROW EXECUTE FUNCTION refuse_approval_by_an_old_comparison();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_approval_by_an_old_comparison ON approval;
      DROP FUNCTION refuse_approval_by_an_old_comparison, has_unseen_iban, paid_before;
    `);
  }
}
