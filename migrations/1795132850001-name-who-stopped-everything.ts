import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whose stop of everything it is. An employer's transaction, which decides an attention, does not see the audit of the
 * installation; and by its reason alone a person's stop may look like that of the service.
 */
export class NameWhoStoppedEverything1795132850001 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE service_switch ADD COLUMN stopped_by uuid REFERENCES person,
        ADD CONSTRAINT what_runs_is_stopped_by_nobody CHECK (submits_off OR stopped_by IS NULL);
      COMMENT ON COLUMN service_switch.stopped_by IS
        'the person who threw the switch, or made a stop of the service their own; null where the service alone threw it';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE service_switch DROP COLUMN stopped_by');
  }
}
