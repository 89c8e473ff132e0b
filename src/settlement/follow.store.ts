import { KnownIds, knownIds } from '../bank/payment-ids';
import { arraysOf } from '../database/binary-array';
import { queryByHash } from '../database/by-hash';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import {
  BANK_STATUSES,
  isEnd,
  isEndedUnpaid,
  isUnclear,
  isUnfinished,
  NOT_PROCESSABLE,
  readBankStatus,
  TERMINAL_RANK,
} from '../domain/bank-status';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { PaymentStatus } from '../domain/payment';
import { showId } from '../http/prefixed-id';
import { aboutInstruction, type Alarm, openAbout, raiseNaming } from '../pay-run/attention.store';
import { NEVER_REPLACED } from '../pay-run/attention-words';
import { Instruction } from '../pay-run/instruction.entity';
import { messageIdOf } from '../pay-run/message-id';
import { movePayments, RowRange } from '../pay-run/payment.store';
import { named, stopSuccessors } from '../pay-run/stop-successors';
import { FollowedPayment, isBehindEnd, isPaidByWord, Progress } from './follow-plan';

interface StoredIds {
  bank_payment_id: string | null;
  bank_transaction_id: string | null;
}

interface StoredRecord extends StoredIds {
  row_no: number;
  payment_id: string;
  bank_status: string | null;
  shown_status: string | null;
  decided_status: string | null;
  behind_for_ms: string | null;
  shown_otherwise: string | null;
  bank_rank: number;
}

interface StoredPayment {
  id: string;
  iban_sealed: string;
  amount_minor: string;
  currency: string;
  status: PaymentStatus;
  returned: boolean;
  settled_on: string | null;
  charges_minor: string | null;
}

/** A payment as the bank was told of it, the ids the bank gave it, and how far it was seen. */
export interface KnownAtBank {
  paymentId: string;
  bankIds: KnownIds;
  bankStatus: string | null;
}

