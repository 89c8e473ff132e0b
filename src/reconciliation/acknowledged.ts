import { EmployerTransaction } from '../database/database';
import { INSTRUCTION_FOLLOWED } from '../domain/instruction';
import { sumMinor } from '../domain/money';
import { CountAndSum } from '../domain/reconciliation';
import type { AskedLoss, AskedRecord } from '../pay-run/attention.entity';
import type { AttentionKind } from '../pay-run/attention-words';
import { Asked, broughtBack, microseconds, Returned, returnedOf } from '../pay-run/came-back';
import { TELLS_OF_MOVE } from '../pay-run/moved-instruction';
import { Shown, toldOnce } from './told-once';

/** What moved besides the rows of a run, as attention tells it, and what a report calls it. */
export const BESIDE_THE_ROWS = {
  POSSIBLE_RETURN: 'cameIn',
  ENTRY_OF_THE_BANK: 'entries',
  FOREIGN_RECORD: 'foreign',
  TOTAL_MISMATCH_AFTER_SUBMIT: 'beyond',
  INVARIANT_BREACH: 'moved',
  UNRECORDED_SUBMIT: 'executed',
  TOTALS_UNSEEN: 'lacked',
} as const satisfies Partial<Record<AttentionKind, string>>;
export type BesideTheRows = keyof typeof BESIDE_THE_ROWS;
export const KINDS_BESIDE = Object.keys(BESIDE_THE_ROWS) as BesideTheRows[];

/** One sentence for each, for people. */
export const MEANING_BESIDE: Readonly<Record<BesideTheRows, string>> = {
  POSSIBLE_RETURN:
    'Money that came in, and for no payment that the bank shows as returned, or of another amount than it: the line `returned` has what was paid.',
  ENTRY_OF_THE_BANK:
    'Fees and refunds that the bank lists among the payments: they are in no line, unless what is refunded is in `returned` too, or a fee in `charges`.',
  FOREIGN_RECORD: 'Payments that we never sent, in our instructions: they are in no line.',
  TOTAL_MISMATCH_AFTER_SUBMIT:
    'What the bank shows of an instruction beyond its approved payments, by its totals, or what the account lost besides them, whatever it was; less what is listed here as FOREIGN_RECORD of it; negative where it is less. It is in no line. What an account lost once, and may be of any of several runs, a month tells once, of one of them; so does each month where these are of different ones.',
  INVARIANT_BREACH:
    'What was approved of an instruction that moved though we gave it up, or people declared it not executed: the bank may have executed all of it, some or nothing. It is in no line but `void`, and not listed here where TOTAL_MISMATCH_AFTER_SUBMIT tells of as much that its account lost.',
  UNRECORDED_SUBMIT:
    'What was approved of an instruction that we gave up and somebody else submitted, or what the bank shows as settled of one that a restored database had forgotten: two people said, on the written word of the bank, that it was executed. It is in no line; nothing is counted of one of which the bank did not show how each payment ended.',
  TOTALS_UNSEEN:
    'What the account lacked besides what was paid from it, whatever it was, long after that should have come back; what came back since is not taken off. Other runs of the account, TOTAL_MISMATCH_AFTER_SUBMIT and INVARIANT_BREACH may tell of the same. It is in no line.',
};

/**
 * What two people decided of it, by letting things go on or on the bank's word. Count and amount are of the records that
 * no later decision tells of, as the bank showed them.
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
  bank_account_id: string;
  instruction_id: string | null;
  subject_id: string;
  attention_id: string;
  asked_at: string;
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
  approved_payments: number;
  approved_minor: string;
  records: AskedRecord[] | null;
  loss: AskedLoss | null;
}

/** A decision, with what of it counts. */
interface Counting extends Shown {
  row: Row;
}

