import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { words } from '../database/words';
import { BANK_LADDER, NOT_PROCESSABLE, TERMINAL_RANK } from '../domain/bank-status';
import {
  INSTRUCTION_INITIAL,
  INSTRUCTION_PARKED,
  INSTRUCTION_UNDER_WAY,
  InstructionStatus,
} from '../domain/instruction';
import { PAY_RUN_INITIAL, PayRunStatus } from '../domain/pay-run';
import { PAYMENT_ENDED_BY_BANK, PaymentStatus } from '../domain/payment';
import { aboutInstruction, MAY_HOLD, raise } from '../pay-run/attention.store';
import { lockInstruction, planOf } from '../pay-run/instruction.store';
import { Finding, inSql, Invariant } from './invariant';
import { CALLS_KEPT } from './money-invariants';

const ENDED: readonly PayRunStatus[] = ['SETTLED', 'PARTLY_SETTLED', 'FAILED'];
/** The states in which an approval of the run stands. */
export const APPROVED: readonly PayRunStatus[] = [
  'APPROVED',
  'BUILDING',
  'VERIFIED',
  'SUBMITTING',
  'FOLLOWING',
  ...ENDED,
];
const SENT: readonly PayRunStatus[] = ['FOLLOWING', ...ENDED];
const WORKING: readonly PayRunStatus[] = [
  'APPROVED',
  'BUILDING',
  'VERIFIED',
  'SUBMITTING',
  'FOLLOWING',
  'CANCELLING',
];
/** The states of an instruction in which it has work of its own; a verified one waits for its run. */
const BUILT: readonly InstructionStatus[] = ['PLANNED', 'BUILDING'];
/** Those of a parked submit; what people are asked about one is named as its state. */
const PARKED = words(INSTRUCTION_PARKED);

/** The states the live instructions of a run may be in, by the state of the run. */
const OF_RUN: Readonly<Record<PayRunStatus, readonly InstructionStatus[]>> = {
  DRAFT: [],
  READY: [],
  APPROVED: [],
  BUILDING: ['PLANNED', 'BUILDING', 'VERIFIED'],
  VERIFIED: ['PLANNED', 'BUILDING', 'VERIFIED'],
  SUBMITTING: [
    'PLANNED',
    'BUILDING',
    'VERIFIED',
    'SUBMIT_INTENT',
    'SUBMIT_REFUSED',
    'SUBMIT_UNKNOWN',
    'SUBMITTED',
    'CLOSED',
    'VOID',
    'RELEASED',
  ],
  FOLLOWING: ['SUBMIT_REFUSED', 'SUBMIT_UNKNOWN', 'SUBMITTED', 'CLOSED', 'VOID', 'RELEASED'],
  SETTLED: ['CLOSED', 'VOID', 'RELEASED'],
  PARTLY_SETTLED: ['CLOSED', 'VOID', 'RELEASED'],
  FAILED: ['CLOSED', 'VOID', 'RELEASED'],
  CANCELLING: ['PLANNED', 'BUILDING', 'VERIFIED'],
  CANCELLED: [],
};

const BEFORE_BANK: readonly PaymentStatus[] = ['READY', 'APPROVED', 'CANCELLED'];

/** The states the payments of a planned instruction may be in, by the state of its live instruction. */
const OF_INSTRUCTION: Readonly<Record<InstructionStatus, readonly PaymentStatus[]>> = {
  PLANNED: ['APPROVED'],
  BUILDING: ['AT_BANK'],
  VERIFIED: ['AT_BANK'],
  SUBMIT_INTENT: ['AT_BANK'],
  SUBMIT_REFUSED: ['AT_BANK'],
  SUBMIT_UNKNOWN: ['AT_BANK'],
  SUBMITTED: ['SUBMITTED', 'VOID', ...PAYMENT_ENDED_BY_BANK],
  CLOSED: ['VOID', ...PAYMENT_ENDED_BY_BANK],
  ABANDONED: BEFORE_BANK,
  CANCELLED: BEFORE_BANK,
  VOID: ['VOID'],
  RELEASED: ['VOID'],
};

