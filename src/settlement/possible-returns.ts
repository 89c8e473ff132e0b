import { namesIn, type PaymentMarks } from '../bank/payment-marks';
import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { firstFew } from '../domain/first-few';
import { formatMoney, isSummed, sumMinor } from '../domain/money';
import { sameIban } from '../domain/party';
import { accountsOf } from '../employer/account.store';
import { aboutInstruction, type Alarm, clear, openAbout, raiseNaming } from '../pay-run/attention.store';
import type { AskedRecord } from '../pay-run/attention.entity';
import {
  Asked,
  broughtBack,
  cameBackAsOf,
  microseconds,
  recordCameBack,
  Returned,
  returnedOf,
} from '../pay-run/came-back';
import { Instruction } from '../pay-run/instruction.entity';
import { namesOf as isNamedBy, readMessageId } from '../pay-run/message-id';
import { FollowedPayment } from './follow-plan';
import {
  broughtMinor,
  CameIn,
  isAsMuch,
  isKept,
  namingOf,
  NO_ROW,
  OfPayment,
  Reading,
  Recorded,
  unexplained,
} from './unexplained-records';

/** Records named in an attention; of more their number is told. */
const RECORDS_NAMED = 100;

/** A record with what it says of where the money went, and came from. */
interface Seen {
  cameIn: CameIn;
  creditorIban?: string;
  debtorIban?: string;
}

/** What came in and names an instruction. */
export class CameBack {
  /** By what tells the record from others. */
  private readonly seen = new Map<string, Seen>();

  constructor(private readonly instructionId: string) {}

  get isEmpty(): boolean {
    return this.seen.size === 0;
  }

  add(marks: PaymentMarks): void {
    const { bankPaymentId, messageId, endToEndId, bankInstructionId, creditorIban, debtorIban } = marks;
    const record = bankPaymentId ?? messageId ?? endToEndId;
    if (record === undefined) return;
    const named = namesIn(marks).flatMap((name) => readMessageId(name) ?? []);
    // The other side of a transfer within the bank repeats a message id too; none repeats it in its remittance.
    const isReturned = marks.remittanceWords?.some(isNamedBy(this.instructionId)) === true;
    if ((creditorIban ?? debtorIban ?? bankInstructionId) === undefined && !isReturned) return;
    const ours = named.find(({ instructionId }) => instructionId === this.instructionId);
    const rowNo = ours?.rowNo ?? (named.length > 0 ? NO_ROW : undefined);
    const { amountMinor, currency } = marks;
    this.seen.set(record, { cameIn: { rowNo, amountMinor, currency }, creditorIban, debtorIban });
  }

  /**
   * Of that what went to one of these accounts, or does not say where it went nor that it came from one of them. To another
   * account it is the other side of a transfer within the bank.
   */
  to(own: readonly string[]): Recorded[] {
    const isOwn = (iban: string): boolean => own.some((one) => sameIban(one, iban));
    return [...this.seen]
      .filter(([, { creditorIban, debtorIban }]) =>
        creditorIban === undefined ? debtorIban === undefined || !isOwn(debtorIban) : isOwn(creditorIban),
      )
      .map(([record, { cameIn }]) => [record, cameIn]);
  }
}

/** A record that people are asked about, or decided. */
interface Told extends Asked {
  isOpen: boolean;
  /** Its amount, in minor units, when two people last decided of it; undefined where they did not. */
  decidedMinor?: string;
}

/** Each record as people were asked about it last, the last first, and before the others what is decided: so it is reported. */
async function toldOf(tx: EmployerTransaction, { id }: Instruction): Promise<Told[]> {
  const questions = await tx.query<{ asked_at: string; is_open: boolean; records: AskedRecord[] }>(
    `SELECT ${microseconds('opened_at')} AS asked_at, resolved_at IS NULL AS is_open, records FROM attention a
     WHERE employer_id = $1 AND kind = 'POSSIBLE_RETURN' AND subject_id = $2 AND records IS NOT NULL
       AND (resolved_at IS NULL OR EXISTS (SELECT FROM attention_action d
         WHERE d.employer_id = $1 AND d.attention_id = a.id AND d.confirmed_at IS NOT NULL))
     ORDER BY opened_at DESC`,
    [tx.employerId, id],
  );
  const told = new Map<string, Told>();
  for (const { asked_at: askedAt, is_open: isOpen, records } of questions)
    for (const one of records) {
      const last = told.get(one.id) ?? { ...one, instructionId: id, askedAt: BigInt(askedAt), isOpen };
      if (!isOpen) last.decidedMinor ??= one.minor;
      told.set(one.id, last);
    }
  const isOpen = ({ decidedMinor, minor }: Told): number => Number(decidedMinor !== minor);
  return [...told.values()].sort((a, b) => isOpen(a) - isOpen(b));
}

