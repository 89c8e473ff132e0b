import { Inject, Injectable } from '@nestjs/common';
import { ReadFails } from '../bank/errors';
import { CONFIG, Config } from '../config/env';
import { BackgroundDatabase } from '../database/background-database';
import { isBeforeSubmit, isPastSubmit, mostSubmitted } from '../domain/bank-status';
import type { EmployerTransaction } from '../database/database';
import { BankReads } from '../employer/bank-reads';
import type { InstructionAtBank } from '../employer/instruction-at-bank';
import type { Standing } from '../employer/standing';
import { aboutInstruction, clearOf, raiseUndecided } from '../pay-run/attention.store';
import { foundAs, isSaidExecuted } from '../pay-run/forgotten-pay';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { namesOf } from '../pay-run/message-id';
import { tellOfMovedTombstone } from '../pay-run/moved-instruction';
import { subjectAfterEnd } from '../pay-run/named-subject';
import { tellWithoutDoubt } from '../pay-run/released-doubt';
import type { Followed } from './followed';
import { PaymentSource } from './payment-source';

/** Why nothing leaves it possible any more that it was submitted. */
const IS_CLEAR = 'the bank shows it in a status that is clear';

/**
 * What was abandoned or released must never move. One seen past its submit is a breach that stops everything, and one
 * whose status no document names is asked about; cancelled, expired, deleted or gone is how it should be (rule 5).
 */
@Injectable()
export class TombstoneWatch {
  constructor(
    private readonly database: BackgroundDatabase,
    private readonly reads: BankReads,
    private readonly source: PaymentSource,
    @Inject(CONFIG) private readonly config: Pick<Config, 'BANK_LAG_BOUND_MS'>,
  ) {}

  async step({ instruction, account, planned, known }: Followed): Promise<void> {
    const bankInstructionId = instruction.bankInstructionId;
    if (bankInstructionId === null) return;
    const begunAt = performance.now();
    const standing = await this.standingOf(account, instruction, bankInstructionId, known);
    const status = mostSubmitted(standing.statuses);
    // What is not shown any more proves nothing (rule 10).
    if (status === undefined && !standing.shown) return;
    await this.database.inEmployer(instruction.employerId, async (tx) => {
      if (status === undefined) {
        // Nor does what a read that is older than the status may show.
        if (standing.isWhole) await clearOf(tx, ['UNKNOWN_STATUS'], instruction.id, IS_CLEAR);
        if (standing.isWhole || isBeforeSubmit(standing.shown?.status ?? ''))
          await tellWithoutDoubt(
            tx,
            instruction,
            this.config.BANK_LAG_BOUND_MS + (performance.now() - begunAt),
          );
        return;
      }
      if (await isSaidExecuted(tx, instruction)) return;
      if (!isPastSubmit(status)) return tellOfUnclear(tx, instruction, planned, status);
      await tellOfMovedTombstone(tx, instruction, planned, status, known);
    });
  }

  /** @throws BankClientError while it cannot be read, ReadFails where that is for good */
  private async standingOf(
    account: Followed['account'],
    { id, createdAt }: Followed['instruction'],
    bankInstructionId: string,
    known: Followed['known'],
  ): Promise<Standing> {
    const at = {
      bankInstructionId,
      createdAt,
      // One whose add had no answer may be none at all.
      bankIds: known.map((one) => one.bankIds).filter((ids) => ids.length > 0),
      byAnyList: true,
      evenUnlisted: true,
      isNamedBy: namesOf(id),
    };
    // Many of them may be gone: each by itself would go through everything the bank lists.
    const asked = { id, rows: known.length, ended: true };
    const payments = async (its: InstructionAtBank) => ({
      found: await this.source.paymentsOf(account, asked, its),
    });
    const standing = await this.reads.standing(account, at, payments);
    const { statuses, failing, isUnclear } = standing;
    if (mostSubmitted(statuses) === undefined && failing && isUnclear) throw new ReadFails('the instruction');
    return standing;
  }
}

/**
 * It, or a payment of it, shows what no document names: it may have been paid, also where its rows were sent since. Where a
 * restore found it so people are asked already.
 */
async function tellOfUnclear(
  tx: EmployerTransaction,
  instruction: Instruction,
  planned: PlannedInstruction,
  status: string,
): Promise<void> {
  if ((await foundAs(tx, instruction)) === status) return;
  const end = instruction.status;
  await raiseUndecided(tx, {
    kind: 'UNKNOWN_STATUS',
    ...aboutInstruction(instruction),
    subjectId: subjectAfterEnd(instruction.id, end, status),
    happened: `The bank shows an instruction of ${planned.rowCount} payments that was ${end.toLowerCase()}, or one of these payments, in a status whose meaning is not documented: ${status}.`,
    certain:
      'It was given up, and nothing more is sent for it. Whether the bank executes it is not certain: whom it was to pay may have been paid since by another.',
    askBank:
      'What does this status of customer instruction {ref} mean? Is it certain that nothing of it is executed, now or later? Please confirm that in writing.',
  });
}
