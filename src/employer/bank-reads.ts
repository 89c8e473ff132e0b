import { Injectable } from '@nestjs/common';
import {
  BankClientError,
  ContractDrift,
  isBankError,
  isNotShown,
  isPerhapsNone,
  isRefusedRead,
  isRequestRefused,
  isServersFault,
  ListUnreadable,
  NotAllowed,
  NotFound,
  ReadFails,
  unless,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { ListSize } from '../bank/pager';
import { isIncoming } from '../bank/payment-marks';
import type { BankInstruction, BankPayment } from '../bank/records';
import type { Turn } from '../bank/session';
import { Clock } from '../config/clock';
import { BankList, BankLists } from '../database/bank-lists';
import { isBeforeSubmit, isEndedUnpaid, isPastSubmit, statusesShown } from '../domain/bank-status';
import { DAY_MS, HOUR_MS } from '../domain/durations';
import { BankRead, EmployerAccount } from './employer.entity';
import { FaultsInARow } from './faults-in-a-row';
import {
  type InstructionAtBank,
  knownTo,
  lackingIn,
  mayBeOf,
  notAmong,
  withoutFees,
} from './instruction-at-bank';
import { MOST_ALONE, PaymentsAlone } from './payments-alone';

/** What the bank shows of whether an instruction was submitted. */
export interface Standing {
  /** Undefined where the bank does not show it. */
  shown?: BankInstruction;
  /** Whether the bank says that there is none, which is more than that it does not show it. */
  isGone: boolean;
  /** Whether the bank fails to show it, or its payments, for good: that says neither that it was submitted nor not. */
  isFailing?: boolean;
  statuses: string[];
  /** Whether each of its known payments is shown, where they were read. */
  isWhole?: boolean;
  /** Whether nobody can tell: where the bank says that there is none as the function of this name, and else where it fails. */
  isUnclear: boolean;
}

/**
 * Whether payments are shown without their instruction, and as if it had never been submitted: a bank may show it no more
 * once it was, and its payments as before while it waits for an approval, so that nobody can tell.
 * @param statuses of the payments
 */
export function isUnclear(statuses: readonly string[]): boolean {
  return !statuses.some(isPastSubmit) && statuses.some((status) => !isEndedUnpaid(status));
}

/**
 * Whether payments of an instruction that the bank fails to show leave open that it was submitted: all but one of which each
 * known payment is shown, and ended unpaid, unless one is past its submit.
 * @param isWhole whether each known payment is shown
 */
function isLeftOpen(statuses: readonly string[], isWhole: boolean): boolean {
  if (statuses.some(isPastSubmit)) return false;
  return statuses.length === 0 || isUnclear(statuses) || !isWhole;
}

/** The bank's clock and ours may differ: a day covers any error of either and costs some pages at most. */
export const CLOCK_MARGIN_MS = DAY_MS;

/** What did not change is written down again after so long: it is believed for a day. */
const TELL_AGAIN_MS = HOUR_MS;

/** Reads of instructions by whichever way the bank was found to allow for an account. */
@Injectable()
export class BankReads {
  private readonly told = new Map<BankList, { what: string; atMs: number }>();
  private readonly lackedAtMs = new Map<BankList, number>();

  constructor(
    private readonly gateway: BankGateway,
    private readonly alone: PaymentsAlone,
    private readonly lists: BankLists,
    private readonly clock: Clock,
    private readonly faults: FaultsInARow,
  ) {}

  /**
   * The instruction itself; undefined where the bank does not let it be read, or fails to show it for good: what it holds is
   * known by its payments then, and in the latter case not whether it was submitted.
   * @param turn waited for before
   * @throws NotFound, BankClientError
   */
  async instruction(
    account: EmployerAccount,
    bankInstructionId: string,
    turn?: Turn,
  ): Promise<BankInstruction | undefined> {
    if (!may(account, 'INSTRUCTION')) return undefined;
    const read = `instruction ${bankInstructionId}`;
    try {
      return await this.countingFaults(read, () => this.gateway.getInstruction(bankInstructionId, turn));
    } catch (error) {
      if (this.isFailing(read, error)) return undefined;
      throw error;
    }
  }

  /**
   * As `instruction`; undefined also where the bank says that there is none, which tells nothing of its payments: one that
   * was submitted may be shown no more. @throws BankClientError
   */
  async instructionIfShown(
    account: EmployerAccount,
    bankInstructionId: string,
  ): Promise<BankInstruction | undefined> {
    return unless((error) => error instanceof NotFound, this.instruction(account, bankInstructionId));
  }

  /**
   * The statuses by which the bank tells whether an instruction was submitted: its own, and where that does not say so, or
   * it is not shown, those of its payments as `payments` reads them (its own way unless said). No payments where the bank
   * knows of none, or shows the instruction and not them. @throws BankClientError where the instruction cannot be read and
   * no payment is past its submit, or its payments cannot
   */
  async standing(
    account: EmployerAccount,
    at: InstructionAtBank,
    payments = () => this.payments(account, { ...at, byAnyList: true, fewTell: true }),
  ): Promise<Standing> {
    const { shown, failure } = await this.unlessRefused(account, at.bankInstructionId);
    if (shown && (isPastSubmit(shown.status) || isBeforeSubmit(shown.status)))
      return { shown, isGone: false, statuses: [shown.status], isUnclear: false };
    const isGone = failure instanceof NotFound;
    let isUntold = false;
    const paid = await payments().catch((error: unknown) => {
      isUntold = error instanceof ReadFails;
      if (isUntold) return [];
      if (error instanceof NotFound || (shown && isNotShown(error))) return [];
      // That there is no instruction says nothing of payments that are not shown for another reason.
      throw failure === undefined || isGone || !isNotShown(error) ? error : failure;
    });
    const statuses = withoutFees(paid, at.bankIds).flatMap((one) =>
      statusesShown(one.status, one.wasSettled),
    );
    if (shown) statuses.unshift(shown.status);
    if (failure && !isGone && !statuses.some(isPastSubmit)) throw failure;
    const isFailing = !shown && (isUntold || (!failure && may(account, 'INSTRUCTION')));
    const isWhole = notAmong(paid, at.bankIds).length === 0;
    const isOpen = isFailing ? isLeftOpen(statuses, isWhole) : isGone && isUnclear(statuses);
    return { shown, isGone, ...(isFailing && { isFailing }), isWhole, statuses, isUnclear: isOpen };
  }

  /** The instruction, or why the bank did not show it: an answer to this read, which says nothing of others. */
  private async unlessRefused(
    account: EmployerAccount,
    bankInstructionId: string,
  ): Promise<{ shown?: BankInstruction; failure?: BankClientError }> {
    try {
      return { shown: await this.instruction(account, bankInstructionId) };
    } catch (error) {
      if (isRefusedRead(error)) return { failure: error };
      throw error;
    }
  }

  /**
   * Every payment of the instruction the bank shows now, by the first way that can be read to its end (Endpoints: the list
   * of an instruction, the general one, each by itself); what is looked for by any list, by the first that shows one, and each
   * by itself what that lacks; what is sought, by every way. Absence of one proves nothing.
   * @throws BankClientError where no way can: NotFound where every way says so, and ReadFails where a decision rests on them,
   * the general list fails for good, and none is shown otherwise
   */
  async payments(account: EmployerAccount, asked: InstructionAtBank): Promise<BankPayment[]> {
    const instruction = { ...asked, isShownAlone: may(account, 'PAYMENT') };
    const { byAnyList = false, evenUnlisted = false, isOnlyFollowed = false } = instruction;
    let [isNone, isAskedAlone] = [false, false];
    const general = () =>
      this.countingFaults(generalFor(instruction), () => this.fromGeneralList(instruction));
    const alone = async (): Promise<BankPayment[]> => {
      isAskedAlone = !isNone;
      if (isAskedAlone) return this.alone.oneByOne(instruction);
      return evenUnlisted ? [] : this.alone.unlisted({ ...instruction, evenUnlisted: true });
    };
    const ways = [
      may(account, 'INSTRUCTION_PAYMENTS') && (() => this.ownPayments(account, instruction)),
      may(account, 'PAYMENT_LIST') && general,
      may(account, 'PAYMENT') && alone,
    ].filter((way) => way !== false);
    let failure: BankClientError | undefined;
    let lasting: BankClientError | undefined;
    for (const [n, way] of ways.entries()) {
      let found: BankPayment[];
      try {
        found = await way();
      } catch (error) {
        if (way === general && this.isGeneralFailing(instruction, error)) {
          if (!isNone || !isOnlyFollowed) lasting = error;
        } else if (!this.mayBeReadOtherwise(error, instruction, isNone)) throw error;
        else if (n === ways.length - 1 && this.isFailing(listOf(instruction.bankInstructionId), error))
          lasting = error;
        if (isNone) instruction.onUnread?.(error);
        if (failure === undefined || failure instanceof NotFound || error instanceof ListUnreadable)
          failure = error;
        continue;
      }
      if (found.length > 0) {
        if (way === alone) return found;
        const isLess = isNone || (isOnlyFollowed && failure instanceof NotFound);
        if (isLess) return this.alone.completed(instruction, found);
        const other = ways[n + 1] === general ? general : undefined;
        const all = await this.withSought(instruction, found, other);
        // What was not submitted may be too new for a list that lags: all of an instruction is read back before its submit.
        if (!isOnlyFollowed && all.slice(found.length).some(({ status }) => !isBeforeSubmit(status)))
          await this.rememberLacking(way === general ? 'PAYMENTS' : 'INSTRUCTION_PAYMENTS');
        return all;
      }
      isNone = true;
      if (!byAnyList) break;
    }
    const mayBeAlone = !isAskedAlone && (isNone || lasting !== undefined || isPerhapsNone(failure));
    const unlisted = mayBeAlone ? await this.alone.unlisted(instruction) : [];
    if (unlisted.length > 0) return unlisted;
    // That none is shown otherwise says nothing of what only that list may show.
    if (lasting)
      throw isDecided(instruction) ? new ReadFails('the payments of this instruction', lasting) : lasting;
    if (isNone) return unlisted;
    throw failure ?? new NotAllowed(403, { raw: 'no read of payments was found to be allowed' });
  }

  /**
   * What a list shows, and by every other read what of that is sought it lacks: where a decision rests on it, and not too many
   * are, each by itself first, since the other list may be that of all payments of a month.
   * @param other list, where one may be read
   * @throws BankClientError what a read fails with, where some are shown nowhere and a decision may rest on them, but for a
   * server's fault that lasts
   */
  async withSought(
    instruction: InstructionAtBank,
    listed: BankPayment[],
    other?: () => Promise<BankPayment[]>,
  ): Promise<BankPayment[]> {
    const { length: lacking } = lackingIn(instruction, listed);
    if (lacking === 0) return listed;
    const found = [...listed];
    const alone = () => this.addAlone(instruction, found);
    const ofOther = () => this.addOther(instruction, found, other);
    let failure: BankClientError | undefined;
    const isAloneFirst = !instruction.isOnlyFollowed && lacking <= MOST_ALONE;
    for (const read of isAloneFirst ? [alone, ofOther] : [ofOther, alone]) {
      failure = (await read()) ?? failure;
      if (lackingIn(instruction, found).length === 0) return found;
    }
    if (failure) throw failure;
    return found;
  }

  /** @returns the server's fault that other reads may not meet */
  private async addAlone(
    instruction: InstructionAtBank,
    found: BankPayment[],
  ): Promise<BankClientError | undefined> {
    const lacking = { ...instruction, bankIds: lackingIn(instruction, found) };
    try {
      found.push(...(await this.alone.unlisted(lacking, true)));
      return undefined;
    } catch (error) {
      if (isServersFault(error)) return error;
      throw error;
    }
  }

  /** @returns what the other list fails with, unless it shows no less for that */
  private async addOther(
    instruction: InstructionAtBank,
    found: BankPayment[],
    other?: () => Promise<BankPayment[]>,
  ): Promise<BankClientError | undefined> {
    try {
      const shown = new Set(found.map(({ bankPaymentId }) => bankPaymentId));
      const more = ((await other?.()) ?? []).filter(({ bankPaymentId }) => !shown.has(bankPaymentId));
      if (more.length > 0) instruction.onShown?.(undefined);
      found.push(...more);
    } catch (error) {
      if (!isBankError(error)) throw error;
      if (!this.isGeneralFailing(instruction, error) && !this.mayBeReadOtherwise(error, instruction, true))
        return error;
      instruction.onUnread?.(error);
    }
    return undefined;
  }

  /** Whether the general list met a fault that does not pass by itself any more: what it shows others may show. */
  private isGeneralFailing(instruction: InstructionAtBank, error: unknown): error is BankClientError {
    return this.isFailing(generalFor(instruction), error);
  }

  private isFailing(read: string, error: unknown): error is BankClientError {
    return isServersFault(error) && this.faults.isLasting(read);
  }

  /** As `payments`, by the list of the instruction itself and no other. @throws BankClientError */
  async ownPayments(
    account: EmployerAccount,
    { bankInstructionId, bankIds, onIncoming, onShown }: InstructionAtBank,
  ): Promise<BankPayment[]> {
    const sizes: ListSize[] = [];
    // Why the instruction is not shown says nothing of its list.
    const total = async (): Promise<number | undefined> =>
      (await unless(isNotShown, this.instruction(account, bankInstructionId)))?.calculatedCount;
    const found = await this.countingFaults(listOf(bankInstructionId), () =>
      collect(this.gateway.listInstructionPayments(bankInstructionId, (size) => sizes.push(size), total)),
    );
    await this.remember('INSTRUCTION_PAYMENTS', sizes);
    const known = knownTo(bankIds);
    const ours = found.filter((payment) => {
      if (!isIncoming(payment, known)) return true;
      onIncoming?.({ ...payment, creditorIban: payment.iban });
      return false;
    });
    if (ours.length > 0) onShown?.('own-list');
    return ours;
  }

  /** Remembers whether what is read fails again and again. */
  private async countingFaults<T>(name: string, read: () => Promise<T>): Promise<T> {
    try {
      const answer = await read();
      this.faults.end(name);
      return answer;
    } catch (error) {
      if (isServersFault(error)) this.faults.add(name);
      else if (isNotShown(error)) this.faults.end(name);
      throw error;
    }
  }

  /**
   * Whether another list may show what the one of an instruction does not. A server's fault of a moment passes by itself;
   * one that was met twice may be of this list alone.
   * @param isNone whether another was read and shows none: of what is only followed, one that fails shows no less
   */
  mayBeReadOtherwise(
    error: unknown,
    instruction: InstructionAtBank,
    isNone = false,
  ): error is BankClientError {
    const { bankInstructionId, byAnyList = false, isOnlyFollowed = false } = instruction;
    if (isNone && isOnlyFollowed) return isBankError(error);
    if (error instanceof ListUnreadable || error instanceof NotFound) return true;
    if (isServersFault(error)) return this.faults.of(listOf(bankInstructionId)) > 1;
    return byAnyList && isNotShown(error) && (isDecided(instruction) || !(error instanceof ContractDrift));
  }

  private async fromGeneralList(instruction: InstructionAtBank): Promise<BankPayment[]> {
    const isOurs = mayBeOf(instruction);
    const from = new Date(instruction.createdAt.getTime() - CLOCK_MARGIN_MS);
    const sizes: ListSize[] = [];
    const listed = async (filter: { from?: string }): Promise<BankPayment[]> =>
      collect(this.gateway.listPayments(filter, isOurs, (size) => sizes.push(size)));
    const found = await listed({ from: from.toISOString() }).catch((error: unknown) => {
      // A bank may refuse to begin its list anywhere: then all of it is read, as far as the pager goes.
      if (isRequestRefused(error)) return listed({});
      throw error;
    });
    // That of an older instruction reaches further back than those of a run that is sent will.
    const recent = this.clock.now().getTime() - from.getTime() < 2 * CLOCK_MARGIN_MS;
    if (recent) await this.remember('PAYMENTS', sizes);
    return found.filter(isOurs);
  }

  private async rememberLacking(list: BankList): Promise<void> {
    const nowMs = this.clock.now().getTime();
    if (nowMs - (this.lackedAtMs.get(list) ?? 0) <= TELL_AGAIN_MS) return;
    await this.lists.rememberLacking(list);
    this.lackedAtMs.set(list, nowMs);
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

/** Whether a decision may rest on what is shown of each payment, and is told of each that is not. */
function isDecided({ isSought, isOnlyFollowed = false }: InstructionAtBank): boolean {
  return isSought !== undefined && !isOnlyFollowed;
}

function listOf(bankInstructionId: string): string {
  return `payments of ${bankInstructionId}`;
}

/** How far back it is read depends on the instruction, and so whether it fails. */
function generalFor({ bankInstructionId }: InstructionAtBank): string {
  return `general list for ${bankInstructionId}`;
}

function may(account: EmployerAccount, read: BankRead): boolean {
  return account.reads.includes(read);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