/** In order, the latest last as far as the bank counts its ids up; what names none of its rows names NO_ROW. */
function shownIn(records: readonly Recorded[], payments: readonly FollowedPayment[]): Recorded[] {
  const rows = new Set(payments.map(({ rowNo }) => rowNo));
  return [...records]
    .sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1))
    .map(([record, one]) => [
      record,
      one.rowNo === undefined || rows.has(one.rowNo) ? one : { ...one, rowNo: NO_ROW },
    ]);
}

/**
 * Which record names each payment of an instruction, by row, the first that says as much; of what came back one that says
 * nothing, or another amount, where there is none. Written down where it is new.
 */
async function namedBy(
  tx: EmployerTransaction,
  { id }: Instruction,
  told: readonly Asked[],
  { payments, records, returned }: Pick<Reading, 'payments' | 'records' | 'returned'>,
): Promise<ReadonlyMap<number, string>> {
  const known = await cameBackAsOf(tx, id);
  const paid = new Map(payments.map((one) => [one.rowNo, String(broughtMinor(one))] as const));
  const back = new Set(returned.map(({ rowNo }) => rowNo));
  const names = [
    ...told.map((one) => ({
      record: one.id,
      rowNo: one.row ?? 0,
      isWhole: paid.get(one.row ?? 0) === one.minor,
      isSaid: false,
    })),
    ...namingOf({ payments, records }).map(([record, cameIn, payment]) => ({
      record,
      rowNo: payment.rowNo,
      isWhole: isAsMuch(cameIn, payment),
      isSaid: cameIn.amountMinor !== undefined,
    })),
  ].filter(({ rowNo }) => !known.has(rowNo));
  const inOrder = [
    ...names.filter(({ isWhole, isSaid, rowNo }) => isWhole && (isSaid || back.has(rowNo))),
    ...names.filter(({ rowNo }) => back.has(rowNo)),
  ];
  const fresh = new Map(inOrder.reverse().map(({ record, rowNo }) => [rowNo, record] as const));
  await recordCameBack(tx, id, fresh);
  return new Map([...known, ...fresh]);
}

/** Whether two people decided of a record as it is shown. */
function isDecidedAs(
  told: readonly Told[],
  payments: readonly FollowedPayment[],
): (record: Recorded) => boolean {
  const decided = new Map(told.map(({ id, decidedMinor }) => [id, decidedMinor] as const));
  const eurosOf = eurosBy(payments);
  return (record) => decided.get(record[0]) === String(eurosOf(record));
}

/** What people are asked about, and did not decide, and the read does not show, as it was told. */
function openUnshown(
  told: readonly Told[],
  shown: readonly Recorded[],
  explained: ReadonlyMap<Asked, Returned>,
): Recorded[] {
  const ids = new Set(shown.map(([record]) => record));
  return told
    .filter((one) => one.isOpen && one.decidedMinor !== one.minor && !ids.has(one.id) && !explained.has(one))
    .map(({ id, row, minor }) => {
      if (minor !== '0')
        return [id, { rowNo: row ?? undefined, amountMinor: BigInt(minor), currency: 'EUR' }];
      // What named a payment and brought no euros brought another amount than it; what named none may not have said any.
      return [id, row ? { rowNo: row, amountMinor: 0n } : { rowNo: row ?? undefined }];
    });
}

/** Whether the open question is of records that were not written down: no read tells that they are explained. */
async function isAskedOfUnwritten(tx: EmployerTransaction, { id }: Instruction): Promise<boolean> {
  return (await openAbout(tx, { kind: 'POSSIBLE_RETURN', subjectId: id }))?.records === null;
}

/** Says that what came in for a payment is not what was paid. */
const ANOTHER_AMOUNT = ' Of another amount than the payment it names: ';

/**
 * Money came back, as it seems, for payments that stay settled all the same, or another amount than was paid: asked once
 * for the instruction, and anew when more comes. It moves nothing. What two people decided is not asked again. Closed by
 * itself once the bank says of the payments of all else that was asked about that they are returned, and they came back whole.
 * @param payments of the instruction, as they stand
 */
export async function tellOfPossibleReturns(
  tx: EmployerTransaction,
  personal: PersonalData,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  cameBack: CameBack,
): Promise<void> {
  if (cameBack.isEmpty) return;
  const own = (await accountsOf(tx)).map(({ ibanSealed }) => personal.open(ibanSealed));
  const shown = shownIn(cameBack.to(own), payments);
  if (shown.length === 0) return;
  const asked = await toldOf(tx, instruction);
  const back = await returnedOf(tx, [instruction.payRunId], instruction.id);
  const cameBackAs = await namedBy(tx, instruction, asked, { payments, records: shown, returned: back });
  const returned = back.map((one) => ({ ...one, cameBackAs: cameBackAs.get(one.rowNo) ?? null }));
  const left = unexplained({ payments, records: shown, asked, returned, cameBackAs, own });
  const isDecided = isDecidedAs(asked, payments);
  const undecided = left.filter((one) => !isDecided(one));
  const records = [...undecided, ...openUnshown(asked, shown, broughtBack(asked, returned))];
  if (records.length === 0) {
    if (await isAskedOfUnwritten(tx, instruction)) return;
    return clear(tx, ['POSSIBLE_RETURN'], instruction.id, 'no payment it could be of is settled and kept');
  }
  if (undecided.length === 0) return;
  const others = othersOf(payments, records);
  const told = new Set(asked.map(({ id }) => id));
  if (others.length === 0 && undecided.every(([record]) => told.has(record))) return;
  const named = namesOf(records.map(([record]) => record));
  const alarm = alarmOf(instruction, payments, records, named);
  await raiseNaming(tx, alarm, others.length > 0 ? [...named, ANOTHER_AMOUNT] : named);
}