/**
 * Of the runs, oldest first. What was asked anew about an instruction is of all the records that are left of the question,
 * or of those that came in and were not decided: of two decisions that tell of one record the last counts it, and of others
 * both count their own. What totals, lists, the balance and a move show of one loss counts once (`toldOnce`). What came in
 * before the bank showed its payment as returned counts there. What was found in an instruction that was given up, or
 * released, before its submit has moved nothing, unless somebody else submitted it: then all that was approved of it may have
 * moved, or has, as people said; so may what they declared not executed; what the bank settled of it by what a restored
 * database had forgotten counts in its stead.
 * Of what that had forgotten, and the bank does not show as ended, there is the decision, and nothing counts.
 */
export async function acknowledgedOf(
  tx: EmployerTransaction,
  payRunIds: readonly string[],
): Promise<Acknowledged[]> {
  const decided = leftToTell((await decisionsOf(tx, payRunIds)).reverse());
  const cameIn = decided.filter(({ row }) => row.kind === 'POSSIBLE_RETURN').flatMap(({ left }) => left);
  const explained = broughtBack(cameIn, await returnedOf(tx, payRunIds));
  return toldOnce(decided.flatMap((one) => countedOf(one, explained)).reverse()).map(acknowledged);
}

/** Every decision of the runs on what moved besides their rows, oldest first. */
function decisionsOf(tx: EmployerTransaction, payRunIds: readonly string[]): Promise<Row[]> {
  return tx.query<Row>(
    `SELECT a.pay_run_id, account.bank_account_id, a.instruction_id, a.subject_id, a.id AS attention_id, ${microseconds('a.opened_at')} AS asked_at, a.kind, a.happened, a.bank_words, d.reason, d.evidence,
       d.proposed_by, one.name AS proposed_by_name, d.confirmed_by, other.name AS confirmed_by_name, d.confirmed_at,
       coalesce(executed.payments, a.beyond_payments, a.payments) AS payments,
       coalesce(executed.minor, a.beyond_minor, a.amount_minor) AS amount_minor,
       a.records, a.loss, coalesce(approved.payments, 0) AS approved_payments, coalesce(approved.minor, 0) AS approved_minor
     FROM attention a
     JOIN attention_action d ON d.employer_id = a.employer_id AND d.attention_id = a.id
     JOIN pay_run r ON r.employer_id = a.employer_id AND r.id = a.pay_run_id
     JOIN employer_account account ON account.employer_id = r.employer_id AND account.id = r.account_id
     JOIN person one ON one.id = d.proposed_by
     JOIN person other ON other.id = d.confirmed_by
     LEFT JOIN LATERAL (
       SELECT sum(l.row_count)::int AS payments, sum(l.total_minor) AS minor
       FROM instruction i JOIN planned_instruction l ON l.employer_id = i.employer_id AND l.id = i.planned_instruction_id
       WHERE a.kind = 'TOTAL_MISMATCH_AFTER_SUBMIT' AND i.employer_id = a.employer_id AND i.pay_run_id = a.pay_run_id
         AND CASE WHEN a.instruction_id IS NULL THEN i.status NOT IN ('ABANDONED', 'CANCELLED')
           ELSE i.id = a.instruction_id END) approved ON true
     LEFT JOIN LATERAL (
       SELECT coalesce(sum(f.executed_payments), CASE WHEN a.instruction_id IS NULL THEN 0 END)::int AS payments,
         coalesce(sum(f.executed_minor), CASE WHEN a.instruction_id IS NULL THEN 0 END) AS minor
       FROM forgotten_instruction f
       WHERE a.kind = 'UNRECORDED_SUBMIT' AND f.employer_id = a.employer_id AND f.pay_run_id = a.pay_run_id
         AND f.adopted_at IS NULL AND f.action_id = d.id
       HAVING count(*) > 0) executed ON true
     WHERE a.employer_id = $1 AND a.pay_run_id = ANY ($2) AND a.kind = ANY ($3) AND a.resolved_at IS NOT NULL
       AND d.confirmed_at IS NOT NULL AND (a.kind <> 'TOTAL_MISMATCH_AFTER_SUBMIT' OR a.beyond_payments IS NOT NULL)
       AND (a.kind <> 'TOTALS_UNSEEN' OR a.lacking_minor IS NOT NULL)
       AND CASE a.kind WHEN 'INVARIANT_BREACH' THEN EXISTS (SELECT FROM moved_instruction m
           JOIN instruction i ON i.employer_id = m.employer_id AND i.id = m.instruction_id
           WHERE m.employer_id = a.employer_id AND m.instruction_id = a.subject_id AND i.status <> ALL ($5))
           AND EXISTS (SELECT FROM unnest($4::text[]) AS told WHERE strpos(a.happened, told) > 0)
           AND NOT EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = a.employer_id
             AND f.instruction_id = a.subject_id AND f.executed_payments IS NOT NULL)
         WHEN 'UNRECORDED_SUBMIT' THEN executed.payments IS NOT NULL OR EXISTS (SELECT FROM forgotten_instruction f
           JOIN instruction i ON i.employer_id = f.employer_id AND i.id = f.instruction_id
           WHERE f.employer_id = a.employer_id AND f.pay_run_id = a.pay_run_id AND f.adopted_at IS NULL
             AND f.action_id = d.id AND i.id = a.subject_id AND i.status IN ('ABANDONED', 'RELEASED'))
         ELSE NOT EXISTS (SELECT FROM instruction i
           WHERE i.employer_id = a.employer_id AND i.id = a.instruction_id AND i.status IN ('ABANDONED', 'RELEASED')) END
     ORDER BY d.confirmed_at, a.id`,
    [tx.employerId, payRunIds, KINDS_BESIDE, TELLS_OF_MOVE, INSTRUCTION_FOLLOWED],
  );
}

