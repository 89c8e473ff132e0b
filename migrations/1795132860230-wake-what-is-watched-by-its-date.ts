import { MigrationInterface, QueryRunner } from 'typeorm';

const READ = ['instruction', 'planned_instruction', 'pay_run_version', 'attention'];

/**
 * What ended and was read no more, since it was watched by its end alone, is read again where its date may still have it
 * watched; by the next read each is watched, or not, as it is set. What was asked of payments that are not final is asked
 * by the status they show.
 */
export class WakeWhatIsWatchedByItsDate1795132860230 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    // The owner, who migrates, sees no row of any employer otherwise.
    for (const table of READ) await db.query(`ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY`);
    await db.query(`
      UPDATE lease l SET wake_at = now()
      FROM instruction i
      JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
      JOIN pay_run_version v
        ON v.employer_id = p.employer_id AND v.pay_run_id = p.pay_run_id AND v.run_version = p.run_version
      WHERE l.kind = 'FOLLOW' AND l.wake_at = 'infinity' AND i.employer_id = l.employer_id AND i.id = l.subject_id
        -- For as many days as it can be set to be watched.
        AND v.execution_date > current_date - 90
        AND (i.status IN ('VOID', 'RELEASED', 'ABANDONED') OR i.status = 'CLOSED' AND i.closed_at < v.execution_date);
      UPDATE attention SET resolved_at = now(), resolution = 'asked about by the status that they show'
      WHERE kind = 'ROW_UNSEEN' AND resolved_at IS NULL
        AND strpos(happened, ' not final two banking days after the execution date.') > 0;
    `);
    for (const table of READ) await db.query(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`);
  }

  /** What was read again does no harm, and the earlier version asks again what it asks. */
  down(): Promise<void> {
    return Promise.resolve();
  }
}
