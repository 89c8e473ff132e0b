import { KnownIds, knownIds } from '../bank/payment-ids';
import { arraysOf } from '../database/binary-array';
import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { PaymentStatus } from '../domain/payment';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { STATUS_AS_FOLLOWED } from '../pay-run/instruction.store';
import { messageIdOf } from '../pay-run/message-id';
import { movePayments, RowRange } from '../pay-run/payment.store';
import { tellOfContradictions } from './contradiction';
import { FollowedPayment, Progress } from './follow-plan';

interface StoredIds {
  bank_payment_id: string | null;
  bank_transaction_id: string | null;
}

interface StoredRecord extends StoredIds {
  row_no: number;
  payment_id: string;
  bank_status: string | null;
  shown_status: string | null;
  decided_statuses: string[] | null;
  behind_for_ms: string | null;
  more_back_for_ms: string | null;
  shown_otherwise: string | null;
  charges_unread: boolean;
  bank_rank: number;
}

interface StoredPayment {
  id: string;
  iban_sealed: string;
  amount_minor: string;
  currency: string;
  status: PaymentStatus;
  returned: boolean;
  returned_minor: string | null;
  settled_on: string | null;
  charges_minor: string | null;
}

/** A payment as the bank was told of it, and the ids the bank gave it. */
export interface KnownAtBank {
  paymentId: string;
  bankIds: KnownIds;
  /** As it was followed, and not as its add was answered or read back: null before the first read since its submit. */
  bankStatus: string | null;
}

/** What is known of an instruction's payments at the bank, in row order, without reading the payments. */
export async function knownAtBank(
  tx: EmployerTransaction,
  { id: instructionId }: Pick<Instruction, 'id'>,
): Promise<KnownAtBank[]> {
  const records = await tx.query<StoredIds & { payment_id: string; bank_status: string | null }>(
    `SELECT payment_id, bank_payment_id, bank_transaction_id, ${STATUS_AS_FOLLOWED} AS bank_status
     FROM bank_payment b WHERE employer_id = $1 AND instruction_id = $2 ORDER BY row_no`,
    [tx.employerId, instructionId],
    'kept',
  );
  return records.map((record) => ({
    paymentId: record.payment_id,
    bankIds: idsOf(record),
    bankStatus: record.bank_status,
  }));
}

function idsOf({ bank_payment_id: payment, bank_transaction_id: transaction }: StoredIds): KnownIds {
  return knownIds(payment, transaction);
}

/** The payments of an instruction as they stand, in row order. */
export async function followedPayments(
  tx: EmployerTransaction,
  personal: PersonalData,
  { id: instructionId, payRunId }: Pick<Instruction, 'id' | 'payRunId'>,
): Promise<FollowedPayment[]> {
  const records = await tx.query<StoredRecord>(
    `SELECT b.row_no, b.payment_id, bank_payment_id, bank_transaction_id, ${STATUS_AS_FOLLOWED} AS bank_status,
       shown_status, bank_rank,
       extract(epoch FROM clock_timestamp() - behind_since) * 1000 AS behind_for_ms,
       extract(epoch FROM clock_timestamp() - more_back_since) * 1000 AS more_back_for_ms,
       shown_otherwise, charges_unread, d.statuses AS decided_statuses
     FROM bank_payment b
     LEFT JOIN (
       SELECT row_no, array_agg(bank_status) AS statuses FROM payment_decision
       WHERE employer_id = $1 AND instruction_id = $2 GROUP BY row_no) d ON d.row_no = b.row_no
     WHERE b.employer_id = $1 AND b.instruction_id = $2 ORDER BY b.row_no`,
    [tx.employerId, instructionId],
    'kept',
  );
  const payments = await paymentsOf(tx, payRunId, rangeOf(records.map((record) => record.row_no)));
  return records.map((record) => {
    const payment = payments.get(record.payment_id);
    if (!payment) throw new Error('a record of the bank is of no payment among the rows of its instruction');
    return {
      instructionId,
      rowNo: record.row_no,
      paymentId: payment.id,
      messageId: messageIdOf(instructionId, record.row_no),
      bankIds: idsOf(record),
      iban: personal.open(payment.iban_sealed),
      amountMinor: BigInt(payment.amount_minor),
      currency: payment.currency,
      status: payment.status,
      bankStatus: record.bank_status,
      shownStatus: record.shown_status,
      decidedStatuses: record.decided_statuses ?? [],
      behindForMs: record.behind_for_ms === null ? null : Number(record.behind_for_ms),
      shownOtherwise: record.shown_otherwise,
      rank: record.bank_rank,
      returned: payment.returned,
      returnedMinor: payment.returned_minor === null ? null : BigInt(payment.returned_minor),
      moreBackForMs: record.more_back_for_ms === null ? null : Number(record.more_back_for_ms),
      settledOn: payment.settled_on,
      chargesMinor: payment.charges_minor === null ? null : BigInt(payment.charges_minor),
      chargesUnread: record.charges_unread,
    };
  });
}

