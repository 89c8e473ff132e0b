import { Injectable } from '@nestjs/common';
import { knownIds } from '../bank/payment-ids';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { PersonalData } from '../database/personal-data';
import {
  climb,
  isBeforeSubmit,
  isEnd,
  isEndedUnpaid,
  isPaid,
  isUnclear,
  isUnfinished,
  keepingStatusOf,
  NEVER_SHOWN,
  statusesAskedOf,
  unclearStatusOf,
} from '../domain/bank-status';
import { grouped } from '../domain/grouped';
import { subjectAfterEnd } from '../pay-run/named-subject';
import { PAYMENT_UNPAID, PaymentStatus } from '../domain/payment';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { isAfterEnd } from '../pay-run/attention-actions';
import { instructionOfRun, lockInstruction, STATUS_AS_FOLLOWED } from '../pay-run/instruction.store';
import { contradictions } from '../pay-run/match';
import { messageIdOf } from '../pay-run/message-id';
import { movePayments } from '../pay-run/payment.store';
import { expectedRows, payableRows } from '../submission/work';
import { paymentsOfWord, WrittenWord } from '../submission/written-word';
import { InstructionSight } from './instruction-sight';
import {
  endedUnpaid,
  nothingToDecide,
  shownOtherwise,
  statusIsClear,
  statusNotAsked,
  wasExecuted,
} from './meaning-refusals';

/** A submitted payment that waits for what a status means. */
interface Waiting {
  paymentId: string;
  rowNo: number;
  bankPaymentId: string | null;
  bankTransactionId: string | null;
  /** The status in question: its own, or its instruction's. */
  status: string;
  /** Its own status as it was last recorded; null where none was. */
  own: string | null;
  /** The highest rank the bank has shown of it. */
  rank: number;
}

/**
 * What two people decide, with the bank's word in writing, that a status means which does not say so itself: its payments
 * were paid and become SETTLED, or never will be and become VOID. They are followed on: what the bank shows later agrees
 * with that or contradicts it.
 */
