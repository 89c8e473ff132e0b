import { MigrationInterface, QueryRunner } from 'typeorm';

/** Nobody is paid around what was sent in the stead of the same payment by another way. */
export class GuardBranchesOfAChain1795132857100 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      -- Each is sought by its key: joined, the planner may read every payment of the employer.
      CREATE FUNCTION refuse_successor_around_another() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (
            WITH RECURSIVE chain AS (
              SELECT p.id, p.replaces_payment_id AS before, p.status FROM payment p
              WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id
              UNION SELECT o.id, o.replaces_payment_id, o.status
              FROM chain c JOIN LATERAL (SELECT * FROM payment
                WHERE employer_id = NEW.employer_id AND id = c.before LIMIT 1) o ON true),
            stead AS (
              SELECT id FROM chain WHERE before IS NULL
              UNION SELECT unnest(ARRAY(SELECT s.id FROM payment s
                WHERE s.employer_id = NEW.employer_id AND s.replaces_payment_id = stead.id))
              FROM stead)
            SELECT FROM chain replaced, stead
            JOIN LATERAL (SELECT * FROM payment WHERE employer_id = NEW.employer_id AND id = stead.id LIMIT 1) s ON true
            JOIN LATERAL (SELECT * FROM pay_run WHERE employer_id = NEW.employer_id AND id = s.pay_run_id LIMIT 1) r ON true
            WHERE replaced.id = NEW.replaces_payment_id AND stead.id NOT IN (SELECT id FROM chain)
              AND s.replaces_payment_id <> NEW.replaces_payment_id
              AND (s.live OR s.status NOT IN ('EXCLUDED', 'HELD')
                AND NOT (s.status = 'CANCELLED' AND r.status IN ('CANCELLING', 'CANCELLED')))
              AND (replaced.status = 'EXCLUDED' OR s.id > replaced.id)) THEN
          RAISE EXCEPTION 'another payment was sent in the stead of the same one: that one is replaced'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'last_sent_is_replaced';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_successor_around_another BEFORE INSERT ON payment
        FOR EACH ROW WHEN (NEW.replaces_payment_id IS NOT NULL) EXECUTE FUNCTION refuse_successor_around_another();
      CREATE TRIGGER refuse_successor_around_another_on_release BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (OLD.status = 'HELD' AND NEW.status = 'READY' AND NEW.replaces_payment_id IS NOT NULL)
        EXECUTE FUNCTION refuse_successor_around_another();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_successor_around_another_on_release ON payment;
      DROP TRIGGER refuse_successor_around_another ON payment;
      DROP FUNCTION refuse_successor_around_another;
    `);
  }
}
