import { EmployerTransaction } from '../database/database';
import { Instruction } from './instruction.entity';

/**
 * Closes the intents of adds that this process or a dead one left open: their rows may be at the bank, so they are in
 * doubt (rule 4), and are known to be in the instruction whatever becomes of it.
 */
export async function closeOpenAdds(
  tx: EmployerTransaction,
  { id, payRunId }: Pick<Instruction, 'id' | 'payRunId'>,
): Promise<void> {
  await tx.query(
    `WITH open AS (
       UPDATE add_intent SET finished_at = clock_timestamp()
       WHERE employer_id = $1 AND instruction_id = $2 AND finished_at IS NULL RETURNING row_nos)
     INSERT INTO bank_payment (employer_id, instruction_id, row_no, payment_id, add_outcome)
     SELECT $1, $2, p.row_no, p.id, 'IN_DOUBT'
     FROM open, unnest(open.row_nos) AS intended(row_no)
     JOIN payment p ON p.employer_id = $1 AND p.pay_run_id = $3 AND p.row_no = intended.row_no
     ON CONFLICT DO NOTHING`,
    [tx.employerId, id, payRunId],
    'kept',
  );
}
