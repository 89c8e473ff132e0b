import { Injectable } from '@nestjs/common';
import { NotFound } from '../bank/errors';
import { Database } from '../database/database';
import { isPastSubmit } from '../domain/bank-status';
import { BankReads } from '../employer/bank-reads';
import { aboutInstruction } from '../pay-run/attention.store';
import { namesOf } from '../pay-run/message-id';
import { stopUnlessDecided } from '../pay-run/stop';
import { stopSuccessors } from '../pay-run/stop-successors';
import type { Followed } from './follower';

/**
 * What was abandoned or released must never move. One seen past its submit is a breach that stops everything;
 * cancelled, expired, deleted or gone is how it should be (rule 5).
 */
@Injectable()
export class TombstoneWatch {
  constructor(
    private readonly database: Database,
    private readonly reads: BankReads,
  ) {}

  async step({ instruction, account, planned, known }: Followed): Promise<void> {
    const bankInstructionId = instruction.bankInstructionId;
    if (bankInstructionId === null) return;
    const status = await this.statusOf(account, instruction, bankInstructionId, known);
    if (status === undefined || !isPastSubmit(status)) return;
    await this.database.inEmployer(instruction.employerId, async (tx) => {
      await stopUnlessDecided(tx, {
        kind: 'INVARIANT_BREACH',
        ...aboutInstruction(instruction, planned),
        happened: `An instruction that was ${instruction.status.toLowerCase()} has moved at the bank.`,
      });
      await stopSuccessors(tx, known, status);
    });
  }

  private async statusOf(
    account: Followed['account'],
    { id, createdAt }: Followed['instruction'],
    bankInstructionId: string,
    known: Followed['known'],
  ): Promise<string | undefined> {
    try {
      const atBank = await this.reads.instruction(account, bankInstructionId);
      if (atBank) return atBank.status;
      const bankIds = known.map((one) => one.bankIds);
      const isNamedBy = namesOf(id);
      const seen = await this.reads.payments(account, { bankInstructionId, createdAt, bankIds, isNamedBy });
      return seen.map((payment) => payment.status).find(isPastSubmit);
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }
}