@Injectable()
export class StatusMeaning {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    private readonly sight: InstructionSight,
  ) {}

  /**
   * The payments that a proposal is about, and the status each is asked about: those named, or all that wait for the
   * attention's answer. What came to show the status since people were told is not among them.
   * @throws DomainError EVIDENCE_REQUIRED, NOTHING_TO_DECIDE, PAYMENT_NOT_WAITING
   */
  async paymentsOf(
    tx: EmployerTransaction,
    attention: Attention,
    proposed: WrittenWord,
  ): Promise<{ paymentIds: string[]; paymentStatuses: string[] }> {
    const isAsked = askedBy(attention);
    const waiting = (await waitingFor(tx, attention)).filter((one) => isAsked(one, one.status));
    if (waiting.length === 0) throw nothingToDecide();
    const statuses = new Map(waiting.map(({ paymentId, status }) => [paymentId, status]));
    const paymentIds = paymentsOfWord(proposed, [...statuses.keys()]);
    return { paymentIds, paymentStatuses: paymentIds.map((id) => statuses.get(id) ?? '') };
  }

  /**
   * Reads at the bank whether what was proposed still waits: a status that says what became of a payment needs no decision,
   * and one that is further on than was asked about, or in another that is unclear, speaks against NOT_PAID. What speaks
   * against it is recorded, so that it holds should the bank not show it again.
   * @throws DomainError STATUS_IS_CLEAR, SHOWN_OTHERWISE, and those of `decidedBy`; Problem 503 while the bank cannot be
   * read
   */
  async prove(employerId: string, attention: Attention, action: AttentionActionRow): Promise<void> {
    const { work, open, waiting, rows } = await this.database.inEmployer(employerId, async (tx) => {
      const found = await instructionOfRun(tx, attention.instructionId ?? '');
      const all = await waitingFor(tx, attention);
      return {
        work: found,
        open: all,
        waiting: await decidedBy(tx, all, attention, action),
        rows: found && expectedRows(found.instruction.id, await payableRows(tx, this.personal, found)),
      };
    });
    if (!work || !rows || waiting.length === 0) throw nothingToDecide();
    const shown = await this.sight.read(
      work,
      waiting.map(({ bankPaymentId, bankTransactionId }) => knownIds(bankPaymentId, bankTransactionId)),
    );
    const [ofInstruction, payments] = [shown.instruction?.status ?? work.instruction.bankStatus, shown.seen];
    const [byId, byMessage] = [
      grouped(payments, ({ bankPaymentId }) => bankPaymentId),
      grouped(payments, ({ messageId = '' }) => messageId),
    ];
    // A list may show one twice, and otherwise.
    const shownOf = ({ bankPaymentId, rowNo }: Waiting) =>
      byId.get(bankPaymentId ?? '') ?? byMessage.get(messageIdOf(work.instruction.id, rowNo)) ?? [];
    const byRow = new Map(rows.map((row) => [row.rowNo, row]));
    const all = waiting.flatMap((asked) => {
      const row = byRow.get(asked.rowNo);
      if (row === undefined) return [];
      return shownOf(asked).map((payment) => {
        const { status, wasSettled } = payment;
        return { asked, status, wasSettled, differs: contradictions(row, payment).length > 0 };
      });
    });
    // What is shown otherwise than it was sent is recorded by nobody, so that people must say what became of it.
    const seen = all.filter(({ differs }) => !differs);
    const opposite = all.filter(({ differs, status }) => differs && isOpposite(action, status));
    if (opposite.length > 0) {
      await this.sight.record(work, shown);
      const unsaid = await this.unsaidOf(employerId, action, opposite);
      if (unsaid > 0) throw shownOtherwise(unsaid);
    }
    const isUnderWay = ({ asked, status }: (typeof seen)[number]) =>
      !isUnclear(asked.status) && isUnfinished(status);
    const clear = seen.filter(
      (one) => !isUnderWay(one) && unclearStatusOf(one.status, ofInstruction) === undefined,
    );
    const keeping = keepingStatusOf(
      ofInstruction,
      // Those that the decision is not about may not be read again: they are where they were seen last.
      open.map((one) => shownOf(one)[0]?.status ?? one.own),
    );
    const isAhead = ({ asked, status, wasSettled }: (typeof seen)[number]) => {
      if (wasSettled) return true;
      const unclear = unclearStatusOf(status, keeping);
      if (unclear !== undefined) return unclear !== asked.status;
      return isUnclear(asked.status) || wentOn(asked, status);
    };
    const ahead = action.action === 'NOT_PAID' ? seen.filter(isAhead) : [];
    if (clear.length === 0 && ahead.length === 0) return;
    await this.sight.record(work, shown);
    throw clear.length > 0 ? statusIsClear(clear.length) : wasExecuted(ahead.length);
  }

  /**
   * How many of some payments may not end by a word while they are shown so. What came back otherwise than it was sent ends by
   * no other word than PAID: it may, once people have answered how it differs.
   */
  private async unsaidOf(
    employerId: string,
    { action }: AttentionActionRow,
    opposite: readonly { asked: Waiting; status: string }[],
  ): Promise<number> {
    if (action !== 'PAID' || opposite.some(({ status }) => isEndedUnpaid(status))) return opposite.length;
    const ids = opposite.map(({ asked }) => asked.paymentId);
    const open = await this.database.inEmployer(employerId, (tx) =>
      tx.query(
        `SELECT DISTINCT payment_id FROM attention
         WHERE employer_id = $1 AND kind = 'ECHO_MISMATCH' AND payment_id = ANY ($2) AND resolved_at IS NULL`,
        [employerId, ids],
      ),
    );
    return open.length;
  }

  /**
   * Ends the payments by the word of the two, each with the decision it rests on.
   * @throws DomainError NOTHING_TO_DECIDE, and those of `decidedBy`
   */
  async decide(tx: EmployerTransaction, attention: Attention, action: AttentionActionRow): Promise<void> {
    const instruction = await lockInstruction(tx, attention.instructionId ?? '');
    const waiting = await decidedBy(tx, await waitingFor(tx, attention), attention, action);
    if (waiting.length === 0) throw nothingToDecide();
    await tx.query(
      `INSERT INTO payment_decision (employer_id, instruction_id, row_no, payment_id, action_id, bank_status)
       SELECT $1, $2, w.row_no, w.payment_id, $3, w.status
       FROM unnest($4::int[], $5::uuid[], $6::text[]) AS w(row_no, payment_id, status)`,
      [
        tx.employerId,
        instruction.id,
        action.id,
        waiting.map(({ rowNo }) => rowNo),
        waiting.map(({ paymentId }) => paymentId),
        waiting.map(({ status }) => status),
      ],
    );
    if (isAfterEnd(attention)) return wake(tx, 'FOLLOW', [instruction.id]);
    const to = action.action === 'PAID' ? 'SETTLED' : 'VOID';
    const moves = waiting.map(
      ({ paymentId, status }) =>
        ({
          paymentId,
          to,
          reason: `two people: ${status} means ${action.action}: ${action.reason}`,
        }) as const,
    );
    await movePayments(tx, instruction.payRunId, 'SUBMITTED', moves, `person:${action.proposedBy}`);
    wake(tx, 'FOLLOW', [instruction.id]);
  }
}

/**
 * Of what waits the payments an action names, where people were told of them, by a status that they were asked about. The
 * bank's word that one was not paid was given of the status it had then, and none was of those whose end says the opposite.
 * @throws DomainError WAS_EXECUTED, STATUS_NOT_ASKED, ENDED_UNPAID
 */
