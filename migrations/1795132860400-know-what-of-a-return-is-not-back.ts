import { MigrationInterface, QueryRunner } from 'typeorm';

/** A bank may show a payment as returned with less than was paid: whether its payee kept the rest only people can find out. */
export class KnowWhatOfAReturnIsNotBack1795132860400 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE payment ADD COLUMN returned_minor bigint,
        ADD CONSTRAINT part_came_back CHECK (returned_minor IS NULL
          OR returned_at IS NOT NULL AND returned_minor > 0 AND returned_minor < amount_minor);
      COMMENT ON COLUMN payment.returned_minor IS
        'the least that the bank has shown as what it brought back, where that is less than was paid';
      GRANT UPDATE (returned_minor) ON payment TO payrun_app;

      -- The last answer to a question that told of as much: RESUME alone says that nobody kept it.
      CREATE FUNCTION may_be_kept(of_employer uuid, of_payment uuid, lacking bigint) RETURNS boolean
      LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
        SELECT coalesce((
          SELECT d.action <> 'RESUME' FROM attention a
          JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL
          WHERE a.employer_id = of_employer AND a.kind = 'ECHO_MISMATCH' AND a.subject_id = of_payment
            AND a.lacking_minor >= lacking
          ORDER BY d.confirmed_at DESC LIMIT 1), true)
      $$;

      CREATE FUNCTION refuse_successor_of_what_is_kept() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      DECLARE
        lacking bigint;
      BEGIN
        SELECT p.amount_minor - p.returned_minor INTO lacking FROM payment p
          WHERE p.employer_id = NEW.employer_id AND p.id = NEW.replaces_payment_id FOR SHARE;
        IF lacking IS NOT NULL AND may_be_kept(NEW.employer_id, NEW.replaces_payment_id, lacking) THEN
          RAISE EXCEPTION 'a payment that came back in part is replaced once two people say that nobody kept the rest'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'replaced_is_not_kept';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_successor_of_what_is_kept BEFORE INSERT ON payment
        FOR EACH ROW WHEN (NEW.replaces_payment_id IS NOT NULL) EXECUTE FUNCTION refuse_successor_of_what_is_kept();
      CREATE TRIGGER refuse_successor_of_what_is_kept_on_release BEFORE UPDATE OF status ON payment
        FOR EACH ROW WHEN (OLD.status = 'HELD' AND NEW.status = 'READY' AND NEW.replaces_payment_id IS NOT NULL)
        EXECUTE FUNCTION refuse_successor_of_what_is_kept();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_successor_of_what_is_kept_on_release ON payment;
      DROP TRIGGER refuse_successor_of_what_is_kept ON payment;
      DROP FUNCTION refuse_successor_of_what_is_kept, may_be_kept;
      ALTER TABLE payment DROP COLUMN returned_minor;
    `);
  }
}
