import { Inject, Injectable } from '@nestjs/common';
import { NotFound } from '../bank/errors';
import type { BankInstruction, BankPayment } from '../bank/records';
import { bankHours } from '../config/bank-hours';
import { Clock } from '../config/clock';
import { crashPoint } from '../config/crash-point';
import { CONFIG, Config } from '../config/env';
import { findById, readById } from '../database/by-id';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence, Leases, wake } from '../database/leases';
import { PersonalData } from '../database/personal-data';
import { isEndedUnpaid, isPastSubmit, mayLackGroups } from '../domain/bank-status';
import { addBankingDays, localDate } from '../domain/business-day';
import { isPaymentFinal } from '../domain/payment';
import { sendingCloses } from '../domain/send-window';
import { BankReads } from '../employer/bank-reads';
import { EmployerAccount } from '../employer/employer.entity';
import { clear } from '../pay-run/attention.store';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { lockInstruction, moveInstruction, planOf } from '../pay-run/instruction.store';
import { contradictions, judgeGroups, rowsById } from '../pay-run/match';
import { namesOf } from '../pay-run/message-id';
import { PayRun } from '../pay-run/pay-run.entity';
import { groupsDiffer } from '../pay-run/stop';
import { tellOfDifference, tellOfForeign, tellOfUnfinished, tellOfUnseenTotals } from './follow-alarms';
import { tellOfEnded } from './ended-by-bank';
import { advanced, alarmOfStatus, FollowedPayment, newCharges, Progress, progressOf } from './follow-plan';
import {
  ChargesOfPayment,
  followedPayments,
  knownAtBank,
  KnownAtBank,
  recordCharges,
  recordProgress,
} from './follow.store';
import { PaymentSource } from './payment-source';
import { tellOfStatuses } from './status-alarms';

/** Days after the execution date on which every payment should be final. */
const PATIENCE_BANKING_DAYS = 2;

/** An instruction with what is needed to follow it. */
export interface Followed {
  instruction: Instruction;
  planned: PlannedInstruction;
  run: PayRun;
  account: EmployerAccount;
  known: KnownAtBank[];
}

