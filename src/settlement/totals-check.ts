import { Inject, Injectable } from '@nestjs/common';
import { type BankInstruction, type BankPayment, namesItsInstruction } from '../bank/records';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import type { EmployerTransaction } from '../database/database';
import { isEndedUnpaid } from '../domain/bank-status';
import type { ShownBy } from '../employer/bank-reads';
import { clear } from '../pay-run/attention.store';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { calculatedBeyond, judgeGroups, sumOf, type Totals } from '../pay-run/match';
import { groupsDiffer } from '../pay-run/stop';
import { alarmOfStatus } from './follow-plan';
import type { Followed } from './followed';
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
   * Compares the groups that the bank shows of a locked instruction with the plan, where that is due
   * (`paymentTransactionsStatus`), and what it has calculated, after what was read of its payments was recorded: what
   * differs stops everything, and what agrees is written down.
   * @param shown nothing where the bank does not show it
   */
  async check(
    tx: EmployerTransaction,
    planned: PlannedInstruction,
    instruction: Instruction,
    shown: BankInstruction | undefined,
  ): Promise<void> {
    if (shown === undefined || !this.areDue(instruction)) return;
    const { employerId } = tx;
    const all = { count: planned.rowCount, totalMinor: planned.totalMinor };
    const judged = judgeGroups(all, shown.groups, this.mayBeFewer(instruction, shown.status));
    const isLess = judged !== 'equal' && judgeGroups(all, shown.groups, true) === 'absent';
    const totals = (isLess ? await explained(tx, planned, shown.groups ?? []) : undefined) ?? judged;
    const beyond = calculatedBeyond(all, shown);
    if (totals === 'different') await groupsDiffer(tx, instruction, all, shown.groups ?? []);
    else if (beyond) await groupsDiffer(tx, instruction, all, [beyond]);
    else if (totals === 'absent') return;
    else await clear(tx, ['TOTALS_UNSEEN'], instruction.id, 'the bank shows count and sum');
    const totalsCheckedAt = this.clock.now();
    await tx.manager.update(Instruction, { employerId, id: instruction.id }, { totalsCheckedAt });
    instruction.totalsCheckedAt = totalsCheckedAt;
  }

  /**
   * Whether the bank may count fewer payments than there are: it puts them into their groups one by one, or never will;
   * or takes out what has failed or what it has processed, which only the end of all shows to be the whole difference.
   */
  private mayBeFewer(instruction: Instruction, bankStatus: string): boolean {
    const { status, totalsCheckedAt, closedAt } = instruction;
    if (status === 'CLOSED' && (totalsCheckedAt !== null || this.mayBeOlderThan(closedAt))) return true;
    return status === 'SUBMITTED' || !this.lateness.isOld(instruction) || isEndedUnpaid(bankStatus);
  }

  /** Whether a read may show what was before that, as lately as it was. */
  private mayBeOlderThan(closedAt: Date | null): boolean {
    const { BANK_LAG_BOUND_MS, BANK_TIMEOUT_MS } = this.config;
    const agoMs = this.clock.now().getTime() - (closedAt?.getTime() ?? 0);
    return agoMs < BANK_LAG_BOUND_MS + BANK_TIMEOUT_MS;
  }
}

/**
 * What it means that groups lack some payments: `equal` where that is exactly what of them is known to have failed; absent
 * where it is what settled too, since of what was processed such a bank tells nothing, or, once all
 * have ended, only some of what failed, since it may have processed the others. Undefined where it is neither. What ended by
 * the word of people the bank may count still, or not any more; so it may what came back.
 */
