import { Inject, Injectable } from '@nestjs/common';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { isOverdue, type IsoDate, localDate } from '../domain/business-day';
import { sendingCloses } from '../domain/send-window';
import { isOtherDate } from '../domain/shown-date';
import type { Instruction } from '../pay-run/instruction.entity';
import type { PayRun } from '../pay-run/pay-run.entity';

/** How late a submitted instruction is, by the clock alone. */
@Injectable()
export class Lateness {
  constructor(
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * @param shownDate the execution date that the bank shows, to which it may have moved the approved one on
   * @param at as of when: of what was not read since, whose date nobody has asked for, as of when the read began
   */
  of(
    { executionDate: approved }: Pick<PayRun, 'executionDate'>,
    instruction: Pick<Instruction, 'status' | 'submittedAt'>,
    shownDate = approved,
    at = this.clock.now(),
  ): { shouldHaveMoved: boolean; overdue: boolean } {
    const executionDate = isOtherDate(shownDate, approved) ? approved : shownDate;
    return {
      shouldHaveMoved: this.shouldHaveMoved(executionDate, instruction, at),
      overdue: this.isOverdue({ executionDate }, at),
    };
  }

  /** Whether it was submitted so long ago that the bank shows it, and has begun to work on it. */
  isOld({ submittedAt }: Pick<Instruction, 'submittedAt'>): boolean {
    const nowMs = this.clock.now().getTime();
    return nowMs - (submittedAt?.getTime() ?? nowMs) >= this.config.SUBMIT_DOUBT_MS;
  }

  /** So long past the cut-off of the date, and its submit, that the bank has begun what it collects until then. */
  private shouldHaveMoved(
    executionDate: IsoDate,
    instruction: Pick<Instruction, 'status' | 'submittedAt'>,
    at: Date,
  ): boolean {
    const cutOffMs = sendingCloses(executionDate, bankHours(this.config)).getTime();
    const isPast = at.getTime() >= cutOffMs + this.config.BANK_PATIENCE_MS;
    return instruction.status === 'SUBMITTED' && isPast && this.isOld(instruction);
  }

  /** Whether every payment should be final by now. */
  isOverdue({ executionDate }: Pick<PayRun, 'executionDate'>, at = this.clock.now()): boolean {
    const today = localDate(at, this.config.BANK_TIME_ZONE);
    return isOverdue(executionDate, today, new Set(this.config.BANK_CLOSED_DAYS));
  }

  /** Whether what a payment that ended unpaid by then may have taken should be back by now. */
  isReturnOverdue(endedAt: Date): boolean {
    return this.isOverdue({ executionDate: localDate(endedAt, this.config.BANK_TIME_ZONE) });
  }
}
