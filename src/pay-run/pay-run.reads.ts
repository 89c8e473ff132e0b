import { LessThan } from 'typeorm';
import { standingStops } from '../audit/who-stopped';
import { queryByHash } from '../database/by-hash';
import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { InstructionStatus } from '../domain/instruction';
import { PayRunStatus } from '../domain/pay-run';
import { PaymentStatus } from '../domain/payment';
import { Employer } from '../employer/employer.entity';
import { showId } from '../http/prefixed-id';
import type { StoredFields } from './approved-fields';
import { ComparisonRecord, readComparison } from './comparison.reads';
import { Subject } from './history';
import { countOpenHolds } from './hold.store';
import { KeptBackTotal, keptBackOf } from './kept-back';
import { ALLOWED_BY, AllowedBy } from './pay-release';
import { Amendment, PayRun, PayRunVersion } from './pay-run.entity';
import { findRun, MAY_STILL_APPROVE, openAmendment } from './pay-run.store';
import { TAKES_ITS_PLACE } from './replaced.store';
import { SendOutlook, sendOutlook, SendSettings } from './send-outlook';
import { RESTORED_UNCLEAR } from './stop';

/** A run of a million rows in instructions of 500 has 2,000 of them; a page shows the first, the counts tell all. */
const SHOWN_INSTRUCTIONS = 500;

/**
 * How many payments are in one state, and their sum in minor units; `returned` of them came back, the bank is sent
 * `names_changed` of their names in other letters, and `further` pay by a release whom the period paid already.
 */
export interface StatusTotal {
  status: PaymentStatus;
  count: number;
  amount_minor: string;
  returned: number;
  returned_minor: string;
  names_changed: number;
  further: number;
}

/** Payments of a run made instead of others, those others, and how many of them differ in amount or IBAN. */
export interface ReplacesTotal {
  count: number;
  amount_minor: string;
  before_minor: string;
  differing: number;
}

/** A planned instruction and its latest attempt; one that was never begun is PLANNED. */
export interface PlannedRow {
  ordinal: number;
  row_count: number;
  total_minor: string;
  id: string | null;
  status: InstructionStatus;
  attempt: number;
  bank_instruction_id: string | null;
  bank_status: string | null;
  submitted_at: Date | null;
  outcome: string | null;
  ended_reason: string | null;
}

/** A standing approval with the name of the approver, and whether they may approve the run still. */
export interface ApprovalRow {
  id: string;
  approver_id: string;
  approver_name: string;
  approved_at: Date;
  may_approve: boolean;
}

/** A run with what belongs to it. */
export interface RunRecord {
  run: PayRun;
  version: PayRunVersion | null;
  approvalsRequired: number;
  approvals: ApprovalRow[];
  tickIbans: boolean;
  comparison: ComparisonRecord;
  amendment: Amendment | null;
  payments: StatusTotal[];
  instructions: PlannedRow[];
  instructionCounts: { status: InstructionStatus; count: number }[];
  replaces: ReplacesTotal;
  keptBack: KeptBackTotal;
  openHolds: number;
  /** The pay file it was made of. */
  fileId: string | null;
  /** Runs of other terms that were made of the same bytes before. */
  sameFile: string[];
  openAttentions: number;
  outlook: SendOutlook | null;
}

/** What a list of runs is narrowed to. */
export interface RunFilter {
  before?: string;
  status?: PayRunStatus;
  period?: string;
}

/** Runs, the newest first: their ids grow with time. */
export async function listRuns(tx: EmployerTransaction, filter: RunFilter, limit: number): Promise<PayRun[]> {
  const runs = await tx.manager.find(PayRun, {
    where: {
      employerId: tx.employerId,
      ...(filter.status !== undefined && { status: filter.status }),
      ...(filter.period !== undefined && { period: filter.period }),
      ...(filter.before !== undefined && { id: LessThan(filter.before) }),
    },
    order: { id: 'DESC' },
    take: limit,
  });
  return withPersonsReason(tx, runs);
}

/** Beside what a restore left unclear, why a person stopped the run is its reason too. */
async function withPersonsReason(tx: EmployerTransaction, runs: PayRun[]): Promise<PayRun[]> {
  const unclear = runs.filter(({ stoppedReason }) => stoppedReason === RESTORED_UNCLEAR);
  if (unclear.length === 0) return runs;
  const subjectOf = ({ id }: PayRun) => showId('run', id);
  const stops = await standingStops(tx, unclear.map(subjectOf));
  for (const run of unclear) {
    const stop = stops.get(subjectOf(run));
    if (stop !== undefined) run.stoppedReason = `${RESTORED_UNCLEAR}; ${stop.reason}`;
  }
  return runs;
}

