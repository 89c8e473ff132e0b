import { namesIn, type PaymentMarks } from '../bank/payment-marks';
import { EmployerTransaction } from '../database/database';
import { isNeverDebited } from '../domain/bank-status';
import { firstFew } from '../domain/first-few';
import { formatMoney, isSummed, sumMinor } from '../domain/money';
import { sameIban } from '../domain/party';
import { aboutInstruction, type Alarm, clear, raiseNaming } from '../pay-run/attention.store';
import { Instruction } from '../pay-run/instruction.entity';
import { readMessageId } from '../pay-run/message-id';
import { FollowedPayment } from './follow-plan';

/** Records named in an attention; of more their number is told. */
const RECORDS_NAMED = 100;

/** What a record of money that came in says of it; absent where it does not. Amounts in minor units. */
export interface CameIn {
  rowNo?: number;
  amountMinor?: bigint;
  currency?: string;
}

/**
 * What came in, names an instruction, and went to the account it was paid from. To another account it is the other side of
 * a transfer within the bank; one that does not say where it went may be either, and is none.
 */
export class CameBack {
  /** By what tells the record from others. */
  readonly records = new Map<string, CameIn>();

  constructor(readonly debtorIban: string) {}

  add(marks: PaymentMarks): void {
    const { bankPaymentId, messageId, creditorIban, amountMinor, currency } = marks;
    const record = bankPaymentId ?? messageId;
    if (record === undefined || creditorIban === undefined || !sameIban(creditorIban, this.debtorIban))
      return;
    const [rowNo] = namesIn(marks).flatMap((name) => readMessageId(name)?.rowNo ?? []);
    this.records.set(record, { rowNo, amountMinor, currency });
  }
}

/** Whether the open question names a record that this read does not show: that it is not shown explains nothing. */
async function isAskedAboutOthers(
  tx: EmployerTransaction,
  { id }: Instruction,
  { records }: CameBack,
): Promise<boolean> {
  const open = await tx.query<{ asked: string[] | null }>(
    `SELECT jsonb_path_query_array(records, '$[*].id') AS asked FROM attention
     WHERE employer_id = $1 AND kind = 'POSSIBLE_RETURN' AND subject_id = $2 AND resolved_at IS NULL`,
    [tx.employerId, id],
  );
  return open.some(({ asked }) => asked?.some((record) => !records.has(record)) ?? true);
}

/** Says that what came in for a payment is not what was paid. */
const ANOTHER_AMOUNT = ' Of another amount than the payment it names: ';

/**
 * Money came back, as it seems, for payments that stay settled all the same, or another amount than was paid: asked once
 * for the instruction, and anew when more comes. It moves nothing. Closed by itself once a read shows all that was asked
 * about, and the bank says of these payments that they are returned, and they came back whole.
 * @param payments of the instruction, as they stand
 */
export async function tellOfPossibleReturns(
  tx: EmployerTransaction,
  instruction: Instruction,
  payments: readonly FollowedPayment[],
  cameBack: CameBack,
): Promise<void> {
  if (cameBack.records.size === 0) return;
  const { records, others } = unexplained(payments, cameBack);
  if (records.length === 0) {
    if (await isAskedAboutOthers(tx, instruction, cameBack)) return;
    return clear(tx, ['POSSIBLE_RETURN'], instruction.id, 'no payment it could be of is settled and kept');
  }
  const named = namesOf(records.map(([record]) => record));
  const hasOther = others.length > 0;
  const paid = new Map(payments.map(({ rowNo, amountMinor }) => [rowNo, amountMinor] as const));
  const unnamed = records.filter(([, { rowNo }]) => rowNo === undefined);
  const kept = new Set(payments.filter(isKeptAtAll).map(({ rowNo }) => rowNo));
  const ofKept = records.filter(([, { rowNo = 0 }]) => kept.has(rowNo));
  const otherwise = new Set(others.map(([record]) => record));
  const ofNone = records.filter(
    ([record, { rowNo }]) => rowNo !== undefined && !kept.has(rowNo) && !otherwise.has(record),
  );
  const which = [
    ...(ofKept.length > 0 ? [NAMES_SETTLED] : []),
    ...(ofNone.length > 0 ? [NAMES_UNPAID] : []),
    ...(hasOther ? ['is not what was paid'] : []),
    ...(unnamed.length > 0 ? [NAMES_NONE] : []),
  ];
  const bankWords = [...others.map(wordsOfAmounts), ...unnamed.flatMap(wordsOfUnnamed)];
  // In euros. What does not say its amount counts as what the payment it names was.
  const euros = records.map(([, { amountMinor, rowNo, currency }]) =>
    isSummed(currency) ? (amountMinor ?? paid.get(rowNo ?? 0) ?? 0n) : 0n,
  );
  const alarm = {
    kind: 'POSSIBLE_RETURN',
    ...aboutInstruction(instruction),
    happened:
      `Money came in to the account of the submitted instruction and ${which.join(', or ')}, ` +
      `${records.length} in all: record ${withRows(named, records).join(', ')}.` +
      (hasOther ? `${ANOTHER_AMOUNT}${namesOf(others.map(([record]) => record)).join(', ')}.` : ''),
    bankWords: bankWords.length > 0 ? bankWords.slice(0, RECORDS_NAMED).join(' ') : undefined,
    payments: records.length,
    amountMinor: sumMinor(euros),
    records: records.map(([id, { rowNo = null }], n) => ({
      id,
      minor: String(euros[n]),
      row: rowNo === null || kept.has(rowNo) ? rowNo : undefined,
    })),
  } satisfies Alarm;
  await raiseNaming(tx, alarm, hasOther ? [...named, ANOTHER_AMOUNT] : named);
}

