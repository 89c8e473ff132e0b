import { MigrationInterface, QueryRunner } from 'typeorm';

/** Since when submits have been off without a break, whoever threw the switch besides and took it back again. */
export class KnowSinceWhenSubmitsAreOff1795132859500 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE service_switch ADD COLUMN off_since timestamptz;
      COMMENT ON COLUMN service_switch.off_since IS
        'since when submits have been off without a break; changed_at is of who threw the switch last';
      UPDATE service_switch SET off_since = least(changed_at,
        (SELECT min(stopped_at) FROM service_stop WHERE lifted_at IS NULL)) WHERE submits_off;

      CREATE FUNCTION keep_since_when_off() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
      BEGIN
        NEW.off_since = CASE WHEN NOT NEW.submits_off THEN NULL
          WHEN OLD.submits_off THEN OLD.off_since ELSE clock_timestamp() END;
        RETURN NEW;
      END $$;
      CREATE TRIGGER keep_since_when_off BEFORE UPDATE ON service_switch
        FOR EACH ROW EXECUTE FUNCTION keep_since_when_off();
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      DROP TRIGGER keep_since_when_off ON service_switch;
      DROP FUNCTION keep_since_when_off;
      ALTER TABLE service_switch DROP COLUMN off_since;
    `);
  }
}