/** Reads a submitted instruction and takes its payments as far as the bank has got with them. */
@Injectable()
export class Follower {
  constructor(
    private readonly database: Database,
    private readonly leases: Leases,
    private readonly source: PaymentSource,
    private readonly reads: BankReads,
    private readonly personal: PersonalData,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** One read of a SUBMITTED instruction, or of a CLOSED one while returns are watched for. */
  async step(claim: Claim, followed: Followed): Promise<void> {
    const { instruction, account, known } = followed;
    const glance = await this.glanceAgain(claim, followed);
    if (glance && isAsPlanned(followed.planned, glance)) {
      await this.database.inEmployer(claim.employerId, (tx) =>
        this.recordTotals(tx, claim, followed, glance),
      );
      return;
    }
    const asked = { id: instruction.id, rows: known.length };
    const seen = await this.source.paymentsOf(account, asked, {
      bankInstructionId: instruction.bankInstructionId ?? '',
      createdAt: instruction.createdAt,
      bankIds: known.map(({ bankIds }) => bankIds),
      isNamedBy: namesOf(instruction.id),
    });
    const unsure =
      instruction.totalsCheckedAt === null ||
      this.isSecondLook(instruction) ||
      this.standsStill(instruction, seen) ||
      alarmOfStatus(instruction.bankStatus ?? '');
    const shown = glance ?? (unsure ? await this.readInstruction(followed) : undefined);
    crashPoint('follow.read');
    await this.database.inEmployer(claim.employerId, (tx) => this.record(tx, claim, followed, seen, shown));
    crashPoint('follow.recorded');
    await this.leases.answer(claim);
  }

  /** What time alone tells of an instruction while nothing of it can be read, or recorded. @param why in words */
  async judgeUnread(tx: EmployerTransaction, claim: Claim, followed: Followed, why: string): Promise<void> {
    const instruction = await lockInstruction(tx, followed.instruction.id);
    await fence(tx, claim);
    if (instruction.status !== 'SUBMITTED') return;
    const payments = await followedPayments(tx, this.personal, instruction);
    await tellOfStatuses(tx, instruction, payments, this.shouldHaveMoved(followed.run, instruction));
    const open = payments.filter(({ status }) => !isPaymentFinal(status));
    await this.askAfterPatience(tx, followed, open, ` ${why}`);
  }

  /** Once more soon after the end: a bank may have taken an add after the submit, and paid it too. */
  private isSecondLook({ status, closedAt, totalsCheckedAt }: Instruction): boolean {
    const dueMs = (closedAt?.getTime() ?? 0) + this.config.SUBMIT_DOUBT_MS;
    return (
      status === 'CLOSED' && (totalsCheckedAt?.getTime() ?? 0) < dueMs && dueMs <= this.clock.now().getTime()
    );
  }

  /** The second look where nobody asked for more: for one call, what may show that nothing has changed. */
  private async glanceAgain(claim: Claim, followed: Followed): Promise<BankInstruction | undefined> {
    if (claim.wokenAt !== null || !this.isSecondLook(followed.instruction)) return undefined;
    return followed.account.reads.includes('INSTRUCTION') ? this.readInstruction(followed) : undefined;
  }

  /** Where no payment moves some time after the submit, the instruction alone may say for whom the bank waits. */
  private standsStill({ status, submittedAt }: Instruction, seen: readonly BankPayment[]): boolean {
    if (status !== 'SUBMITTED' || this.ageMs(submittedAt) < this.config.SUBMIT_DOUBT_MS) return false;
    return !seen.some((payment) => isPastSubmit(payment.status));
  }

  private ageMs(submittedAt: Date | null): number {
    const nowMs = this.clock.now().getTime();
    return nowMs - (submittedAt?.getTime() ?? nowMs);
  }

  private async recordTotals(
    tx: EmployerTransaction,
    claim: Claim,
    followed: Followed,
    shown: BankInstruction | undefined,
  ): Promise<Instruction> {
    const instruction = await lockInstruction(tx, followed.instruction.id);
    await fence(tx, claim);
    await this.checkTotals(tx, followed, instruction, shown);
    return instruction;
  }

  private async readInstruction({ account, instruction }: Followed): Promise<BankInstruction | undefined> {
    try {
      return await this.reads.instruction(account, instruction.bankInstructionId ?? '');
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  private async record(
    tx: EmployerTransaction,
    claim: Claim,
    followed: Followed,
    seen: readonly BankPayment[],
    shown: BankInstruction | undefined,
  ): Promise<void> {
    const instruction = await this.recordTotals(tx, claim, followed, shown);
    const before = await followedPayments(tx, this.personal, instruction);
    const { progress, charges } = await this.hold(tx, instruction, before, seen);
    await recordProgress(tx, instruction, progress);
    await recordCharges(tx, charges);
    const payments = advanced(before, progress);
    await tellOfStatuses(tx, instruction, payments, this.shouldHaveMoved(followed.run, instruction));
    await tellOfEnded(tx, instruction, payments, followed.instruction.bankStatus);
    if (instruction.status !== 'SUBMITTED') return;
    const closed = await this.close(tx, followed, instruction, payments);
    if (closed && !isWholeSeen(followed.account, instruction, seen))
      await tellOfUnseenTotals(tx, instruction, followed.planned);
  }

  /** The count and sum of a submitted instruction are compared again, as soon as the bank shows them (rule 9). */
  private async checkTotals(
    tx: EmployerTransaction,
    { planned }: Followed,
    instruction: Instruction,
    shown: BankInstruction | undefined,
  ): Promise<void> {
    if (shown === undefined) return;
    const { employerId } = tx;
    await tx.manager.update(Instruction, { employerId, id: instruction.id }, { bankStatus: shown.status });
    instruction.bankStatus = shown.status;
    if (instruction.totalsCheckedAt !== null && !this.isSecondLook(instruction)) return;
    const totals = judgeGroups(
      { count: planned.rowCount, totalMinor: planned.totalMinor },
      shown.groups,
      this.mayGrow(instruction, shown.status),
    );
    if (totals === 'different') await groupsDiffer(tx, instruction, planned, shown.groups ?? []);
    if (totals === 'absent') return;
    await tx.manager.update(
      Instruction,
      { employerId, id: instruction.id },
      { totalsCheckedAt: this.clock.now() },
    );
  }

  /** Whether the bank may still be putting payments into their groups, which it may do one by one, or never will. */
  private mayGrow({ status, submittedAt }: Instruction, bankStatus: string): boolean {
    if (this.ageMs(submittedAt) < this.config.SUBMIT_DOUBT_MS || isEndedUnpaid(bankStatus)) return true;
    return status === 'SUBMITTED' && mayLackGroups(bankStatus);
  }

  /** Holds what was read against our payments: a field that contradicts, or a stranger, moves nothing. */
  private async hold(
    tx: EmployerTransaction,
    instruction: Instruction,
    payments: readonly FollowedPayment[],
    seen: readonly BankPayment[],
  ): Promise<{ progress: Progress[]; charges: ChargesOfPayment[] }> {
    const byId = rowsById(payments);
    const progress = new Map<number, Progress>();
    const charges = new Map<number, ChargesOfPayment>();
    const foreign: BankPayment[] = [];
    for (const one of seen) {
      const payment = byId.get(one.bankPaymentId);
      if (!payment) {
        foreign.push(one);
        continue;
      }
      const fields = contradictions(payment, one);
      if (fields.length > 0) {
        await tellOfDifference(tx, instruction, payment, fields);
        continue;
      }
      const step = progressOf(payment, one);
      if (step) progress.set(payment.rowNo, step);
      const chargesMinor = newCharges(payment, one);
      if (chargesMinor !== undefined)
        charges.set(payment.rowNo, { paymentId: payment.paymentId, chargesMinor });
    }
    if (foreign.length > 0) await tellOfForeign(tx, instruction, foreign);
    return { progress: [...progress.values()], charges: [...charges.values()] };
  }

  private async close(
    tx: EmployerTransaction,
    followed: Followed,
    instruction: Instruction,
    payments: readonly FollowedPayment[],
  ): Promise<boolean> {
    const open = payments.filter(({ status }) => !isPaymentFinal(status));
    if (open.length > 0) {
      await this.askAfterPatience(tx, followed, open, '');
      return false;
    }
    const settled = payments.filter(({ status }) => status === 'SETTLED').length;
    const outcome = settled === payments.length ? 'SETTLED' : settled === 0 ? 'FAILED' : 'PARTLY_SETTLED';
    const declared = payments.some(({ status }) => status === 'VOID');
    const reason = declared ? `the bank ended it as ${instruction.bankStatus ?? ''}` : undefined;
    await moveInstruction(
      tx,
      instruction,
      'CLOSED',
      'service',
      { closedAt: this.clock.now(), outcome },
      reason,
    );
    await clear(tx, ['ROW_UNSEEN'], instruction.id, 'every payment reached its end');
    wake(tx, 'RUN', tx.employerId, [instruction.payRunId]);
    return true;
  }

  /** Past the cut-off of the execution date, unless it was submitted so late that the bank may still be at it. */
  private shouldHaveMoved(run: PayRun, { status, submittedAt }: Instruction): boolean {
    const nowMs = this.clock.now().getTime();
    const cutOffMs = sendingCloses(run.executionDate, bankHours(this.config)).getTime();
    const isOld = this.ageMs(submittedAt) >= this.config.SUBMIT_DOUBT_MS;
    return status === 'SUBMITTED' && nowMs >= cutOffMs && isOld;
  }

  private async askAfterPatience(
    tx: EmployerTransaction,
    { run, instruction }: Followed,
    open: readonly FollowedPayment[],
    why: string,
  ): Promise<void> {
    const patience = addBankingDays(
      run.executionDate,
      PATIENCE_BANKING_DAYS,
      new Set(this.config.BANK_CLOSED_DAYS),
    );
    if (localDate(this.clock.now(), this.config.BANK_TIME_ZONE) <= patience) return;
    await tellOfUnfinished(tx, instruction, open, why);
  }
}

/** Reads an instruction with what is needed to follow it. */
export async function loadFollowed(
  tx: EmployerTransaction,
  instructionId: string,
): Promise<Followed | undefined> {
  const instruction = await findById(tx, Instruction, instructionId);
  if (!instruction) return undefined;
  const [run, planned, known] = await Promise.all([
    readById(tx, PayRun, instruction.payRunId),
    planOf(tx, instruction),
    knownAtBank(tx, instruction),
  ]);
  const account = await readById(tx, EmployerAccount, run.accountId);
  return { instruction, planned, run, account, known };
}

/** Whether the count and sum the bank shows of what ended are those of the plan, and no status of it needs a person. */
function isAsPlanned(
  { rowCount: count, totalMinor }: PlannedInstruction,
  { status, groups }: BankInstruction,
): boolean {
  return !alarmOfStatus(status) && judgeGroups({ count, totalMinor }, groups) === 'equal';
}

/** Whether a payment too many would have been seen: by the totals, by the instruction's own list, or by what names it. */
function isWholeSeen(
  account: EmployerAccount,
  { totalsCheckedAt }: Instruction,
  seen: readonly BankPayment[],
): boolean {
  if (totalsCheckedAt !== null || account.reads.includes('INSTRUCTION_PAYMENTS')) return true;
  return seen.every((one) => one.bankInstructionId !== undefined || one.messageId !== undefined);
}
