import { EmployerTransaction } from '../database/database';
import { newId } from '../database/new-id';
import { NOT_OPENED, UNPAID_IN_MID_RUN } from './attention-words';

/**
 * Asks anew, as it is asked of the rest of a run, what was asked about building one while nothing of it was submitted: what
 * was proposed on the former questions, such as to take a payment out, cannot be done any more.
 * @param resolution of the former questions
 */
export async function retellInMidRun(
  tx: EmployerTransaction,
  payRunId: string,
  resolution: string,
): Promise<void> {
  const former = await tx.query<{ id: string }>(
    `UPDATE attention SET resolved_at = clock_timestamp(), resolution = $3
     WHERE employer_id = $1 AND pay_run_id = $2 AND resolved_at IS NULL AND (kind = 'ROW_REFUSED_BY_BANK'
       OR kind IN ('INITIATE_REFUSED', 'REBUILD_LIMIT') AND certain = $4)
     RETURNING id`,
    [tx.employerId, payRunId, resolution, NOT_OPENED],
  );
  if (former.length === 0) return;
  await tx.query(
    `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, instruction_id, payment_id, happened,
       bank_words, certain, ask_bank, payments, amount_minor, opened_at)
     SELECT a.employer_id, anew.id,
       CASE a.kind WHEN 'ROW_REFUSED_BY_BANK' THEN 'ROW_REFUSED_IN_MID_RUN' ELSE a.kind END,
       a.subject_id, a.pay_run_id, a.instruction_id, a.payment_id, a.happened, a.bank_words, $2, a.ask_bank,
       p.row_count, p.total_minor, clock_timestamp()
     FROM unnest($3::uuid[], $4::uuid[]) AS anew(id, former)
     JOIN attention a ON a.employer_id = $1 AND a.id = anew.former
     JOIN instruction i ON i.employer_id = $1 AND i.id = a.instruction_id
     JOIN planned_instruction p ON p.employer_id = $1 AND p.id = i.planned_instruction_id
     ON CONFLICT DO NOTHING`,
    [tx.employerId, UNPAID_IN_MID_RUN, former.map(() => newId()), former.map(({ id }) => id)],
  );
}
