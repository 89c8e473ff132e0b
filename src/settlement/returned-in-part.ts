import type { BankPayment } from '../bank/records';
import { arraysOf } from '../database/binary-array';
import { queryByHash } from '../database/by-hash';
import type { EmployerTransaction } from '../database/database';
import type { PersonalData } from '../database/personal-data';
import { readBankStatus } from '../domain/bank-status';
import { formatMoney } from '../domain/money';
import { sameName } from '../domain/party';
import { aboutInstruction, raiseNaming } from '../pay-run/attention.store';
import { BACK_IN_PART } from '../pay-run/attention-actions';
import type { Instruction } from '../pay-run/instruction.entity';
import { contradictions, readingsOf } from '../pay-run/match';
import type { FollowedPayment } from './follow-plan';

/** A payment with the record by which the bank shows that less of it came back than was paid. */
export interface BackInPart {
  payment: FollowedPayment;
  shown: BankPayment & { amountMinor: bigint };
}

/**
 * Of the payments of an instruction those that a read shows as returned with a lower amount, and else as they were sent, by
 * row: the banks on its way may have charged for the return, or its payee kept a part. Whatever else differs, in any record
 * of it, what is shown is not our payment.
 */
export async function backInPart(
  tx: EmployerTransaction,
  personal: PersonalData,
  byId: ReadonlyMap<string, FollowedPayment>,
  shownById: ReadonlyMap<string, readonly BankPayment[]>,
): Promise<ReadonlyMap<number, BackInPart>> {
  const found = [...byId].flatMap(([id, payment]) => leastOf(payment, shownById.get(id) ?? []) ?? []);
  if (found.length === 0) return new Map();
  const names = await namesOf(
    tx,
    personal,
    found.map(({ payment }) => payment.paymentId),
  );
  const isPayee = ({ payment }: BackInPart): boolean => {
    const sent = names.get(payment.paymentId) ?? '';
    return (shownById.get(payment.bankIds[0] ?? '') ?? []).every(({ name = sent }) => sameName(name, sent));
  };
  return new Map(found.filter(isPayee).map((one) => [one.payment.rowNo, one] as const));
}

/** The record with the least amount; undefined where the read shows no such return, or also something else. */
function leastOf(payment: FollowedPayment, records: readonly BankPayment[]): BackInPart | undefined {
  if (!mayComeBack(payment)) return undefined;
  const parts = records.flatMap((shown) => (isPartOf(payment, shown) ? [{ payment, shown }] : []));
  if (parts.length === 0) return undefined;
  const other = records.filter((one) => contradictions(payment, one).length > 0);
  if (parts.length < other.length) return undefined;
  return parts.reduce((least, one) => (least.shown.amountMinor <= one.shown.amountMinor ? least : one));
}

/** What was never shown to be paid as it was sent, and is shown with another amount, was not paid as it was sent. */
function mayComeBack({ status, shownOtherwise }: FollowedPayment): boolean {
  return shownOtherwise === null
    ? status === 'SUBMITTED' || status === 'SETTLED'
    : status === 'SETTLED' && shownOtherwise === 'amount';
}

function isPartOf(payment: FollowedPayment, shown: BankPayment): shown is BackInPart['shown'] {
  const { status, amountMinor, currency } = shown;
  if (readBankStatus(status).kind !== 'returned' || currency !== payment.currency) return false;
  if (amountMinor === undefined || amountMinor <= 0n || amountMinor >= payment.amountMinor) return false;
  return contradictions(payment, shown).join() === 'amount';
}

/** The names that payments were sent with, by their ids. */
async function namesOf(
  tx: EmployerTransaction,
  personal: PersonalData,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.query<{ id: string; name_sealed: string }>(
    'SELECT id, name_sealed FROM payment WHERE employer_id = $1 AND id = ANY ($2)',
    [tx.employerId, paymentIds],
  );
  return new Map(rows.map((row) => [row.id, personal.open(row.name_sealed)]));
}

/**
 * Remembers what came back of payments that did, and asks what became of the rest: once for each amount. The least counts,
 * as one list may show another amount than the next.
 */
export async function recordBackInPart(
  tx: EmployerTransaction,
  personal: PersonalData,
  instruction: Instruction,
  parts: readonly BackInPart[],
): Promise<void> {
  const least = parts.filter(({ payment, shown }) => isLeast(payment, shown.amountMinor));
  if (least.length === 0) return;
  const arrayOf = arraysOf(least);
  await queryByHash(
    tx,
    `UPDATE payment p SET returned_minor = s.minor FROM unnest($2::uuid[], $3::bigint[]) AS s(id, minor)
     WHERE p.employer_id = $1 AND p.id = ANY ($2) AND p.id = s.id AND p.returned_minor IS DISTINCT FROM s.minor`,
    [
      tx.employerId,
      arrayOf('uuid', ({ payment }) => payment.paymentId),
      arrayOf('int8', ({ shown }) => shown.amountMinor),
    ],
  );
  for (const one of least) await tellOfPart(tx, personal, instruction, one);
}

/** The payments as they stand once that is written down. */
export function withParts(
  payments: readonly FollowedPayment[],
  inPart: ReadonlyMap<number, BackInPart>,
): FollowedPayment[] {
  return payments.map((payment) => {
    const shownMinor = inPart.get(payment.rowNo)?.shown.amountMinor;
    const isNews = shownMinor !== undefined && isLeast(payment, shownMinor);
    return isNews ? { ...payment, returnedMinor: shownMinor } : payment;
  });
}

function isLeast({ returnedMinor }: FollowedPayment, shownMinor: bigint): boolean {
  return returnedMinor === null || shownMinor <= returnedMinor;
}

/** Nothing is stopped: it is ours by its ids, its currency, its IBAN and its payee, and has ended. */
function tellOfPart(
  tx: EmployerTransaction,
  personal: PersonalData,
  instruction: Instruction,
  { payment, shown }: BackInPart,
): Promise<void> {
  const readings = readingsOf(personal, shown, ['amount']);
  const money = (minor: bigint) => formatMoney(minor, payment.currency);
  const alarm = {
    kind: 'ECHO_MISMATCH',
    ...aboutInstruction(instruction),
    subjectId: payment.paymentId,
    paymentId: payment.paymentId,
    happened: `${BACK_IN_PART}row ${payment.rowNo} than was paid (reading ${readings.join(', ')}).`,
    bankWords: `Paid: ${money(payment.amountMinor)}. Shown as returned: ${money(shown.amountMinor)}.`,
    certain: KEPT_OR_CHARGED,
    askBank: `Why did less of payment ${payment.bankIds[0] ?? payment.messageId} of customer instruction {ref} come back to our account than it paid? Who charged the rest, or did its payee keep it?`,
    payments: 1,
    amountMinor: payment.amountMinor,
    lackingMinor: payment.amountMinor - shown.amountMinor,
  } as const;
  return raiseNaming(tx, alarm, readings);
}

const KEPT_OR_CHARGED =
  'It was paid once, and counts as returned; what is lacking is not back. Banks may have charged it for the return, or the payee kept it: nobody of the instruction is paid again before this is answered. RESUME says that the payee kept nothing: it is then paid again, whole, like any payment that came back. Else ACKNOWLEDGE: no successor pays it then, and what is still owed is paid by a row with that amount, uploaded as its supplement, where an approver releases it.';
