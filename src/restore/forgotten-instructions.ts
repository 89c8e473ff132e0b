import { EmployerTransaction } from '../database/database';
import { isPastSubmit } from '../domain/bank-status';
import type { Finding } from './restore-words';

/**
 * Keeps what was found as soon as it is shown: from here on nothing more of its runs is submitted, until it is adopted. What
 * has a submit in the record is none.
 */
export async function keepForgotten(
  tx: EmployerTransaction,
  restoreId: string,
  forgotten: readonly Finding[],
): Promise<void> {
  await tx.query(
    `INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status,
       instruction_id, reference, execution_date, payments)
     SELECT $1, f.bank_instruction_id, $2, f.pay_run_id, f.status, f.instruction_id, f.reference, f.execution_date, f.payments
     FROM unnest($3::text[], $4::uuid[], $5::text[], $6::uuid[], $7::text[], $8::date[], $9::int[])
       AS f(bank_instruction_id, pay_run_id, status, instruction_id, reference, execution_date, payments)
     WHERE NOT EXISTS (SELECT FROM submit_attempt s WHERE s.employer_id = $1
       AND s.bank_instruction_id = f.bank_instruction_id AND s.outcome IN ('EXECUTED', 'IN_DOUBT'))
     ON CONFLICT DO NOTHING`,
    [
      tx.employerId,
      restoreId,
      forgotten.map(({ bankInstructionId }) => bankInstructionId),
      forgotten.map(({ payRunId }) => payRunId),
      forgotten.map(({ status }) => status),
      forgotten.map(({ instructionId }) => instructionId ?? null),
      forgotten.map(({ reference }) => reference ?? null),
      forgotten.map(({ executionDate }) => executionDate ?? null),
      forgotten.map(({ payments }) => payments),
    ],
  );
}

/** What a pass of the check before this one, or another replica, was shown, is not taken back, and is not shown now. */
export async function shownBefore(
  tx: EmployerTransaction,
  restoreId: string,
  found: readonly Finding[],
): Promise<Finding[]> {
  const rows = await tx.query<
    Pick<Finding, 'bankInstructionId' | 'payRunId' | 'status' | 'payments'> & {
      instructionId: string | null;
      reference: string | null;
    }
  >(
    `SELECT bank_instruction_id AS "bankInstructionId", pay_run_id AS "payRunId", bank_status AS status,
       instruction_id AS "instructionId", reference, coalesce(payments, 0) AS payments
     FROM forgotten_instruction
     WHERE employer_id = $1 AND restore_id = $2 AND adopted_at IS NULL AND action_id IS NULL
       AND bank_instruction_id <> ALL ($3)
     ORDER BY found_at, bank_instruction_id`,
    [tx.employerId, restoreId, found.map(({ bankInstructionId }) => bankInstructionId)],
  );
  return rows.map(({ instructionId, reference, ...row }) => ({
    ...row,
    instructionId: instructionId ?? undefined,
    reference: reference ?? undefined,
    submitted: isPastSubmit(row.status),
    isUnclear: !isPastSubmit(row.status),
    refusal: undefined,
  }));
}