async function explained(
  tx: EmployerTransaction,
  { payRunId, firstRow, lastRow, rowCount, totalMinor }: PlannedInstruction,
  groups: readonly Totals[],
): Promise<'equal' | 'absent' | undefined> {
  if (groups.length === 0) return undefined;
  const rows = await tx.query<{ settled: boolean; count: number; total: string }>(
    `SELECT p.status = 'SETTLED' AS settled, count(*)::int AS count, sum(p.amount_minor) AS total
     FROM payment p
     LEFT JOIN payment_decision d ON d.employer_id = $1 AND d.payment_id = p.id
     WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.row_no BETWEEN $3 AND $4
       AND p.status IN ('SETTLED', 'FAILED', 'REJECTED', 'CANCELLED', 'VOID')
     GROUP BY p.status = 'SETTLED', d.payment_id IS NULL, p.returned_at IS NULL`,
    [tx.employerId, payRunId, firstRow, lastRow],
  );
  const ended = rows.map(({ settled, count, total }) => ({ settled, count, totalMinor: BigInt(total) }));
  const shown = sumOf(groups);
  const isLacking = (some: Totals): boolean =>
    some.count === rowCount - shown.count && some.totalMinor === totalMinor - shown.totalMinor;
  const lacking = choicesOf(ended).filter((some) => isLacking(sumOf(some)));
  if (lacking.length > 0)
    return lacking.some((some) => some.every((one) => !one.settled)) ? 'equal' : 'absent';
  const settled = sumOf(ended.filter((one) => one.settled));
  const isSomeOfFailed = shown.count > settled.count && shown.totalMinor > settled.totalMinor;
  return isSomeOfFailed && sumOf(ended).count === rowCount ? 'absent' : undefined;
}

/** Some of several, in every way: at least one of them. */
function choicesOf<T>(all: readonly T[]): T[][] {
  return all.reduce<T[][]>((chosen, one) => [...chosen, ...chosen.map((some) => [...some, one]), [one]], []);
}

function looked({ status, closedAt, totalsCheckedAt }: Instruction): Looked {
  return { status, closedMs: closedAt?.getTime(), totalsCheckedMs: totalsCheckedAt?.getTime() };
}

/** Whether the count and sum the bank shows of what ended are those of the plan, and no status of it needs a person. */
export function isAsPlanned(
  { rowCount: count, totalMinor }: PlannedInstruction,
  shown: BankInstruction,
): boolean {
  const planned = { count, totalMinor };
  if (alarmOfStatus(shown.status) || calculatedBeyond(planned, shown)) return false;
  return judgeGroups(planned, shown.groups) === 'equal';
}

/** What a read showed of an instruction and its payments, and how. */
export interface Sight {
  seen: readonly BankPayment[];
  /** Undefined for a list of all payments, which need not name whose one too many is. */
  by: ShownBy | undefined;
  shown: BankInstruction | undefined;
  /** Whether the instruction itself was asked for, and the bank hides it: its own list may lack some of its payments. */
  hidden: boolean;
  /** Whether it hides it by saying that there is none. */
  gone: boolean;
}

/**
 * Whether a payment too many would be seen neither by a list nor by the instruction itself: its totals tell of one where
 * they can be read again, which has been done unless this `isSecondLook` still. Those of the answer to the submit alone do
 * not tell of what joined it since. Of what is gone with all its payments people have the bank's word in writing.
 */
export function isUnseen(
  { account: { reads }, planned }: Pick<Followed, 'account' | 'planned'>,
  { totalsCheckedAt }: Instruction,
  sight: Sight,
  isSecondLook: boolean,
): boolean {
  const { seen, shown, hidden, gone } = sight;
  if (isListed(sight) || (gone && seen.length === 0)) return false;
  if (totalsCheckedAt === null || hidden || !reads.includes('INSTRUCTION')) return true;
  return isSecondLook && shown !== undefined && !isCalculated(planned, shown);
}

/**
 * Whether a list shows all there are: that of the instruction, unless that is hidden, or one that names whose each is. One
 * that shows none of ours would not show another either.
 */
function isListed({ seen, by, hidden }: Sight): boolean {
  if (by === 'itself' || seen.length === 0) return false;
  return (by === 'own-list' && !hidden) || seen.every(namesItsInstruction);
}

/** Whether what was added to it is shown, and is what was planned. */
function isCalculated({ rowCount, totalMinor }: PlannedInstruction, shown: BankInstruction): boolean {
  return shown.calculatedCount === rowCount && shown.calculatedTotalMinor === totalMinor;
}
