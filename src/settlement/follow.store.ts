import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { isPaymentFinal, PaymentStatus } from '../domain/payment';
import { clear, raise } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { messageIdOf } from '../pay-run/message-id';
import { movePayments } from '../pay-run/payment.store';
import { stopSuccessors } from '../pay-run/stop-successors';
import { FollowedPayment, Progress } from './follow-plan';

interface StoredRow {
  row_no: number;
  payment_id: string;
  bank_payment_id: string | null;
  bank_transaction_id: string | null;
  iban_sealed: string;
  amount_minor: string;
  currency: string;
  status: PaymentStatus;
  bank_status: string | null;
  bank_rank: number;
  returned: boolean;
}

/** The payments of an instruction as they stand, in row order. */
export async function followedPayments(
  tx: EmployerTransaction,
  personal: PersonalData,
  instructionId: string,
): Promise<FollowedPayment[]> {
  const rows = await tx.query<StoredRow>(
    `SELECT b.row_no, b.payment_id, b.bank_payment_id, b.bank_transaction_id, p.iban_sealed, p.amount_minor,
       p.currency, p.status, b.bank_status, b.bank_rank, p.returned_at IS NOT NULL AS returned
     FROM bank_payment b JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
     WHERE b.employer_id = $1 AND b.instruction_id = $2 ORDER BY b.row_no`,
    [tx.employerId, instructionId],
  );
  return rows.map((row) => ({
    instructionId,
    rowNo: row.row_no,
    paymentId: row.payment_id,
    messageId: messageIdOf(instructionId, row.row_no),
    bankIds: [row.bank_payment_id, row.bank_transaction_id].filter((id) => id !== null),
    iban: personal.open(row.iban_sealed),
    amountMinor: BigInt(row.amount_minor),
    currency: row.currency,
    status: row.status,
    bankStatus: row.bank_status,
    rank: row.bank_rank,
    returned: row.returned,
  }));
}

/** Writes down what a read showed: the bank's statuses in one statement, our moves in another. */
export async function recordProgress(
  tx: EmployerTransaction,
  instruction: Instruction,
  progress: readonly Progress[],
): Promise<void> {
  if (progress.length === 0) return;
  await tx.query(
    `UPDATE bank_payment b SET bank_status = s.status, bank_rank = greatest(b.bank_rank, s.rank),
       bank_status_at = clock_timestamp(), last_seen_at = clock_timestamp()
     FROM unnest($3::int[], $4::text[], $5::smallint[]) AS s(row_no, status, rank)
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.row_no = s.row_no`,
    [
      tx.employerId,
      instruction.id,
      progress.map((one) => one.payment.rowNo),
      progress.map((one) => one.bankStatus),
      progress.map((one) => one.rank),
    ],
  );
  const moves = progress.flatMap(({ payment, move }) =>
    move ? [{ paymentId: payment.paymentId, ...move }] : [],
  );
  if (moves.length > 0) await movePayments(tx, instruction.payRunId, 'SUBMITTED', moves, 'service');
  const returned = progress.filter((one) => one.returned).map((one) => one.payment.paymentId);
  if (returned.length > 0) {
    await tx.query(
      `UPDATE payment SET returned_at = clock_timestamp()
       WHERE employer_id = $1 AND id = ANY ($2) AND returned_at IS NULL`,
      [tx.employerId, returned],
    );
  }
  const cleared = progress.filter((one) => one.alarm === undefined).map((one) => one.payment.paymentId);
  await clear(tx, PASSING, cleared, 'the bank went on to a documented status');
  const contradicted = progress.flatMap(({ payment, alarm }) => (alarm === 'CONTRADICTION' ? [payment] : []));
  await stopSuccessors(tx, await newlyContradicted(tx, contradicted), 'a second final status');
  for (const { payment, alarm, bankStatus } of progress) {
    const alone = alarm === 'CONTRADICTION' || isPaymentFinal(payment.status);
    if (alarm !== undefined && alone) await raiseOf(tx, instruction, payment, alarm, bankStatus);
  }
}

/** Without those of which people were told before: a stop that two of them took back is not thrown again. */
async function newlyContradicted(
  tx: EmployerTransaction,
  payments: readonly FollowedPayment[],
): Promise<FollowedPayment[]> {
  if (payments.length === 0) return [];
  const told = await tx.query<{ payment_id: string }>(
    `SELECT payment_id FROM attention WHERE employer_id = $1 AND payment_id = ANY ($2) AND kind = 'CONTRADICTION'`,
    [tx.employerId, payments.map(({ paymentId }) => paymentId)],
  );
  const known = new Set(told.map(({ payment_id }) => payment_id));
  return payments.filter(({ paymentId }) => !known.has(paymentId));
}

/** What the next documented status clears by itself. */
export const PASSING = ['UNKNOWN_STATUS', 'BANK_ACTION_REQUIRED'] as const;

/** What an alarm says to people. */
export const HAPPENED: Record<NonNullable<Progress['alarm']>, string> = {
  CONTRADICTION: 'The bank showed a second final status that differs from the first',
  UNKNOWN_STATUS: 'The bank showed a status whose meaning is not documented',
  BANK_ACTION_REQUIRED: 'The bank waits for somebody to act',
};

function raiseOf(
  tx: EmployerTransaction,
  instruction: Instruction,
  payment: FollowedPayment,
  kind: NonNullable<Progress['alarm']>,
  bankStatus: string,
): Promise<void> {
  return raise(tx, {
    kind,
    subjectId: payment.paymentId,
    payRunId: instruction.payRunId,
    instructionId: instruction.id,
    paymentId: payment.paymentId,
    bankReference: instruction.bankInstructionId,
    happened: `${HAPPENED[kind]}: ${bankStatus} (row ${payment.rowNo}).`,
    payments: 1,
    amountMinor: payment.amountMinor,
  });
}
