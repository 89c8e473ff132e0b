import { Inject, Injectable } from '@nestjs/common';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { isOverdue, localDate } from '../domain/business-day';
import { sendingCloses } from '../domain/send-window';
import type { Instruction } from '../pay-run/instruction.entity';
import type { PayRun } from '../pay-run/pay-run.entity';

/** How late a submitted instruction is, by the clock alone. */
@Injectable()
export class Lateness {
  constructor(
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  of(run: PayRun, instruction: Instruction): { shouldHaveMoved: boolean; overdue: boolean } {
    return { shouldHaveMoved: this.shouldHaveMoved(run, instruction), overdue: this.isOverdue(run) };
  }

  /** Whether it was submitted so long ago that the bank shows it, and has begun to work on it. */
  isOld({ submittedAt }: Pick<Instruction, 'submittedAt'>): boolean {
    const nowMs = this.clock.now().getTime();
    return nowMs - (submittedAt?.getTime() ?? nowMs) >= this.config.SUBMIT_DOUBT_MS;
  }

  /** Past the cut-off of the execution date, unless it was submitted so late that the bank may still be at it. */
  shouldHaveMoved({ executionDate }: Pick<PayRun, 'executionDate'>, instruction: Instruction): boolean {
    const cutOffMs = sendingCloses(executionDate, bankHours(this.config)).getTime();
    const isPast = this.clock.now().getTime() >= cutOffMs;
    return instruction.status === 'SUBMITTED' && isPast && this.isOld(instruction);
  }

  /** Whether every payment should be final by now. */
  isOverdue({ executionDate }: Pick<PayRun, 'executionDate'>): boolean {
    const today = localDate(this.clock.now(), this.config.BANK_TIME_ZONE);
    return isOverdue(executionDate, today, new Set(this.config.BANK_CLOSED_DAYS));
  }

  /** Whether what a payment that ended unpaid by then may have taken should be back by now. */
  isReturnOverdue(endedAt: Date): boolean {
    return this.isOverdue({ executionDate: localDate(endedAt, this.config.BANK_TIME_ZONE) });
  }
}
