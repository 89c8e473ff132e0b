import { Injectable } from '@nestjs/common';
import { isHiddenForGood, unless } from '../bank/errors';
import type { KnownIds } from '../bank/payment-ids';
import { Clock } from '../config/clock';
import { Database } from '../database/database';
import { readToDecide } from '../employer/bank-problem';
import { BankReads } from '../employer/bank-reads';
import { DECIDED, type ShownBy } from '../employer/instruction-at-bank';
import { namesOf } from '../pay-run/message-id';
import { FollowRecord, type ShownElsewhere } from '../settlement/follow-record';
import type { Work } from '../submission/work';

/** What the bank shows of a submitted instruction and its payments while people decide about it. */
@Injectable()
export class InstructionSight {
  constructor(
    private readonly database: Database,
    private readonly reads: BankReads,
    private readonly records: FollowRecord,
    private readonly clock: Clock,
  ) {}

  /**
   * Reads both now; what is hidden for good says nothing.
   * @param bankIds the payments that are known
   * @throws Problem 503 while the bank cannot be read
   */
  read({ account, instruction }: Work, bankIds: readonly KnownIds[]): Promise<ShownElsewhere> {
    const bankInstructionId = instruction.bankInstructionId ?? '';
    const [begunAt, at] = [performance.now(), this.clock.now()];
    return readToDecide(async () => {
      const shown = await unless(isHiddenForGood, this.reads.instruction(account, bankInstructionId));
      let by: ShownBy | undefined;
      const reading = this.reads.read(account, {
        bankInstructionId,
        createdAt: instruction.createdAt,
        bankIds,
        ...DECIDED,
        isNamedBy: namesOf(instruction.id),
        onShown: (way) => (by = way),
      });
      const seen = (await unless(isHiddenForGood, reading))?.found ?? [];
      return { instruction: shown, seen, by, begunAt, at };
    });
  }

  /** Records what speaks against a decision, so that it holds should the bank not show it again. */
  record({ instruction: { id, employerId } }: Work, shown: ShownElsewhere): Promise<void> {
    return this.database.inEmployer(employerId, (tx) => this.records.recordSight(tx, id, shown));
  }
}
