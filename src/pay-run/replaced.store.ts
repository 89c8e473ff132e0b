import { KnownIds, knownIds } from '../bank/payment-ids';
import { queryByHash } from '../database/by-hash';
import { byKey } from '../database/by-key';
import { EmployerTransaction } from '../database/database';
import { InstructionStatus } from '../domain/instruction';
import { PaymentStatus } from '../domain/payment';
import { ReplaceablePayment } from '../domain/replacement';
import type { AttentionKind } from './attention-words';
import type { PlannedInstruction } from './instruction.entity';
import { STATUS_AS_FOLLOWED } from './instruction.store';
import {
  samePay,
  OTHER_PAY,
  PAID_OTHERWISE,
  restMayBeKept,
  CHAIN,
  MAY_BE_KEPT,
  MADE_SINCE_BACK,
  LEAST_NOT_KEPT,
  CONTRADICTED,
} from './same-pay';

/** A payment of a run with what decides whether it may be replaced. */
export interface Candidate extends ReplaceablePayment {
  id: string;
  employeeId: string;
  releaseSequence: number;
}

/**
 * Open questions about an instruction, or a run, before whose answer nothing that it holds is paid again: what an account
 * lost tells of one instruction of several. What was never sent, and is in one that was released, is no doubt about what
 * was: nobody submitted it.
 */
const DOUBTS: readonly AttentionKind[] = [
  'TOTAL_MISMATCH_AFTER_SUBMIT',
  'FOREIGN_RECORD',
  'INVARIANT_BREACH',
  'UNRECORDED_SUBMIT',
];

/**
 * The instructions of an employer ($1) of which a payment is shown otherwise than it was submitted: a bank that pays more by
 * it may have paid others of them with it, whatever it shows of these. Until two people have answered that, and it has ended.
 */
const SHOWN_OTHERWISE = `SELECT instruction_id FROM attention
    WHERE employer_id = $1 AND kind = 'ECHO_MISMATCH' AND resolved_at IS NULL AND payment_id IS NOT NULL
  UNION ALL
  SELECT o.instruction_id FROM bank_payment o
    WHERE o.employer_id = $1 AND o.shown_otherwise IS NOT NULL
      AND (SELECT status FROM ${byKey('payment', 'o.payment_id')} AS its) = 'SUBMITTED'`;

/** The statuses of a payment `p`, or of its instruction, whose meaning two people decided for it. */
const DECIDED_STATUSES = `ARRAY(SELECT d.bank_status FROM payment_decision d
  WHERE d.employer_id = $1 AND d.payment_id = p.id)`;

/**
 * Whether a payment `s` in a run `r`, made instead of another, is to pay or was sent: it was neither left out nor cancelled
 * with its run, and is not held, where a person decides first. Of each payment that is at most one.
 */
export const TAKES_ITS_PLACE = `s.status NOT IN ('EXCLUDED', 'HELD')
  AND NOT (s.status = 'CANCELLED' AND r.status IN ('CANCELLING', 'CANCELLED'))`;

/** Whether that payment is not live, but was sent: it ends the chain. */
const ENDED_SUCCESSOR = `NOT s.live AND ${TAKES_ITS_PLACE}`;

/**
 * The payment `p` and those before it as `chain`, and as `stead` all that were ever made in the stead of the first of
 * these, by whatever way: a payment that was left out has no successor, and one that was sent may be of another branch.
 */
const IN_ITS_STEAD = `WITH RECURSIVE ${CHAIN},
  stead AS (
    SELECT id FROM chain WHERE before IS NULL
    UNION SELECT unnest(ARRAY(SELECT s.id FROM payment s WHERE s.employer_id = $1 AND s.replaces_payment_id = stead.id))
    FROM stead)`;

/** That no live payment has the place of a payment `p` among those of its employee: else that one pays it, by whatever way. */
export const PLACE_IS_FREE = `NOT EXISTS (${samePay('p')} AND o.live AND o.release_sequence = p.release_sequence)`;

/**
 * The payment of an employer ($1), period ($2) and kind of pay ($3) that ended unpaid and is the next to be replaced, of
 * each employee and release: one that was sent before one that was left out, whose end says nothing of that one.
 * `narrowed` is a further condition on a payment `p`.
 */
