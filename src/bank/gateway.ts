import type { AmountCodec } from './amount-codec';
import type { BankClient } from './client';
import { echoFaultsOfInitiate, echoFaultsOfPayment } from './echo';
import { BankError, ContractDrift, isNotShown, NotAllowed, NotFound } from './errors';
import { isPathId } from './link';
import { checked, type Outcome } from './outcome';
import type { ListSize } from './paging';
import type { PaymentIds } from './payment-ids';
import type { PaymentMarks } from './payment-marks';
import { idOfPayment } from './payment-transactions';
import {
  type AddPayment,
  type InitiateInstruction,
  type InstructionMarks,
  prepareAdd,
  type PreparedAdd,
  type PreparedInitiate,
  type PreparedSubmit,
  prepareInitiate,
  prepareSubmit,
  SALARY_MARKS,
} from './prepared';
import {
  accountOf,
  type BankAccount,
  type BankInstruction,
  type BankPayment,
  type DatedPaymentStatus,
  datedStatusOf,
  instructionOf,
  paymentOf,
  withMinor,
} from './records';
import type { ListedPayment } from './schema';
import type { Leaving, Turn } from './session';

/** Which payments to list; moments in ISO form, amounts in minor units of `currency` (EUR unless given). */
export interface BankPaymentFilter {
  status?: string;
  from?: string;
  to?: string;
  minAmountMinor?: bigint;
  maxAmountMinor?: bigint;
  currency?: string;
}

/**
 * What the payment protocol needs of the bank, in Payrun's words: bigint minor units in and out. A POST is prepared
 * first (its bytes and their hash become the intent), then sent as exactly those bytes, once. An answer whose
 * echo contradicts the request is a doubt, named `echo-differs: <fields>`. Reads throw `BankClientError`s.
 */
export class BankGateway {
  constructor(
    private readonly client: BankClient,
    private readonly marks: InstructionMarks = SALARY_MARKS,
  ) {}

  prepareInitiate(request: InitiateInstruction): PreparedInitiate {
    return prepareInitiate(request, this.marks, this.client.amounts);
  }

  prepareAdd(bankInstructionId: string, request: AddPayment): PreparedAdd {
    return prepareAdd(bankInstructionId, request, this.client.amounts);
  }

  prepareSubmit(bankInstructionId: string): PreparedSubmit {
    return prepareSubmit(bankInstructionId);
  }

  /** Step 1 (Multi-step credit transfer). */
  async sendInitiate(prepared: PreparedInitiate): Promise<Outcome<BankInstruction>> {
    const outcome = await this.client.customerInstructions.initiateBytes(prepared.body);
    const instruction = converted(outcome, (record) => instructionOf(record, this.client.amounts));
    return checked(instruction, (echo) => echoFaultsOfInitiate(prepared.request, echo));
  }

  /** Step 2 (Multi-step credit transfer). Not sent where it is given up while it waits for its turn. */
  async sendAdd(prepared: PreparedAdd, givenUp?: AbortSignal): Promise<Outcome<BankPayment>> {
    const { bankInstructionId, body } = prepared;
    const outcome = await this.client.customerInstructions.addBytes(bankInstructionId, body, givenUp);
    const payment = converted(outcome, (record) => paymentOf(record, this.client.amounts));
    const answer = checked(payment, (echo) => echoFaultsOfPayment(prepared.request, echo));
    const isOther = answer.kind === 'in-doubt' && payment.kind === 'yes';
    return isOther ? { ...answer, echo: payment.value } : answer;
  }

  /**
   * Waits for the turn of a submit before it is written down, two minutes at most; it is good for a second.
   * @throws RateLimited, TokenUnavailable
   */
  turnToSubmit(): Promise<Turn> {
    return this.client.turn();
  }

  /**
   * As `turnToSubmit`, and once it comes, reads what the submit rests on by a turn of its own. None of the submit where that
   * took longer than it is kept.
   * @throws RateLimited, TokenUnavailable, and whatever the read throws
   */
  turnToSubmitAfter<T>(read: (turn: Turn) => Promise<T>): Promise<{ turn?: Turn; answer: T }> {
    return this.client.turnAfter(read);
  }

  /**
   * Step 3 (Multi-step credit transfer): one request on a fresh connection; never sent twice, and not at all where
   * `mayLeave`, asked before its first byte, says no.
   */
  async sendSubmit(prepared: PreparedSubmit, leaving: Leaving = {}): Promise<Outcome<BankInstruction>> {
    const outcome = await this.client.customerInstructions.submit(prepared.bankInstructionId, leaving);
    return converted(outcome, (record) => instructionOf(record, this.client.amounts));
  }

  initiate(request: InitiateInstruction): Promise<Outcome<BankInstruction>> {
    return this.sendInitiate(this.prepareInitiate(request));
  }

  add(bankInstructionId: string, request: AddPayment): Promise<Outcome<BankPayment>> {
    return this.sendAdd(this.prepareAdd(bankInstructionId, request));
  }

  submit(bankInstructionId: string): Promise<Outcome<BankInstruction>> {
    return this.sendSubmit(this.prepareSubmit(bankInstructionId));
  }

  /** Before its submission only; a yes is to be read back. */
  deleteInstruction(bankInstructionId: string): Promise<Outcome<undefined>> {
    return this.client.customerInstructions.delete(bankInstructionId);
  }

  async getInstruction(bankInstructionId: string, turn?: Turn): Promise<BankInstruction> {
    const record = await this.client.customerInstructions.get(bankInstructionId, turn);
    return instructionOf(record, this.client.amounts);
  }

