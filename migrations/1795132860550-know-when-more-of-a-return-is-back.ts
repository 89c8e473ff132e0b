import { MigrationInterface, QueryRunner } from 'typeorm';

/** What lacked of a payment that came back may come back later: the bank then shows more of it for longer than a read can be old. */
export class KnowWhenMoreOfAReturnIsBack1795132860550 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE bank_payment ADD COLUMN more_back_since timestamptz;
      COMMENT ON COLUMN bank_payment.more_back_since IS
        'since when every read has shown more of a payment as come back than returned_minor says';

      ${cameBackInPart('<=')}
      COMMENT ON COLUMN payment.returned_minor IS
        'what the bank brought back, where that was less than was paid, at first at least: the least shown, unless it showed more for longer than a read can be old';

      -- What came back whole is null, and what came back in parts never is again: people were asked about it.
      CREATE FUNCTION refuse_whole_of_parts() RETURNS trigger
      LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        RAISE EXCEPTION 'what came back in part stays so, and what came back whole came back in none'
          USING ERRCODE = 'check_violation', CONSTRAINT = 'part_stays_part';
      END $$;
      CREATE TRIGGER refuse_whole_of_parts BEFORE UPDATE OF returned_minor ON payment
        FOR EACH ROW WHEN (CASE WHEN OLD.returned_minor IS NULL THEN NEW.returned_minor >= NEW.amount_minor
          ELSE NEW.returned_minor IS NULL END)
        EXECUTE FUNCTION refuse_whole_of_parts();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER refuse_whole_of_parts ON payment;
      DROP FUNCTION refuse_whole_of_parts;
      UPDATE payment SET returned_minor = NULL WHERE returned_minor = amount_minor;
      ${cameBackInPart('<')}
      COMMENT ON COLUMN payment.returned_minor IS
        'the least that the bank has shown as what it brought back, where that is less than was paid';
      ALTER TABLE bank_payment DROP COLUMN more_back_since;
    `);
  }
}

function cameBackInPart(most: '<' | '<='): string {
  return `ALTER TABLE payment DROP CONSTRAINT part_came_back,
        ADD CONSTRAINT part_came_back CHECK (returned_minor IS NULL
          OR returned_at IS NOT NULL AND returned_minor > 0 AND returned_minor ${most} amount_minor);`;
}