export function unpaidOfPeriod(narrowed = 'true'): string {
  return `
    SELECT DISTINCT ON (p.employee_id, p.release_sequence) p.employee_id, p.release_sequence, p.id
    FROM payment p JOIN pay_run own ON own.employer_id = p.employer_id AND own.id = p.pay_run_id
    WHERE p.employer_id = $1 AND p.period = $2 AND p.kind_of_pay = $3 AND NOT p.live AND p.status <> 'HELD'
      AND own.status NOT IN ('CANCELLING', 'CANCELLED') AND ${narrowed}
      AND NOT EXISTS (SELECT FROM payment s
        JOIN pay_run r ON r.employer_id = s.employer_id AND r.id = s.pay_run_id
        WHERE s.employer_id = p.employer_id AND s.replaces_payment_id = p.id
          AND (s.live OR ${ENDED_SUCCESSOR}))
    ORDER BY p.employee_id, p.release_sequence,
      EXISTS (SELECT FROM attention a WHERE a.employer_id = p.employer_id AND a.payment_id = p.id
        AND a.kind = 'CONTRADICTION') DESC, p.status <> 'EXCLUDED' DESC, p.id DESC`;
}

/**
 * A payment of an employer ($1), period ($2) and kind of pay ($3) of which the bank has shown two ends, and that has the
 * place of another one of its employee: no row replaces it, nor what it was replaced by.
 */
export const twoEndsIn = (place: string): string => `SELECT e.id FROM payment e
  JOIN attention a ON a.employer_id = e.employer_id AND a.payment_id = e.id AND a.kind = 'CONTRADICTION'
  WHERE e.employer_id = $1 AND e.period = $2 AND e.kind_of_pay = $3 AND e.employee_id = ${place}.employee_id
    AND e.release_sequence = ${place}.release_sequence LIMIT 1`;

/**
 * The payment of an employer ($1), period ($2) and kind of pay ($3) that was paid and came back, of each employee who has
 * one that nothing replaces yet, and no other live payment that did not come back. Of several it is unclear which is
 * paid again: then it is none.
 */
export const RETURNED_OF_PERIOD = `
  SELECT p.employee_id, (array_agg(p.id))[1] AS id
  FROM payment p
  WHERE p.employer_id = $1 AND p.period = $2 AND p.kind_of_pay = $3 AND p.returned_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM payment s WHERE s.employer_id = p.employer_id AND s.replaces_payment_id = p.id AND s.live)
    AND NOT EXISTS (${OTHER_PAY})
  GROUP BY p.employee_id HAVING count(*) = 1`;

/**
 * Payments of a run, in row order: those named, or without names every one that was not paid or came back, at most
 * `limit` of them.
 */
export function replaceCandidates(
  tx: EmployerTransaction,
  payRunId: string,
  paymentIds: readonly string[] | undefined,
  limit: number,
): Promise<Candidate[]> {
  const ofRun = `p.pay_run_id = $3 AND (p.id = ANY ($4) OR $4::uuid[] IS NULL AND (p.status <> 'SETTLED' OR p.returned_at IS NOT NULL))
     ORDER BY p.row_no LIMIT $5`;
  return candidates(tx, ofRun, [payRunId, paymentIds ?? null, limit]);
}

/** Payments of any run by their ids. */
export function replaceCandidatesOf(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
): Promise<Candidate[]> {
  return candidates(tx, 'p.id = ANY ($3)', [paymentIds]);
}

async function candidates(
  tx: EmployerTransaction,
  which: string,
  parameters: readonly unknown[],
): Promise<Candidate[]> {
  return queryByHash<Candidate>(
    tx,
    `WITH chosen AS MATERIALIZED (SELECT * FROM payment p WHERE p.employer_id = $1 AND ${which}),
       otherwise AS MATERIALIZED (${SHOWN_OTHERWISE}),
       asked AS MATERIALIZED (SELECT subject_id, coalesce(instruction_id, subject_id) AS instruction_id
         FROM attention a WHERE employer_id = $1 AND resolved_at IS NULL AND kind = ANY ($2)
           AND NOT (kind = 'FOREIGN_RECORD' AND EXISTS (SELECT FROM instruction i
             WHERE i.employer_id = $1 AND i.id = a.instruction_id AND i.status = 'RELEASED')))
     SELECT p.id, p.employee_id AS "employeeId", p.release_sequence AS "releaseSequence", p.status,
       p.returned_at IS NOT NULL AS returned,
       coalesce(b.shown_status, ${STATUS_AS_FOLLOWED}) AS "bankStatus", ${DECIDED_STATUSES} AS "decidedStatuses",
       ${CONTRADICTED} AS contradicted, ${MAY_BE_KEPT} AS "mayBeKept",
       p.pay_run_id IN (SELECT subject_id FROM asked)
         OR coalesce(b.instruction_id IN (SELECT instruction_id FROM asked), false)
         OR coalesce(b.instruction_id IN (SELECT instruction_id FROM otherwise), false)
         OR EXISTS (SELECT FROM forgotten_instruction f WHERE f.employer_id = p.employer_id
           AND f.pay_run_id = p.pay_run_id AND f.adopted_at IS NULL)
         OR EXISTS (SELECT FROM moved_instruction m JOIN bank_payment d ON d.employer_id = m.employer_id
           AND d.instruction_id = m.instruction_id AND d.payment_id = p.id WHERE m.employer_id = p.employer_id) AS doubted,
       (${IN_ITS_STEAD} SELECT CASE WHEN bool_or(s.live) THEN 'live' WHEN count(*) > 0 THEN 'ended' ELSE 'none' END
         FROM stead JOIN ${byKey('payment', 'stead.id')} s ON true JOIN ${byKey('pay_run', 's.pay_run_id')} r ON true
         WHERE s.id NOT IN (SELECT id FROM chain) AND (s.live OR ${ENDED_SUCCESSOR})
           AND (p.status = 'EXCLUDED' OR s.id > p.id)) AS successor,
       ${PAID_OTHERWISE} AS "paidOtherwise",
       EXISTS (${OTHER_PAY} AND o.pay_run_id <> p.pay_run_id
         AND (o.release_sequence > p.release_sequence OR o.id > p.id)) AS "paidFurther"
     FROM chosen p
     LEFT JOIN bank_payment b ON b.employer_id = $1 AND b.payment_id = p.id AND b.row_no = p.row_no
       AND b.instruction_id = ANY (ARRAY(
         SELECT id FROM instruction WHERE employer_id = $1 AND status NOT IN ('ABANDONED', 'CANCELLED')
           AND pay_run_id = ANY (ARRAY(SELECT pay_run_id FROM chosen))))
     ORDER BY p.row_no`,
    [tx.employerId, DOUBTS, ...parameters],
  );
}