/** Of records those that bring another amount than the payment they name has. */
function othersOf(payments: readonly FollowedPayment[], records: readonly Recorded[]): OfPayment[] {
  return namingOf({ payments, records }).filter(([, cameIn, payment]) => !isAsMuch(cameIn, payment));
}

/** What people are asked about records. @param named as they are named, of many the first */
function alarmOf(
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  records: readonly Recorded[],
  named: readonly string[],
): Alarm {
  const others = othersOf(payments, records);
  const hasOther = others.length > 0;
  const unnamed = records.filter(([, { rowNo = NO_ROW }]) => rowNo === NO_ROW);
  const kept = new Set(payments.filter(isKept).map(({ rowNo }) => rowNo));
  const ofKept = records.filter(([, { rowNo = 0 }]) => kept.has(rowNo));
  const otherwise = new Set(others.map(([record]) => record));
  const ofNone = records.filter(
    ([record, { rowNo }]) =>
      rowNo !== undefined && rowNo !== NO_ROW && !kept.has(rowNo) && !otherwise.has(record),
  );
  const which = [
    ...(ofKept.length > 0 ? [NAMES_SETTLED] : []),
    ...(ofNone.length > 0 ? [NAMES_UNPAID] : []),
    ...(hasOther ? ['is not what was paid'] : []),
    ...(unnamed.length > 0 ? [NAMES_NONE] : []),
  ];
  const bankWords = [...others.filter(saysAmount).map(wordsOfAmounts), ...unnamed.flatMap(wordsOfUnnamed)];
  const euros = records.map(eurosBy(payments));
  return {
    kind: 'POSSIBLE_RETURN',
    ...aboutInstruction(instruction),
    happened:
      `Money came in that bears a mark of the submitted instruction and ${which.join(', or ')}, ` +
      `${records.length} in all: record ${withRows(named, records).join(', ')}.` +
      (hasOther ? `${ANOTHER_AMOUNT}${namesOf(others.map(([record]) => record)).join(', ')}.` : ''),
    bankWords: bankWords.length > 0 ? bankWords.slice(0, RECORDS_NAMED).join(' ') : undefined,
    payments: records.length,
    amountMinor: sumMinor(euros),
    records: records.map(([id, { rowNo = null }], n) => ({ id, minor: String(euros[n]), row: rowNo })),
  };
}

/** The euros of a record, in minor units: what does not say its amount counts as what the payment it names was. */
function eurosBy(payments: readonly FollowedPayment[]): (record: Recorded) => bigint {
  const paid = new Map(payments.map((one) => [one.rowNo, broughtMinor(one)] as const));
  return ([, { amountMinor, rowNo, currency }]) =>
    isSummed(currency) ? (amountMinor ?? paid.get(rowNo ?? 0) ?? 0n) : 0n;
}

const NAMES_SETTLED = 'names payments of it that are settled';
const NAMES_UNPAID = 'names payments of it of which nothing is left to come back';
const NAMES_NONE = 'names none of its payments, nor is it what one of them brought back';

/** Not so where a read does not show it, and no euros of it were written down. */
function saysAmount([, { amountMinor, currency }]: OfPayment): boolean {
  return amountMinor !== 0n || currency !== undefined;
}

/** Not in `happened`, which people read who may not know what one person earns. */
function wordsOfAmounts([record, { amountMinor, currency }, payment]: OfPayment): string {
  const cameIn = formatMoney(amountMinor ?? 0n, currency);
  return `Record "${record}" brought ${cameIn}, row ${payment.rowNo} paid ${formatMoney(payment.amountMinor, payment.currency)}.`;
}

/** Empty where it does not say what it brought. */
function wordsOfUnnamed([record, { amountMinor, currency }]: Recorded): string[] {
  if (amountMinor === undefined) return [];
  return [
    `Record "${record}" brought ${formatMoney(amountMinor, currency)}, and names no payment of it by its message id or in its remittance.`,
  ];
}

/** Names of records, each with the row of the payment that it names. */
function withRows(names: readonly string[], records: readonly Recorded[]): string[] {
  const rows = new Map(records.map(([record, { rowNo }]) => [`"${record}"`, rowNo]));
  return names.map((name) => {
    const rowNo = rows.get(name);
    return (rowNo ?? NO_ROW) === NO_ROW ? name : `${name} (row ${rowNo})`;
  });
}

function namesOf(records: readonly string[]): string[] {
  return firstFew(records.map((record) => `"${record}"`).sort(), RECORDS_NAMED);
}