/**
 * Whether the bank may still execute on its date what ended before it: what was given up, or declared not executed, or of
 * whose payments people ended any. Not what the bank itself has ended wholly.
 */
export async function mayMoveOnItsDate(
  tx: EmployerTransaction,
  { id, status }: Pick<Instruction, 'id' | 'status'>,
  { payRunId, firstRow, lastRow }: Pick<PlannedInstruction, 'payRunId' | 'firstRow' | 'lastRow'>,
): Promise<boolean> {
  if (status !== 'CLOSED') return true;
  const byWord = await tx.query(
    `SELECT FROM payment_decision WHERE employer_id = $1 AND instruction_id = $2
     UNION ALL
     SELECT FROM payment
     WHERE employer_id = $1 AND pay_run_id = $3 AND row_no BETWEEN $4 AND $5 AND status = 'VOID'
     LIMIT 1`,
    [tx.employerId, id, payRunId, firstRow, lastRow],
    'kept',
  );
  return byWord.length > 0;
}

/** By id. Not joined with the bank's records in the database, which may choose to read all of them for each row. */
async function paymentsOf(
  tx: EmployerTransaction,
  payRunId: string,
  { firstRow, lastRow }: RowRange,
): Promise<Map<string, StoredPayment>> {
  const payments = await tx.query<StoredPayment>(
    `SELECT id, iban_sealed, amount_minor, currency, status, returned_at IS NOT NULL AS returned, returned_minor,
       settled_on::text AS settled_on, charges_minor
     FROM payment WHERE employer_id = $1 AND pay_run_id = $2 AND row_no BETWEEN $3 AND $4`,
    [tx.employerId, payRunId, firstRow, lastRow],
    'kept',
  );
  return new Map(payments.map((payment) => [payment.id, payment]));
}

/** Of row numbers in order; empty for none. */
function rangeOf(rowNos: readonly number[]): RowRange {
  return { firstRow: rowNos[0] ?? 1, lastRow: rowNos.at(-1) ?? 0 };
}

/** Writes down what a read showed: the bank's statuses in one statement, our moves in another. */
export async function recordProgress(
  tx: EmployerTransaction,
  instruction: Instruction,
  progress: readonly Progress[],
): Promise<void> {
  if (progress.length === 0) return;
  const arrayOf = arraysOf(progress);
  await queryByHash(
    tx,
    `UPDATE bank_payment b SET bank_status = s.status, shown_status = s.shown_status,
       bank_rank = greatest(b.bank_rank, s.rank), bank_status_at = clock_timestamp(), last_seen_at = clock_timestamp()
     FROM unnest($3::int[], $4::text[], $5::int[], $6::text[]) AS s(row_no, status, rank, shown_status)
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.row_no = s.row_no`,
    [
      tx.employerId,
      instruction.id,
      arrayOf('int4', (one) => one.payment.rowNo),
      arrayOf('text', (one) => one.bankStatus),
      arrayOf('int4', (one) => one.rank),
      arrayOf('text', (one) => one.shownStatus),
    ],
  );
  const moves = progress.flatMap(({ payment, move }) =>
    move ? [{ paymentId: payment.paymentId, ...move }] : [],
  );
  if (moves.length > 0) {
    const rowNos = progress.map(({ payment }) => payment.rowNo).sort((a, b) => a - b);
    await movePayments(tx, instruction.payRunId, 'SUBMITTED', moves, 'service', rangeOf(rowNos));
  }
  const returned = progress.filter((one) => one.returned).map((one) => one.payment);
  if (returned.length > 0) await recordReturned(tx, instruction, returned);
  await tellOfContradictions(tx, instruction, progress);
}

