import type { KnownIds, PaymentIds } from '../bank/payment-ids';
import type { PersonalData } from '../database/personal-data';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { sumMinor } from '../domain/money';
import { foldIban, sameIban, sameName } from '../domain/party';

/** A row as it was approved and added, to be found again in what the bank shows. Amounts in minor units. */
export interface ExpectedRow {
  rowNo: number;
  messageId: string;
  /** The ids the add's answer gave; empty while the add is in doubt. */
  bankIds: KnownIds;
  amountMinor: bigint;
  currency: string;
  iban: string;
}

/** A payment of an instruction as a read shows it; what the bank leaves out is absent. */
export interface SeenPayment {
  bankPaymentId: string;
  ids: PaymentIds;
  messageId?: string;
  amountMinor?: bigint;
  currency?: string;
  iban?: string;
  name?: string;
  chargeBearer?: string;
  status: string;
  groupStatus?: string;
}

/** What of an instruction is not as it was approved. */
export type Fault =
  | { kind: 'foreign'; bankPaymentId: string }
  | { kind: 'twice'; rowNo: number }
  | { kind: 'otherwise'; rowNo: number; fields: readonly string[]; shown: SeenPayment };

/** What a full read of an instruction's payments says against its approved rows. */
export type Judgement =
  | { kind: 'equal'; matched: ReadonlyMap<number, SeenPayment> }
  | { kind: 'fewer'; matched: ReadonlyMap<number, SeenPayment>; missing: readonly number[] }
  | { kind: 'unidentified'; bankPaymentId: string }
  | { kind: 'different'; faults: readonly Fault[] };

/** What was approved of a row, which every attempt to build it shows alike. */
const APPROVED_FIELDS: readonly string[] = ['amount', 'currency', 'iban'];

/** What is not as it was approved, each in words that hold nothing of a person and tell it from any other. */
export function differencesIn(
  judgement: Exclude<Judgement, { kind: 'equal' }>,
  personal: Pick<PersonalData, 'hexHash'>,
): string[] {
  switch (judgement.kind) {
    case 'fewer':
      return [`${judgement.missing.length} of its approved payments are not shown`];
    case 'unidentified':
      return ['a payment there does not say which row in doubt it is'];
    case 'different': {
      const ids = judgement.faults.flatMap((one) => (one.kind === 'foreign' ? `"${one.bankPaymentId}"` : []));
      const rows = judgement.faults.flatMap((one) => {
        if (one.kind === 'twice') return `row ${one.rowNo} is there twice`;
        return one.kind === 'otherwise' ? `row ${one.rowNo} differs ${wordsOfOther(personal, one)}` : [];
      });
      return [...(ids.length > 0 ? [wordsOfForeign(ids)] : []), ...rows];
    }
  }
}

function wordsOfForeign(ids: readonly string[]): string {
  const what =
    ids.length === 1
      ? 'a payment is there that the record does not have'
      : `${ids.length} payments are there that the record does not have`;
  return `${what} (${textOfFirstFew(ids, MOST_NAMED)})`;
}

/** In which fields a row is shown otherwise, and of those that were approved, as what. */
export function wordsOfOther(
  personal: Pick<PersonalData, 'hexHash'>,
  { fields, shown }: { fields: readonly string[]; shown?: SeenPayment },
): string {
  const approved = fields.filter((field) => APPROVED_FIELDS.includes(field));
  const readings = shown === undefined ? [] : readingsOf(personal, shown, approved);
  return `in ${fields.join(', ')}${readings.length > 0 ? ` (reading ${readings.join(', ')})` : ''}`;
}

/** Hexadecimal digits of a fingerprint: enough to tell what is shown from what was. */
const FINGERPRINT = 8;

/** What a payment shows in some fields, as keyed fingerprints: by these everybody can tell one difference from another. */
export function readingsOf(
  personal: Pick<PersonalData, 'hexHash'>,
  shown: SeenPayment,
  fields: readonly string[],
): string[] {
  return fingerprintsOf(personal, shownFields(shown), fields);
}