/** A payment that is replaced, as it ended, with the ids the bank knows it by. */
export interface EndedPayment {
  paymentId: string;
  rowNo: number;
  status: PaymentStatus;
  returned: boolean;
  decidedStatuses: string[];
  /** As received; null where none was heard of. */
  bankStatus: string | null;
  bankIds: KnownIds;
  /**
   * The least that is known to be back of it once it came back, or was where two people say that its payee kept nothing, or
   * that a look before has shown: all, unless there was less.
   */
  backMinor: bigint;
  /** Whether less of it came back than was paid, and two people have not said that its payee kept nothing. */
  mayBeKept: boolean;
  /** Whether two people have the bank's word that it is unpaid, since it was last shown to have moved, though it is not shown. */
  byWord: boolean;
  /** Whether a look before has shown that it moved after its end, in this instruction or in one that is none of ours. */
  hasMoved: boolean;
  /** Whether one has shown so in one that is none of ours. */
  hasMovedElsewhere: boolean;
  /** Whether one has shown that less of it came back than is known. */
  hasMovedInPart: boolean;
}

/** An instruction at the bank that held payments which are replaced. */
export interface EndedInstruction {
  instructionId: string;
  status: InstructionStatus;
  bankInstructionId: string;
  accountId: string;
  createdAt: Date;
  /** Whether another of its payments is shown otherwise than it was submitted: that may pay these. */
  isShownOtherwise: boolean;
  payments: EndedPayment[];
}

/** Every instruction that ever held one of the payments, or one of those that they replaced in their turn. */
export function instructionsOf(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
): Promise<EndedInstruction[]> {
  return endedInstructions(tx, 'SELECT unnest($2::uuid[]) AS id', paymentIds);
}

/**
 * What payments `p` of an employer ($1) replace, and what of the same employees came back before their run was made: of
 * several that came back it may be unclear which is paid again.
 */
export const replacedBy = (
  which: string,
) => `SELECT p.row_no AS paid_by, p.replaces_payment_id AS id FROM payment p
    WHERE p.employer_id = $1 AND ${which} AND p.replaces_payment_id IS NOT NULL
  UNION ALL
  SELECT p.row_no, b.id FROM payment p JOIN payment b ON ${MADE_SINCE_BACK}
    WHERE p.employer_id = $1 AND ${which} AND (p.replaces_payment_id IS NOT NULL OR p.release_sequence > 0)`;

/** The same, of all that the payments of a run replace. */
export function instructionsReplacedBy(
  tx: EmployerTransaction,
  payRunId: string,
): Promise<EndedInstruction[]> {
  const replaced = replacedBy('p.pay_run_id = $2 AND p.live');
  return endedInstructions(tx, replaced, payRunId);
}

/** The same, of all that the rows of an instruction replace: of those that are live, or however they ended. */
export function instructionsReplacedIn(
  tx: EmployerTransaction,
  { payRunId, firstRow, lastRow }: PlannedInstruction,
  which: 'live' | 'all',
): Promise<EndedInstruction[]> {
  const those = which === 'live' ? 'AND p.live' : '';
  const replaced = replacedBy(`p.pay_run_id = $2 AND p.row_no BETWEEN $3 AND $4 ${those}`);
  return endedInstructions(tx, replaced, payRunId, firstRow, lastRow);
}