/** Reads a run with all that belongs to it; what is left to send is as of `now`. @throws DomainError PAY_RUN_NOT_FOUND */
export async function readRun(
  tx: EmployerTransaction,
  payRunId: string,
  settings: SendSettings,
  now: Date,
): Promise<RunRecord> {
  const { employerId } = tx;
  const run = await findRun(tx, payRunId);
  await withPersonsReason(tx, [run]);
  const { runVersion } = run;
  const employer = await tx.manager.findOneByOrFail(Employer, { id: employerId });
  return {
    run,
    version: await tx.manager.findOneBy(PayRunVersion, { employerId, payRunId, runVersion }),
    approvalsRequired: employer.approvalsRequired,
    approvals: await approvalsOf(tx, run),
    tickIbans: employer.tickIbans,
    comparison: await readComparison(tx, run),
    amendment: await openAmendment(tx, payRunId),
    payments: await totalsOf(tx, payRunId),
    instructions: await instructionsOf(tx, run),
    instructionCounts: await instructionCounts(tx, run),
    replaces: await replacesOf(tx, payRunId),
    keptBack: await keptBackOf(tx, payRunId),
    openHolds: await countOpenHolds(tx, payRunId),
    fileId: await fileOf(tx, payRunId),
    sameFile: await runsOfSameFile(tx, payRunId),
    openAttentions: await countOpenAttentions(tx, payRunId),
    outlook: await sendOutlook(tx, run, settings, now),
  };
}

function approvalsOf(tx: EmployerTransaction, run: PayRun): Promise<ApprovalRow[]> {
  return tx.query<ApprovalRow>(
    `SELECT a.id, a.approver_id, p.name AS approver_name, a.approved_at, ${MAY_STILL_APPROVE} AS may_approve
     FROM approval a JOIN person p ON p.id = a.approver_id
     WHERE a.employer_id = $1 AND a.pay_run_id = $2 AND a.run_version = $3 AND a.voided_at IS NULL
     ORDER BY a.approved_at, a.id`,
    [tx.employerId, run.id, run.runVersion],
  );
}

/** Whether a payment `p` pays, by a release, whom the period paid already by another that did not come back. */
const IS_FURTHER = `p.live AND p.release_sequence > 0 AND NOT EXISTS (
  SELECT FROM ${byKey('payment', 'p.replaces_payment_id')} o WHERE o.returned_at IS NOT NULL)`;

function totalsOf(tx: EmployerTransaction, payRunId: string): Promise<StatusTotal[]> {
  return tx.query<StatusTotal>(
    `SELECT status, count(*)::int AS count, sum(amount_minor) AS amount_minor,
       count(returned_at)::int AS returned, count(written_name_sealed)::int AS names_changed,
       count(*) FILTER (WHERE ${IS_FURTHER})::int AS further,
       coalesce(sum(coalesce(returned_minor, amount_minor)) FILTER (WHERE returned_at IS NOT NULL), 0) AS returned_minor
     FROM payment p WHERE employer_id = $1 AND pay_run_id = $2 GROUP BY status`,
    [tx.employerId, payRunId],
  );
}

async function replacesOf(tx: EmployerTransaction, payRunId: string): Promise<ReplacesTotal> {
  const [row] = await tx.query<ReplacesTotal>(
    `SELECT count(*)::int AS count, coalesce(sum(s.amount_minor), 0) AS amount_minor,
       coalesce(sum(o.amount_minor), 0) AS before_minor,
       count(*) FILTER (WHERE (s.amount_minor, s.iban_hash) <> (o.amount_minor, o.iban_hash))::int AS differing
     FROM payment s JOIN pay_run r ON r.employer_id = s.employer_id AND r.id = s.pay_run_id
     JOIN ${byKey('payment', 's.replaces_payment_id')} o ON true
     WHERE s.employer_id = $1 AND s.pay_run_id = $2 AND s.replaces_payment_id IS NOT NULL AND ${TAKES_ITS_PLACE}`,
    [tx.employerId, payRunId],
  );
  return row ?? { count: 0, amount_minor: '0', before_minor: '0', differing: 0 };
}