/** A decision, with the records of it that no later one of the same question tells of; none where they are not kept. */
interface Decided {
  row: Row;
  left: Asked[];
  isLast: boolean;
}

/** Of decisions, the last first. */
function leftToTell(rows: readonly Row[]): Decided[] {
  const told = new Map<string, Set<string>>();
  return rows.map((row) => {
    const question = `${row.kind} ${row.kind === 'UNRECORDED_SUBMIT' ? row.attention_id : row.subject_id}`;
    const later = told.get(question);
    const records = row.records ?? [];
    told.set(question, new Set([...(later ?? []), ...records.map(({ id }) => id)]));
    const asked = { instructionId: row.instruction_id, askedAt: BigInt(row.asked_at) };
    const left = records.filter(({ id }) => later?.has(id) !== true).map((one) => ({ ...one, ...asked }));
    return { row, left, isLast: later === undefined };
  });
}

/** Each record that no payment that came back explains; of a decision whose records are not kept, all or nothing. */
function countedOf({ row, left, isLast }: Decided, explained: ReadonlyMap<Asked, Returned>): Counting[] {
  if (row.records === null) return isLast ? [shown(row, row.payments, BigInt(row.amount_minor))] : [];
  const counted = left.filter((one) => !explained.has(one));
  if (counted.length === 0 && row.records.length > 0) return [];
  return [shown(row, counted.length, sumMinor(counted.map(({ minor }) => BigInt(minor))))];
}

function shown(row: Row, count: number, amountMinor: bigint): Counting {
  return {
    row,
    by: shownBy(row),
    payRunId: row.pay_run_id,
    bankAccountId: row.bank_account_id,
    instructionId: row.instruction_id,
    loss: row.loss && { id: row.loss.id, count: row.loss.payments, amountMinor: BigInt(row.loss.minor) },
    approved: { count: row.approved_payments, amountMinor: BigInt(row.approved_minor) },
    count,
    amountMinor,
  };
}

/** What an account lost again is asked of its run, and what totals show of their instruction. */
function shownBy({ kind, subject_id, instruction_id }: Row): Shown['by'] {
  if (kind === 'FOREIGN_RECORD') return 'list';
  if (kind === 'INVARIANT_BREACH') return 'move';
  if (kind !== 'TOTAL_MISMATCH_AFTER_SUBMIT') return 'else';
  return subject_id === instruction_id ? 'totals' : 'balance';
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
