import { Injectable } from '@nestjs/common';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { isEndedUnpaid, isStepFurther, isUntaken, mayBeTaken } from '../domain/bank-status';
import { DomainError } from '../domain/errors';
import { withoutFees } from '../employer/instruction-at-bank';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { Instruction } from '../pay-run/instruction.entity';
import { lockInstruction, STATUS_AS_FOLLOWED } from '../pay-run/instruction.store';
import { movePaymentSet } from '../pay-run/payment.store';
import type { ShownElsewhere } from '../settlement/follow-record';
import { knownPayments } from '../submission/known-payments';
import { requireWork, type Work } from '../submission/work';
import { isWritten } from '../submission/written-word';
import { InstructionSight } from './instruction-sight';

/**
 * A submitted instruction that the bank ended unpaid while it leaves payments of it where they were, or of which it shows
 * nothing any more: declared not executed on the bank's word in writing, once both are read again (rule 8). Its open
 * payments become VOID.
 */
@Injectable()
export class EndedInstruction {
  constructor(
    private readonly database: Database,
    private readonly sight: InstructionSight,
  ) {}

  /**
   * What is shown to have gone on is recorded, so that it holds should the bank not show it again.
   * @throws DomainError WAS_EXECUTED, NOT_PROVEN_DEAD; Problem 503 while the bank cannot be read
   */
  async prove(employerId: string, attention: Attention, evidence: string | null): Promise<void> {
    if (!isWritten(evidence))
      throw notProven('Give the reference of the bank’s written confirmation as evidence.');
    const work = await this.database.inEmployer(employerId, (tx) => requireWork(tx, attention));
    const { ended, left, shown } = await this.readAgain(work);
    const isTaken = shown.instruction !== undefined && mayBeTaken(shown.instruction.status);
    if (!left || isTaken) await this.sight.record(work, shown);
    if (!left) throw wasExecuted();
    if (!ended) throw notProven('The bank does not show it as ended.');
  }

  /**
   * Makes what is left open of it VOID; the instruction is closed by whoever follows it. What the bank has ended, or gone on
   * with since this was asked, or people decided, meanwhile or before, is held against it under the lock: of what was paid in
   * part nobody says as a whole that it was not.
   * @throws DomainError WAS_EXECUTED, NOTHING_TO_DECIDE
   */
  async bury(tx: EmployerTransaction, attention: Attention, action: AttentionActionRow): Promise<void> {
    const work = await requireWork(tx, attention);
    const instruction = await lockInstruction(tx, work.instruction.id);
    if (instruction.wentOnAt !== null && instruction.wentOnAt >= attention.openedAt) throw wasExecuted();
    const { firstRow, lastRow } = work.planned;
    const held = await tx.query<{ status: string; bank_status: string | null }>(
      `SELECT DISTINCT p.status, ${STATUS_AS_FOLLOWED} AS bank_status FROM payment p
       JOIN bank_payment b ON b.employer_id = p.employer_id AND b.payment_id = p.id AND b.instruction_id = $2
       WHERE p.employer_id = $1 AND p.pay_run_id = $3 AND p.row_no BETWEEN $4 AND $5
         AND p.status IN ('SUBMITTED', 'SETTLED')`,
      [tx.employerId, instruction.id, instruction.payRunId, firstRow, lastRow],
    );
    const open = held.filter(({ status }) => status === 'SUBMITTED');
    if (open.length < held.length) throw wasPaid();
    if (open.length === 0) throw nothingOpen();
    const left = open.every(({ bank_status: status }) => isUntaken(status));
    if (instruction.status !== 'SUBMITTED' || !left) throw wasExecuted();
    await movePaymentSet(tx, {
      payRunId: work.run.id,
      planned: work.planned,
      from: 'SUBMITTED',
      to: 'VOID',
      actor: `person:${action.proposedBy}`,
      reason: action.reason,
    });
    wake(tx, 'FOLLOW', [instruction.id]);
  }

  private async readAgain(work: Work): Promise<{ ended: boolean; left: boolean; shown: ShownElsewhere }> {
    const { instruction } = work;
    // What the bank does not show contradicts nothing that it says in writing. Where it shows instructions to nobody, or
    // this one no longer, the end that was kept counts; where none was kept, it must show no payment either. Nor may it have
    // taken a payment further since that end.
    const kept = isEndedUnpaid(instruction.bankStatus ?? '');
    const [bankIds, ranks] = await this.database.inEmployer(instruction.employerId, async (tx) => [
      await knownPayments(tx, instruction),
      await knownRanks(tx, instruction),
    ]);
    const shown = await this.sight.read(work, bankIds);
    const payments = withoutFees(shown.seen, bankIds);
    const goesOn =
      kept && payments.some((one) => isStepFurther(one.status, ranks.get(one.bankPaymentId) ?? 0));
    const left = !goesOn && !payments.some(({ status }) => mayBeTaken(status));
    const ended = shown.instruction ? isEndedUnpaid(shown.instruction.status) : kept || payments.length === 0;
    return { ended, left, shown };
  }
}

/** How far each payment of an instruction was last seen, by the bank's id of it. */
async function knownRanks(tx: EmployerTransaction, { id }: Instruction): Promise<Map<string, number>> {
  const known = await tx.query<{ id: string; rank: number }>(
    `SELECT bank_payment_id AS id, bank_rank AS rank FROM bank_payment
     WHERE employer_id = $1 AND instruction_id = $2 AND bank_payment_id IS NOT NULL`,
    [tx.employerId, id],
  );
  return new Map(known.map(({ id: bankId, rank }) => [bankId, rank]));
}

function notProven(why: string): DomainError {
  return new DomainError('NOT_PROVEN_DEAD', `The instruction is not proven dead at the bank. ${why}`);
}

function wasExecuted(): DomainError {
  return new DomainError(
    'WAS_EXECUTED',
    'The bank shows, or has shown since this was asked, that it or payments of it went on or ended; it cannot be declared otherwise.',
  );
}

function wasPaid(): DomainError {
  return new DomainError(
    'WAS_EXECUTED',
    'Payments of it were paid, so that nobody can say of it as a whole that it was not executed. Withdraw this; what became of each of the others two people decide in the UNKNOWN_STATUS that asks two banking days after the execution date.',
  );
}

function nothingOpen(): DomainError {
  return new DomainError(
    'NOTHING_TO_DECIDE',
    'No payment of it is open any more. Withdraw this, and read what is asked then.',
  );
}