/** What holds of the record itself: a breach stops its employer. */
export const RECORD_INVARIANTS: readonly Invariant[] = [
  inSql(
    {
      name: 'calls-have-intents',
      sentence: 'Everything the bank has of an instruction was written down before it was sent.',
      scope: 'internal',
    },
    `SELECT i.pay_run_id, i.id, count(*)
     FROM at_bank b
     JOIN ins i ON i.id = b.instruction_id
     LEFT JOIN added n ON n.instruction_id = b.instruction_id AND n.row_no = b.row_no
     WHERE n.row_no IS NULL GROUP BY i.pay_run_id, i.id
     UNION ALL
     SELECT i.pay_run_id, i.id, 1
     FROM ins i
     LEFT JOIN (SELECT DISTINCT instruction_id FROM call WHERE operation = 'initiate' AND outcome = 'YES') c
       ON c.instruction_id = i.id
     WHERE i.bank_instruction_id IS NOT NULL AND i.created_at > now() - ${CALLS_KEPT} AND c.instruction_id IS NULL`,
  ),
  inSql(
    {
      name: 'ladder-only-climbs',
      sentence:
        'The rank of a payment at the bank is not below the status it was last seen in, nor below its end, unless two people decided that or the bank left it as not processable.',
      scope: 'internal',
    },
    `SELECT i.pay_run_id, i.id, count(*)
     FROM at_bank b
     JOIN ins i ON i.id = b.instruction_id AND i.status IN ('SUBMITTED', 'CLOSED')
     JOIN paid m ON m.id = b.payment_id
     LEFT JOIN (VALUES ${ladder()}) AS step(status, rank) ON step.status = b.bank_status
     WHERE b.bank_status_at IS NOT NULL AND b.bank_rank < step.rank
       OR b.bank_rank = ${TERMINAL_RANK} AND m.status NOT IN (${words([...PAYMENT_ENDED_BY_BANK, 'VOID'])})
       OR b.bank_rank < ${TERMINAL_RANK} AND m.status IN (${words(PAYMENT_ENDED_BY_BANK)})
         AND b.bank_status IS DISTINCT FROM '${NOT_PROCESSABLE}' AND NOT EXISTS (
         SELECT FROM payment_decision d WHERE d.employer_id = $1 AND d.payment_id = m.id AND m.status = 'SETTLED')
     GROUP BY i.pay_run_id, i.id`,
  ),
  inSql(
    {
      name: 'approver-is-not-preparer',
      sentence:
        'Nobody who prepared a version of an approved run, or a left-out row that it copies, or one that was kept back, is among those who approved it.',
      scope: 'internal',
    },
    `SELECT r.id, NULL::uuid, count(*)
     FROM run r
     JOIN standing_approval a ON a.pay_run_id = r.id
     WHERE r.status IN (${words(APPROVED)}) AND has_prepared($1, r.id, a.approver_id) GROUP BY r.id`,
  ),
  inSql(
    {
      name: 'approved-as-it-stands',
      sentence: 'The approvals of an approved run are of its standing version and of its root hash.',
      scope: 'internal',
    },
    `SELECT r.id, NULL::uuid, 1
     FROM run r
     LEFT JOIN version v ON v.pay_run_id = r.id AND v.run_version = r.run_version
     LEFT JOIN (
       SELECT a.pay_run_id, bool_and(a.run_version = s.run_version AND a.root_hash = s.root_hash) AS equal
       FROM standing_approval a JOIN run s ON s.id = a.pay_run_id GROUP BY a.pay_run_id) a ON a.pay_run_id = r.id
     WHERE r.status IN (${words(APPROVED)}) AND (v.root_hash = r.root_hash AND a.equal) IS NOT TRUE`,
  ),
  inSql(
    {
      name: 'rows-have-their-hash',
      sentence: 'The stored hashes of the rows of a submitted instruction make the hash that was approved.',
      scope: 'internal',
    },
    `SELECT p.pay_run_id, s.instruction_id, 1
     FROM standing s
     JOIN plan p ON p.id = s.planned_instruction_id
     LEFT JOIN (
       SELECT plan_id, sha256(string_agg(row_hash, ''::bytea ORDER BY row_no)) AS hash
       FROM planned_row GROUP BY plan_id) AS rows ON rows.plan_id = p.id
     WHERE rows.hash IS DISTINCT FROM p.row_hash`,
  ),
  inSql(
    {
      name: 'run-as-its-instructions',
      sentence:
        'A run is no further than its instructions, and they no further than it; each is of its standing version.',
      scope: 'internal',
    },
    `SELECT r.id, l.id, 1
     FROM run r
     JOIN live l ON l.pay_run_id = r.id
     JOIN plan p ON p.id = l.planned_instruction_id
     LEFT JOIN (VALUES ${pairs(OF_RUN)}) AS lawful(run, instruction)
       ON lawful.run = r.status AND lawful.instruction = l.status
     WHERE lawful.run IS NULL OR p.run_version <> r.run_version
     UNION ALL
     SELECT p.pay_run_id, NULL::uuid, 1
     FROM standing_plan p
     JOIN run r ON r.id = p.pay_run_id AND r.status IN (${words(SENT)})
     LEFT JOIN live l ON l.planned_instruction_id = p.id
     WHERE l.id IS NULL`,
  ),
  inSql(
    {
      name: 'ended-as-its-payments',
      sentence:
        'A run that ended, and an instruction that is closed, is settled, partly settled or failed as its payments are.',
      scope: 'internal',
    },
    `WITH ended AS (
       SELECT r.id AS pay_run_id, NULL::uuid AS instruction_id, r.status AS outcome, m.status
       FROM run r JOIN paid m ON m.pay_run_id = r.id AND m.status NOT IN ('HELD', 'EXCLUDED')
       WHERE r.status IN (${words(ENDED)})
       UNION ALL
       SELECT l.pay_run_id, l.id, l.outcome, m.status
       FROM live l JOIN planned_row m ON m.plan_id = l.planned_instruction_id
       WHERE l.status = 'CLOSED')
     SELECT pay_run_id, instruction_id, CASE outcome
       WHEN 'SETTLED' THEN count(*) FILTER (WHERE status <> 'SETTLED')
       WHEN 'FAILED' THEN count(*) FILTER (WHERE status = 'SETTLED') ELSE 1 END
     FROM ended GROUP BY pay_run_id, instruction_id, outcome
     HAVING outcome <> CASE WHEN bool_and(status = 'SETTLED') THEN 'SETTLED'
       WHEN bool_or(status = 'SETTLED') THEN 'PARTLY_SETTLED' ELSE 'FAILED' END`,
  ),
  inSql(
    {
      name: 'payments-as-their-instruction',
      sentence: 'Payments are in a state that fits the state of their instruction.',
      scope: 'internal',
    },
    `SELECT m.pay_run_id, l.id, count(*)
     FROM planned_row m
     LEFT JOIN live l ON l.planned_instruction_id = m.plan_id
     LEFT JOIN (VALUES ${pairs(OF_INSTRUCTION)}) AS lawful(instruction, payment)
       ON lawful.instruction = coalesce(l.status, 'CANCELLED') AND lawful.payment = m.status
     WHERE lawful.payment IS NULL GROUP BY m.pay_run_id, l.id`,
  ),
  inSql(
    {
      name: 'states-as-in-the-history',
      sentence:
        'A run or an instruction is in the state the history last moved it to, step by step from its first, and has the times of its submit and its end.',
      scope: 'internal',
    },
    `SELECT subject.pay_run_id, subject.instruction_id, 1
     FROM (
       SELECT id AS pay_run_id, NULL::uuid AS instruction_id, id, status, created_at, '${PAY_RUN_INITIAL}' AS initial
       FROM run
       UNION ALL SELECT pay_run_id, id, id, status, created_at, '${INSTRUCTION_INITIAL}' FROM ins) AS subject
     LEFT JOIN (
       SELECT subject_id, bool_or(from_status <> before) AS gap, (array_agg(from_status ORDER BY seq))[1] AS first,
         (array_agg(to_status ORDER BY seq DESC))[1] AS last
       FROM (
         SELECT subject_id, seq, from_status, to_status,
           lag(to_status) OVER (PARTITION BY subject_id ORDER BY seq) AS before
         FROM history WHERE subject IN ('pay_run', 'instruction')) AS step
       GROUP BY subject_id) AS moved ON moved.subject_id = subject.id
     WHERE moved.gap OR moved.last <> subject.status
       OR subject.created_at > now() - ${CALLS_KEPT}
         AND coalesce(moved.first, subject.status) <> subject.initial
     UNION ALL
     SELECT pay_run_id, id, 1 FROM ins
     WHERE status IN ('SUBMITTED', 'CLOSED') AND submitted_at IS NULL OR status = 'CLOSED' AND closed_at IS NULL`,
  ),
  inSql(
    {
      name: 'one-run-of-a-period',
      sentence: 'A schedule has one run of a period and sequence that is not cancelled.',
      scope: 'internal',
    },
    `SELECT r.id, NULL::uuid, count(*)
     FROM run r
     JOIN pay_run other ON other.employer_id = $1 AND other.schedule_id = r.schedule_id
       AND other.period = r.period AND other.sequence = r.sequence AND other.id <> r.id
     WHERE r.status <> 'CANCELLED' AND other.status <> 'CANCELLED' GROUP BY r.id`,
  ),
  inSql(
    {
      name: 'nothing-is-of-another',
      sentence:
        'What the bank has of a row is of that row, a payment is of the period and kind of pay of its run, and work on a run is of its employer.',
      scope: 'internal',
    },
    `SELECT i.pay_run_id, i.id, count(*)
     FROM at_bank b
     JOIN ins i ON i.id = b.instruction_id
     LEFT JOIN paid m ON m.id = b.payment_id AND m.row_no = b.row_no AND m.pay_run_id = i.pay_run_id
     WHERE m.id IS NULL GROUP BY i.pay_run_id, i.id
     UNION ALL
     SELECT r.id, NULL::uuid, count(*)
     FROM paid m JOIN run r ON r.id = m.pay_run_id
     WHERE (m.period, m.kind_of_pay) <> (r.period, r.kind_of_pay) GROUP BY r.id
     UNION ALL
     SELECT subject.pay_run_id, subject.instruction_id, 1
     FROM (
       SELECT id, id AS pay_run_id, NULL::uuid AS instruction_id FROM run
       UNION ALL SELECT id, pay_run_id, id FROM ins) AS subject
     JOIN lease ON lease.subject_id = subject.id AND lease.employer_id <> $1
     WHERE lease.subject_id = ANY (ARRAY(SELECT id FROM run UNION ALL SELECT id FROM ins))`,
  ),
  inSql(
    {
      name: 'never-stuck',
      sentence:
        'What is being worked on is due some time, stopped, or waits for people who were told; what was sent is due some time, and people are asked about each submit that is parked.',
      scope: 'internal',
      mend: goOn,
    },
    `WITH due AS (
       SELECT subject_id FROM lease
       WHERE subject_id = ANY (ARRAY(SELECT id FROM run UNION ALL SELECT id FROM ins))
         AND (leased_until IS NOT NULL OR wake_at < 'infinity')),
     told AS (
       SELECT r.id FROM run r JOIN attention a ON a.employer_id = $1 AND a.resolved_at IS NULL
         AND ${MAY_HOLD} AND (a.pay_run_id = r.id OR a.subject_id IN (r.id, r.account_id, $1))),
     waiting AS (
       SELECT r.* FROM run r WHERE r.status IN (${words(WORKING)}) AND r.stopped_at IS NULL
         AND r.id NOT IN (SELECT id FROM told)
         AND NOT EXISTS (SELECT FROM employer e CROSS JOIN service_switch s
           WHERE e.id = $1 AND (e.stopped_at IS NOT NULL OR s.submits_off))),
     work AS (
       SELECT id, pay_run_id FROM ins WHERE status IN (${words(INSTRUCTION_UNDER_WAY)})
       UNION ALL
       SELECT i.id, i.pay_run_id FROM ins i JOIN waiting r ON r.id = i.pay_run_id
       WHERE i.status IN (${words(BUILT)}) OR i.status = 'VERIFIED' AND r.status = 'SUBMITTING')
     SELECT pay_run_id, id, 1 FROM work WHERE id NOT IN (SELECT subject_id FROM due)
     UNION ALL
     SELECT pay_run_id, id, 1 FROM ins WHERE status IN (${PARKED}) AND NOT EXISTS (SELECT FROM attention a
       WHERE a.employer_id = $1 AND a.kind IN (${PARKED}) AND a.subject_id = ins.id AND a.resolved_at IS NULL)
     UNION ALL
     SELECT r.id, NULL::uuid, 1 FROM waiting r
     WHERE r.id NOT IN (SELECT subject_id FROM due) AND r.id NOT IN (SELECT pay_run_id FROM work)`,
  ),
];

