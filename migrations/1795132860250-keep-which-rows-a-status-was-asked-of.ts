import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The text of a question what a status means names the first few rows: whether the bank was asked about another that shows
 * it could not be told, and a decision ended it. What is open is read again, and so asked anew.
 */
export class KeepWhichRowsAStatusWasAskedOf1795132860250 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE attention ADD COLUMN asked_rows jsonb;
      COMMENT ON COLUMN attention.asked_rows IS
        'of which rows people decide what statuses mean, by status; null where that is not asked about, or was not kept yet';
    `);
    await db.query(`
      -- The owner, who migrates, sees no row of any employer otherwise.
      ALTER TABLE attention NO FORCE ROW LEVEL SECURITY;
      UPDATE lease l SET wake_at = now(), woken_at = now()
      FROM attention a
      WHERE a.kind = 'UNKNOWN_STATUS' AND a.resolved_at IS NULL
        AND l.kind = 'FOLLOW' AND l.employer_id = a.employer_id AND l.subject_id = a.instruction_id
        AND l.wake_at > now();
      ALTER TABLE attention FORCE ROW LEVEL SECURITY;
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('ALTER TABLE attention DROP COLUMN asked_rows');
  }
}
