import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { NotFound } from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import { PATHS } from '../bank/types';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { newId } from '../database/new-id';
import { DomainError } from '../domain/errors';
import { BankReads } from '../employer/bank-reads';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { movePaymentSet } from '../pay-run/payment.store';
import { finishCall } from './call-record';
import { judgeUnsubmitted } from './decision';
import { loadWork, Work } from './work';

/**
 * Declares a submit not executed, which is allowed only once the instruction is dead at the bank: deleted and read
 * back, ended by the bank, or the bank says so in writing (rule 8). Its payments become VOID.
 */
@Injectable()
export class Burial {
  constructor(
    private readonly database: Database,
    private readonly gateway: BankGateway,
    private readonly reads: BankReads,
  ) {}

  /**
   * Deletes the instruction at the bank and reads it back.
   * @throws DomainError WAS_EXECUTED, NOT_PROVEN_DEAD
   */
  async prove(employerId: string, attention: Attention, evidence: string | null): Promise<void> {
    const work = await this.database.inEmployer(employerId, (tx) =>
      loadWork(tx, attention.instructionId ?? ''),
    );
    const bankInstructionId = work?.instruction.bankInstructionId;
    if (!work || bankInstructionId == null)
      throw new DomainError('INSTRUCTION_NOT_FOUND', 'No instruction is at the bank.');
    if ((await this.stateOf(work, bankInstructionId)) === 'open')
      await this.deleteAtBank(work, bankInstructionId);
    const state = await this.stateOf(work, bankInstructionId);
    if (state === 'moved') {
      throw new DomainError(
        'WAS_EXECUTED',
        'The bank shows that the submit was executed; it cannot be declared otherwise.',
      );
    }
    if (state !== 'dead' && (evidence ?? '').trim() === '') {
      throw new DomainError(
        'NOT_PROVEN_DEAD',
        'The instruction is not dead at the bank. Have the bank cancel it, and give its written reference as evidence.',
      );
    }
  }

  /** Makes the instruction and its payments VOID. */
  async bury(tx: EmployerTransaction, attention: Attention, action: AttentionActionRow): Promise<void> {
    const work = await loadWork(tx, attention.instructionId ?? '');
    if (!work) throw new DomainError('INSTRUCTION_NOT_FOUND', 'There is no such instruction.');
    const instruction = await lockInstruction(tx, work.instruction.id);
    const actor = `person:${action.proposedBy}` as const;
    await moveInstruction(tx, instruction, 'VOID', actor, {}, action.reason);
    await movePaymentSet(tx, {
      payRunId: work.run.id,
      planned: work.planned,
      from: 'AT_BANK',
      to: 'VOID',
      actor,
      reason: action.reason,
    });
    wake(tx, 'FOLLOW', tx.employerId, [instruction.id]);
    wake(tx, 'RUN', tx.employerId, [work.run.id]);
  }

  private async stateOf(work: Work, bankInstructionId: string): Promise<ReturnType<typeof judgeUnsubmitted>> {
    try {
      const instruction = await this.reads.instruction(work.account, bankInstructionId);
      return instruction ? judgeUnsubmitted(instruction.status) : 'wait';
    } catch (error) {
      if (error instanceof NotFound) return 'dead';
      throw error;
    }
  }

  private async deleteAtBank(work: Work, bankInstructionId: string): Promise<void> {
    const callId = newId();
    const target = PATHS.creditTransfer(bankInstructionId);
    await this.database.inEmployer(work.instruction.employerId, (tx) =>
      tx.query(
        `INSERT INTO bank_call (employer_id, id, operation, instruction_id, target, body_hash, attempt, epoch)
         VALUES ($1, $2, 'delete', $3, $4, $5, 1, 0)`,
        [tx.employerId, callId, work.instruction.id, target, createHash('sha256').digest()],
      ),
    );
    const outcome = await this.gateway.deleteInstruction(bankInstructionId);
    await this.database.inEmployer(work.instruction.employerId, (tx) => finishCall(tx, callId, outcome));
  }
}
