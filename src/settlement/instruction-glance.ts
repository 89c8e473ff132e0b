import { Injectable } from '@nestjs/common';
import { type BankClientError, isBankError, isHidden, NotFound } from '../bank/errors';
import type { BankInstruction, BankPayment } from '../bank/records';
import { isPastSubmit } from '../domain/bank-status';
import { BankReads } from '../employer/bank-reads';
import { alarmOfStatus } from './follow-plan';
import type { Followed } from './followed';
import { Lateness } from './lateness';
import { TotalsCheck } from './totals-check';

/** What a read of an instruction itself showed: nothing where the bank hides it, or where it failed otherwise. */
export interface Glance {
  shown?: BankInstruction;
  failure?: BankClientError;
  /** Whether the bank says that there is none. */
  gone?: boolean;
  /** Whether reading it fails, be it for good: the date that it would show is not known then. */
  isUnread?: boolean;
}

/** Reads an instruction itself (Read instruction), where that tells what its payments alone do not. */
@Injectable()
export class InstructionGlance {
  constructor(
    private readonly reads: BankReads,
    private readonly totals: TotalsCheck,
    private readonly lateness: Lateness,
  ) {}

  /**
   * What ended is read before its payments where count and sum are due: at the second look, where nobody asked for more, that
   * one call may show that nothing has changed; and it tells of a payment too many also where no list is shown any more.
   */
  async beforePayments(followed: Followed): Promise<Glance | undefined> {
    const { instruction, account } = followed;
    if (instruction.status !== 'CLOSED' || !this.totals.areDue(instruction)) return undefined;
    return account.reads.includes('INSTRUCTION') ? this.at(followed) : undefined;
  }

  /**
   * After its payments were seen, it is read where count and sum are due, its status may say what keeps them, or the bank may
   * have moved on the date by which they are late.
   */
  async afterPayments(followed: Followed, seen: readonly BankPayment[]): Promise<Glance | undefined> {
    const { instruction, run } = followed;
    const late = this.lateness.of(run, instruction);
    const isUnsure =
      this.totals.areDue(instruction) ||
      this.standsStill(followed, seen) ||
      (instruction.status === 'SUBMITTED' && (late.shouldHaveMoved || late.overdue)) ||
      alarmOfStatus(instruction.bankStatus ?? '');
    return isUnsure ? this.at(followed) : undefined;
  }

  /** What the bank shows of the payments says whether our access is refused. */
  async at({ account, instruction }: Followed): Promise<Glance> {
    try {
      const shown = await this.reads.instruction(account, instruction.bankInstructionId ?? '');
      return { shown, isUnread: shown === undefined && account.reads.includes('INSTRUCTION') };
    } catch (error) {
      if (isHidden(error)) return { gone: error instanceof NotFound };
      if (isBankError(error)) return { failure: error, isUnread: true };
      throw error;
    }
  }

  /** Where no payment moves some time after the submit, the instruction alone may say for whom the bank waits. */
  private standsStill({ instruction }: Followed, seen: readonly BankPayment[]): boolean {
    if (instruction.status !== 'SUBMITTED' || !this.lateness.isOld(instruction)) return false;
    return !seen.some((payment) => isPastSubmit(payment.status));
  }
}
