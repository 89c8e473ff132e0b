import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { words } from '../database/words';
import { INSTRUCTION_FOLLOWED, InstructionStatus } from '../domain/instruction';
import { PayRunStatus } from '../domain/pay-run';
import { PaymentStatus } from '../domain/payment';
import { CountAndSum, NOTHING } from '../domain/reconciliation';
import type { AddOutcome } from '../pay-run/instruction.entity';
import { KEPT_BACK } from '../pay-run/kept-back';
import { TAKES_ITS_PLACE } from '../pay-run/replaced.store';

/** What the bank has of one kind: rows of instructions in a state, by add outcome and bank status as received. */
export interface BankPart extends CountAndSum {
  instruction: InstructionStatus;
  /** Empty while the bank has not said a status, or of a submitted instruction shown none since. */
  bankStatus: string;
  addOutcome: AddOutcome;
}

/** Payments in one state against the status of their bank payment; null where the bank has none of theirs. */
export interface Pair extends CountAndSum {
  status: PaymentStatus;
  bankStatus: string | null;
  /** The state of the live instruction the bank has it in; null where there is none. */
  instruction: InstructionStatus | null;
}

/** Payments of one end that were replaced. */
export interface Superseded extends CountAndSum {
  status: PaymentStatus;
  /** What came back of them; null where they did not. */
  returnedMinor: bigint | null;
  /** Whether the bank has them in a live instruction: what was released at the cut-off may never have been added. */
  atBank: boolean;
}

/** Payments of a run made instead of those of another: what they pay, and what those were to pay. */
export interface LinkedRun extends CountAndSum {
  payRunId: string;
  beforeMinor: bigint;
}

/**
 * The counts and sums of one run. Each member comes from a table of its own, so that a row changed in one of them
 * shows as a difference; only the amounts of bank payments are those of our rows, which the gate compared with the
 * bank's before the submit.
 */
export interface RunAggregates {
  status: PayRunStatus;
  /** What the run says of itself, and what its standing version does. */
  recorded: CountAndSum;
  version: CountAndSum;
  /** What was counted when the file was uploaded; of a successor, which has no file, what it took over. */
  uploaded: CountAndSum;
  /** Rows of the file that are kept back for their faults, with what can be read of their amounts. */
  refused: CountAndSum;
  /** Moves of payments in the history, by `from>to`. */
  moves: ReadonlyMap<string, CountAndSum>;
  payments: ReadonlyMap<PaymentStatus, CountAndSum>;
  /** What came back, and what of these payments did not. */
  returned: CountAndSum;
  notBack: CountAndSum;
  /** What the bank charged for payments that have ended, paid or not, and for how many of them it shows a charge. */
  charges: CountAndSum;
  /** Planned instructions of the standing version by the state of their live instruction, PLANNED where none is. */
  planned: ReadonlyMap<InstructionStatus, CountAndSum>;
  /** Of what was released at the cut-off before it was whole at the bank: what it was to hold, and what it held. */
  unbuilt: ReadonlyMap<'planned' | 'at the bank', CountAndSum>;
  bank: readonly BankPart[];
  /** What was planned in instructions that were given up, and that the bank shows past their submit. */
  givenUpMoved: CountAndSum;
  pairs: readonly Pair[];
  /** Of these, the payments that two people ended by what they decided a status to mean. */
  decided: readonly Pair[];
  /** Payments that others are made instead of, by how they ended: a sum over runs counts the others. */
  superseded: readonly Superseded[];
  /** What of this run other runs pay again, and what of other runs this one does: not what is held, left out or cancelled. */
  replacedBy: readonly LinkedRun[];
  replaces: readonly LinkedRun[];
}

type Part =
  | 'record'
  | 'version'
  | 'file'
  | 'refused'
  | 'move'
  | 'payment'
  | 'returned'
  | 'notBack'
  | 'charges'
  | 'plan'
  | 'unbuilt'
  | 'bank'
  | 'givenUpMoved'
  | 'pair'
  | 'decided'
  | 'superseded'
  | 'replacedBy'
  | 'replaces';

interface Row {
  part: Part;
  pay_run_id: string;
  k1: string;
  k2: string | null;
  k3: string | null;
  count: string;
  amount_minor: string;
}

/**
 * The status that the bank shows of `bank_payment b` of `instruction i`; of one that was submitted null before the first
 * read since, like that of what the bank shows nowhere: what its add was answered with is no end of it.
 */
export const STATUS_AT_BANK = `CASE WHEN b.bank_status_at IS NOT NULL OR i.status NOT IN (${words(INSTRUCTION_FOLLOWED)})
  THEN b.bank_status END`;

