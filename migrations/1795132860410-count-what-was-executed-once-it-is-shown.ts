import { MigrationInterface, QueryRunner } from 'typeorm';

/** People decide that a forgotten submit was executed before the bank shows how each of its payments ended: it is counted then. */
export class CountWhatWasExecutedOnceItIsShown1795132860410 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      ${decidedOnce(`NEW.action_id IS DISTINCT FROM OLD.action_id OR OLD.executed_payments IS NOT NULL
          AND (NEW.executed_payments, NEW.executed_minor) IS DISTINCT FROM (OLD.executed_payments, OLD.executed_minor)`)}
      COMMENT ON COLUMN forgotten_instruction.executed_payments IS
        'how many the bank had settled, once two people had decided it and it showed each as approved and ended; null before';
    `);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      ${decidedOnce(`(NEW.action_id, NEW.executed_payments, NEW.executed_minor)
          IS DISTINCT FROM (OLD.action_id, OLD.executed_payments, OLD.executed_minor)`)}
      COMMENT ON COLUMN forgotten_instruction.executed_payments IS
        'how many the bank had settled when two people decided it; null where it did not show each as approved and ended';
    `);
  }
}

function decidedOnce(isSecond: string): string {
  return `
      DROP TRIGGER refuse_second_decision ON forgotten_instruction;
      CREATE TRIGGER refuse_second_decision BEFORE UPDATE OF action_id, executed_payments, executed_minor
        ON forgotten_instruction
        FOR EACH ROW WHEN (OLD.action_id IS NOT NULL AND (${isSecond}))
        EXECUTE FUNCTION refuse_second_decision();`;
}
