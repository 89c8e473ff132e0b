import { EmployerTransaction } from '../database/database';
import type { Finding } from './restore-words';

/**
 * What a check after a restore took back before this pass of it, or another replica did: the record has it by now, so the
 * bank's list does not show it as forgotten any more.
 */
export async function takenBackBefore(
  tx: EmployerTransaction,
  restoreId: string,
  found: readonly Finding[],
): Promise<Finding[]> {
  const rows = await tx.query<
    Pick<Finding, 'bankInstructionId' | 'payRunId' | 'status' | 'payments'> & { instructionId: string }
  >(
    `SELECT f.bank_instruction_id AS "bankInstructionId", f.pay_run_id AS "payRunId", f.bank_status AS status,
       i.id AS "instructionId", l.row_count AS payments
     FROM forgotten_instruction f
     JOIN instruction i ON i.employer_id = f.employer_id AND i.bank_instruction_id = f.bank_instruction_id
     JOIN planned_instruction l ON l.employer_id = i.employer_id AND l.id = i.planned_instruction_id
     WHERE f.employer_id = $1 AND f.restore_id = $2 AND f.adopted_at IS NOT NULL AND i.submitted_at IS NOT NULL
       AND f.bank_instruction_id <> ALL ($3)
     ORDER BY f.found_at, f.bank_instruction_id`,
    [tx.employerId, restoreId, found.map(({ bankInstructionId }) => bankInstructionId)],
  );
  return rows.map((row) => ({
    ...row,
    reference: undefined,
    submitted: true,
    isUnclear: false,
    refusal: undefined,
  }));
}