/** One statement, hence one moment: work that goes on meanwhile is in all of the parts or in none. */
const AGGREGATES = `
  WITH run AS (SELECT * FROM pay_run WHERE employer_id = $1 AND id = ANY ($2)),
  at_bank AS (
    SELECT i.pay_run_id, i.status, i.verified_at, b.row_no, b.payment_id, b.add_outcome,
      coalesce(${STATUS_AT_BANK}, '') AS bank_status
    FROM instruction i
    JOIN bank_payment b ON b.employer_id = i.employer_id AND b.instruction_id = i.id
    WHERE i.employer_id = $1 AND i.pay_run_id = ANY ($2)
      -- By the key: the join alone would read what the bank has of every run there ever was.
      AND b.instruction_id = ANY (ARRAY(SELECT id FROM instruction WHERE employer_id = $1 AND pay_run_id = ANY ($2)))),
  link AS (
    SELECT o.id AS old_id, o.pay_run_id AS old_run_id, o.amount_minor AS old_minor, s.id AS new_id,
      s.pay_run_id AS new_run_id, s.amount_minor AS new_minor, s.status AS new_status, ${TAKES_ITS_PLACE} AS takes_its_place
    FROM payment s
    JOIN pay_run r ON r.employer_id = s.employer_id AND r.id = s.pay_run_id AND r.status <> 'CANCELLED'
    JOIN ${byKey('payment', 's.replaces_payment_id')} o ON true
    WHERE s.employer_id = $1 AND s.replaces_payment_id IS NOT NULL
      AND (s.period, s.kind_of_pay) IN (SELECT period, kind_of_pay FROM run)),
  faulty AS (
    -- What a supplement pays is a row of its file.
    SELECT f.pay_run_id AS run_id, k.amount_minor,
      CASE WHEN m.id IS NOT NULL THEN 'run' WHEN ${KEPT_BACK} THEN 'kept' ELSE 'supplement' END AS place
    FROM faulty_file f
    JOIN faulty_row k ON k.employer_id = f.employer_id AND k.faulty_file_id = f.id
    LEFT JOIN ${byKey('payment', 'k.payment_id')} m ON m.pay_run_id = f.pay_run_id
    WHERE f.employer_id = $1 AND f.pay_run_id = ANY ($2)),
  superseded AS (
    SELECT old_id AS id FROM link
    UNION SELECT l.new_id FROM link l JOIN link later ON later.old_id = l.old_id AND later.new_id > l.new_id
    WHERE l.new_status = 'EXCLUDED')
  SELECT 'record' AS part, id AS pay_run_id, status AS k1, NULL AS k2, NULL AS k3, row_count::bigint AS count,
    total_minor::numeric AS amount_minor
  FROM run
  UNION ALL
  SELECT 'version', r.id, '', NULL, NULL, v.row_count, v.total_minor
  FROM run r JOIN pay_run_version v
    ON v.employer_id = r.employer_id AND v.pay_run_id = r.id AND v.run_version = r.run_version
  UNION ALL
  SELECT 'file', r.id, '', NULL, NULL, f.row_count + coalesce(k.rows, 0), f.total_minor + coalesce(k.minor, 0)
  FROM run r JOIN pay_file f ON f.employer_id = r.employer_id AND f.pay_run_id = r.id
  LEFT JOIN (
    -- As many as were counted with the file, however many of them are left.
    SELECT o.pay_run_id, o.row_count - count(*) FILTER (WHERE k.place = 'supplement') AS rows,
      sum(k.amount_minor) FILTER (WHERE k.place <> 'supplement') AS minor
    FROM faulty_file o LEFT JOIN faulty k ON k.run_id = o.pay_run_id
    WHERE o.employer_id = $1 AND o.pay_run_id = ANY ($2) GROUP BY o.pay_run_id, o.row_count) k ON k.pay_run_id = r.id
  UNION ALL
  SELECT 'refused', run_id, '', NULL, NULL, count(*), coalesce(sum(amount_minor), 0)
  FROM faulty WHERE place = 'kept' GROUP BY run_id
  UNION ALL
  SELECT 'file', r.id, '', NULL, NULL, count(*), sum(o.amount_minor)
  FROM run r
  JOIN payment p ON p.employer_id = r.employer_id AND p.pay_run_id = r.id AND p.pay_run_id = ANY ($2)
  JOIN ${byKey('payment', 'p.replaces_payment_id')} o ON true
  WHERE NOT EXISTS (SELECT FROM pay_file f WHERE f.employer_id = r.employer_id AND f.pay_run_id = r.id)
  GROUP BY r.id
  UNION ALL
  SELECT 'move', pay_run_id, from_status, to_status, NULL, sum(payments), sum(amount_minor)
  FROM state_change
  WHERE employer_id = $1 AND pay_run_id = ANY ($2)
    AND subject IN ('payment', 'payments_of_run', 'payments_of_instruction')
    AND (from_status = 'HELD' OR to_status IN ('HELD', 'EXCLUDED'))
  GROUP BY pay_run_id, from_status, to_status
  UNION ALL
  SELECT 'payment', pay_run_id, status, NULL, NULL, count(*), sum(amount_minor)
  FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($2) GROUP BY pay_run_id, status
  UNION ALL
  SELECT 'returned', pay_run_id, '', NULL, NULL, count(*), sum(coalesce(returned_minor, amount_minor))
  FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND returned_at IS NOT NULL GROUP BY pay_run_id
  UNION ALL
  SELECT 'notBack', pay_run_id, '', NULL, NULL, count(*), sum(amount_minor - returned_minor)
  FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND returned_minor < amount_minor GROUP BY pay_run_id
  UNION ALL
  SELECT 'charges', pay_run_id, '', NULL, NULL, count(*), sum(charges_minor)
  FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND charges_minor <> 0
  GROUP BY pay_run_id
  UNION ALL
  SELECT 'plan', r.id, coalesce(i.status, 'PLANNED'), NULL, NULL, sum(p.row_count), sum(p.total_minor)
  FROM run r
  JOIN planned_instruction p
    ON p.employer_id = r.employer_id AND p.pay_run_id = r.id AND p.run_version = r.run_version
  LEFT JOIN instruction i ON i.employer_id = p.employer_id AND i.planned_instruction_id = p.id
    AND i.status NOT IN ('ABANDONED', 'CANCELLED')
  GROUP BY r.id, coalesce(i.status, 'PLANNED')
  UNION ALL
  SELECT 'unbuilt', r.id, 'planned', NULL, NULL, sum(p.row_count), sum(p.total_minor)
  FROM run r
  JOIN instruction i ON i.employer_id = r.employer_id AND i.pay_run_id = r.id
    AND i.status = 'RELEASED' AND i.verified_at IS NULL
  JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
    AND p.run_version = r.run_version
  GROUP BY r.id
  UNION ALL
  SELECT 'unbuilt', l.pay_run_id, 'at the bank', NULL, NULL, count(*), sum(p.amount_minor)
  FROM at_bank l JOIN payment p ON p.employer_id = $1 AND p.pay_run_id = ANY ($2) AND p.id = l.payment_id
  WHERE l.status = 'RELEASED' AND l.verified_at IS NULL AND l.add_outcome IN ('ADDED', 'ADOPTED')
  GROUP BY l.pay_run_id
  UNION ALL
  SELECT 'bank', l.pay_run_id, l.status, l.bank_status, l.add_outcome, count(*), coalesce(sum(p.amount_minor), 0)
  FROM at_bank l
  LEFT JOIN payment p ON p.employer_id = $1 AND p.pay_run_id = ANY ($2) AND p.id = l.payment_id
  GROUP BY l.pay_run_id, l.status, l.bank_status, l.add_outcome
  UNION ALL
  SELECT 'givenUpMoved', i.pay_run_id, '', NULL, NULL, sum(p.row_count), sum(p.total_minor)
  FROM moved_instruction m
  JOIN instruction i ON i.employer_id = m.employer_id AND i.id = m.instruction_id AND i.pay_run_id = ANY ($2)
    AND i.status NOT IN (${words(INSTRUCTION_FOLLOWED)})
  JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
    AND p.pay_run_id = ANY ($2)
  WHERE m.employer_id = $1
  GROUP BY i.pay_run_id
  UNION ALL
  SELECT 'pair', p.pay_run_id, p.status, l.bank_status, l.status, count(*), sum(p.amount_minor)
  FROM payment p
  LEFT JOIN at_bank l ON l.payment_id = p.id AND l.row_no = p.row_no AND l.add_outcome IN ('ADDED', 'ADOPTED')
    AND l.status NOT IN ('ABANDONED', 'CANCELLED')
  WHERE p.employer_id = $1 AND p.pay_run_id = ANY ($2)
  GROUP BY p.pay_run_id, p.status, l.bank_status, l.status
  UNION ALL
  SELECT 'decided', p.pay_run_id, p.status, l.bank_status, l.status, count(*), sum(p.amount_minor)
  FROM payment p
  JOIN at_bank l ON l.payment_id = p.id AND l.row_no = p.row_no AND l.add_outcome IN ('ADDED', 'ADOPTED')
    AND l.status NOT IN ('ABANDONED', 'CANCELLED')
  WHERE p.employer_id = $1 AND p.pay_run_id = ANY ($2)
    AND p.id IN (SELECT payment_id FROM payment_decision WHERE employer_id = $1)
  GROUP BY p.pay_run_id, p.status, l.bank_status, l.status
  UNION ALL
  SELECT 'superseded', p.pay_run_id, p.status,
    CASE WHEN p.returned_at IS NOT NULL THEN sum(coalesce(p.returned_minor, p.amount_minor))::text END, (l.payment_id IS NOT NULL)::text,
    count(*), sum(p.amount_minor)
  FROM payment p
  LEFT JOIN at_bank l ON l.payment_id = p.id AND l.row_no = p.row_no AND l.add_outcome IN ('ADDED', 'ADOPTED')
    AND l.status NOT IN ('ABANDONED', 'CANCELLED')
  WHERE p.employer_id = $1 AND p.pay_run_id = ANY ($2) AND p.id IN (SELECT id FROM superseded)
  GROUP BY p.pay_run_id, p.status, p.returned_at IS NOT NULL, l.payment_id IS NOT NULL
  UNION ALL
  SELECT 'replacedBy', old_run_id, new_run_id::text, sum(old_minor)::text, NULL, count(*), sum(new_minor)
  FROM link WHERE takes_its_place AND old_run_id = ANY ($2) GROUP BY old_run_id, new_run_id
  UNION ALL
  SELECT 'replaces', new_run_id, old_run_id::text, sum(old_minor)::text, NULL, count(*), sum(new_minor)
  FROM link WHERE takes_its_place AND new_run_id = ANY ($2) GROUP BY new_run_id, old_run_id`;