async function decidedBy(
  tx: EmployerTransaction,
  waiting: readonly Waiting[],
  attention: Attention,
  { action, paymentIds, paymentStatuses }: AttentionActionRow,
): Promise<Waiting[]> {
  const named = new Map(paymentIds?.map((id, at) => [id, paymentStatuses?.[at]]));
  const waitingIds = new Set(waiting.map(({ paymentId }) => paymentId));
  const over = [...named.keys()].filter((id) => !waitingIds.has(id));
  const refuted = await endedAs(tx, over, action === 'PAID' ? PAYMENT_UNPAID : ['SETTLED']);
  if (refuted > 0) throw action === 'PAID' ? endedUnpaid(refuted) : wasExecuted(refuted);
  const isAsked = askedBy(attention);
  const decided = waiting.filter(
    (one) => named.has(one.paymentId) && isAsked(one, named.get(one.paymentId) ?? one.status),
  );
  const wentOn = decided.filter(({ paymentId, status }) => (named.get(paymentId) ?? status) !== status);
  if (action === 'NOT_PAID' && wentOn.length > 0) throw wasExecuted(wentOn.length);
  const unasked = decided.filter((one) => !isAsked(one, one.status));
  if (unasked.length > 0) throw statusNotAsked(unasked.length);
  return decided;
}

/** How many payments have ended so, or so as the bank shows in contradiction to the end they had. */
async function endedAs(
  tx: EmployerTransaction,
  paymentIds: readonly string[],
  ends: readonly PaymentStatus[],
): Promise<number> {
  const ended = await tx.query(
    `SELECT FROM payment p WHERE p.employer_id = $1 AND p.id = ANY ($2) AND (p.status = ANY ($3) OR EXISTS (
       SELECT FROM attention a WHERE a.employer_id = $1 AND a.payment_id = p.id AND a.kind = 'CONTRADICTION'))`,
    [tx.employerId, paymentIds, ends],
  );
  return ended.length;
}

/** Whether a payment is one that an attention asked about by a status. */
function askedBy({ askedRows }: Attention): (payment: Waiting, status: string) => boolean {
  const told = new Set(askedRows?.flatMap(({ status, rows }) => rows.map((rowNo) => `${rowNo} ${status}`)));
  return ({ rowNo }, status) => told.has(`${rowNo} ${status}`);
}

/** Open payments, and those that ended unpaid and show what nobody documents, or has decided, of an instruction `i`. */
const OPEN = `i.status = 'SUBMITTED' AND p.status = 'SUBMITTED'`;
const ENDED_UNCLEAR = `b.shown_status IS NOT NULL AND p.status IN ('FAILED', 'REJECTED', 'CANCELLED') AND NOT EXISTS (
  SELECT FROM payment_decision d
  WHERE d.employer_id = b.employer_id AND d.payment_id = b.payment_id AND d.bank_status = b.shown_status)`;

/** The payments of its instruction that may wait for the attention's answer, by what people are asked now, in row order. */
async function waitingFor(tx: EmployerTransaction, attention: Attention): Promise<Waiting[]> {
  const { instructionId, subjectId } = attention;
  const rows = await tx.query<{
    payment_id: string;
    row_no: number;
    end: PaymentStatus;
    bank_payment_id: string | null;
    bank_transaction_id: string | null;
    rank: number;
    own: string | null;
    of_instruction: string | null;
  }>(
    `SELECT b.payment_id, b.row_no, p.status AS end, b.bank_payment_id, b.bank_transaction_id, b.bank_rank AS rank,
       coalesce(b.shown_status, ${STATUS_AS_FOLLOWED}) AS own,
       i.bank_status AS of_instruction
     FROM instruction i
     JOIN bank_payment b ON b.employer_id = i.employer_id AND b.instruction_id = i.id
     JOIN payment p ON p.employer_id = b.employer_id AND p.id = b.payment_id
     WHERE i.employer_id = $1 AND i.id = $2 AND ${isAfterEnd(attention) ? ENDED_UNCLEAR : OPEN}
     ORDER BY b.row_no`,
    [tx.employerId, instructionId],
  );
  const statuses = statusesAskedOf(
    rows[0]?.of_instruction ?? null,
    rows.map(({ own }) => own),
  );
  return rows.flatMap((row, n) => {
    const status = statuses[n] ?? NEVER_SHOWN;
    // Of another end another question asks.
    if (isAfterEnd(attention) && subjectAfterEnd(instructionId ?? '', row.end, status) !== subjectId)
      return [];
    return {
      paymentId: row.payment_id,
      rowNo: row.row_no,
      bankPaymentId: row.bank_payment_id,
      bankTransactionId: row.bank_transaction_id,
      status,
      own: row.own,
      rank: row.rank,
    };
  });
}

/** Whether a payment is shown further on than it was asked about, and at no step that a stale read may show. */
function wentOn({ status: asked, rank }: Waiting, status: string): boolean {
  return status !== asked && !isBeforeSubmit(status) && climb({ rank }, status).change !== 'fell';
}

/** Whether a status says that something else became of a payment than the proposal says. */
function isOpposite({ action }: Pick<AttentionActionRow, 'action'>, status: string): boolean {
  return isEnd(status) && !(action === 'PAID' ? isPaid(status) : isEndedUnpaid(status));
}
