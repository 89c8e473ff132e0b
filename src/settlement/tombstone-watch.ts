import { Injectable } from '@nestjs/common';
import { NotFound } from '../bank/errors';
import { BackgroundDatabase } from '../database/background-database';
import { isPastSubmit } from '../domain/bank-status';
import { BankReads } from '../employer/bank-reads';
import { isSaidExecuted } from '../pay-run/forgotten-pay';
import { namesOf } from '../pay-run/message-id';
import { tellOfMovedTombstone } from '../pay-run/moved-instruction';
import { named, stopSuccessors } from '../pay-run/stop-successors';
import type { Followed } from './followed';
import { PaymentSource } from './payment-source';

/**
 * What was abandoned or released must never move. One seen past its submit is a breach that stops everything;
 * cancelled, expired, deleted or gone is how it should be (rule 5).
 */
@Injectable()
export class TombstoneWatch {
  constructor(
    private readonly database: BackgroundDatabase,
    private readonly reads: BankReads,
    private readonly source: PaymentSource,
  ) {}

  async step({ instruction, account, planned, known }: Followed): Promise<void> {
    const bankInstructionId = instruction.bankInstructionId;
    if (bankInstructionId === null) return;
    const status = await this.statusOf(account, instruction, bankInstructionId, known);
    if (status === undefined || !isPastSubmit(status)) return;
    await this.database.inEmployer(instruction.employerId, async (tx) => {
      if (await isSaidExecuted(tx, instruction)) return;
      await tellOfMovedTombstone(tx, instruction, planned, status);
      const name = named(bankInstructionId);
      await stopSuccessors(tx, known, () => ({ shown: `${status} in ${name}`, words: [name] }));
    });
  }

  private async statusOf(
    account: Followed['account'],
    { id, createdAt }: Followed['instruction'],
    bankInstructionId: string,
    known: Followed['known'],
  ): Promise<string | undefined> {
    try {
      const at = {
        bankInstructionId,
        createdAt,
        bankIds: known.map((one) => one.bankIds),
        byAnyList: true,
        isNamedBy: namesOf(id),
      };
      // Many of them may be gone: each by itself would go through everything the bank lists.
      const payments = () => this.source.paymentsOf(account, { id, rows: known.length, ended: true }, at);
      return (await this.reads.standing(account, at, payments)).statuses.find(isPastSubmit);
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }
}