async function endedInstructions(
  tx: EmployerTransaction,
  replaced: string,
  ...of: unknown[]
): Promise<EndedInstruction[]> {
  const rows = await queryByHash<{
    instruction_id: string;
    instruction_status: InstructionStatus;
    bank_instruction_id: string;
    account_id: string;
    created_at: Date;
    shown_otherwise: boolean;
    payment_id: string;
    row_no: number;
    status: PaymentStatus;
    returned: boolean;
    may_be_kept: boolean;
    decided_statuses: string[];
    bank_status: string | null;
    bank_payment_id: string | null;
    bank_transaction_id: string | null;
    by_word: boolean;
    has_moved: boolean;
    has_moved_elsewhere: boolean;
    back_minor: string;
    has_moved_in_part: boolean;
  }>(
    tx,
    `WITH RECURSIVE replaced AS (
       SELECT id FROM (${replaced}) AS chosen
       UNION SELECT p.replaces_payment_id FROM replaced r JOIN ${byKey('payment', 'r.id')} p ON true
       WHERE p.replaces_payment_id IS NOT NULL),
     paid AS MATERIALIZED (SELECT p.* FROM replaced r JOIN ${byKey('payment', 'r.id')} p ON true),
     at_bank AS MATERIALIZED (
       SELECT i.*, run.account_id FROM instruction i JOIN ${byKey('pay_run', 'i.pay_run_id')} run ON true
       WHERE i.employer_id = $1 AND i.pay_run_id = ANY (ARRAY(SELECT pay_run_id FROM paid))
         AND i.bank_instruction_id IS NOT NULL),
     otherwise AS MATERIALIZED (${SHOWN_OTHERWISE})
     SELECT i.id AS instruction_id, i.status AS instruction_status, i.bank_instruction_id, i.account_id,
       i.created_at, i.id IN (SELECT instruction_id FROM otherwise) AS shown_otherwise, p.id AS payment_id, p.row_no, p.status, p.returned_at IS NOT NULL AS returned, ${restMayBeKept('p')} AS may_be_kept, ${DECIDED_STATUSES} AS decided_statuses,
       b.bank_status,
       b.bank_payment_id, b.bank_transaction_id,
       EXISTS (SELECT FROM unseen_decision w
         JOIN attention_action d ON d.employer_id = w.employer_id AND d.id = w.action_id
         JOIN attention a ON a.employer_id = d.employer_id AND a.id = d.attention_id
         WHERE w.employer_id = $1 AND w.instruction_id = b.instruction_id AND w.row_no = b.row_no
           AND a.opened_at > coalesce(m.seen_at, '-infinity')) AS by_word,
       m.seen_at IS NOT NULL AS has_moved, coalesce(m.is_elsewhere, false) AS has_moved_elsewhere,
       least(back.minor, m.back_minor) AS back_minor, coalesce(m.back_minor < back.minor, false) AS has_moved_in_part
     FROM paid p CROSS JOIN LATERAL (SELECT least(p.amount_minor, p.returned_minor, ${LEAST_NOT_KEPT}) AS minor) AS back
     JOIN bank_payment b ON b.employer_id = $1 AND b.row_no = p.row_no AND b.payment_id = p.id
       AND b.instruction_id = ANY (ARRAY(SELECT id FROM at_bank))
     JOIN at_bank i ON i.id = b.instruction_id
     LEFT JOIN moved_payment m ON m.employer_id = $1 AND m.instruction_id = b.instruction_id AND m.row_no = b.row_no
     ORDER BY i.id, p.row_no`,
    [tx.employerId, ...of],
  );
  const found = new Map<string, EndedInstruction>();
  for (const row of rows) {
    const instruction = found.get(row.instruction_id) ?? {
      instructionId: row.instruction_id,
      status: row.instruction_status,
      bankInstructionId: row.bank_instruction_id,
      accountId: row.account_id,
      createdAt: row.created_at,
      isShownOtherwise: row.shown_otherwise,
      payments: [],
    };
    found.set(row.instruction_id, instruction);
    instruction.payments.push({
      paymentId: row.payment_id,
      rowNo: row.row_no,
      status: row.status,
      returned: row.returned,
      mayBeKept: row.may_be_kept,
      decidedStatuses: row.decided_statuses,
      bankStatus: row.bank_status,
      bankIds: knownIds(row.bank_payment_id, row.bank_transaction_id),
      byWord: row.by_word,
      hasMoved: row.has_moved,
      hasMovedElsewhere: row.has_moved_elsewhere,
      backMinor: BigInt(row.back_minor),
      hasMovedInPart: row.has_moved_in_part,
    });
  }
  return [...found.values()];
}
