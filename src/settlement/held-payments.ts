import { type BankPayment, isOwnEntry } from '../bank/records';
import type { EmployerTransaction } from '../database/database';
import type { PersonalData } from '../database/personal-data';
import { isEnd } from '../domain/bank-status';
import { grouped } from '../domain/grouped';
import { isPaymentFinal } from '../domain/payment';
import { tellOfBearers } from '../pay-run/charge-bearer';
import type { Instruction } from '../pay-run/instruction.entity';
import { contradictions, rowsById, shownFields } from '../pay-run/match';
import { tellOfDifference, tellOfEntries } from './follow-alarms';
import {
  type FollowedPayment,
  isBehindEnd,
  newCharges,
  newSettledOn,
  type Progress,
  progressOf,
  progressOfAll,
  type SeenStatus,
  shownOf,
} from './follow-plan';
import { type AddedAfterEnd, recordOtherwise, recordUnreadCharges } from './follow.store';
import { type BackInPart, backInPart } from './returned-in-part';
import { isChargeUnread } from './unread-charges';

/** What a read means for the payments of an instruction. */
interface HeldPayments {
  progress: Progress[];
  added: AddedAfterEnd[];
  /** Those of which less came back than was paid, by row. */
  inPart: ReadonlyMap<number, BackInPart>;
  /** Row numbers of those that are shown as before their end, for the first time. */
  behind: number[];
  /** Those whose charges cannot be read. */
  unread: FollowedPayment[];
  /** What the bank shows in it and was never sent. */
  strangers: BankPayment[];
  /** Those that the bank knows and did not show, by its ids. */
  unshown: string[];
}

/**
 * Holds what was read against our payments: a field that contradicts, or a stranger, moves nothing. Tells of what differs.
 * @param isDone whether the bank is done with the instruction @param maxAgeMs how old what was read may be
 */
export async function holdPayments(
  tx: EmployerTransaction,
  personal: PersonalData,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  seen: readonly BankPayment[],
  { isDone, maxAgeMs }: { isDone: boolean; maxAgeMs: number },
): Promise<HeldPayments> {
  const byId = rowsById(payments);
  const progress = new Map<number, Progress>();
  const added = new Map<number, AddedAfterEnd>();
  const behind = new Set<number>();
  const otherwise = new Map<number, string | null>();
  const charges = new Map<number, boolean>();
  const shownById = grouped(seen, ({ bankPaymentId }) => bankPaymentId);
  const foreign = seen.filter(({ bankPaymentId }) => !byId.has(bankPaymentId));
  const inPart = await backInPart(tx, personal, byId, shownById, { isDone, maxAgeMs });
  for (const [id, payment] of byId) {
    const { rowNo } = payment;
    const records = (shownById.get(id) ?? []).map((one) => ({
      one,
      fields: inPart.has(rowNo) ? [] : contradictions(payment, one),
      shown: { maxAgeMs, ...one, status: shownOf(payment, one, isDone) },
    }));
    if (records.length === 0) continue;
    const now = nowOtherwise(payment, records);
    if (now !== payment.shownOtherwise) otherwise.set(rowNo, now);
    const isUnread = isChargeUnread(payment, shownById.get(id) ?? []);
    if (isUnread !== payment.chargesUnread) charges.set(rowNo, isUnread);
    const asSent = records.flatMap(({ fields, shown }) => (fields.length > 0 ? [] : shown));
    const step = progressOfAll(payment, asSent);
    if (step) progress.set(rowNo, step);
    for (const { one, fields, shown } of records) {
      if (fields.length === 0) continue;
      await tellOfDifference(tx, personal, instruction, payment, { shown: one, fields });
      const other = progressOf(payment, shown);
      if (other && contradictsEnd(other, shown)) progress.set(rowNo, other);
    }
    const isBehind = asSent.length > 0 && asSent.every(({ status }) => isBehindEnd(payment, status));
    if (payment.behindForMs === null && isBehind) behind.add(rowNo);
    const after = addedTo(payment, asSent);
    if (after) added.set(rowNo, after);
  }
  const entries = foreign.filter(isOwnEntry);
  if (entries.length > 0) await tellOfEntries(tx, instruction, entries);
  await recordOtherwise(tx, instruction, otherwise);
  await recordUnreadCharges(tx, instruction, charges);
  await tellOfBearers(tx, instruction, bearersOf(byId, seen));
  return {
    progress: [...progress.values()],
    added: [...added.values()],
    inPart,
    behind: [...behind],
    unread: payments.filter(({ rowNo, chargesUnread }) => charges.get(rowNo) ?? chargesUnread),
    strangers: foreign.filter((one) => !isOwnEntry(one)),
    unshown: [...byId.keys()].filter((id) => !shownById.has(id)),
  };
}

/** What the last record that says anything new of it adds to a payment that has ended. */
function addedTo(payment: FollowedPayment, shown: readonly SeenStatus[]): AddedAfterEnd | undefined {
  return shown
    .map((one) => ({
      paymentId: payment.paymentId,
      chargesMinor: newCharges(payment, one),
      settledOn: newSettledOn(payment, one),
    }))
    .findLast(({ chargesMinor, settledOn }) => chargesMinor !== undefined || settledOn !== undefined);
}

/** Who bears the charges of our payments, by each record of them. */
function bearersOf(byId: ReadonlyMap<string, FollowedPayment>, seen: readonly BankPayment[]) {
  return seen.flatMap(({ bankPaymentId, chargeBearer }) => {
    const row = byId.get(bankPaymentId);
    return row ? [{ rowNo: row.rowNo, chargeBearer }] : [];
  });
}

/**
 * Whether what is shown otherwise than it was sent contradicts an end: it may be the very payment, whatever else differs.
 * A step on the way to its end does not, since none of its steps was recorded.
 */
function contradictsEnd({ payment, alarm }: Progress, { status, wasSettled }: SeenStatus): boolean {
  return (
    alarm === 'CONTRADICTION' && isPaymentFinal(payment.status) && (wasSettled === true || isEnd(status))
  );
}

/** Which fields stay shown otherwise: what a read leaves out it does not show as it was sent. */
function nowOtherwise(
  { shownOtherwise }: FollowedPayment,
  records: readonly { one: BankPayment; fields: readonly string[] }[],
): string | null {
  const fields = records.flatMap((record) => record.fields);
  if (shownOtherwise === null && fields.length === 0) return null;
  const shown = new Set(
    records.flatMap(({ one }) =>
      Object.entries(shownFields(one)).flatMap(([field, value]) => (value === undefined ? [] : field)),
    ),
  );
  const before = shownOtherwise?.split(',') ?? [];
  const still = [...before.filter((field) => !shown.has(field)), ...fields];
  return still.length === 0 ? null : [...new Set(still)].sort().join(',');
}
