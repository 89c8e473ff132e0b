import { maskIban } from '../domain/iban';
import { formatMinor } from '../domain/money';
import { IdPrefix, showId } from '../http/prefixed-id';
import { showComparison } from './comparison.view';
import { Subject } from './history';
import { AllowedBy } from './pay-release';
import { Amendment, PayRun } from './pay-run.entity';
import { ChangeDocument, PaymentDocument, RunDocument, RunSummary } from './pay-run.dto';
import { ChangeRow, PaymentRow, PlannedRow, RunRecord, StatusTotal } from './pay-run.reads';
import { SendOutlook } from './send-outlook';

/** A run as a list shows it. */
export function showRunSummary(run: PayRun): RunSummary {
  return {
    id: showId('run', run.id),
    status: run.status,
    period: run.period,
    kindOfPay: run.kindOfPay,
    executionDate: run.executionDate,
    submitAt: run.submitAt?.toISOString() ?? null,
    accountId: showId('acc', run.accountId),
    scheduleId: showOptional('sch', run.scheduleId),
    parentRunId: showOptional('run', run.parentRunId),
    sequence: run.sequence,
    runVersion: run.runVersion,
    payments: run.rowCount,
    total: formatMinor(run.totalMinor),
    currency: run.currency,
    stopped: run.stoppedAt && { at: run.stoppedAt.toISOString(), reason: run.stoppedReason ?? '' },
    createdBy: showId('per', run.createdBy),
    createdAt: run.createdAt.toISOString(),
  };
}

/** A run with all that belongs to it. */
export function showRun(record: RunRecord): RunDocument {
  const { run, version, amendment } = record;
  return {
    ...showRunSummary(run),
    rootHash: run.rootHash?.toString('hex') ?? null,
    fileId: showOptional('file', record.fileId),
    preparedBy: showOptional('per', version?.preparedBy ?? null),
    lapseReason: run.lapseReason,
    paymentsByStatus: Object.fromEntries(record.payments.map((part) => [part.status, counted(part)])),
    returned: returnedOf(record.payments),
    approvalsRequired: record.approvalsRequired,
    approvals: record.approvals.map((approval) => ({
      id: showId('apr', approval.id),
      person: { id: showId('per', approval.approver_id), name: approval.approver_name },
      approvedAt: approval.approved_at.toISOString(),
      mayApprove: approval.may_approve,
    })),
    amendment: amendment && showAmendment(amendment),
    instructionsByStatus: Object.fromEntries(
      record.instructionCounts.map(({ status, count }) => [status, count]),
    ),
    instructions: record.instructions.map(showInstruction),
    replaces: {
      payments: record.replaces.count,
      amount: formatMinor(BigInt(record.replaces.amount_minor)),
      before: formatMinor(BigInt(record.replaces.before_minor)),
      differing: record.replaces.differing,
    },
    comparison: showComparison(record.comparison, record.tickIbans),
    namesChanged: record.payments.reduce((sum, part) => sum + part.names_changed, 0),
    furtherPayments: record.payments.reduce((sum, part) => sum + part.further, 0),
    keptBack: record.keptBack,
    openHolds: record.openHolds,
    sameFile: record.sameFile.map((id) => showId('run', id)),
    openAttentions: record.openAttentions,
    estimate: record.outlook && showEstimate(record.outlook),
    progress: record.outlook && showProgress(run, record.outlook),
  };
}

function showEstimate({ requests, ms, finishesBy, cutOff }: SendOutlook): RunDocument['estimate'] {
  return {
    requests,
    seconds: Math.ceil(ms / 1_000),
    finishesBy: finishesBy.toISOString(),
    cutOff: cutOff.toISOString(),
  };
}

function showProgress(run: PayRun, { rowsAtBank }: SendOutlook): RunDocument['progress'] {
  if (run.status !== 'BUILDING' && run.status !== 'VERIFIED') return null;
  return { paymentsAtBank: rowsAtBank, payments: run.rowCount };
}

function counted({ count, amount_minor }: StatusTotal): { payments: number; amount: string } {
  return { payments: count, amount: formatMinor(BigInt(amount_minor)) };
}

function returnedOf(totals: readonly StatusTotal[]): { payments: number; amount: string } {
  const settled = totals.find(({ status }) => status === 'SETTLED');
  return {
    payments: settled?.returned ?? 0,
    amount: formatMinor(BigInt(settled?.returned_minor ?? 0)),
  };
}

