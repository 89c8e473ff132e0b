import { EmployerTransaction } from '../database/database';
import type { Work } from './work';

/** How carefully an instruction is filled, after others of the same rows, or of its run, were filled in vain. */
export interface Gentleness {
  /** 0 is as fast as may be; with each step fewer adds are in flight. */
  readonly step: number;
  /** How long ago the bank opened the instruction; undefined where that is not in the record. */
  readonly openedAgoMs?: number;
}

/**
 * A bank may take one add of an instruction at a time, or know an instruction only some time after it has opened it: what
 * failed so would fail alike each time. Counted are earlier attempts at these rows that left an add in doubt or refused,
 * twice where several were refused, since people may be asked about each; and attempts at any other rows of the run of
 * whose adds the bank answered several in doubt: one may be the fault of its row, and a bank whose successes cannot be used
 * may take them all.
 */
export async function gentlenessFor(
  tx: EmployerTransaction,
  { instruction, planned }: Pick<Work, 'instruction' | 'planned'>,
): Promise<Gentleness> {
  const [row] = await tx.query<{ step: number; opened_ago_ms: string | null }>(
    // In sets, since a small table would be read whole for each row of another one.
    `WITH attempt AS MATERIALIZED (
       SELECT id, planned_instruction_id AS planned_id, planned_instruction_id = $4 AS at_these_rows FROM instruction
       WHERE employer_id = $1 AND id <> $5 AND status IN ('BUILDING', 'ABANDONED')
         AND planned_instruction_id = ANY (ARRAY(
           SELECT id FROM planned_instruction WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3))),
     in_vain AS (
       SELECT a.planned_id, CASE WHEN count(*) FILTER (WHERE b.add_outcome = 'REFUSED') > 1 THEN 2 ELSE 1 END AS times
       FROM bank_payment b JOIN attempt a ON a.id = b.instruction_id
       WHERE b.employer_id = $1 AND b.add_outcome IN ('IN_DOUBT', 'REFUSED') AND b.instruction_id = ANY (ARRAY(SELECT id FROM attempt))
         AND (a.at_these_rows OR b.add_outcome = 'IN_DOUBT' AND b.add_doubt ~ '^status [^2]')
       GROUP BY a.id, a.planned_id, a.at_these_rows
       HAVING a.at_these_rows OR count(*) > 1)
     SELECT (
       SELECT coalesce(max(times), 0)::int FROM (SELECT sum(times) AS times FROM in_vain GROUP BY planned_id) AS counted) AS step,
       (SELECT extract(epoch FROM clock_timestamp() - max(coalesce(finished_at, intended_at))) * 1000 FROM bank_call
        WHERE employer_id = $1 AND instruction_id = $5 AND operation = 'initiate') AS opened_ago_ms`,
    [tx.employerId, planned.payRunId, planned.runVersion, planned.id, instruction.id],
    'kept',
  );
  const ago = row?.opened_ago_ms ?? null;
  return { step: row?.step ?? 0, ...(ago !== null && { openedAgoMs: Number(ago) }) };
}