/** What is known of an instruction's payments at the bank, in row order, without reading the payments. */
export async function knownAtBank(
  tx: EmployerTransaction,
  { id: instructionId }: Pick<Instruction, 'id'>,
): Promise<KnownAtBank[]> {
  const records = await tx.query<StoredIds & { payment_id: string; bank_status: string | null }>(
    `SELECT payment_id, bank_payment_id, bank_transaction_id, bank_status FROM bank_payment
     WHERE employer_id = $1 AND instruction_id = $2 ORDER BY row_no`,
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
    `SELECT b.row_no, b.payment_id, bank_payment_id, bank_transaction_id, b.bank_status, shown_status, bank_rank,
       extract(epoch FROM clock_timestamp() - behind_since) * 1000 AS behind_for_ms,
       shown_otherwise, d.bank_status AS decided_status
     FROM bank_payment b
     LEFT JOIN payment_decision d ON d.employer_id = $1 AND d.instruction_id = $2 AND d.row_no = b.row_no
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
      decidedStatus: record.decided_status,
      behindForMs: record.behind_for_ms === null ? null : Number(record.behind_for_ms),
      shownOtherwise: record.shown_otherwise,
      rank: record.bank_rank,
      returned: payment.returned,
      settledOn: payment.settled_on,
      chargesMinor: payment.charges_minor === null ? null : BigInt(payment.charges_minor),
    };
  });
}

/** By id. Not joined with the bank's records in the database, which may choose to read all of them for each row. */
async function paymentsOf(
  tx: EmployerTransaction,
  payRunId: string,
  { firstRow, lastRow }: RowRange,
): Promise<Map<string, StoredPayment>> {
  const payments = await tx.query<StoredPayment>(
    `SELECT id, iban_sealed, amount_minor, currency, status, returned_at IS NOT NULL AS returned,
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
  const contradicted = progress.filter(({ alarm }) => alarm === 'CONTRADICTION');
  if (contradicted.length === 0) return;
  const before = await toldBefore(
    tx,
    contradicted.map(({ payment }) => payment.paymentId),
  );
  await stopContradicted(tx, instruction, contradicted, before);
  for (const one of contradicted)
    // That what was told as paid is shown as not done with is no news: it is less than people were asked about.
    if (!before.get(one.payment.paymentId) || isEnd(one.shown))
      await raiseContradiction(tx, instruction, one);
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

/** All statuses that say what became of a payment. */
const ENDS = BANK_STATUSES.filter(isEnd);

/**
 * For how long, in milliseconds, the latest open CONTRADICTION of an instruction has been about a payment that the bank was
 * not seen to end; undefined where none is: the bank may end it at any time. What people ended keeps its rank: of that the
 * question says how it is shown.
 */
export async function contradictedForMs(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
): Promise<number | undefined> {
  const [latest] = await tx.query<{ for_ms: string }>(
    `SELECT extract(epoch FROM clock_timestamp() - a.opened_at) * 1000 AS for_ms FROM attention a
     WHERE a.employer_id = $1 AND a.instruction_id = $2 AND a.kind = 'CONTRADICTION' AND a.resolved_at IS NULL
       AND EXISTS (SELECT FROM bank_payment b
         WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.payment_id = a.payment_id AND b.bank_rank < $3)
       AND NOT EXISTS (SELECT FROM unnest($4::text[]) AS ended WHERE strpos(a.happened, ': ' || ended || ' ') > 0)
     ORDER BY a.opened_at DESC LIMIT 1`,
    [tx.employerId, id, TERMINAL_RANK, ENDS],
  );
  return latest === undefined ? undefined : Number(latest.for_ms);
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

/** Where the bank shows money to be, for people. */
function shownAs(status: string): string {
  if (isUnclear(status)) return 'unclear';
  if (isUnfinished(status)) return 'on its way';
  if (isEndedUnpaid(status)) return 'not paid';
  return readBankStatus(status).kind === 'returned' ? 'returned' : 'paid';
}

/** Of which payments, by their ids, people were told before that they contradict their end, and whether as paid. */
async function toldBefore(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, boolean>> {
  const told = await tx.query<{ payment_id: string; as_paid: boolean }>(
    `SELECT payment_id, bool_or(strpos(happened, ': SETTLED ') > 0) AS as_paid FROM attention
     WHERE employer_id = $1 AND payment_id = ANY ($2) AND kind = 'CONTRADICTION' GROUP BY payment_id`,
    [tx.employerId, paymentIds],
  );
  return new Map(told.map((one) => [one.payment_id, one.as_paid]));
}

/**
 * Every read shows it again: a successor that was sent is asked about as long as not each payment it pays again was named
 * in what two people decided, where the bank shows its money. That it is on its way, or came back, decides nothing of its
 * being paid; that it was paid decides whatever is shown of it since.
 */
async function stopContradicted(
  tx: EmployerTransaction,
  { bankInstructionId }: Instruction,
  contradicted: readonly Progress[],
  before: ReadonlyMap<string, boolean>,
): Promise<void> {
  const shown = new Map(contradicted.map((one) => [one.payment.paymentId, shownAs(one.shown)] as const));
  const moved = [...shown.keys()].map((paymentId) => ({ paymentId, toldBefore: before.has(paymentId) }));
  const isPaid = (id: string) => before.get(id) === true || shown.get(id) === 'paid';
  const name = (id: string) => `${showId('pay', id)} (`;
  const word = (id: string) => name(id) + (isPaid(id) ? 'paid' : shown.get(id));
  const text = (id: string) =>
    `${word(id)}${isPaid(id) && shown.get(id) !== 'paid' ? `, and since then ${shown.get(id)}` : ''})`;
  await stopSuccessors(tx, moved, (paymentIds) => {
    const paid = paymentIds.filter(isPaid);
    // Those first of which no decision may be missing: of many, not all are named.
    const ids = [...paid, ...paymentIds.filter((id) => !isPaid(id))];
    return {
      shown: `a status that contradicts the end of ${textOfFirstFew(ids.map(text), MOST_NAMED)} in ${named(bankInstructionId)}`,
      words: ids.slice(0, MOST_NAMED).map(word),
      isOutdated: (asked) => paid.some((id) => asked.includes(name(id)) && !asked.includes(word(id))),
    };
  });
}

/** Remembers of rows of an instruction which fields are shown otherwise than they were sent; null for none any more. */
export async function recordOtherwise(
  tx: EmployerTransaction,
  { id }: Pick<Instruction, 'id'>,
  byRow: ReadonlyMap<number, string | null>,
): Promise<void> {
  if (byRow.size === 0) return;
  await queryByHash(
    tx,
    `UPDATE bank_payment b SET shown_otherwise = s.fields
     FROM unnest($3::int[], $4::text[]) AS s(row_no, fields)
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.row_no = s.row_no`,
    [tx.employerId, id, [...byRow.keys()], [...byRow.values()]],
  );
}

/** What an alarm says to people. */
export const HAPPENED: Record<NonNullable<Progress['alarm']>, string> = {
  CONTRADICTION: 'The bank showed a second final status that differs from the first in whether it was paid',
  UNKNOWN_STATUS: 'The bank showed a status whose meaning is not documented',
  BANK_ACTION_REQUIRED: 'The bank waits for somebody to act',
};

/** Between what a contradiction says that was shown. */
const BEFORE = ', before that ';

/** Told anew, it says before what the open question says, the latest of it: a bank may show both by turns. */
async function raiseContradiction(
  tx: EmployerTransaction,
  instruction: Instruction,
  { payment, bankStatus, shown }: Progress,
): Promise<void> {
  const before = bankStatus === NOT_PROCESSABLE ? 'group NOTPROCESSABLE' : bankStatus;
  const status = before === null || shown === bankStatus ? shown : `${shown} after ${before}`;
  const { happened, ...words } = wordsOfContradiction(payment, shown);
  const about = { kind: 'CONTRADICTION', subjectId: payment.paymentId } as const;
  const asked = (await openAbout(tx, about))?.happened;
  const now = `${status} (row ${payment.rowNo}, payment ${payment.bankIds[0] ?? 'without an id'})`;
  const alarm = {
    ...aboutInstruction(instruction),
    ...about,
    paymentId: payment.paymentId,
    ...words,
    happened: `${happened}: ${latestOf([now, ...shownIn(asked)])}.`,
    payments: 1,
    amountMinor: payment.amountMinor,
  };
  await raiseNaming(tx, alarm, [` ${status} (`]);
}

/** What an open contradiction, as it happened, says that was shown; none where none is open. */
function shownIn(happened?: string): string[] {
  return happened?.slice(happened.indexOf(': ') + 2, -1).split(BEFORE) ?? [];
}

/** A bank may make up a status at every read. */
function latestOf(shown: readonly string[]): string {
  const others = shown.length > MOST_NAMED ? ['others'] : [];
  return [...shown.slice(0, MOST_NAMED), ...others].join(BEFORE);
}

const DECLARED = `What two people declared is kept, and the bank shows otherwise. ${NEVER_REPLACED}`;
const WAS_IT_PAID =
  'Was this payment in {ref} paid, against what you confirmed to us, and where is the money?';
const KEPT = `Its end is kept, and the bank has shown otherwise for longer than what it shows can be old. ${NEVER_REPLACED}`;
const WHICH_IS_RIGHT =
  'Which is right of this payment in {ref}: its end, or the status that is shown since, and where is the money?';

/** A contradiction in words: to what the bank said first, or to what two people did. */
function wordsOfContradiction(
  payment: FollowedPayment,
  shown: string,
): Pick<Alarm, 'happened'> & Partial<Pick<Alarm, 'certain' | 'askBank'>> {
  if (isBehindEnd(payment, shown)) {
    const happened = 'The bank shows a payment that had ended as if it had not';
    return { happened, certain: KEPT, askBank: WHICH_IS_RIGHT };
  }
  const against = { certain: DECLARED, askBank: WAS_IT_PAID };
  if (payment.status === 'VOID')
    return { happened: 'A payment that two people declared not executed went on', ...against };
  if (isPaidByWord(payment))
    return { happened: 'A payment that two people declared paid is shown otherwise', ...against };
  if (payment.bankStatus === NOT_PROCESSABLE)
    return {
      happened: 'A payment that the bank had left in its group of what is not processable went on',
      ...REVIVED,
    };
  return { happened: HAPPENED.CONTRADICTION };
}

const REVIVED = {
  certain: `It counts as failed in the record, and the bank goes on with it. ${NEVER_REPLACED}`,
  askBank:
    'Your group NOTPROCESSABLE named this payment in {ref}, and it goes on. Is it still executed? If it was replaced already, please stop it.',
};
