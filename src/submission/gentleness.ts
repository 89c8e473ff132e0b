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
 * failed so would fail alike each time. Counted are earlier attempts at these rows that left an add in doubt, and attempts
 * at any other rows of the run of whose adds the bank answered several so: one may be the fault of its row, and a bank
 * whose successes cannot be used may take them all.
 */
export async function gentlenessFor(
  tx: EmployerTransaction,
  { instruction, planned }: Pick<Work, 'instruction' | 'planned'>,
): Promise<Gentleness> {
  const [row] = await tx.query<{ step: number; opened_ago_ms: string | null }>(
    `SELECT (
       SELECT coalesce(max(in_vain.times), 0)::int FROM (
         SELECT count(*) AS times FROM planned_instruction p
         JOIN instruction i ON i.employer_id = p.employer_id AND i.planned_instruction_id = p.id
         WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.run_version = $3
           AND i.id <> $5 AND i.status IN ('BUILDING', 'ABANDONED')
           AND (SELECT count(*) FILTER (WHERE p.id = $4 OR b.add_doubt ~ '^status [^2]') FROM bank_payment b
                WHERE b.employer_id = $1 AND b.instruction_id = i.id AND b.add_outcome = 'IN_DOUBT')
             > CASE WHEN p.id = $4 THEN 0 ELSE 1 END
         GROUP BY p.id) AS in_vain) AS step,
       (SELECT extract(epoch FROM clock_timestamp() - max(coalesce(finished_at, intended_at))) * 1000 FROM bank_call
        WHERE employer_id = $1 AND instruction_id = $5 AND operation = 'initiate') AS opened_ago_ms`,
    [tx.employerId, planned.payRunId, planned.runVersion, planned.id, instruction.id],
    'kept',
  );
  const ago = row?.opened_ago_ms ?? null;
  return { step: row?.step ?? 0, ...(ago !== null && { openedAgoMs: Number(ago) }) };
}