const NAMES_SETTLED = 'names payments of it that are settled';
const NAMES_UNPAID = 'names payments of it of which nothing is left to come back';
const NAMES_NONE = 'names none of its payments, nor is it what one of them brought back';

type Recorded = [record: string, cameIn: CameIn];
type OfPayment = [record: string, cameIn: CameIn, payment: FollowedPayment];

/**
 * The records that no payment explains whose money is not kept, and those of them, by the payment they name, that bring
 * another amount than it has.
 */
function unexplained(
  payments: readonly FollowedPayment[],
  { records, debtorIban }: CameBack,
): { records: Recorded[]; others: OfPayment[] } {
  const byRow = new Map(payments.map((one) => [one.rowNo, one] as const));
  const naming = [...records]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap<OfPayment>(([record, cameIn]) => {
      const payment = byRow.get(cameIn.rowNo ?? 0);
      return payment ? [[record, cameIn, payment]] : [];
    });
  const others = naming.filter(([, cameIn, payment]) => !mayBe(cameIn, payment));
  // What is paid to the very account it is paid from comes in there by itself.
  const isKept = (payment: FollowedPayment): boolean =>
    isKeptAtAll(payment) && !sameIban(payment.iban, debtorIban);
  const cameBack = new Set<number>();
  const isExplained = ([, cameIn, payment]: OfPayment): boolean => {
    if (isKept(payment) || !mayBe(cameIn, payment) || mayNotComeBack(payment)) return false;
    if (cameBack.has(payment.rowNo)) return false;
    cameBack.add(payment.rowNo);
    return true;
  };
  const asked = naming.filter((one) => !isExplained(one));
  const named = new Set(naming.map(([, , { rowNo }]) => rowNo));
  const givers = payments.filter((one) => !named.has(one.rowNo) && !isKept(one) && !mayNotComeBack(one));
  const unnamed = [...records].filter(([, { rowNo }]) => rowNo === undefined);
  return {
    records: [
      ...asked.map(([record, cameIn]): Recorded => [record, cameIn]),
      ...withoutGiver(unnamed, givers),
    ],
    others,
  };
}

/** Whether it was paid and has not come back. */
function isKeptAtAll({ status, returned }: FollowedPayment): boolean {
  return status === 'SETTLED' && !returned;
}

/** Whether nothing was taken for it that could come back. */
function mayNotComeBack({ bankStatus }: FollowedPayment): boolean {
  return isNeverDebited(bankStatus ?? '');
}

/** Of records that name no payment those of an amount that fewer payments have whose money may have come back. */
function withoutGiver(unnamed: readonly Recorded[], givers: readonly FollowedPayment[]): Recorded[] {
  const left = new Map<string, number>();
  const count = (key: string, by: number): void => {
    left.set(key, (left.get(key) ?? 0) + by);
  };
  for (const giver of givers) count(amountOf(giver), 1);
  const silent = unnamed.filter(([, { amountMinor }]) => amountMinor === undefined);
  const telling = unnamed.filter(([, { amountMinor }]) => amountMinor !== undefined);
  for (const [, cameIn] of telling) count(amountOf(cameIn), -1);
  // What does not say its amount may be of any payment that nothing else is of.
  const spare = givers.length - telling.length;
  return [
    ...telling.filter(([, cameIn]) => (left.get(amountOf(cameIn)) ?? 0) < 0),
    ...(silent.length > spare ? silent : []),
  ];
}

function amountOf({ amountMinor, currency }: Pick<CameIn, 'amountMinor' | 'currency'>): string {
  return `${amountMinor} ${currency}`;
}

/** Whether it is the amount of a payment, as far as it says. */
function mayBe({ amountMinor, currency }: CameIn, payment: FollowedPayment): boolean {
  return amountMinor === undefined || (amountMinor === payment.amountMinor && currency === payment.currency);
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
    `Record "${record}" brought ${formatMoney(amountMinor, currency)}, and names no payment by its message id or in its remittance.`,
  ];
}

/** Names of records, each with the row of the payment that it names. */
function withRows(names: readonly string[], records: readonly Recorded[]): string[] {
  const rows = new Map(records.map(([record, { rowNo }]) => [`"${record}"`, rowNo]));
  return names.map((name) => {
    const rowNo = rows.get(name);
    return rowNo === undefined ? name : `${name} (row ${rowNo})`;
  });
}

function namesOf(records: readonly string[]): string[] {
  return firstFew(records.map((record) => `"${record}"`).sort(), RECORDS_NAMED);
}