/** The planned instructions of a version ($3), each with its latest attempt. */
const LATEST_ATTEMPTS = `
  SELECT DISTINCT ON (p.ordinal) p.ordinal, p.row_count, p.total_minor, i.id, coalesce(i.status, 'PLANNED') AS status,
    coalesce(i.attempt, 0) AS attempt, i.bank_instruction_id, i.bank_status, i.submitted_at, i.outcome, i.ended_reason
  FROM planned_instruction p
  LEFT JOIN instruction i ON i.employer_id = p.employer_id AND i.pay_run_id = p.pay_run_id
    AND i.planned_instruction_id = p.id
  WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.run_version = $3
  ORDER BY p.ordinal, i.attempt DESC`;

function instructionsOf(tx: EmployerTransaction, run: PayRun): Promise<PlannedRow[]> {
  return queryByHash<PlannedRow>(tx, `${LATEST_ATTEMPTS} LIMIT ${SHOWN_INSTRUCTIONS}`, [
    tx.employerId,
    run.id,
    run.runVersion,
  ]);
}

function instructionCounts(
  tx: EmployerTransaction,
  run: PayRun,
): Promise<{ status: InstructionStatus; count: number }[]> {
  return queryByHash(
    tx,
    `SELECT status, count(*)::int AS count FROM (${LATEST_ATTEMPTS}) AS latest GROUP BY status`,
    [tx.employerId, run.id, run.runVersion],
  );
}

