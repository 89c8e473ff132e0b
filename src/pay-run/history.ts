import { arraysOf } from '../database/binary-array';
import { EmployerTransaction, Statement } from '../database/database';
import { Instruction } from './instruction.entity';

/** Who moved it: a person, or the service itself. */
export type Actor = `person:${string}` | 'service';

export type Subject = 'pay_run' | 'instruction' | 'payment' | 'payments_of_run' | 'payments_of_instruction';

/** One line of history. `payments` and `amountMinor` say how much a change of a set moved. */
export interface StateChange {
  subject: Subject;
  subjectId: string;
  payRunId: string;
  from: string;
  to: string;
  actor: Actor;
  reason?: string;
  payments?: number;
  amountMinor?: bigint;
}

const CHANGES = new WeakMap<EmployerTransaction, StateChange[]>();

/**
 * Appends state changes at the end of the transaction. Their numbers are drawn under a lock held to the commit, so that
 * the order of `seq` is the order of commits: who has read up to a number has missed nothing before it.
 */
export function appendHistory(tx: EmployerTransaction, changes: readonly StateChange[]): void {
  const gathered = CHANGES.get(tx);
  if (gathered) {
    gathered.push(...changes);
    return;
  }
  const all = [...changes];
  CHANGES.set(tx, all);
  tx.beforeCommit('history', () => writingHistory(tx.employerId, all));
}

function writingHistory(employerId: string, changes: readonly StateChange[]): Statement | undefined {
  if (changes.length === 0) return undefined;
  const arrayOf = arraysOf(changes);
  return [
    `WITH taken AS (
       INSERT INTO fact_sequence (employer_id, last_seq) VALUES ($1, $2)
       ON CONFLICT (employer_id) DO UPDATE SET last_seq = fact_sequence.last_seq + $2
       RETURNING last_seq - $2 AS before)
     INSERT INTO state_change (employer_id, seq, subject, subject_id, pay_run_id, from_status, to_status, actor,
       reason, payments, amount_minor)
     SELECT $1, taken.before + c.n, c.subject, c.subject_id, c.pay_run_id, c.from_status, c.to_status, c.actor,
       c.reason, c.payments, c.amount_minor
     FROM taken, unnest($3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[],
       $10::int[], $11::bigint[]) WITH ORDINALITY
       AS c(subject, subject_id, pay_run_id, from_status, to_status, actor, reason, payments, amount_minor, n)`,
    [
      employerId,
      changes.length,
      arrayOf('text', (change) => change.subject),
      arrayOf('uuid', (change) => change.subjectId),
      arrayOf('uuid', (change) => change.payRunId),
      arrayOf('text', (change) => change.from),
      arrayOf('text', (change) => change.to),
      arrayOf('text', (change) => change.actor),
      arrayOf('text', (change) => change.reason ?? null),
      arrayOf('int4', (change) => change.payments ?? 0),
      arrayOf('int8', (change) => change.amountMinor ?? 0n),
    ],
    'kept',
  ];
}

/** When an instruction last changed its state, by the database's clock; its creation where it never did. */
export async function lastMovedAt(
  tx: EmployerTransaction,
  { id, payRunId, createdAt }: Pick<Instruction, 'id' | 'payRunId' | 'createdAt'>,
): Promise<Date> {
  const [last] = await tx.query<{ at: Date | null }>(
    `SELECT max(at) AS at FROM state_change
     WHERE employer_id = $1 AND pay_run_id = $2 AND subject = 'instruction' AND subject_id = $3`,
    [tx.employerId, payRunId, id],
  );
  return last?.at ?? createdAt;
}
