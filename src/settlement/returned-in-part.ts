import type { BankPayment } from '../bank/records';
import { arraysOf } from '../database/binary-array';
import { queryByHash } from '../database/by-hash';
import type { EmployerTransaction } from '../database/database';
import type { PersonalData } from '../database/personal-data';
import { readBankStatus } from '../domain/bank-status';
import { formatMoney } from '../domain/money';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { sameName } from '../domain/party';
import { showId } from '../http/prefixed-id';
import { aboutInstruction, type Alarm, clear, openAbout, raiseNaming } from '../pay-run/attention.store';
import { BACK_IN_PART } from '../pay-run/attention-actions';
import type { Instruction } from '../pay-run/instruction.entity';
import { contradictions, readingsOf } from '../pay-run/match';
import { runsPayingTheSame } from '../pay-run/same-pay';
import { paidAgain } from '../pay-run/stop-successors';
import { advanced, type FollowedPayment, progressOfAll, shownOf } from './follow-plan';
import { recordMoreBack } from './follow.store';

/** A payment with the record by which the bank shows that less of it came back than was paid, or once did. */
export interface BackInPart {
  payment: FollowedPayment;
  shown: BankPayment & { amountMinor: bigint };
  /** Whether that is what came back, as far as is known; else more is shown than before, and that may pass. */
  counts: boolean;
}

/** What a read is: whether the bank is done with the instruction, and how old what it shows may be. */
interface OfRead {
  isDone: boolean;
  maxAgeMs: number;
}

/**
 * Of the payments of an instruction those that came back and that a read shows as returned with a lower amount, and else as
 * they were sent, by row: the banks on its way may have charged for the return, or its payee kept a part. Those, too, of
 * which that was shown before. Whatever else differs, in any record of it, what is shown is not our payment.
 */
