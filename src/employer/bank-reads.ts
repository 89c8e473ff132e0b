import { Injectable } from '@nestjs/common';
import {
  BankClientError,
  BankUnreachable,
  ContractDrift,
  isAnswerUnusable,
  isBankError,
  isNotShown,
  isPerhapsNone,
  isRefusedRead,
  isRequestRefused,
  isServersFault,
  ListUnreadable,
  NotAllowed,
  NotFound,
  unless,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { ListSize } from '../bank/pager';
import type { KnownIds, PaymentIds } from '../bank/payment-ids';
import { isIncoming, isUnmarked, type PaymentMarks } from '../bank/payment-marks';
import { type BankInstruction, type BankPayment, isFee } from '../bank/records';
import type { Turn } from '../bank/session';
import { Clock } from '../config/clock';
import { BankList, BankLists } from '../database/bank-lists';
import { isBeforeSubmit, isEndedUnpaid, isPastSubmit, statusesShown } from '../domain/bank-status';
import { DAY_MS, HOUR_MS } from '../domain/durations';
import { BankRead, EmployerAccount } from './employer.entity';

/** An instruction at the bank, and the ids its payments are known by. */
export interface InstructionAtBank {
  bankInstructionId: string;
  /** When it was initiated: nothing of it is older. */
  createdAt: Date;
  bankIds: readonly KnownIds[];
  /** Whether it is looked for in every other list where its own is hidden, or shows none, however long those are. */
  byAnyList?: boolean;
  /**
   * Whether its payments are asked for each by itself where no list shows one: some show none before the submit, and what
   * comes back, or ends otherwise after all, is seen nowhere else at a bank that shows no list.
   */
  evenUnlisted?: boolean;
  /**
   * Whether it is only followed, and read again: absence proves nothing, so that where a list of it shows none, what cannot
   * be read besides shows none either. Else a decision may rest on it.
   */
  isOnlyFollowed?: boolean;
  /** Whether a message id names a row of this instruction. */
  isNamedBy: (messageId: string) => boolean;
  /**
   * Told of what a list shows that came in and names the instruction, each time it is shown: the other side of a transfer
   * within the bank, or money that comes back. It is none of the instruction's payments.
   */
  onIncoming?: (marks: PaymentMarks) => void;
  /** Told where another read than a list of all payments shows them. */
  onShown?: (by: ShownBy) => void;
  /**
   * Told why a list was not read, once another was that shows none: what is only followed may be in it all the same; and
   * of `one` that is only followed and answered, by itself, so that it cannot be used.
   */
  onUnread?: (failure: BankClientError, of?: 'one') => void;
  /** Told why no more were read each by itself, where some are shown: of what is only followed these are not taken back. */
  onCutShort?: (failure: BankClientError) => void;
}

/** A read that shows payments: the list of their instruction, or of each by itself, which shows none too many. */
export type ShownBy = 'own-list' | 'itself';

/** What the bank shows of whether an instruction was submitted. */
export interface Standing {
  /** Undefined where the bank does not show it. */
  shown?: BankInstruction;
  /** Whether the bank says that there is none, which is more than that it does not show it. */
  isGone: boolean;
  statuses: string[];
  /** As the function of this name, where the bank says that there is no such instruction. */
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

/** What of an instruction's payments tells whether it was submitted: a fee that the bank booked in it does not. */
export function withoutFees(paid: readonly BankPayment[], bankIds: readonly KnownIds[]): BankPayment[] {
  const known = knownTo(bankIds);
  return paid.filter((one) => !isFee(one) || known(one.bankPaymentId));
}

/** Payments read one by one: a minute or so at a bank that answers ten in a second. */
const MOST_ALONE = 1_000;

/** So many in vain, one by one: none is shown so, or the bank does not answer. */
const MOST_IN_VAIN = 5;

/** Faults in a row that may pass by themselves, where what is read is the best evidence there is. */
const PASSING_FAULTS = 4;

/** The bank's clock and ours may differ: a day covers any error of either and costs some pages at most. */
export const CLOCK_MARGIN_MS = DAY_MS;

/** What did not change is written down again after so long: it is believed for a day. */
const TELL_AGAIN_MS = HOUR_MS;

/** Reads of instructions by whichever way the bank was found to allow for an account. */
@Injectable()
export class BankReads {
  private readonly told = new Map<BankList, { what: string; atMs: number }>();
  /** How often in a row the bank failed to answer a read for a fault of its own. */
  private readonly faults = new Map<string, number>();
  /** Which payment of an instruction was tried last, each by itself, where not all were: the next read begins after it. */
  private readonly triedLast = new Map<string, string>();

  constructor(
    private readonly gateway: BankGateway,
    private readonly lists: BankLists,
    private readonly clock: Clock,
  ) {}

  /**
   * The instruction itself; undefined where the bank does not let it be read, or fails to show it again and again: what it
   * holds is known by its payments then.
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
      if (isServersFault(error) && this.faultsOf(read) > PASSING_FAULTS) return undefined;
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
    payments = () => this.payments(account, { ...at, byAnyList: true }),
  ): Promise<Standing> {
    const { shown, failure } = await this.unlessRefused(account, at.bankInstructionId);
    if (shown && (isPastSubmit(shown.status) || isBeforeSubmit(shown.status)))
      return { shown, isGone: false, statuses: [shown.status], isUnclear: false };
    const isGone = failure instanceof NotFound;
    const paid = await payments().catch((error: unknown) => {
      if (error instanceof NotFound || (shown && isNotShown(error))) return [];
      // That there is no instruction says nothing of payments that are not shown for another reason.
      throw failure === undefined || isGone || !isNotShown(error) ? error : failure;
    });
    const statuses = withoutFees(paid, at.bankIds).flatMap((one) =>
      statusesShown(one.status, one.wasSettled),
    );
    if (shown) statuses.unshift(shown.status);
    if (failure && !isGone && !statuses.some(isPastSubmit)) throw failure;
    return { shown, isGone, statuses, isUnclear: isGone && isUnclear(statuses) };
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
   * by itself what that lacks. Absence of one proves nothing.
   * @throws BankClientError where no way can: NotFound where every way says so
   */
  async payments(account: EmployerAccount, instruction: InstructionAtBank): Promise<BankPayment[]> {
    const { byAnyList = false } = instruction;
    let isNone = false;
    const ways = [
      may(account, 'INSTRUCTION_PAYMENTS') && (() => this.ownPayments(account, instruction)),
      may(account, 'PAYMENT_LIST') && (() => this.fromGeneralList(instruction)),
      may(account, 'PAYMENT') &&
        (() => (isNone ? this.firstUnlisted(instruction) : this.oneByOne(instruction))),
    ].filter((way) => way !== false);
    let failure: BankClientError | undefined;
    for (const way of ways) {
      let found: BankPayment[];
      try {
        found = await way();
      } catch (error) {
        if (!this.mayBeReadOtherwise(error, instruction, isNone)) throw error;
        if (isNone) instruction.onUnread?.(error);
        if (failure === undefined || failure instanceof NotFound || error instanceof ListUnreadable)
          failure = error;
        continue;
      }
      if (found.length > 0) {
        const isLess = isNone || (instruction.isOnlyFollowed && failure instanceof NotFound);
        return isLess ? this.completed(instruction, found) : found;
      }
      isNone = true;
      if (!byAnyList) break;
    }
    const unlisted = isNone || isPerhapsNone(failure) ? await this.unlisted(instruction) : [];
    if (isNone || unlisted.length > 0) return unlisted;
    throw failure ?? new NotAllowed(403, { raw: 'no read of payments was found to be allowed' });
  }

  /**
   * Payments that no list shows, each by itself, up to the first that is not shown so either; of what is only followed that
   * says nothing of others, and some of them are tried before it is taken for how the bank answers all: whether it is allowed
   * is not known of an account that was onboarded before there was a payment.
   * @param isShown whether a list shows others: then, as once one is read, a failure tells `onCutShort` of what is only followed
   * @throws BankClientError
   */
  async unlisted(instruction: InstructionAtBank, isShown = false): Promise<BankPayment[]> {
    const { bankIds, evenUnlisted = false, isOnlyFollowed = false } = instruction;
    if (!evenUnlisted || bankIds.length > MOST_ALONE) return [];
    const found = isOnlyFollowed
      ? await this.followedAlone(instruction, isShown)
      : await this.untilUnshown(instruction);
    if (found.length > 0) instruction.onShown?.('itself');
    return found;
  }

  private async untilUnshown(instruction: InstructionAtBank): Promise<BankPayment[]> {
    const isOurs = mayBeOf(instruction);
    const found: BankPayment[] = [];
    for (const ids of instruction.bankIds) {
      if (ids.length === 0) continue;
      const payment = await unless(isRefusedRead, this.gateway.getPayment(ids));
      if (payment === undefined || !isOurs(payment)) break;
      found.push(payment);
    }
    return found;
  }

  /** @param isOnlyWay whether no list was found to be allowed: then any failure is told but that there is no such payment */
  private async followedAlone(
    instruction: InstructionAtBank,
    isShown: boolean,
    isOnlyWay = false,
  ): Promise<BankPayment[]> {
    const found: BankPayment[] = [];
    const failure = await this.addFollowed(instruction, found, isOnlyWay).catch((error: unknown) => {
      if (isBankError(error) && (isShown || found.length > 0)) return error;
      throw error;
    });
    if (failure && isOnlyWay && found.length === 0) throw failure;
    if (failure) instruction.onCutShort?.(failure);
    return found;
  }

  /**
   * A payment that is refused is answered at once; what is not answered is waited for, and so only a few times.
   * @returns what kept others from being read, where some were
   */
  private async addFollowed(
    instruction: InstructionAtBank,
    found: BankPayment[],
    isOnlyWay: boolean,
  ): Promise<BankClientError | undefined> {
    const { bankInstructionId, onUnread } = instruction;
    const isOurs = mayBeOf(instruction);
    let failure: BankClientError | undefined;
    let [unshown, faults, unanswered] = [0, 0, 0];
    for (const ids of this.inTurn(instruction)) {
      const read = await this.gateway.getPayment(ids).catch((error: unknown) => {
        if (isServersFault(error) || isRefusedRead(error)) return error;
        throw error;
      });
      this.triedLast.set(bankInstructionId, ids[0]);
      faults = isServersFault(read) ? faults + 1 : 0;
      if (read instanceof BankUnreachable) unanswered += 1;
      if (!isBankError(read) && (isOnlyWay || isOurs(read))) {
        found.push(read);
        continue;
      }
      if (isAnswerUnusable(read)) onUnread?.(read, 'one');
      if (isOnlyWay && read instanceof NotFound) continue;
      if (isBankError(read)) failure = read;
      unshown += 1;
      const inVain = found.length === 0 ? unshown : Math.max(faults, unanswered);
      if (inVain === MOST_IN_VAIN) return isOnlyWay || found.length > 0 ? failure : undefined;
    }
    this.triedLast.delete(bankInstructionId);
    return isOnlyWay ? failure : undefined;
  }

  /** Its known payments, from where the last read of them was given up. */
  private inTurn({ bankInstructionId, bankIds }: InstructionAtBank): PaymentIds[] {
    const known = bankIds.filter((ids): ids is PaymentIds => ids.length > 0);
    const last = this.triedLast.get(bankInstructionId);
    const from = known.findIndex(([id]) => id === last) + 1;
    return [...known.slice(from), ...known.slice(0, from)];
  }

  /** As `unlisted`, the first `MOST_ALONE` where not every one is asked for: each of them tells of a submit. */
  private async firstUnlisted(instruction: InstructionAtBank): Promise<BankPayment[]> {
    if (instruction.evenUnlisted) return [];
    const bankIds = instruction.bankIds.slice(0, MOST_ALONE);
    return this.unlisted({ ...instruction, bankIds, evenUnlisted: true });
  }

  /**
   * What the general list shows, and as `unlisted` what it lacks: where that of the instruction shows none, no list tells
   * of more. @throws BankClientError
   */
  async completed(instruction: InstructionAtBank, listed: BankPayment[]): Promise<BankPayment[]> {
    const shown = new Set(listed.map(({ bankPaymentId }) => bankPaymentId));
    const bankIds = instruction.bankIds.filter(([id]) => !shown.has(id ?? ''));
    return [...listed, ...(await this.unlisted({ ...instruction, bankIds }, true))];
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
      this.faults.delete(name);
      return answer;
    } catch (error) {
      if (isServersFault(error)) this.faults.set(name, this.faultsOf(name) + 1);
      throw error;
    }
  }

  private faultsOf(name: string): number {
    return this.faults.get(name) ?? 0;
  }

  /**
   * Whether another list may show what the one of an instruction does not. A server's fault of a moment passes by itself;
   * one that was met twice may be of this list alone.
   * @param isNone whether another was read and shows none: of what is only followed, one that fails shows no less
   */
  mayBeReadOtherwise(
    error: unknown,
    { bankInstructionId, byAnyList = false, isOnlyFollowed = false }: InstructionAtBank,
    isNone = false,
  ): error is BankClientError {
    if (isNone && isOnlyFollowed) return isBankError(error);
    if (error instanceof ListUnreadable || error instanceof NotFound) return true;
    if (isServersFault(error)) return this.faultsOf(listOf(bankInstructionId)) > 1;
    return byAnyList && isNotShown(error) && !(error instanceof ContractDrift);
  }

  /**
   * Payments as they were listed, those without a message id with the one that a read of them alone shows, where the bank
   * allows that; more than `MOST_ALONE` are left as they are. @throws BankClientError
   */
  async withMessageIds(listed: readonly BankPayment[]): Promise<BankPayment[]> {
    const lacking = listed.filter(({ messageId }) => messageId === undefined).length;
    if (lacking > MOST_ALONE) return [...listed];
    const payments: BankPayment[] = [];
    for (const payment of listed)
      payments.push(payment.messageId === undefined ? await this.alone(payment) : payment);
    return payments;
  }

  /** Whether it may be read alone is not known of an account that was onboarded before there was a payment. */
  private async alone(listed: BankPayment): Promise<BankPayment> {
    try {
      return await this.gateway.getPayment(listed.ids);
    } catch (error) {
      if (isNotShown(error)) return listed;
      throw error;
    }
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

  private async oneByOne(instruction: InstructionAtBank): Promise<BankPayment[]> {
    instruction.onShown?.('itself');
    if (instruction.isOnlyFollowed) return this.followedAlone(instruction, false, true);
    const found: BankPayment[] = [];
    for (const ids of instruction.bankIds) {
      if (ids.length === 0) continue;
      try {
        found.push(await this.gateway.getPayment(ids));
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
      }
    }
    return found;
  }
}

/** What says that a payment is of the instruction, or may be: its id alone only where the payment names none. */
function mayBeOf(instruction: InstructionAtBank): (marks: PaymentMarks) => boolean {
  const known = knownTo(instruction.bankIds);
  return (marks) => {
    const { bankInstructionId, bankPaymentId, messageId } = marks;
    const named =
      bankInstructionId === instruction.bankInstructionId ||
      (messageId !== undefined && instruction.isNamedBy(messageId));
    if (isIncoming(marks, known)) {
      if (named) instruction.onIncoming?.(marks);
      return false;
    }
    return named || (bankInstructionId === undefined && (known(bankPaymentId ?? '') || isUnmarked(marks)));
  };
}

function listOf(bankInstructionId: string): string {
  return `payments of ${bankInstructionId}`;
}

function knownTo(bankIds: readonly KnownIds[]): (bankPaymentId: string) => boolean {
  const known = new Set(bankIds.flatMap(([id]) => id ?? []));
  return (bankPaymentId) => known.has(bankPaymentId);
}

function may(account: EmployerAccount, read: BankRead): boolean {
  return account.reads.includes(read);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