function showAmendment(amendment: Amendment): NonNullable<RunDocument['amendment']> {
  return {
    id: showId('amd', amendment.id),
    executionDate: amendment.executionDate,
    submitAt: amendment.submitAt?.toISOString() ?? null,
    excludedPayments: amendment.excludePaymentIds.length,
    reason: amendment.reason,
    proposedBy: showId('per', amendment.proposedBy),
    proposedAt: amendment.proposedAt.toISOString(),
  };
}

function showInstruction(row: PlannedRow): RunDocument['instructions'][number] {
  return {
    ordinal: row.ordinal,
    payments: row.row_count,
    total: formatMinor(BigInt(row.total_minor)),
    id: showOptional('ins', row.id),
    status: row.status,
    attempt: row.attempt,
    bankInstructionId: row.bank_instruction_id,
    bankStatus: row.bank_status,
    submittedAt: row.submitted_at?.toISOString() ?? null,
    outcome: row.outcome,
    endedReason: row.ended_reason,
  };
}

/** A payment for those who may know it. `open` unseals a name or an IBAN; the IBAN is masked here. */
export function showPayment(row: PaymentRow, open: (sealed: string) => string): PaymentDocument {
  return {
    id: showId('pay', row.id),
    row: row.row_no,
    line: row.line,
    employeeId: row.employee_id,
    name: open(row.name_sealed),
    writtenName: row.written_name_sealed === null ? null : open(row.written_name_sealed),
    iban: maskIban(open(row.iban_sealed)),
    bic: row.bic,
    amount: formatMinor(BigInt(row.amount_minor)),
    currency: row.currency,
    remittance: row.remittance,
    status: row.status,
    excludedReason: row.excluded_reason,
    replacesPaymentId: showOptional('pay', row.replaces_payment_id),
    replaces: showReplaced(row),
    replacedByPaymentId: showOptional('pay', row.replaced_by_id),
    release: row.allowed_by && showAllowed(row.allowed_by),
    bankPaymentId: row.bank_payment_id,
    bankStatus: row.bank_status,
    charges: row.charges_minor === null ? null : formatMinor(BigInt(row.charges_minor)),
    settledOn: row.settled_on,
    returnedAt: row.returned_at?.toISOString() ?? null,
  };
}

function showAllowed({ sequence, reason, at, by, name }: AllowedBy): PaymentDocument['release'] {
  const releasedBy = { id: showId('per', by), name };
  return { sequence, reason, releasedBy, releasedAt: new Date(at).toISOString() };
}

function showReplaced(row: PaymentRow): PaymentDocument['replaces'] {
  const { replaces_payment_id: id, replaced_run_id: runId, replaced_status: status } = row;
  if (id === null || runId === null || status === null) return null;
  return {
    paymentId: showId('pay', id),
    payRunId: showId('run', runId),
    status,
    why: row.replaced_why,
    amount: formatMinor(BigInt(row.replaced_amount_minor ?? 0)),
    sameAmount: row.replaced_amount_minor === row.amount_minor,
    sameIban: row.same_iban === true,
    reason: row.replaces_reason,
  };
}

/** Planned instructions have no id of their own outside; their ordinal names them. */
const SUBJECT_PREFIX: Readonly<Record<Subject, IdPrefix | undefined>> = {
  pay_run: 'run',
  instruction: 'ins',
  payment: 'pay',
  payments_of_run: 'run',
  payments_of_instruction: undefined,
};

/** A line of history. */
export function showChange(row: ChangeRow): ChangeDocument {
  const prefix = SUBJECT_PREFIX[row.subject];
  const [kind, personId] = row.actor.split(':');
  return {
    seq: Number(row.seq),
    at: row.at.toISOString(),
    subject: row.subject,
    subjectId: prefix === undefined ? null : showId(prefix, row.subject_id),
    ordinal: row.ordinal,
    from: row.from_status,
    to: row.to_status,
    payments: row.payments,
    amount: formatMinor(BigInt(row.amount_minor)),
    actor: kind === 'person' && personId !== undefined ? showId('per', personId) : 'service',
    reason: row.reason,
  };
}

/** An id that may be absent, as the outside sees it. */
export function showOptional(prefix: IdPrefix, id: string | null): string | null {
  return id === null ? null : showId(prefix, id);
}
