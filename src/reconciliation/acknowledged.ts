import { EmployerTransaction } from '../database/database';
import { sumMinor } from '../domain/money';
import { CountAndSum } from '../domain/reconciliation';
import type { AskedRecord } from '../pay-run/attention.entity';
import type { AttentionKind } from '../pay-run/attention-words';
import { add } from './report';

/** What moved besides the rows of a run, as attention tells it, and what a report calls it. */
export const BESIDE_THE_ROWS = {
  POSSIBLE_RETURN: 'cameIn',
  ENTRY_OF_THE_BANK: 'entries',
  FOREIGN_RECORD: 'foreign',
  TOTAL_MISMATCH_AFTER_SUBMIT: 'beyond',
} as const satisfies Partial<Record<AttentionKind, string>>;
export type BesideTheRows = keyof typeof BESIDE_THE_ROWS;
export const KINDS_BESIDE = Object.keys(BESIDE_THE_ROWS) as BesideTheRows[];

/** One sentence for each, for people. */
export const MEANING_BESIDE: Readonly<Record<BesideTheRows, string>> = {
  POSSIBLE_RETURN:
    'Money that came in for no payment, or of another amount than one: where the bank shows that payment as returned, the line `returned` has what was paid.',
  ENTRY_OF_THE_BANK: 'Fees and refunds that the bank lists among the payments: they are in no line.',
  FOREIGN_RECORD: 'Payments that we never sent, in our instructions: they are in no line.',
  TOTAL_MISMATCH_AFTER_SUBMIT:
    'What the bank executed of an instruction beyond its approved payments, by its totals or the balance, less what is listed here as FOREIGN_RECORD of it; negative where it is less. It is in no line.',
};

/**
 * What two people decided of it, by letting things go on. Count and amount are of the records that no later
 * decision tells of, as the bank showed them.
 */
export interface Acknowledged extends CountAndSum {
  payRunId: string;
  attentionId: string;
  kind: BesideTheRows;
  happened: string;
  /** The amount of each, where the bank shows it. */
  bankWords: string | null;
  reason: string;
  evidence: string | null;
  proposedBy: string;
  proposedByName: string;
  confirmedBy: string;
  confirmedByName: string;
  confirmedAt: Date;
}

interface Row {
  pay_run_id: string;
  instruction_id: string | null;
  subject_id: string;
  attention_id: string;
  kind: BesideTheRows;
  happened: string;
  bank_words: string | null;
  reason: string;
  evidence: string | null;
  proposed_by: string;
  proposed_by_name: string;
  confirmed_by: string;
  confirmed_by_name: string;
  confirmed_at: Date;
  payments: number;
  amount_minor: string;
  records: AskedRecord[] | null;
}

/** A decision, with what no later one tells of. */
interface Counting extends CountAndSum {
  row: Row;
}

/**
 * Of the runs, oldest first. What was asked anew about an instruction is of all the records that are left of the question:
 * of two decisions that tell of one record the last counts it, and of others both count their own. What the totals and the
 * balance show alike counts once. What was found in an instruction that was given up before its submit has moved nothing.
 */
export async function acknowledgedOf(
  tx: EmployerTransaction,
  payRunIds: readonly string[],
): Promise<Acknowledged[]> {
  const rows = await tx.query<Row>(
    `SELECT a.pay_run_id, a.instruction_id, a.subject_id, a.id AS attention_id, a.kind, a.happened, a.bank_words, d.reason, d.evidence,
       d.proposed_by, one.name AS proposed_by_name, d.confirmed_by, other.name AS confirmed_by_name, d.confirmed_at,
       coalesce(a.beyond_payments, a.payments) AS payments, coalesce(a.beyond_minor, a.amount_minor) AS amount_minor,
       a.records
     FROM attention a
     JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
     JOIN person one ON one.id = d.proposed_by
     JOIN person other ON other.id = d.confirmed_by
     WHERE a.employer_id = $1 AND a.pay_run_id = ANY ($2) AND a.kind = ANY ($3) AND a.resolved_at IS NOT NULL
       AND d.confirmed_at IS NOT NULL AND (a.kind <> 'TOTAL_MISMATCH_AFTER_SUBMIT' OR a.beyond_payments IS NOT NULL)
       AND NOT EXISTS (SELECT FROM instruction i
         WHERE i.employer_id = a.employer_id AND i.id = a.instruction_id AND i.status = 'ABANDONED')
     ORDER BY d.confirmed_at, a.id`,
    [tx.employerId, payRunIds, KINDS_BESIDE],
  );
  const told = new Map<string, Set<string>>();
  const counting: Counting[] = [];
  for (const row of rows.reverse()) {
    const key = `${row.kind} ${row.subject_id}`;
    const later = told.get(key);
    told.set(key, new Set([...(later ?? []), ...(row.records ?? []).map(({ id }) => id)]));
    const left = leftOf(row, later);
    counting.push(...left.filter((one) => !counting.some((other) => isShownAlike(one, other))));
  }
  const once = counting.filter((one) => !isSumOfTotals(one, counting));
  return once.reverse().map((one) => acknowledged(lessForeign(one, once)));
}

