import { Inject, Injectable } from '@nestjs/common';
import type { BankInstruction, BankPayment } from '../bank/records';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import type { EmployerTransaction } from '../database/database';
import { isEndedUnpaid, mayLackGroups } from '../domain/bank-status';
import type { EmployerAccount } from '../employer/employer.entity';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { judgeGroups } from '../pay-run/match';
import { groupsDiffer } from '../pay-run/stop';
import { alarmOfStatus } from './follow-plan';
import { Lateness } from './lateness';
import { areTotalsDue, isSecondLook, type Looked, watchOf } from './looks';

/** The count and sum that the bank shows of a submitted instruction, held against those that were planned (rule 9). */
@Injectable()
export class TotalsCheck {
  constructor(
    private readonly lateness: Lateness,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** As `areTotalsDue`, now. */
  areDue(instruction: Instruction): boolean {
    return areTotalsDue(looked(instruction), this.clock.now().getTime(), watchOf(this.config));
  }

  /** As the function of this name, now. */
  isSecondLook(instruction: Instruction): boolean {
    return isSecondLook(looked(instruction), this.clock.now().getTime(), watchOf(this.config));
  }

  /**
   * Keeps the status that the bank shows of a locked instruction, and compares its groups where that is due: what differs
   * stops everything, and what agrees is written down.
   * @param shown nothing where the bank does not show it
   */
  async check(
    tx: EmployerTransaction,
    planned: PlannedInstruction,
    instruction: Instruction,
    shown: BankInstruction | undefined,
  ): Promise<void> {
    if (shown === undefined) return;
    const { employerId } = tx;
    await tx.manager.update(Instruction, { employerId, id: instruction.id }, { bankStatus: shown.status });
    instruction.bankStatus = shown.status;
    if (!this.areDue(instruction)) return;
    const totals = judgeGroups(
      { count: planned.rowCount, totalMinor: planned.totalMinor },
      shown.groups,
      this.mayBeFewer(instruction, shown.status),
    );
    if (totals === 'different') await groupsDiffer(tx, instruction, shown.groups ?? []);
    if (totals === 'absent') return;
    await tx.manager.update(
      Instruction,
      { employerId, id: instruction.id },
      { totalsCheckedAt: this.clock.now() },
    );
  }

  /**
   * Whether the bank may count fewer payments than there are: it puts them into their groups one by one, or never will;
   * or takes out what it has processed, of what ended after its totals were compared.
   */
  private mayBeFewer(instruction: Instruction, bankStatus: string): boolean {
    const { status, totalsCheckedAt } = instruction;
    if (status === 'CLOSED' && totalsCheckedAt !== null) return true;
    if (!this.lateness.isOld(instruction) || isEndedUnpaid(bankStatus)) return true;
    return status === 'SUBMITTED' && mayLackGroups(bankStatus);
  }
}

function looked({ status, closedAt, totalsCheckedAt }: Instruction): Looked {
  return { status, closedMs: closedAt?.getTime(), totalsCheckedMs: totalsCheckedAt?.getTime() };
}

/** Whether the count and sum the bank shows of what ended are those of the plan, and no status of it needs a person. */
export function isAsPlanned(
  { rowCount: count, totalMinor }: PlannedInstruction,
  { status, groups }: BankInstruction,
): boolean {
  return !alarmOfStatus(status) && judgeGroups({ count, totalMinor }, groups) === 'equal';
}

/**
 * Whether a payment too many would have been seen: by the totals, by the instruction's own list, which is hidden where the
 * instruction is, or by what names it.
 */
export function isWholeSeen(
  account: EmployerAccount,
  { totalsCheckedAt }: Instruction,
  seen: readonly BankPayment[],
  hidden: boolean,
): boolean {
  if (totalsCheckedAt !== null || (!hidden && account.reads.includes('INSTRUCTION_PAYMENTS'))) return true;
  return seen.every((one) => one.bankInstructionId !== undefined || one.messageId !== undefined);
}
