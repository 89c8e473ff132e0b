import { Injectable } from '@nestjs/common';
import { isBankError, isHiddenForGood, unless } from '../bank/errors';
import type { KnownIds } from '../bank/payment-ids';
import { Clock } from '../config/clock';
import { Database } from '../database/database';
import { readToDecide } from '../employer/bank-problem';
import { BankReads } from '../employer/bank-reads';
import { DECIDED, type ShownBy, sightedBy } from '../employer/instruction-at-bank';
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
   * Reads both now; what is hidden for good says nothing. What was shown before a read failed is recorded.
   * @param bankIds the payments that are known
   * @throws Problem 503 while the bank cannot be read
   */
  read(work: Work, bankIds: readonly KnownIds[]): Promise<ShownElsewhere> {
    const { account, instruction } = work;
    const bankInstructionId = instruction.bankInstructionId ?? '';
    const [begunAt, at] = [performance.now(), this.clock.now()];
    return readToDecide(async () => {
      const shown = await unless(isHiddenForGood, this.reads.instruction(account, bankInstructionId));
      let by: ShownBy | undefined;
      const { asked, sights } = sightedBy({
        bankInstructionId,
        createdAt: instruction.createdAt,
        bankIds,
        ...DECIDED,
        isNamedBy: namesOf(instruction.id),
        onShown: (way) => (by = way),
      });
      try {
        const found = (await unless(isHiddenForGood, this.reads.read(account, asked)))?.found ?? [];
        const seen = [...found, ...sights.filter((one) => !found.includes(one))];
        return { instruction: shown, seen, by, begunAt, at };
      } catch (error) {
        if (isBankError(error) && sights.length > 0)
          await this.record(work, { instruction: shown, seen: sights, by, begunAt, at });
        throw error;
      }
    });
  }

  /** Records what speaks against a decision, so that it holds should the bank not show it again. */
  record({ instruction: { id, employerId } }: Work, shown: ShownElsewhere): Promise<void> {
    return this.database.inEmployer(employerId, (tx) => this.records.recordSight(tx, id, shown));
  }
}
