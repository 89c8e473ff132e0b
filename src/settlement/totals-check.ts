import { Inject, Injectable } from '@nestjs/common';
import { type BankInstruction, type BankPayment, namesItsInstruction } from '../bank/records';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { shownWithinMs } from '../config/shown-within';
import type { EmployerTransaction } from '../database/database';
import { words } from '../database/words';
import { PAYMENT_UNPAID } from '../domain/payment';
import type { ShownBy } from '../employer/instruction-at-bank';
import { clear } from '../pay-run/attention.store';
import { Instruction, PlannedInstruction } from '../pay-run/instruction.entity';
import { type Lacking, totalsOf } from '../pay-run/match';
import { groupsDiffer } from '../pay-run/stop';
import type { Followed } from './followed';
import { type Ended, judgeFollowed, lacksSome, mayLack, showsAsPlanned } from './followed-totals';
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
    const all = totalsOf(planned);
    const totals = judgeFollowed(all, shown, {
      mayLack: this.mayLack(instruction, shown.status),
      ended: lacksSome(all, shown) ? await endedOf(tx, planned) : [],
    });
    if (totals.kind === 'different') await groupsDiffer(tx, instruction, all, totals.shown);
    else if (totals.kind === 'absent') return;
    else await clear(tx, ['TOTALS_UNSEEN'], instruction.id, 'the bank shows count and sum');
    const totalsCheckedAt = this.clock.now();
    await tx.manager.update(Instruction, { employerId, id: instruction.id }, { totalsCheckedAt });
    instruction.totalsCheckedAt = totalsCheckedAt;
  }

  private mayLack(instruction: Instruction, bankStatus: string): Lacking | undefined {
    return mayLack(looked(instruction), bankStatus, {
      isOld: this.lateness.isOld(instruction),
      mayBeOlderThanEnd: this.mayBeOlderThan(instruction.closedAt),
    });
  }

  /** Whether a read may show what was before that, as lately as it was. */
  private mayBeOlderThan(closedAt: Date | null): boolean {
    const agoMs = this.clock.now().getTime() - (closedAt?.getTime() ?? 0);
    return agoMs < shownWithinMs(this.config);
  }
}

/** What of its payments has ended; what people decided, and what came back, by itself. */
async function endedOf(
  tx: EmployerTransaction,
  { payRunId, firstRow, lastRow }: PlannedInstruction,
): Promise<Ended[]> {
  const rows = await tx.query<{ settled: boolean; count: number; total: string }>(
    `SELECT p.status = 'SETTLED' AS settled, count(*)::int AS count, sum(p.amount_minor) AS total
     FROM payment p
     WHERE p.employer_id = $1 AND p.pay_run_id = $2 AND p.row_no BETWEEN $3 AND $4
       AND p.status IN (${words(['SETTLED', ...PAYMENT_UNPAID])})
     GROUP BY p.status = 'SETTLED', p.returned_at IS NULL,
       EXISTS (SELECT FROM payment_decision d WHERE d.employer_id = $1 AND d.payment_id = p.id)`,
    [tx.employerId, payRunId, firstRow, lastRow],
  );
  return rows.map(({ settled, count, total }) => ({ settled, count, totalMinor: BigInt(total) }));
}

function looked({ status, closedAt, totalsCheckedAt }: Instruction): Looked {
  return { status, closedMs: closedAt?.getTime(), totalsCheckedMs: totalsCheckedAt?.getTime() };
}

/** As `showsAsPlanned`. */
export function isAsPlanned(
  { rowCount: count, totalMinor }: PlannedInstruction,
  shown: BankInstruction,
): boolean {
  return showsAsPlanned({ count, totalMinor }, shown);
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
