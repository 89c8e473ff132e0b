import { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A run that is over takes nothing back into its record: what the bank executed of it, and a restored database had
 * forgotten, is counted beside it, once two people decided it on the bank's word.
 */
export class CountWhatAForgottenSubmitExecuted1795132859979 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ALTER TABLE forgotten_instruction ADD COLUMN executed_payments integer, ADD COLUMN executed_minor bigint,
        ADD CONSTRAINT forgotten_instruction_counts_what_is_decided CHECK (
          (executed_payments IS NULL) = (executed_minor IS NULL)
          AND (executed_payments IS NULL OR executed_payments >= 0 AND executed_minor >= 0 AND action_id IS NOT NULL));
      COMMENT ON COLUMN forgotten_instruction.executed_payments IS
        'how many the bank had settled when two people decided it; null where it did not show each as approved and ended';
      GRANT UPDATE (executed_payments, executed_minor) ON forgotten_instruction TO payrun_app;
      ${decidedOnce(['action_id', 'executed_payments', 'executed_minor'])}
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ${decidedOnce(['action_id'])}
      ALTER TABLE forgotten_instruction DROP COLUMN executed_payments, DROP COLUMN executed_minor;
    `);
  }
}

function decidedOnce(columns: readonly string[]): string {
  const of = (row: string) => `ROW(${columns.map((column) => `${row}.${column}`).join(', ')})`;
  return `
      DROP TRIGGER refuse_second_decision ON forgotten_instruction;
      CREATE TRIGGER refuse_second_decision BEFORE UPDATE OF ${columns.join(', ')} ON forgotten_instruction
        FOR EACH ROW WHEN (OLD.action_id IS NOT NULL AND ${of('NEW')} IS DISTINCT FROM ${of('OLD')})
        EXECUTE FUNCTION refuse_second_decision();`;
}
