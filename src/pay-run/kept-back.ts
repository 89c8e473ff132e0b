import { EmployerTransaction } from '../database/database';

/**
 * The run a faulty row `k` is paid by, once it was corrected and as long as that run is not cancelled: while it is
 * being cancelled it counts, here as in the month. Of fresh rows the planner knows nothing: as a join it would look
 * through all payments of the run for each row.
 */
export const CORRECTED_BY = `
  CASE WHEN k.payment_id IS NOT NULL THEN
    (SELECT r.id FROM pay_run r WHERE r.employer_id = k.employer_id AND r.status <> 'CANCELLED'
       AND r.id = (SELECT p.pay_run_id FROM payment p WHERE p.employer_id = k.employer_id AND p.id = k.payment_id))
  END`;

/** Whether the faulty row `k` is kept back. */
export const KEPT_BACK = `(${CORRECTED_BY} IS NULL)`;

/** Rows of a run's file that are kept back, their faults, and how many others were corrected since. */
export interface KeptBackTotal {
  rows: number;
  faults: number;
  corrected: number;
}

/** Counts the faulty rows of a run. */
export async function keptBackOf(tx: EmployerTransaction, payRunId: string): Promise<KeptBackTotal> {
  const [total] = await tx.query<KeptBackTotal>(
    `SELECT count(*) FILTER (WHERE kept)::int AS rows, coalesce(sum(fault_count) FILTER (WHERE kept), 0)::int AS faults,
       count(*) FILTER (WHERE NOT kept)::int AS corrected
     FROM (SELECT k.fault_count, ${KEPT_BACK} AS kept
           FROM faulty_file f JOIN faulty_row k ON k.employer_id = f.employer_id AND k.faulty_file_id = f.id
           WHERE f.employer_id = $1 AND f.pay_run_id = $2) AS row`,
    [tx.employerId, payRunId],
  );
  return total ?? { rows: 0, faults: 0, corrected: 0 };
}