/** Of a question about several runs each counts it. */
async function countOpenAttentions(tx: EmployerTransaction, payRunId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM attention
     WHERE employer_id = $1 AND resolved_at IS NULL AND (pay_run_id = $2 OR refusals @> $3::jsonb)`,
    [tx.employerId, payRunId, JSON.stringify([{ runId: payRunId }])],
  );
  return row?.count ?? 0;
}

async function fileOf(tx: EmployerTransaction, payRunId: string): Promise<string | null> {
  const [file] = await tx.query<{ id: string }>(
    'SELECT id FROM pay_file WHERE employer_id = $1 AND pay_run_id = $2',
    [tx.employerId, payRunId],
  );
  return file?.id ?? null;
}

/** Enough to see that a file came before. */
const SHOWN_SAME_FILES = 20;

/** Runs that were made of the same bytes before a run was, and were not cancelled; the newest first. */
export async function runsOfSameFile(tx: EmployerTransaction, payRunId: string): Promise<string[]> {
  const rows = await tx.query<{ pay_run_id: string }>(
    `SELECT o.pay_run_id FROM pay_file f
     JOIN pay_file o ON o.employer_id = f.employer_id AND o.sha256 = f.sha256 AND o.replayable
     WHERE f.employer_id = $1 AND f.pay_run_id = $2 AND o.uploaded_at < f.uploaded_at
     ORDER BY o.uploaded_at DESC LIMIT $3`,
    [tx.employerId, payRunId, SHOWN_SAME_FILES],
  );
  return rows.map((row) => row.pay_run_id);
}

/** A payment with what the bank says of it. */
export interface PaymentRow extends StoredFields {
  id: string;
  written_name_sealed: string | null;
  row_no: number;
  line: number;
  status: PaymentStatus;
  excluded_reason: string | null;
  replaces_reason: string | null;
  allowed_by: AllowedBy | null;
  replaced_run_id: string | null;
  replaced_status: PaymentStatus | null;
  replaced_why: string | null;
  replaced_amount_minor: string | null;
  same_iban: boolean | null;
  replaced_by_id: string | null;
  charges_minor: string | null;
  settled_on: string | null;
  returned_at: Date | null;
  bank_payment_id: string | null;
  bank_status: string | null;
}

/** The payment that is made instead of a payment `p`. */
export const REPLACED_BY = `
  (SELECT s.id FROM payment s JOIN pay_run r ON r.employer_id = s.employer_id AND r.id = s.pay_run_id
   WHERE s.employer_id = p.employer_id AND s.replaces_payment_id = p.id AND ${TAKES_ITS_PLACE}
   ORDER BY s.live DESC, s.id DESC LIMIT 1)`;

/** Why a payment `o` that is replaced, which the bank has as `a` in `i`, ended unpaid: what was said of it. */
const WHY_ENDED = `
  CASE WHEN o.status = 'EXCLUDED' THEN o.excluded_reason
    WHEN o.returned_at IS NOT NULL THEN 'RETURNED'
    WHEN o.status = 'VOID' THEN coalesce(i.ended_reason, a.bank_status) ELSE a.bank_status END`;

/** What the bank has of these payments in the instructions `standing`. */
function recordsOf(payments: string): string {
  return `SELECT payment_id, instruction_id, bank_payment_id, bank_status FROM bank_payment
    WHERE employer_id = $1 AND instruction_id = ANY (ARRAY(SELECT id FROM standing))
      AND row_no BETWEEN (SELECT min(row_no) FROM ${payments}) AND (SELECT max(row_no) FROM ${payments})`;
}

/** Payments of a run after a row, in row order. */
export function listPayments(
  tx: EmployerTransaction,
  payRunId: string,
  filter: { after: number; status?: PaymentStatus; nameChanged?: boolean; further?: boolean },
  limit: number,
): Promise<PaymentRow[]> {
  return queryByHash<PaymentRow>(
    tx,
    `WITH page AS MATERIALIZED (
       SELECT * FROM payment p
       WHERE employer_id = $1 AND pay_run_id = $2 AND row_no > $3 AND ($4::text IS NULL OR status = $4)
         AND (NOT $6 OR written_name_sealed IS NOT NULL) AND (NOT $7 OR ${IS_FURTHER})
       ORDER BY row_no LIMIT $5),
     replaced AS MATERIALIZED (
       SELECT DISTINCT ON (o.id) o.* FROM page JOIN ${byKey('payment', 'page.replaces_payment_id')} o ON true),
     standing AS MATERIALIZED (
       SELECT id, ended_reason FROM instruction
       WHERE employer_id = $1 AND status NOT IN ('ABANDONED', 'CANCELLED')
         AND pay_run_id = ANY (ARRAY(SELECT pay_run_id FROM page UNION SELECT pay_run_id FROM replaced)))
     SELECT p.id, p.row_no, p.line, p.employee_id, p.name_sealed, p.written_name_sealed, p.iban_sealed, p.bic,
       p.amount_minor, p.currency, p.remittance, p.status, p.excluded_reason, p.replaces_payment_id, p.replaces_reason, p.charges_minor,
       p.settled_on::text AS settled_on, p.returned_at, b.bank_payment_id, b.bank_status,
       o.pay_run_id AS replaced_run_id, o.status AS replaced_status, o.amount_minor AS replaced_amount_minor,
       o.iban_hash = p.iban_hash AS same_iban, ${WHY_ENDED} AS replaced_why,
       ${REPLACED_BY} AS replaced_by_id, ${ALLOWED_BY} AS allowed_by
     FROM page p
     LEFT JOIN (${recordsOf('page')}) b ON b.payment_id = p.id
     LEFT JOIN replaced o ON o.id = p.replaces_payment_id
     LEFT JOIN (${recordsOf('replaced')}) a ON a.payment_id = o.id
     LEFT JOIN standing i ON i.id = a.instruction_id
     ORDER BY p.row_no`,
    [
      tx.employerId,
      payRunId,
      filter.after,
      filter.status ?? null,
      limit,
      filter.nameChanged ?? false,
      filter.further ?? false,
    ],
  );
}

/** A line of history; `ordinal` is that of the instruction it is about. */
export interface ChangeRow {
  seq: string;
  at: Date;
  subject: Subject;
  subject_id: string;
  ordinal: number | null;
  from_status: string;
  to_status: string;
  payments: number;
  amount_minor: string;
  actor: string;
  reason: string | null;
}

/** History of a run after a number, the oldest first; single payments are left out for who may not see them. */
export function listChanges(
  tx: EmployerTransaction,
  payRunId: string,
  filter: { after: number; singlePayments: boolean },
  limit: number,
): Promise<ChangeRow[]> {
  return queryByHash<ChangeRow>(
    tx,
    `WITH page AS MATERIALIZED (
       SELECT * FROM state_change
       WHERE employer_id = $1 AND pay_run_id = $2 AND seq > $3 AND ($4 OR subject <> 'payment')
       ORDER BY seq LIMIT $5),
     ins AS MATERIALIZED (
       SELECT id, planned_instruction_id FROM instruction
       WHERE employer_id = $1 AND id = ANY (ARRAY(SELECT subject_id FROM page))),
     plan AS (
       SELECT id, ordinal FROM planned_instruction WHERE employer_id = $1
         AND id = ANY (ARRAY(SELECT subject_id FROM page UNION SELECT planned_instruction_id FROM ins)))
     SELECT c.seq, c.at, c.subject, c.subject_id, p.ordinal, c.from_status, c.to_status, c.payments,
       c.amount_minor, c.actor, c.reason
     FROM page c
     LEFT JOIN ins i ON i.id = c.subject_id
     LEFT JOIN plan p ON p.id = coalesce(i.planned_instruction_id, c.subject_id)
     ORDER BY c.seq`,
    [tx.employerId, payRunId, filter.after, filter.singlePayments, limit],
  );
}