/** Some of what is shown, by field, as keyed fingerprints. */
export function fingerprintsOf(
  personal: Pick<PersonalData, 'hexHash'>,
  shown: Readonly<Record<string, unknown>>,
  fields: readonly string[],
): string[] {
  return Object.entries(shown)
    .filter(([field]) => fields.includes(field))
    .map(([field, value]) => `${field} ${personal.hexHash(String(value)).slice(0, FINGERPRINT)}`);
}

/**
 * Holds what the bank shows against what was approved, to the end: who is asked what differs must read of all (protocol
 * rules 7 and 14). Absent is not different. One that bears no mark of ours, while a row is in doubt that it may be, is no
 * stranger: where nothing else differs it is told as unidentified.
 */
export function judgePayments(expected: readonly ExpectedRow[], seen: Iterable<SeenPayment>): Judgement {
  const byId = rowsById(expected);
  const byMessage = new Map(expected.map((row) => [row.messageId, row] as const));
  const matched = new Map<number, SeenPayment>();
  const faults = new Map<string, Fault>();
  let unidentified: string | undefined;
  for (const payment of seen) {
    const { bankPaymentId, messageId } = payment;
    const row = byId.get(bankPaymentId) ?? byMessage.get(messageId ?? '');
    if (!row) {
      if (expected.some((one) => mayBe(one, payment))) unidentified ??= bankPaymentId;
      else faults.set(`foreign ${bankPaymentId}`, { kind: 'foreign', bankPaymentId });
      continue;
    }
    const { rowNo } = row;
    const known = matched.get(rowNo) ?? payment;
    matched.set(rowNo, known);
    const isAnother = known.bankPaymentId !== bankPaymentId;
    if (isAnother) faults.set(`twice ${rowNo}`, { kind: 'twice', rowNo });
    const fields = contradictions(row, payment).filter((field) => !isAnother || field !== 'bankPaymentId');
    if (fields.length > 0)
      faults.set(`otherwise ${bankPaymentId}`, { kind: 'otherwise', rowNo, fields, shown: payment });
  }
  if (faults.size > 0) return { kind: 'different', faults: [...faults.values()] };
  if (unidentified !== undefined) return { kind: 'unidentified', bankPaymentId: unidentified };
  const missing = expected.filter((row) => !matched.has(row.rowNo)).map((row) => row.rowNo);
  return missing.length === 0 ? { kind: 'equal', matched } : { kind: 'fewer', matched, missing };
}

/** Rows by the one id that tells a payment from any other. */
export function rowsById<Row extends { bankIds: KnownIds }>(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(
    rows.flatMap((row) => (row.bankIds[0] === undefined ? [] : [[row.bankIds[0], row] as const])),
  );
}

/** Whether a payment without our mark can be a row whose add is in doubt. */
function mayBe(row: ExpectedRow, payment: SeenPayment): boolean {
  return payment.messageId === undefined && contradictions(row, payment).length === 0;
}

/**
 * The fields in which a payment contradicts its row, where the bank shows them. A row is followed by the id its add
 * answered, so that another one is a contradiction, whatever message id it bears.
 */
export function contradictions(row: ExpectedRow, payment: SeenPayment): string[] {
  const fields: string[] = [];
  const [bankPaymentId = payment.bankPaymentId] = row.bankIds;
  if (payment.bankPaymentId !== bankPaymentId) fields.push('bankPaymentId');
  if (payment.messageId !== undefined && payment.messageId !== row.messageId) fields.push('messageId');
  if (payment.amountMinor !== undefined && payment.amountMinor !== row.amountMinor) fields.push('amount');
  if (payment.currency !== undefined && payment.currency !== row.currency) fields.push('currency');
  if (payment.iban !== undefined && !sameIban(payment.iban, row.iban)) fields.push('iban');
  return fields;
}

/** What a payment shows of the fields that `contradictions` names; undefined where the bank leaves one out. */
export function shownFields({ bankPaymentId, messageId, amountMinor, currency, iban }: SeenPayment) {
  return {
    bankPaymentId,
    messageId,
    amount: amountMinor?.toString(),
    currency,
    iban: iban === undefined ? undefined : foldIban(iban),
  };
}

/**
 * The numbers of the rows that the bank shows under another name than they were sent with. It may write a name in its
 * own way, so that nothing ends by it (rule 14).
 */
