import { arraysOf } from '../database/binary-array';
import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { assertPaymentMove, LIVE_PAYMENT_STATUSES, PaymentStatus } from '../domain/payment';
import { Actor, appendHistory, Subject } from './history';
import { PlannedInstruction } from './instruction.entity';

/** Rows of a run by their numbers, both ends included. */
export type RowRange = Pick<PlannedInstruction, 'firstRow' | 'lastRow'>;

const ALL_ROWS: RowRange = { firstRow: 1, lastRow: 2_147_483_647 };

/** Moves of payments that go together: all of a run, or all of a planned instruction, from one state. */
export interface SetMove {
  payRunId: string;
  planned?: Pick<PlannedInstruction, 'id'> & RowRange;
  from: PaymentStatus;
  to: PaymentStatus;
  actor: Actor;
  reason?: string;
}

interface Moved {
  count: number;
  amountMinor: bigint;
}

/** Moves every payment of the set that is in `from`; one statement and one line of history, however many. */
export async function movePaymentSet(tx: EmployerTransaction, move: SetMove): Promise<Moved> {
  assertPaymentMove(move.from, move.to);
  const { firstRow, lastRow } = move.planned ?? ALL_ROWS;
  const [row] = await tx.query<{ count: string; sum: string }>(
    `WITH moved AS (
       UPDATE payment SET status = $4, live = $5
       WHERE employer_id = $1 AND pay_run_id = $2 AND status = $3
         AND row_no BETWEEN $6 AND $7
       RETURNING amount_minor)
     SELECT count(*) AS count, coalesce(sum(amount_minor), 0) AS sum FROM moved`,
    [
      tx.employerId,
      move.payRunId,
      move.from,
      move.to,
      LIVE_PAYMENT_STATUSES.includes(move.to),
      firstRow,
      lastRow,
    ],
  );
  return tellOfMovedSet(tx, move, row);
}

/** Writes the one line of history of a set that a statement has moved. @param row what was moved; the sum in minor units */
export function tellOfMovedSet(
  tx: EmployerTransaction,
  move: SetMove,
  row: { count: string; sum: string } | undefined,
): Moved {
  const moved = { count: Number(row?.count ?? 0), amountMinor: BigInt(row?.sum ?? 0) };
  if (moved.count === 0) return moved;
  const subject: Subject = move.planned ? 'payments_of_instruction' : 'payments_of_run';
  appendHistory(tx, [
    {
      subject,
      subjectId: move.planned?.id ?? move.payRunId,
      payRunId: move.payRunId,
      from: move.from,
      to: move.to,
      actor: move.actor,
      reason: move.reason,
      payments: moved.count,
      amountMinor: moved.amountMinor,
    },
  ]);
  return moved;
}

/** One payment that reached a state of its own, such as SETTLED. */
export interface PaymentMove {
  paymentId: string;
  to: PaymentStatus;
  reason?: string;
  settledOn?: string;
  chargesMinor?: bigint;
}

/**
 * Moves payments that go different ways, in one statement, with a line of history each.
 * @param within the rows they are among, found by their numbers; otherwise each is found by its id
 */
export async function movePayments(
  tx: EmployerTransaction,
  payRunId: string,
  from: PaymentStatus,
  moves: readonly PaymentMove[],
  actor: Actor,
  within?: RowRange,
): Promise<number> {
  for (const move of moves) assertPaymentMove(from, move.to);
  const arrayOf = arraysOf(moves);
  const moved = await queryByHash<{ id: string; amount_minor: string; n: string }>(
    tx,
    `UPDATE payment p SET status = m.status, live = m.status = ANY ($8::text[]), settled_on = m.settled_on::date,
       charges_minor = m.charges_minor, excluded_reason = CASE WHEN m.status = 'EXCLUDED' THEN m.reason END
     FROM unnest($4::uuid[], $5::text[], $6::text[], $7::bigint[], $9::text[]) WITH ORDINALITY
       AS m(id, status, settled_on, charges_minor, reason, n)
     WHERE p.employer_id = $1 AND p.status = $3 AND p.id = ANY ($4) AND p.id = m.id
       AND ${within ? 'p.pay_run_id = $2 AND p.row_no BETWEEN $10 AND $11' : '(p.pay_run_id = $2) IS TRUE'}
     RETURNING p.id, p.amount_minor, m.n`,
    [
      tx.employerId,
      payRunId,
      from,
      arrayOf('uuid', (move) => move.paymentId),
      arrayOf('text', (move) => move.to),
      arrayOf('text', (move) => move.settledOn ?? null),
      arrayOf('int8', (move) => move.chargesMinor ?? null),
      LIVE_PAYMENT_STATUSES,
      arrayOf('text', (move) => move.reason ?? null),
      ...(within ? [within.firstRow, within.lastRow] : []),
    ],
  );
  appendHistory(
    tx,
    moved.flatMap((row) => {
      const move = moves[Number(row.n) - 1];
      if (!move) return [];
      return {
        subject: 'payment' as const,
        subjectId: row.id,
        payRunId,
        from,
        to: move.to,
        actor,
        reason: move.reason,
        payments: 1,
        amountMinor: BigInt(row.amount_minor),
      };
    }),
  );
  return moved.length;
}