/** The aggregates of runs of the transaction's employer, by run id. */
export async function readAggregates(
  tx: EmployerTransaction,
  payRunIds: readonly string[],
): Promise<Map<string, RunAggregates>> {
  await joinByHash(tx);
  const rows = await tx.query<Row>(AGGREGATES, [tx.employerId, payRunIds]);
  return new Map(payRunIds.map((id) => [id, gather(rows.filter((row) => row.pay_run_id === id))]));
}

/**
 * For statements over every row of a run: of rows so fresh that they are in no statistics the planner believes there
 * are few, and would loop over a million of them for each of a million.
 */
export async function joinByHash(tx: EmployerTransaction): Promise<void> {
  await tx.query('SET LOCAL enable_nestloop = off');
}

function gather(rows: readonly Row[]): RunAggregates {
  const of = (part: Part): Row[] => rows.filter((row) => row.part === part);
  const one = (part: Part): CountAndSum => {
    const [row] = of(part);
    return row ? sumOf(row) : NOTHING;
  };
  return {
    status: (of('record')[0]?.k1 ?? 'DRAFT') as PayRunStatus,
    recorded: one('record'),
    version: one('version'),
    uploaded: one('file'),
    refused: one('refused'),
    moves: new Map(of('move').map((row) => [`${row.k1}>${row.k2 ?? ''}`, sumOf(row)])),
    payments: new Map(of('payment').map((row) => [row.k1 as PaymentStatus, sumOf(row)])),
    returned: one('returned'),
    notBack: one('notBack'),
    charges: one('charges'),
    planned: new Map(of('plan').map((row) => [row.k1 as InstructionStatus, sumOf(row)])),
    unbuilt: new Map(of('unbuilt').map((row) => [row.k1 as 'planned' | 'at the bank', sumOf(row)])),
    bank: of('bank').map((row) => ({
      instruction: row.k1 as InstructionStatus,
      bankStatus: row.k2 ?? '',
      addOutcome: row.k3 as AddOutcome,
      ...sumOf(row),
    })),
    givenUpMoved: one('givenUpMoved'),
    pairs: of('pair').map(pairOf),
    decided: of('decided').map(pairOf),
    superseded: of('superseded').map((row) => ({
      status: row.k1 as PaymentStatus,
      returnedMinor: row.k2 === null ? null : BigInt(row.k2),
      atBank: row.k3 === 'true',
      ...sumOf(row),
    })),
    replacedBy: linkedRuns(of('replacedBy')),
    replaces: linkedRuns(of('replaces')),
  };
}

function pairOf(row: Row): Pair {
  return {
    status: row.k1 as PaymentStatus,
    bankStatus: row.k2,
    instruction: row.k3 as InstructionStatus | null,
    ...sumOf(row),
  };
}

/** The oldest first: ids of runs grow with time. */
function linkedRuns(rows: readonly Row[]): LinkedRun[] {
  const linked = rows.map((row) => ({ payRunId: row.k1, beforeMinor: BigInt(row.k2 ?? 0), ...sumOf(row) }));
  return linked.sort((a, b) => (a.payRunId < b.payRunId ? -1 : 1));
}

function sumOf(row: Row): CountAndSum {
  return { count: Number(row.count), amountMinor: BigInt(row.amount_minor) };
}
