import { Injectable } from '@nestjs/common';
import {
  type Answer,
  answerOf,
  isBankError,
  isPerhapsNone,
  isRequestRefused,
  ListUnreadable,
  NotFound,
  unless,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { ListSize } from '../bank/paging';
import type { KnownIds } from '../bank/payment-ids';
import { isIncoming } from '../bank/payment-marks';
import type { BankPayment } from '../bank/records';
import { AtMostEvery } from '../config/at-most-every';
import { Clock } from '../config/clock';
import { BankList, BankLists } from '../database/bank-lists';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../domain/durations';
import { BankRead, EmployerAccount } from './employer.entity';
import { FaultsInARow } from './faults-in-a-row';
import { type InstructionAtBank, isDecided, knownTo, mayBeOf, notAmong } from './instruction-at-bank';

/** A list that may show the payments of an instruction, and the name by which its faults are counted. */
interface List {
  list: BankList;
  name: string;
  read: () => Promise<BankPayment[]>;
}

/** How many payments an instruction says that it has; undefined where that is not shown. */
type Count = () => Promise<number | undefined>;

/** The bank's clock and ours may differ: a day covers any error of either and costs some pages at most. */
export const CLOCK_MARGIN_MS = DAY_MS;

/** What did not change is written down again after so long: it is believed for a day. */
const TELL_AGAIN_MS = HOUR_MS;

/** A list that was seen to hide from a date on what it shows whole is read whole for so long. */
const READ_WHOLE_MS = HOUR_MS;
/** How often it is tried at most whether it does, for one instruction that shows nothing so either. */
const TRY_WHOLE_MS = MINUTE_MS;

/** What a list shows of an instruction, and what it was seen to hold. */
interface Listed {
  found: BankPayment[];
  sizes: ListSize[];
}

/** The lists of the bank that show payments of an instruction: its own, and the general one. */
@Injectable()
export class PaymentLists {
  private readonly told = new Map<BankList, { what: string; atMs: number }>();
  private readonly lackingTold: AtMostEvery<BankList>;
  private wholeUntilMs = 0;
  /** Of an instruction that showed nothing so either, by its id at the bank. */
  private readonly wholeTried: AtMostEvery<string>;

  constructor(
    private readonly gateway: BankGateway,
    private readonly lists: BankLists,
    private readonly clock: Clock,
    private readonly faults: FaultsInARow,
  ) {
    this.lackingTold = new AtMostEvery(TELL_AGAIN_MS, clock);
    this.wholeTried = new AtMostEvery(TRY_WHOLE_MS, clock);
  }

  /**
   * The lists that may be read, that of the instruction first; each fails by its own name. One that is not there leaves the
   * general list the only one. @param count as of `own`
   */
  of(account: EmployerAccount, asked: InstructionAtBank, count: Count): List[] {
    const hasOwn = may(account, 'INSTRUCTION_PAYMENTS');
    let isOnly = !hasOwn;
    const own: List = {
      list: 'INSTRUCTION_PAYMENTS',
      name: listOf(asked.bankInstructionId),
      read: () =>
        this.own(asked, count).catch((error: unknown) => {
          isOnly = error instanceof NotFound;
          throw error;
        }),
    };
    const name = generalFor(asked);
    const general: List = {
      list: 'PAYMENTS',
      name,
      read: () => this.faults.counting(name, () => this.fromGeneralList(asked, isOnly)),
    };
    return [...(hasOwn ? [own] : []), ...(may(account, 'PAYMENT_LIST') ? [general] : [])];
  }

  /** The payments that the list of the instruction itself shows. @param count of them, by the instruction @throws BankClientError */
  async own(
    { bankInstructionId, bankIds, isOnlyFollowed, onIncoming, onSeen, onShown }: InstructionAtBank,
    count: Count,
  ): Promise<BankPayment[]> {
    const sizes: ListSize[] = [];
    const onEnd = (size: ListSize) => sizes.push(size);
    const isAll = async (seen: number) => isAllOf(seen, await count(), bankIds.length);
    const known = knownTo(bankIds);
    const found = await this.faults.counting(listOf(bankInstructionId), async () => {
      const shown: BankPayment[] = [];
      let isShown = false;
      // What is more is looked for before the submit, and by each decision.
      const isEnough = () => isOnlyFollowed === true && showsAll(shown, bankIds);
      const listed = this.gateway.listInstructionPayments(bankInstructionId, onEnd, isAll, isEnough);
      for await (const payment of listed) {
        shown.push(payment);
        if (isIncoming(payment, known)) continue;
        onSeen?.(payment);
        // What it shows before it fails is shown by it, too.
        if (!isShown) onShown?.('own-list');
        isShown = true;
      }
      return shown;
    });
    await this.remember('INSTRUCTION_PAYMENTS', sizes);
    const ours = found.filter((payment) => {
      if (!isIncoming(payment, known)) return true;
      const named = payment.bankInstructionId ?? bankInstructionId;
      onIncoming?.({ ...payment, bankInstructionId: named, creditorIban: payment.iban });
      return false;
    });
    return ours;
  }

  /**
   * The ids of the payments that the list of the instruction itself shows, where it shows some and none of them so that the
   * rest can be read: it may have records of its own kind. Else undefined. @param count as of `own` @throws BankClientError
   */
  async unreadableOwn(
    { bankInstructionId, bankIds }: InstructionAtBank,
    count: Count,
  ): Promise<string[] | undefined> {
    const isAll = async (seen: number) => isAllOf(seen, await count(), bankIds.length);
    const ids: string[] = [];
    for await (const { marks, isReadable } of this.gateway.listInstructionMarks(bankInstructionId, isAll)) {
      if (isReadable || marks.bankPaymentId === undefined) return undefined;
      ids.push(marks.bankPaymentId);
    }
    return ids.length > 0 ? ids : undefined;
  }

  private async fromGeneralList(instruction: InstructionAtBank, isOnly: boolean): Promise<BankPayment[]> {
    const from = new Date(instruction.createdAt.getTime() - CLOCK_MARGIN_MS);
    const { found, sizes } = await this.fromOrWhole(instruction, from, isOnly);
    // That of an older instruction reaches further back than those of a run that is sent will.
    const recent = this.clock.now().getTime() - from.getTime() < 2 * CLOCK_MARGIN_MS;
    if (recent) await this.remember('PAYMENTS', sizes);
    return found;
  }

  /**
   * The general list from a moment on, or whole, as far as the pager goes: where the bank refuses to begin it anywhere, or
   * where it is the only list and shows nothing so of what is known to be there, since which date begins it is not shown.
   */
  private async fromOrWhole(instruction: InstructionAtBank, from: Date, isOnly: boolean): Promise<Listed> {
    const { bankInstructionId, bankIds, isOnlyFollowed, onSeen } = instruction;
    const isOurs = mayBeOf(instruction);
    const read = async (filter: { from?: string } = {}, found: BankPayment[] = []): Promise<Listed> => {
      const sizes: ListSize[] = [];
      const onEnd = (size: ListSize) => sizes.push(size);
      const isEnough = () => isOnlyFollowed === true && showsAll(found, bankIds);
      const listed = this.gateway.listPayments(filter, isOurs, onEnd, undefined, isEnough);
      for await (const payment of listed) {
        if (!isOurs(payment)) continue;
        found.push(payment);
        onSeen?.(payment);
      }
      return { found, sizes };
    };
    const readFrom = () => answerOf(read({ from: from.toISOString() }));
    const nowMs = this.clock.now().getTime();
    if (nowMs < this.wholeUntilMs) return read();
    const bounded = await readFrom();
    if ('failure' in bounded && isRequestRefused(bounded.failure)) return read();
    const known = knownTo(bankIds);
    const isAnyKnown = (found: readonly BankPayment[]) =>
      found.some(({ bankPaymentId }) => known(bankPaymentId));
    const isHidden = (answer: Answer<Listed>) =>
      'shown' in answer ? !isAnyKnown(answer.shown.found) : isPerhapsNone(answer.failure);
    // What it showed a minute ago is no ground for a decision.
    const isDue = isDecided(instruction) || this.wholeTried.isDue(bankInstructionId);
    if (isOnly && isHidden(bounded) && isDue && bankIds.some(([id]) => id !== undefined)) {
      // A list too long to be read whole tells no more than what was read of it.
      const isNone = (error: unknown) => isPerhapsNone(error) || error instanceof ListUnreadable;
      const found: BankPayment[] = [];
      const whole = await unless(isNone, read({}, found));
      if (!whole && isAnyKnown(found))
        return { found: [...found, ...('shown' in bounded ? bounded.shown.found : [])], sizes: [] };
      if (whole && isAnyKnown(found)) {
        // A list that shows them by now only lagged; of one that fails by now that is not known.
        const again = await unless(isBankError, readFrom());
        if (again && isHidden(again)) this.wholeUntilMs = nowMs + READ_WHOLE_MS;
        return whole;
      }
      this.wholeTried.note(bankInstructionId);
    }
    if ('failure' in bounded) throw bounded.failure;
    return bounded.shown;
  }

  /** That a list was seen to lack what another read shows, once an hour. */
  async rememberLacking(list: BankList): Promise<void> {
    if (!this.lackingTold.isDue(list)) return;
    await this.lists.rememberLacking(list);
    this.lackingTold.note(list);
  }

  /** Of a list read over and over only what is new: its rows, or the rows of a full page of it. */
  private async remember(list: BankList, sizes: readonly ListSize[]): Promise<void> {
    for (const size of sizes) {
      const told = list === 'PAYMENTS' ? `${size.rows} ${size.pageRows}` : String(size.pageRows);
      const stale = this.clock.now().getTime() - (this.told.get(list)?.atMs ?? 0) > TELL_AGAIN_MS;
      if (this.told.get(list)?.what === told && !stale) continue;
      await this.lists.remember(list, size);
      this.told.set(list, { what: told, atMs: this.clock.now().getTime() });
    }
  }
}

/**
 * Whether the payments that were seen are all. A count of fewer leaves some out, such as what failed, and so may of what was
 * not seen: then all are seen only where these are as many as ours.
 */
function isAllOf(seen: number, counted: number | undefined, ours: number): boolean {
  return counted === seen || (counted !== undefined && counted < seen && ours <= seen);
}

/** Whether each of the payments that are known is among these. */
function showsAll(shown: readonly BankPayment[], bankIds: readonly KnownIds[]): boolean {
  return bankIds.length > 0 && notAmong(shown, bankIds).length === 0;
}

/** By which name faults of an instruction's own list are counted. */
export function listOf(bankInstructionId: string): string {
  return `payments of ${bankInstructionId}`;
}

/** The same of the general list: how far back it is read depends on the instruction, and so whether it fails. */
export function generalFor({ bankInstructionId }: Pick<InstructionAtBank, 'bankInstructionId'>): string {
  return `general list for ${bankInstructionId}`;
}

/** Whether the general list may be read besides the lists of instructions: it may show what none of these does. */
export function hasBothLists(account: Pick<EmployerAccount, 'reads'>): boolean {
  return may(account, 'PAYMENT_LIST') && may(account, 'INSTRUCTION_PAYMENTS');
}

/** Whether the bank was found to allow a read for an account. */
export function may(account: Pick<EmployerAccount, 'reads'>, read: BankRead): boolean {
  return account.reads.includes(read);
}