/**
 * No decision of people makes what was sent due, and to read it is always safe. Nor can they decide about a parked submit
 * of which they are not asked.
 */
async function goOn(tx: EmployerTransaction, broken: readonly Finding[]): Promise<void> {
  const sent = await tx.query<{ id: string; status: InstructionStatus }>(
    `SELECT id, status FROM instruction WHERE employer_id = $1 AND id = ANY ($2) AND status IN (${words(INSTRUCTION_UNDER_WAY)})
     ORDER BY id`,
    [tx.employerId, broken.map(({ subjectId }) => subjectId)],
  );
  for (const { id, status } of sent) {
    wake(tx, status === 'SUBMITTED' ? 'FOLLOW' : 'INSTRUCTION', [id]);
    if (INSTRUCTION_PARKED.includes(status)) await askOfParked(tx, id);
  }
}

/** Asks about a submit that is parked still, unless people are asked about it. */
async function askOfParked(tx: EmployerTransaction, id: string): Promise<void> {
  const instruction = await lockInstruction(tx, id);
  const { status: kind } = instruction;
  if (kind !== 'SUBMIT_UNKNOWN' && kind !== 'SUBMIT_REFUSED') return;
  await raise(tx, {
    kind,
    ...aboutInstruction(instruction, await planOf(tx, instruction)),
    happened:
      'The question about its submit was closed, though neither the bank nor two people have said what became of it.',
    certain: 'Nothing more is sent for it. No other instruction pays these people.',
  });
}

function ladder(): string {
  return Object.entries(BANK_LADDER)
    .map(([status, rank]) => `('${status}', ${rank})`)
    .join(', ');
}

function pairs(table: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(table)
    .flatMap(([one, others]) => others.map((other) => `('${one}', '${other}')`))
    .join(', ');
}
