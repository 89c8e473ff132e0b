import { EmployerTransaction } from '../database/database';
import { CountAndSum } from '../domain/reconciliation';
import type { AttentionKind } from '../pay-run/attention-words';

/** What moved besides the rows of a run, as attention tells it, and what a report calls it. */
export const BESIDE_THE_ROWS = {
  POSSIBLE_RETURN: 'cameIn',
  ENTRY_OF_THE_BANK: 'entries',
  FOREIGN_RECORD: 'foreign',
} as const satisfies Partial<Record<AttentionKind, string>>;
export type BesideTheRows = keyof typeof BESIDE_THE_ROWS;
export const KINDS_BESIDE = Object.keys(BESIDE_THE_ROWS) as BesideTheRows[];

/** One sentence for each, for people. */
export const MEANING_BESIDE: Readonly<Record<BesideTheRows, string>> = {
  POSSIBLE_RETURN:
    'Money that came in for no payment, or of another amount than one: where the bank shows that payment as returned, the line `returned` has what was paid.',
  ENTRY_OF_THE_BANK: 'Fees and refunds that the bank lists among the payments: they are in no line.',
  FOREIGN_RECORD: 'Payments that we never sent, in our instructions: they are in no line.',
};

/** What two people decided of it, by letting things go on. The amount is what the bank showed of these records. */
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
  confirmedBy: string;
  confirmedAt: Date;
}

interface Row {
  pay_run_id: string;
  subject_id: string;
  attention_id: string;
  kind: BesideTheRows;
  happened: string;
  bank_words: string | null;
  reason: string;
  evidence: string | null;
  proposed_by: string;
  confirmed_by: string;
  confirmed_at: Date;
  payments: number;
  amount_minor: string;
}

/**
 * Of the runs, oldest first. What was asked anew about an instruction is of all the records that are left of the question:
 * of two decisions that tell of one record the last counts, and of others both.
 */
export async function acknowledgedOf(
  tx: EmployerTransaction,
  payRunIds: readonly string[],
): Promise<Acknowledged[]> {
  const rows = await tx.query<Row>(
    `SELECT a.pay_run_id, a.subject_id, a.id AS attention_id, a.kind, a.happened, a.bank_words, d.reason, d.evidence,
       d.proposed_by, d.confirmed_by, d.confirmed_at, a.payments, a.amount_minor
     FROM attention a
     JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
     WHERE a.employer_id = $1 AND a.pay_run_id = ANY ($2) AND a.kind = ANY ($3) AND a.resolved_at IS NOT NULL
       AND d.confirmed_at IS NOT NULL
     ORDER BY d.confirmed_at, a.id`,
    [tx.employerId, payRunIds, KINDS_BESIDE],
  );
  const counting = rows.filter((row, n) => !rows.slice(n + 1).some((later) => isToldAnew(row, later)));
  return counting.map((row) => ({
    payRunId: row.pay_run_id,
    attentionId: row.attention_id,
    kind: row.kind,
    happened: row.happened,
    bankWords: row.bank_words,
    reason: row.reason,
    evidence: row.evidence,
    proposedBy: row.proposed_by,
    confirmedBy: row.confirmed_by,
    confirmedAt: row.confirmed_at,
    count: row.payments,
    amountMinor: BigInt(row.amount_minor),
  }));
}

/** Whether a later question is about a record of this one, too, or may be: of many records it names only some. */
function isToldAnew(row: Row, later: Row): boolean {
  if (row.kind !== later.kind || row.subject_id !== later.subject_id) return false;
  const [names, laterNames] = [namesIn(row), namesIn(later)];
  const namesAll = names.size >= row.payments && laterNames.size >= later.payments;
  return !namesAll || [...names].some((name) => laterNames.has(name));
}

function namesIn({ happened }: Row): Set<string> {
  return new Set([...happened.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name));
}
