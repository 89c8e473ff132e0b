import { Injectable } from '@nestjs/common';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { DomainError } from '../domain/errors';
import { PAY_RUN_SUBMITTED } from '../domain/pay-run';
import { refusalOfReplacement } from '../domain/replacement';
import { Problem } from '../http/problem';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { tellOfMoved } from '../pay-run/moved-payment';
import { findRun } from '../pay-run/pay-run.store';
import {
  EndedInstruction,
  instructionsOf,
  instructionsReplacedBy,
  replaceCandidates,
} from '../pay-run/replaced.store';
import { namedIn, SecondLook } from '../pay-run/second-look';
import type { UnseenPayment } from '../pay-run/second-reading';
import { MAX_REPLACED } from '../pay-run/successor';
import { paymentsOfWord, WrittenWord } from '../submission/written-word';

/**
 * What is paid again and the bank does not show any more: two people have its word in writing that none of it was paid,
 * or what was came back, and none will be. Kept for each payment that is not shown; what the bank shows, now or later,
 * goes before it, and once that says that it moved people are asked for a word anew.
 */
@Injectable()
export class UnseenWord {
  constructor(
    private readonly database: Database,
    private readonly secondLook: SecondLook,
  ) {}

  /**
   * The replaced payments that a proposal is about: those named, or all that the question is about.
   * @throws DomainError EVIDENCE_REQUIRED, NOTHING_TO_DECIDE, PAYMENT_NOT_WAITING
   */
  async paymentsOf(tx: EmployerTransaction, attention: Attention, proposed: WrittenWord): Promise<string[]> {
    const asked = (await askedAbout(tx, attention)).flatMap(({ payments }) => payments);
    if (asked.length === 0) throw nothingToDecide();
    return paymentsOfWord(
      proposed,
      asked.map(({ paymentId }) => paymentId),
    );
  }

  /**
   * Reads at the bank again what was proposed. What moved is told and stops whatever pays it again.
   * @returns what of it the bank still does not show, of the instructions that the question names
   * @throws Problem 409 REPLACED_PAYMENT_MOVED, 503 while the bank cannot be read; DomainError NOTHING_TO_DECIDE
   */
  async prove(
    employerId: string,
    { happened }: Attention,
    { action, paymentIds }: AttentionActionRow,
  ): Promise<readonly UnseenPayment[]> {
    if (action !== 'NOT_PAID') return [];
    const named = new Set(paymentIds);
    const { moved, unseen } = await this.secondLook.ofPayments(employerId, [...named]);
    if (moved.length > 0) {
      const shown = await this.database.inEmployer(employerId, (tx) => tellOfMoved(tx, moved));
      throw new Problem(
        409,
        'REPLACED_PAYMENT_MOVED',
        `The bank shows ${shown} where the payments had ended unpaid: its word in writing does not hold.`,
      );
    }
    const left = unseen.filter((one) => named.has(one.paymentId) && namedIn(happened, one));
    if (left.length === 0) throw nothingToDecide();
    return left;
  }

  /** Keeps the word of the two for what is not shown, and has the run that waits for it look again. */
  async decide(
    tx: EmployerTransaction,
    { payRunId, instructionId, openedAt }: Attention,
    action: AttentionActionRow,
    unseen: readonly UnseenPayment[],
  ): Promise<void> {
    if (unseen.length === 0) return;
    await tx.query(
      `INSERT INTO unseen_decision (employer_id, instruction_id, row_no, payment_id, action_id)
       SELECT b.employer_id, b.instruction_id, b.row_no, b.payment_id, $2
       FROM unnest($3::uuid[], $4::uuid[]) AS u(instruction_id, payment_id)
       JOIN bank_payment b ON b.employer_id = $1 AND b.instruction_id = u.instruction_id AND b.payment_id = u.payment_id
       WHERE NOT EXISTS (SELECT FROM moved_payment m WHERE m.employer_id = $1 AND m.instruction_id = b.instruction_id
         AND m.row_no = b.row_no AND m.seen_at >= $5)
       ON CONFLICT DO NOTHING`,
      [
        tx.employerId,
        action.id,
        unseen.map((one) => one.instructionId),
        unseen.map(({ paymentId }) => paymentId),
        openedAt,
      ],
    );
    if (payRunId !== null) wake(tx, 'RUN', [payRunId]);
    if (instructionId !== null) wake(tx, 'INSTRUCTION', [instructionId]);
  }
}

/** What held the payments in question: those that a run or an instruction of it replaces, or those a run would have replaced. */
async function askedAbout(
  tx: EmployerTransaction,
  { payRunId, instructionId }: Attention,
): Promise<EndedInstruction[]> {
  if (payRunId === null) return [];
  const { status } = await findRun(tx, payRunId);
  if (instructionId !== null || !PAY_RUN_SUBMITTED.includes(status))
    return instructionsReplacedBy(tx, payRunId);
  const own = await replaceCandidates(tx, payRunId, undefined, MAX_REPLACED);
  const repayable = own.filter(
    (one) => refusalOfReplacement(one, { byId: true, reason: true }) === undefined,
  );
  return instructionsOf(
    tx,
    repayable.map(({ id }) => id),
  );
}

function nothingToDecide(): DomainError {
  return new DomainError(
    'NOTHING_TO_DECIDE',
    'The bank shows every payment that is in question, or nothing waits for it any more. Withdraw this, and read what is asked then.',
  );
}
