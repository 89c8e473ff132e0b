import { queryByHash } from '../database/by-hash';
import { byKey } from '../database/by-key';
import type { ListSeen } from '../database/bank-lists';
import { EmployerTransaction } from '../database/database';
import { LookShape, PaymentReading, ReplacedReadings } from '../domain/send-estimate';
import { PayRun } from './pay-run.entity';
import { replacedBy } from './replaced.store';
import { MADE_SINCE_BACK } from './same-pay';

/** How the account of a run is read: its payments, and whether an instruction shows its status by itself. */
interface Ways {
  reading: PaymentReading;
  statusIsRead: boolean;
  /** The general list as it was last seen, where it is searched besides the lists of instructions. */
  searched?: ListSeen;
}

/** What the second look reads while a run is sent; undefined where it replaces nothing that the bank ever had. */
export async function replacedReadings(
  tx: EmployerTransaction,
  run: PayRun,
  ways: Ways,
): Promise<ReplacedReadings | undefined> {
  const parts = await replacedParts(tx, run);
  if (parts.length === 0) return undefined;
  const look = (times: (part: ReplacedPart) => number) => lookOf(parts, times, run, ways);
  const looks = { atGate: look(() => 1), beforeSubmits: look(({ submits }) => submits) };
  if (ways.searched === undefined) return looks;
  const { rows, pageRows } = ways.searched;
  const rowsSince = Math.max(rows, ...parts.map((part) => part.rowsSince));
  return { ...looks, searched: { rows: rowsSince + run.rowCount, pageRows } };
}

/** The instructions, each read so many times. A payment read by itself is read before the one submit that pays it again. */
function lookOf(
  parts: readonly ReplacedPart[],
  times: (part: ReplacedPart) => number,
  { rowCount }: PayRun,
  { reading, statusIsRead }: Ways,
): LookShape {
  const isAsked = ({ submitted }: ReplacedPart) => !submitted && statusIsRead;
  const asked = parts.filter(isAsked);
  const listed = parts.filter((part) => !isAsked(part));
  const paymentsOf = (part: ReplacedPart): number => {
    switch (reading.by) {
      case 'PAYMENT':
        return part.bankIds;
      case 'INSTRUCTION_PAYMENTS':
        return part.rows * times(part);
      case 'PAYMENT_LIST':
        return (Math.max(reading.otherRows, part.rowsSince) + rowCount) * times(part);
    }
  };
  const lacking = reading.by !== 'PAYMENT' && reading.lacksSome ? sumOf(listed, ({ bankIds }) => bankIds) : 0;
  return {
    single: sumOf(asked, times) + lacking,
    lists: sumOf(listed, times),
    payments: sumOf(listed, paymentsOf),
  };
}

function sumOf<T>(all: readonly T[], count: (one: T) => number): number {
  return all.reduce((sum, one) => sum + count(one), 0);
}

/** An instruction of which payments are paid again, as far as it decides what reading it again takes. */
interface ReplacedPart {
  /** Whether its payments are read; else its status is, where that can be read. */
  submitted: boolean;
  /** Payments it holds. */
  rows: number;
  /** Ids by which the bank knows those that are replaced. */
  bankIds: number;
  /** Payments of the employer's instructions made since a day before it, which the general list may show too. */
  rowsSince: number;
  /** Planned instructions of the run with payments that replace some of it: it is read again before each submit. */
  submits: number;
}

/** The instructions that `instructionsReplacedBy` finds, counted, for the planned instructions of the run's version. */
async function replacedParts(
  tx: EmployerTransaction,
  { id: payRunId, runVersion }: Pick<PayRun, 'id' | 'runVersion'>,
): Promise<ReplacedPart[]> {
  // By itself, so that the indexes of what replaces and what came back serve it: a run that pays nothing again is not read whole.
  const [some] = await tx.query(
    `SELECT FROM (SELECT pay_run_id FROM payment WHERE employer_id = $1 AND replaces_payment_id IS NOT NULL
       UNION ALL SELECT p.pay_run_id FROM (SELECT * FROM payment WHERE employer_id = $1 AND returned_at IS NOT NULL OFFSET 0) AS b
         JOIN payment p ON ${MADE_SINCE_BACK} AND p.live OFFSET 0)
       AS replacing WHERE pay_run_id = $2 LIMIT 1`,
    [tx.employerId, payRunId],
  );
  if (!some) return [];
  return queryByHash<ReplacedPart>(
    tx,
    `WITH RECURSIVE replaced AS (
       SELECT paid_by, id FROM (${replacedBy('p.pay_run_id = $2 AND p.live')}) AS chosen
       UNION SELECT r.paid_by, p.replaces_payment_id FROM replaced r JOIN ${byKey('payment', 'r.id')} p ON true
       WHERE p.replaces_payment_id IS NOT NULL),
     parts AS MATERIALIZED (
       SELECT array_agg(first_row ORDER BY first_row) AS first_rows FROM planned_instruction
       WHERE employer_id = $1 AND pay_run_id = $2 AND run_version = $3),
     paid AS MATERIALIZED (
       SELECT p.id, p.pay_run_id, p.row_no, width_bucket(r.paid_by, (SELECT first_rows FROM parts)) AS part
       FROM replaced r JOIN ${byKey('payment', 'r.id')} p ON true),
     made AS MATERIALIZED (
       SELECT i.id, i.pay_run_id, i.status, plan.row_count, sum(plan.row_count) OVER (ORDER BY i.created_at DESC
         RANGE BETWEEN UNBOUNDED PRECEDING AND interval '1 day' FOLLOWING) AS rows_since
       FROM instruction i JOIN planned_instruction plan ON plan.employer_id = i.employer_id AND plan.id = i.planned_instruction_id
       WHERE i.employer_id = $1 AND i.bank_instruction_id IS NOT NULL),
     held AS MATERIALIZED (
       SELECT b.instruction_id, paid.part,
         (b.bank_payment_id IS NOT NULL)::int + (b.bank_transaction_id IS NOT NULL)::int AS ids
       FROM paid JOIN bank_payment b ON b.employer_id = $1 AND b.row_no = paid.row_no AND b.payment_id = paid.id
         AND b.instruction_id = ANY (ARRAY(
           SELECT id FROM made WHERE pay_run_id = ANY (ARRAY(SELECT pay_run_id FROM paid)))))
     SELECT i.status IN ('SUBMITTED', 'CLOSED') AS submitted, i.row_count AS rows, held.ids::int AS "bankIds",
       held.submits::int AS submits, i.rows_since::int AS "rowsSince"
     FROM (SELECT instruction_id, sum(ids) AS ids, count(DISTINCT part) AS submits FROM held GROUP BY 1) AS held
     JOIN made i ON i.id = held.instruction_id`,
    [tx.employerId, payRunId, runVersion],
  );
}