/** That payments came back is another end of theirs: a read that was stale before it says nothing of one after it. */
async function recordReturned(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
  payments: readonly FollowedPayment[],
): Promise<void> {
  await tx.query(
    `UPDATE payment SET returned_at = clock_timestamp()
     WHERE employer_id = $1 AND id = ANY ($2) AND returned_at IS NULL`,
    [tx.employerId, payments.map(({ paymentId }) => paymentId)],
  );
  await tx.query(
    `UPDATE bank_payment SET behind_since = NULL
     WHERE employer_id = $1 AND instruction_id = $2 AND row_no = ANY ($3) AND behind_since IS NOT NULL`,
    [tx.employerId, id, payments.map(({ rowNo }) => rowNo)],
  );
}

/** What the bank adds to a payment that has ended: its charges, in minor units, and the date it was settled on. */
export interface AddedAfterEnd {
  paymentId: string;
  chargesMinor?: bigint;
  settledOn?: string;
}

/** Writes down what the bank adds to payments that have ended, or shows otherwise than before. */
export async function recordAfterEnd(
  tx: EmployerTransaction,
  added: readonly AddedAfterEnd[],
): Promise<void> {
  if (added.length === 0) return;
  const arrayOf = arraysOf(added);
  await queryByHash(
    tx,
    `UPDATE payment p SET charges_minor = coalesce(c.charges_minor, p.charges_minor),
       settled_on = coalesce(c.settled_on::date, p.settled_on)
     FROM unnest($2::uuid[], $3::bigint[], $4::text[]) AS c(id, charges_minor, settled_on)
     WHERE p.employer_id = $1 AND p.id = ANY ($2) AND p.id = c.id`,
    [
      tx.employerId,
      arrayOf('uuid', (one) => one.paymentId),
      arrayOf('int8', (one) => one.chargesMinor ?? null),
      arrayOf('text', (one) => one.settledOn ?? null),
    ],
  );
}

/** Remembers since when rows of an instruction have been shown as before their end. */
export async function recordBehind(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
  rowNos: readonly number[],
): Promise<void> {
  if (rowNos.length === 0) return;
  await queryByHash(
    tx,
    `UPDATE bank_payment SET behind_since = clock_timestamp()
     WHERE employer_id = $1 AND instruction_id = $2 AND row_no = ANY ($3) AND behind_since IS NULL`,
    [tx.employerId, id, rowNos],
  );
}

/** Remembers of rows of an instruction since when more of them is shown as come back than counts, or that none is. */
export async function recordMoreBack(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
  { since, noMore }: { since: readonly number[]; noMore: readonly number[] },
): Promise<void> {
  if (since.length + noMore.length === 0) return;
  await queryByHash(
    tx,
    `UPDATE bank_payment SET more_back_since = CASE WHEN row_no = ANY ($3) THEN clock_timestamp() END
     WHERE employer_id = $1 AND instruction_id = $2 AND (row_no = ANY ($3) OR row_no = ANY ($4))`,
    [tx.employerId, id, since, noMore],
  );
}

/** Remembers of what ended since when each of its payments was shown. Another process may have read all of them later. */
export async function recordWhole(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
  paymentsReadAt: Date,
): Promise<void> {
  await tx.query(
    `UPDATE instruction SET payments_read_at = greatest(payments_read_at, $3) WHERE employer_id = $1 AND id = $2`,
    [tx.employerId, id, paymentsReadAt],
  );
}

/** Remembers of rows of an instruction which fields are shown otherwise than they were sent; null for none any more. */
export function recordOtherwise(
  tx: EmployerTransaction,
  instruction: Pick<Instruction, 'id'>,
  byRow: ReadonlyMap<number, string | null>,
): Promise<void> {
  return recordByRow(tx, instruction, 'shown_otherwise', 'text', byRow);
}

/** Remembers of rows of an instruction whether their charges cannot be read. */
export function recordUnreadCharges(
  tx: EmployerTransaction,
  instruction: Pick<Instruction, 'id'>,
  byRow: ReadonlyMap<number, boolean>,
): Promise<void> {
  return recordByRow(tx, instruction, 'charges_unread', 'boolean', byRow);
}

async function recordByRow(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
  column: string,
  type: string,
  byRow: ReadonlyMap<number, unknown>,
): Promise<void> {
  if (byRow.size === 0) return;
  await queryByHash(
    tx,
    `UPDATE bank_payment b SET ${column} = s.value
     FROM unnest($3::int[], $4::${type}[]) AS s(row_no, value)
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.row_no = s.row_no`,
    [tx.employerId, id, [...byRow.keys()], [...byRow.values()]],
  );
}