  /**
   * The instruction's payments as far as the bank shows them: one that is missing proves nothing.
   * @param isEnough as `PagerOptions`
   */
  async *listInstructionPayments(
    bankInstructionId: string,
    onEnd?: (size: ListSize) => void,
    isAll?: (seen: number) => Promise<boolean>,
    isEnough?: () => boolean,
  ): AsyncGenerator<BankPayment, void, undefined> {
    const { customerInstructions } = this.client;
    const records = customerInstructions.listPaymentTransactions(bankInstructionId, onEnd, isAll, isEnough);
    for await (const record of records) yield paymentOf(record, this.client.amounts);
  }

  /** Of each payment that the list of an instruction shows its marks, and whether the rest of it can be read. */
  async *listInstructionMarks(
    bankInstructionId: string,
    isAll?: (seen: number) => Promise<boolean>,
  ): AsyncGenerator<{ marks: PaymentMarks; isReadable: boolean }, void, undefined> {
    const records = this.client.customerInstructions.listedPaymentTransactions(bankInstructionId, isAll);
    for await (const { marks, payment } of records) yield { marks, isReadable: payment !== undefined };
  }

  /**
   * The general listing: everybody's payments that match and are wanted by their marks. What is not wanted is passed
   * over however odd it is, and so is what is wanted where there is an `onUnreadable`, which is told.
   */
  async *listPayments(
    filter: BankPaymentFilter = {},
    isWanted: (marks: PaymentMarks) => boolean = () => true,
    onEnd?: (size: ListSize) => void,
    onUnreadable?: (marks: PaymentMarks, why: ContractDrift) => void,
    isEnough?: () => boolean,
  ): AsyncGenerator<BankPayment, void, undefined> {
    for await (const record of this.listed(filter, isWanted, onEnd, {
      isTolerant: onUnreadable !== undefined,
      isEnough,
    })) {
      const read = readRecord(record, this.client.amounts);
      if (!(read instanceof ContractDrift)) yield read;
      else if (onUnreadable) onUnreadable(record.marks, read);
      else throw read;
    }
  }

  /** As {@link listPayments}, each once, where no amount matters, and how old each is. */
  async *listStatuses(
    filter: BankPaymentFilter,
    isWanted: (marks: PaymentMarks) => boolean,
    onEnd?: (size: ListSize) => void,
  ): AsyncGenerator<DatedPaymentStatus, void, undefined> {
    for await (const { payment } of this.listed(filter, isWanted, onEnd, { isOnceEnough: true }))
      if (payment) yield datedStatusOf(payment);
  }

  private async *listed(
    filter: BankPaymentFilter,
    isWanted: (marks: PaymentMarks) => boolean,
    onEnd?: (size: ListSize) => void,
    reading?: { isTolerant?: boolean; isOnceEnough?: boolean; isEnough?: () => boolean },
  ): AsyncGenerator<ListedPayment, void, undefined> {
    const bounds = {
      status: filter.status,
      fromDate: filter.from,
      toDate: filter.to,
      minAmount: this.bound(filter.minAmountMinor, filter.currency),
      maxAmount: this.bound(filter.maxAmountMinor, filter.currency),
    };
    const isWantedSo = (marks: PaymentMarks) => isWanted(withMinor(marks, this.client.amounts));
    const records = this.client.paymentTransactions.listed(bounds, isWantedSo, onEnd, reading);
    for await (const record of records) if (record.payment ?? record.faults) yield record;
  }

  /**
   * One payment. Which of its ids the path takes is not shown (Paths exposed only as links): the other one is asked for
   * where the first gives no payment, or somebody else's. @throws NotFound where the bank says so of either: the number may
   * be another customer's as the other id, and how it is refused says nothing of this payment; NotAllowed where it refuses
   * either, and else what the first failed with
   */
  async getPayment(ids: PaymentIds): Promise<BankPayment> {
    const failures: BankError[] = [];
    for (const id of ids.filter((one) => one !== undefined).filter(isPathId)) {
      try {
        const record = await this.client.paymentTransactions.get(id);
        if (idOfPayment(record) === ids[0]) return paymentOf(record, this.client.amounts);
      } catch (error) {
        if (!(error instanceof BankError && isNotShown(error))) throw error;
        failures.push(error);
      }
    }
    const ofKind = (kind: typeof BankError) => failures.find((failure) => failure instanceof kind);
    throw ofKind(NotFound) ?? ofKind(NotAllowed) ?? failures[0] ?? new ContractDrift(['id']);
  }

  async *listAccounts(): AsyncGenerator<BankAccount, void, undefined> {
    for await (const record of this.client.accounts.list()) yield accountOf(record, this.client.amounts);
  }

  async getAccount(bankAccountId: string): Promise<BankAccount> {
    return accountOf(await this.client.accounts.get(bankAccountId), this.client.amounts);
  }

  private bound(amountMinor: bigint | undefined, currency = 'EUR'): string | undefined {
    return amountMinor === undefined
      ? undefined
      : this.client.amounts.encodeAsString(amountMinor, currency).value;
  }
}

/** A record that was wanted, in our words; why not, where it cannot be put into them. */
function readRecord(
  { payment, faults = [] }: ListedPayment,
  amounts: AmountCodec,
): BankPayment | ContractDrift {
  if (payment === undefined) return new ContractDrift(faults);
  try {
    return paymentOf(payment, amounts);
  } catch (error) {
    if (error instanceof ContractDrift) return error;
    throw error;
  }
}

/** A success that cannot be put into our words happened all the same: it is a doubt, not an exception. */
function converted<From, To>(outcome: Outcome<From>, convert: (value: From) => To): Outcome<To> {
  if (outcome.kind !== 'yes') return outcome;
  try {
    return { kind: 'yes', value: convert(outcome.value), status: outcome.status };
  } catch (error) {
    if (!(error instanceof ContractDrift)) throw error;
    return { kind: 'in-doubt', why: error.message, status: outcome.status };
  }
}
