import type { EmployerTransaction } from '../database/database';
import { isUndocumented } from '../domain/bank-status';
import { PAY_RUN_GOING_ON } from '../domain/pay-run';
import type { Forgotten } from './restore-adoption';
import type { LeftOpen } from './restore-watch';

/** What was not taken over, with what decides what is tried of it. */
export interface Waiting extends LeftOpen, Pick<Forgotten, 'reference' | 'isSaidExecuted'> {
  /** Tells whether its run has moved. */
  key: string;
  /** Whether its run takes anything back. */
  goesOn: boolean;
  /** Whether a restore found it in a status that no document names, and people have not decided it. */
  isOpen: boolean;
  /** Whether two people have decided it, and what of it the bank executed is not counted yet. */
  isUncounted: boolean;
}

/** Whether two people have decided what was forgotten as `f`, and nothing of it is counted. */
const IS_UNCOUNTED = '(f.action_id IS NOT NULL AND f.executed_payments IS NULL)';

/**
 * What was not taken over, of runs that may have moved since; and of any run, also of one that was forgotten too, what nobody
 * knew to be submitted or not, and what people decided before the bank showed how all of it ended.
 * @param days for how long the latter two are looked for, once each was found and its date has come
 */
export async function waitingOf(tx: EmployerTransaction, days: number): Promise<Waiting[]> {
  const rows = await tx.query<{
    bank_instruction_id: string;
    instruction_id: string | null;
    pay_run_id: string | null;
    reference: string | null;
    said: boolean;
    uncounted: boolean;
    revision: string | null;
    created_at: Date;
    goes_on: boolean;
    status: string | null;
    submitted_as: string | null;
  }>(
    `SELECT f.bank_instruction_id, f.instruction_id, f.pay_run_id, f.reference, f.action_id IS NOT NULL AS said,
       ${IS_UNCOUNTED} AS uncounted, r.revision, coalesce(r.created_at, f.found_at - make_interval(days => $3)) AS created_at,
       coalesce(f.restore_id IS NOT NULL AND r.status = ANY ($2), false) AS goes_on,
       CASE WHEN f.action_id IS NULL THEN f.bank_status END AS status, f.submitted_as
     FROM forgotten_instruction f
     LEFT JOIN pay_run r ON r.employer_id = f.employer_id AND r.id = f.pay_run_id
     WHERE f.employer_id = $1 AND (f.restore_id IS NOT NULL OR ${IS_UNCOUNTED}) AND f.adopted_at IS NULL
       AND (r.status = ANY ($2) OR greatest(f.found_at, f.execution_date, r.execution_date)
         > clock_timestamp() - make_interval(days => $3))
     ORDER BY f.found_at, f.bank_instruction_id`,
    [tx.employerId, PAY_RUN_GOING_ON, days],
  );
  const waiting = rows.map((row) => ({
    bankInstructionId: row.bank_instruction_id,
    instructionId: row.instruction_id ?? undefined,
    payRunId: row.pay_run_id,
    createdAt: row.created_at,
    reference: row.reference ?? undefined,
    isSaidExecuted: row.said,
    key: row.revision ?? '',
    goesOn: row.goes_on,
    isOpen: row.status !== null && isUndocumented(row.status),
    submittedAs: row.submitted_as ?? undefined,
    isUncounted: row.uncounted,
  }));
  return waiting.filter(({ goesOn, isOpen, isUncounted }) => goesOn || isOpen || isUncounted);
}