export function rowsRenamed(
  sent: readonly { rowNo: number; name: string }[],
  matched: ReadonlyMap<number, SeenPayment>,
): number[] {
  return sent
    .filter(({ rowNo, name }) => !sameName(matched.get(rowNo)?.name ?? name, name))
    .map(({ rowNo }) => rowNo);
}

/** Count and sum, in minor units. */
export interface Totals {
  count: number;
  totalMinor: bigint;
}

/** What was planned of an instruction. */
export function totalsOf(planned: { rowCount: number; totalMinor: bigint }): Totals {
  return { count: planned.rowCount, totalMinor: planned.totalMinor };
}

/**
 * How groups may say less than there is: `filling`, as after the submit, in count, in sum or in both, since a read may come
 * between (`paymentTransactionsStatus`); `fewer`, as of some payments that are counted no longer, in both.
 */
export type Lacking = 'filling' | 'fewer';

/**
 * Sum over all groups of a submitted instruction; `absent` while the bank shows none, and where they say less than planned,
 * and in nothing more, as they `mayLack` some.
 */
export function judgeGroups(
  planned: Totals,
  groups: readonly Totals[] | undefined,
  mayLack?: Lacking,
): 'equal' | 'different' | 'absent' {
  if (groups === undefined || groups.length === 0) return 'absent';
  const { count, totalMinor } = sumOf(groups);
  if (count === planned.count && totalMinor === planned.totalMinor) return 'equal';
  const isLess = count < planned.count && totalMinor < planned.totalMinor;
  const isNoMore = count <= planned.count && totalMinor <= planned.totalMinor;
  return (mayLack && isLess) || (mayLack === 'filling' && isNoMore) ? 'absent' : 'different';
}

/** What an instruction shows as calculated of its payments; absent where it does not. Amounts in minor units. */
export interface Calculated {
  calculatedCount?: number;
  calculatedTotalMinor?: bigint;
}

/**
 * What a submitted instruction shows as calculated, where that is more than was planned, in count or in sum: a payment may
 * have been added to it since. Fewer says nothing, since what failed need not be counted.
 */
export function calculatedBeyond(
  planned: Totals,
  {
    calculatedCount: count = planned.count,
    calculatedTotalMinor: totalMinor = planned.totalMinor,
  }: Calculated,
): Totals | undefined {
  return count > planned.count || totalMinor > planned.totalMinor ? { count, totalMinor } : undefined;
}

/** Count and sum as a submitted instruction shows them, against those planned; of what differs, what is shown. */
export type JudgedTotals = { kind: 'equal' | 'absent' } | { kind: 'different'; shown: readonly Totals[] };

/**
 * What groups were judged to say, and what is calculated beyond the plan besides.
 * @param shown of an instruction, once it was submitted
 */
export function withCalculated(
  groups: ReturnType<typeof judgeGroups>,
  planned: Totals,
  shown: Calculated & { groups?: readonly Totals[] },
): JudgedTotals {
  if (groups === 'different') return { kind: groups, shown: shown.groups ?? [] };
  const beyond = calculatedBeyond(planned, shown);
  return beyond ? { kind: 'different', shown: [beyond] } : { kind: groups };
}

/**
 * What is shown as a submit is known to be executed (rule 9). Fewer is no sign that anybody is paid twice: they may come,
 * or have failed. Where nothing more is read, it is asked.
 */
export function judgeSubmitted(
  planned: Totals,
  shown: Calculated & { groups?: readonly Totals[] },
): JudgedTotals {
  return withCalculated(judgeGroups(planned, shown.groups, 'filling'), planned, shown);
}

/** What some totals are beyond others; less is negative. */
export function beyond(some: Totals, others: Totals): Totals {
  return { count: some.count - others.count, totalMinor: some.totalMinor - others.totalMinor };
}

/** Count and sum over groups, in minor units. */
export function sumOf(groups: readonly Totals[]): Totals {
  return {
    count: groups.reduce((sum, group) => sum + group.count, 0),
    totalMinor: sumMinor(groups.map((group) => group.totalMinor)),
  };
}