/** What no later decision of the same question tells of; of one whose records are not kept, all or nothing. */
function leftOf(row: Row, later: ReadonlySet<string> | undefined): Counting[] {
  if (row.records === null)
    return later === undefined ? [{ row, count: row.payments, amountMinor: BigInt(row.amount_minor) }] : [];
  const left = row.records.filter(({ id }) => later?.has(id) !== true);
  if (left.length === 0 && later !== undefined) return [];
  return [{ row, count: left.length, amountMinor: sumMinor(left.map(({ minor }) => BigInt(minor))) }];
}

/** Whether both are what one instruction executed beyond its approved payments, once by its totals and once by the balance. */
function isShownAlike(one: Counting, other: Counting): boolean {
  const isBeyond = [one, other].every(({ row }) => row.kind === 'TOTAL_MISMATCH_AFTER_SUBMIT');
  const isAlike = one.count === other.count && one.amountMinor === other.amountMinor;
  return isBeyond && isAlike && one.row.instruction_id === other.row.instruction_id;
}

function isByTotals({ row }: Counting): boolean {
  return row.kind === 'TOTAL_MISMATCH_AFTER_SUBMIT' && row.subject_id === row.instruction_id;
}

/** What an account lost again is asked of its run. */
function isByBalance({ row }: Counting): boolean {
  return row.kind === 'TOTAL_MISMATCH_AFTER_SUBMIT' && row.subject_id !== row.instruction_id;
}

/** Whether the balance shows of all instructions of a run at once what the totals of each show. */
function isSumOfTotals(one: Counting, all: readonly Counting[]): boolean {
  if (!isByBalance(one)) return false;
  const sum = add(all.filter((other) => isByTotals(other) && other.row.pay_run_id === one.row.pay_run_id));
  return sum.count === one.count && sum.amountMinor === one.amountMinor;
}

/**
 * What totals are beyond the approved ones, less the payments of the instruction that are told of by themselves: of more
 * that is nothing at the least, since some of those may have joined it after the totals were shown. An account that lost
 * an instruction again to the cent has not lost those besides: they are in its balance only where no totals tell of more.
 */
function lessForeign(one: Counting, all: readonly Counting[]): Counting {
  const ofIt = all.filter(({ row }) => row.instruction_id === one.row.instruction_id);
  if (!isByTotals(one) && (!isByBalance(one) || ofIt.some(isByTotals))) return one;
  const foreign = ofIt.filter(({ row }) => row.kind === 'FOREIGN_RECORD');
  const count = foreign.reduce((left, { count: some }) => left - some, one.count);
  const amountMinor = one.amountMinor - sumMinor(foreign.map((some) => some.amountMinor));
  return {
    row: one.row,
    count: one.count > 0 ? Math.max(count, 0) : count,
    amountMinor: one.amountMinor > 0n && amountMinor < 0n ? 0n : amountMinor,
  };
}

function acknowledged({ row, count, amountMinor }: Counting): Acknowledged {
  return {
    payRunId: row.pay_run_id,
    attentionId: row.attention_id,
    kind: row.kind,
    happened: row.happened,
    bankWords: row.bank_words,
    reason: row.reason,
    evidence: row.evidence,
    proposedBy: row.proposed_by,
    proposedByName: row.proposed_by_name,
    confirmedBy: row.confirmed_by,
    confirmedByName: row.confirmed_by_name,
    confirmedAt: row.confirmed_at,
    count,
    amountMinor,
  };
}