export async function backInPart(
  tx: EmployerTransaction,
  personal: PersonalData,
  byId: ReadonlyMap<string, FollowedPayment>,
  shownById: ReadonlyMap<string, readonly BankPayment[]>,
  read: OfRead,
): Promise<ReadonlyMap<number, BackInPart>> {
  const found = [...byId].flatMap(([id, payment]) => leastOf(payment, shownById.get(id) ?? [], read) ?? []);
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
function leastOf(
  payment: FollowedPayment,
  records: readonly BankPayment[],
  read: OfRead,
): BackInPart | undefined {
  if (!mayComeBack(payment)) return undefined;
  const parts = records.filter((shown) => isPartOf(payment, shown));
  const [first] = parts;
  if (first === undefined || !standsReturned(payment, records, read)) return undefined;
  const differs = (one: BankPayment) => !isPartOf(payment, one) && contradictions(payment, one).length > 0;
  if (records.some(differs)) return undefined;
  const shown = parts.reduce((least, one) => (least.amountMinor <= one.amountMinor ? least : one), first);
  return { payment, shown, counts: doesCount(payment, shown.amountMinor, read) };
}

/** What was never shown to be paid as it was sent, and is shown with another amount, was not paid as it was sent. */
function mayComeBack({ status, shownOtherwise }: FollowedPayment): boolean {
  return shownOtherwise === null
    ? status === 'SUBMITTED' || status === 'SETTLED'
    : status === 'SETTLED' && shownOtherwise === 'amount';
}

/** Whether it has come back once all that a read shows is written down: it may show it as ended unpaid, too. */
function standsReturned(
  payment: FollowedPayment,
  records: readonly BankPayment[],
  { isDone, maxAgeMs }: OfRead,
): boolean {
  const step = progressOfAll(
    payment,
    records.map((one) => ({ maxAgeMs, ...one, status: shownOf(payment, one, isDone) })),
  );
  return advanced([payment], step ? [step] : []).some(
    ({ status, returned }) => status === 'SETTLED' && returned,
  );
}

/** Less than was paid; or all of it, where less was shown before. */
function isPartOf(payment: FollowedPayment, shown: BankPayment): shown is BackInPart['shown'] {
  const { status, amountMinor, currency } = shown;
  if (readBankStatus(status).kind !== 'returned' || currency !== payment.currency) return false;
  if (amountMinor === undefined || amountMinor <= 0n) return false;
  const differing = contradictions(payment, shown).join();
  return amountMinor < payment.amountMinor
    ? differing === 'amount'
    : payment.returnedMinor !== null && differing === '';
}

/** The least counts, as one list may show another amount than the next; unless more is shown for longer than a read can be old. */
function doesCount(
  { returnedMinor, moreBackForMs }: FollowedPayment,
  shownMinor: bigint,
  { maxAgeMs }: OfRead,
): boolean {
  if (returnedMinor === null || shownMinor <= returnedMinor) return true;
  return moreBackForMs !== null && moreBackForMs >= maxAgeMs;
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
 * Remembers what came back of payments that did, and since when more is shown; asks what became of the rest where that is
 * not what was asked last. What a look before a repay has shown, and is known by now, that need not keep any more.
 */
export async function recordBackInPart(
  tx: EmployerTransaction,
  personal: PersonalData,
  instruction: Instruction,
  parts: readonly BackInPart[],
): Promise<void> {
  const rowsOf = (some: readonly BackInPart[]) => some.map(({ payment }) => payment.rowNo);
  const more = parts.filter(({ counts, payment }) => !counts && payment.moreBackForMs === null);
  const counting = parts.filter(({ counts }) => counts);
  const noMore = counting.filter(({ payment }) => payment.moreBackForMs !== null);
  await recordMoreBack(tx, instruction, { since: rowsOf(more), noMore: rowsOf(noMore) });
  if (counting.length === 0) return;
  const arrayOf = arraysOf(counting);
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
  await tx.query(
    `UPDATE moved_payment m SET back_minor = NULL FROM unnest($3::int[], $4::bigint[]) AS s(row_no, minor)
     WHERE m.employer_id = $1 AND m.instruction_id = $2 AND m.row_no = s.row_no AND m.back_minor >= s.minor`,
    [
      tx.employerId,
      instruction.id,
      arrayOf('int4', ({ payment }) => payment.rowNo),
      arrayOf('int8', ({ shown }) => shown.amountMinor),
    ],
  );
  for (const one of counting) await tellOfPart(tx, personal, instruction, one);
}

/** The payments as they stand once that is written down. */
export function withParts(
  payments: readonly FollowedPayment[],
  inPart: ReadonlyMap<number, BackInPart>,
): FollowedPayment[] {
  return payments.map((payment) => {
    const part = inPart.get(payment.rowNo);
    return part?.counts === true ? { ...payment, returnedMinor: part.shown.amountMinor } : payment;
  });
}

/**
 * Nothing is stopped: it is ours by its ids, its currency, its IBAN and its payee, and has ended. Where two people said that
 * nobody kept as much, nothing is asked; nor where all of it is back, and was paid again. What was decided of it once is
 * asked anew where something else was decided since.
 */
async function tellOfPart(
  tx: EmployerTransaction,
  personal: PersonalData,
  instruction: Instruction,
  { payment, shown }: BackInPart,
): Promise<void> {
  const { paymentId, rowNo, amountMinor, currency } = payment;
  const lackingMinor = amountMinor - shown.amountMinor;
  const { isKept, since } = await decidedOf(tx, paymentId, lackingMinor);
  if (!isKept) return clearPart(tx, paymentId);
  const again = await paidAgain(tx, [paymentId]);
  if (lackingMinor === 0n && again.payments > 0) return clearPart(tx, paymentId);
  const readings = readingsOf(personal, shown, ['amount']);
  const money = (minor: bigint) => formatMoney(minor, currency);
  const id = payment.bankIds[0] ?? payment.messageId;
  const words = lackingMinor === 0n ? wordsOfAll(id) : await wordsOfRest(tx, id, paymentId, again.payRunIds);
  const alarm = {
    kind: 'ECHO_MISMATCH',
    ...aboutInstruction(instruction),
    subjectId: paymentId,
    paymentId,
    ...words,
    happened: `${BACK_IN_PART}row ${rowNo} than was paid${words.happened} (reading ${readings.join(', ')}).`,
    bankWords: `Paid: ${money(amountMinor)}. Shown as returned: ${money(shown.amountMinor)}.`,
    payments: 1,
    amountMinor,
    lackingMinor,
    since,
  } as const;
  return raiseNaming(tx, alarm, readings);
}

/** Whether two people have not said that nobody kept as much, and when they last said anything of what is not back. */
async function decidedOf(
  tx: EmployerTransaction,
  paymentId: string,
  lackingMinor: bigint,
): Promise<{ isKept: boolean; since: Date | null }> {
  const [decided] = await tx.query<{ kept: boolean; since: Date | null }>(
    `SELECT may_be_kept($1, $2, $3) AS kept, (SELECT max(d.confirmed_at) FROM attention a
       JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
       WHERE a.employer_id = $1 AND a.kind = 'ECHO_MISMATCH' AND a.subject_id = $2
         AND a.lacking_minor IS NOT NULL) AS since`,
    [tx.employerId, paymentId, lackingMinor],
  );
  return { isKept: decided?.kept ?? true, since: decided?.since ?? null };
}

async function clearPart(tx: EmployerTransaction, paymentId: string): Promise<void> {
  const open = await openAbout(tx, { kind: 'ECHO_MISMATCH', subjectId: paymentId });
  if (open?.happened.startsWith(BACK_IN_PART) !== true) return;
  await clear(tx, ['ECHO_MISMATCH'], paymentId, 'more came back since, and nothing of it is in doubt');
}

type PartWords = Required<Pick<Alarm, 'happened' | 'certain' | 'askBank'>>;

/** @param id of the payment at the bank @param again the runs that replace it and paid it again, or may have */
async function wordsOfRest(
  tx: EmployerTransaction,
  id: string,
  paymentId: string,
  again: readonly string[],
): Promise<PartWords> {
  const named = (runs: readonly string[]) =>
    textOfFirstFew(
      runs.map((run) => showId('run', run)),
      MOST_NAMED,
    );
  if (again.length > 0) return wordsOfRepaid(id, named(again));
  const others = await runsPayingTheSame(tx, paymentId);
  return others.length > 0 ? wordsOfOthers(id, named(others)) : wordsOfPart(id);
}

/** @param id of the payment at the bank */
function wordsOfPart(id: string): PartWords {
  return {
    happened: '',
    certain:
      'It was paid once, and counts as returned; what is lacking is not back. Banks may have charged it for the return, or the payee kept it: nobody of the instruction is paid again before this is answered. RESUME says that the payee kept nothing: it is then paid again, whole, like any payment that came back. Else ACKNOWLEDGE: no successor pays it then, and what is still owed is paid by a row with that amount, uploaded as its supplement, where an approver releases it.',
    askBank: `Why did less of payment ${id} of customer instruction {ref} come back to our account than it paid? Who charged the rest, or did its payee keep it?`,
  };
}

/** @param runs by which it was paid again */
function wordsOfRepaid(id: string, runs: string): PartWords {
  return {
    happened: `; it was paid again since, or may have been, by ${runs}`,
    certain: `It counts as returned, and ${runs} paid it again, or may have. Once that is settled, nothing of it is owed: upload no row for it. What is lacking is not back: banks may have charged it for the return, or the payee kept it, and has that much too much. Nobody else of the instruction is paid again before this is answered. RESUME says that the payee kept nothing, ACKNOWLEDGE that it is known what became of the rest; if ${runs} ends unpaid, or comes back, a successor pays it after RESUME alone, and else a row with what is owed then.`,
    askBank: wordsOfPart(id).askBank,
  };
}

/** @param runs that pay its payee without replacing it */
function wordsOfOthers(id: string, runs: string): PartWords {
  return {
    happened: `; another payment of the period pays its payee, or may, by ${runs}`,
    certain: `It counts as returned. What ${runs} pays may have been made in its stead, or pay what is owed of it: compare the two before anybody is paid once more. What is lacking is not back: banks may have charged it for the return, or the payee kept it. Nobody else of the instruction is paid again before this is answered. RESUME says that the payee kept nothing, ACKNOWLEDGE that it is known what became of the rest; what is still owed is paid by a row with that amount, uploaded as its supplement, where an approver releases it. A successor pays it after RESUME alone, and once ${runs} ends unpaid, or comes back.`,
    askBank: wordsOfPart(id).askBank,
  };
}

function wordsOfAll(id: string): PartWords {
  return {
    happened: ' at first, and the rest since',
    certain:
      'All of it is back, and nothing lacks any more. What was owed when less had come back may have been paid since, by a supplement or in another way: find out before anybody is paid once more. Nobody of the instruction is paid again before this is answered. RESUME says that nothing was: it is then paid again, whole, like any payment that came back. Else ACKNOWLEDGE: no successor pays it then, and what is still owed is paid by a row with that amount, uploaded as its supplement, where an approver releases it.',
    askBank: `Did all of payment ${id} of customer instruction {ref} come back to our account, with what was lacking at first, and when?`,
  };
}
