import type { Party } from '../../bank/types';
import { isTargetDay } from '../business-days';
import type { BankClock } from '../clock';
import { electronicIban, isIban } from '../iban';
import { magicEffect } from '../magic';
import { conflict, notFound, unprocessable, untimely } from '../refusal';
import type { Variants } from '../variants';
import type { Accounts } from './accounts';
import type {
  AccountRecord,
  IncomingInput,
  InstructionInformation,
  InstructionInput,
  InstructionRecord,
  PaymentInput,
  PaymentRecord,
} from './records';
import {
  FAILURES,
  failureAtInitiation,
  History,
  INSTRUCTION_INITIATED,
  isNotProcessable,
  PAYMENT_INWARD,
  paymentAdded,
} from './status-sequences';

const FIRST_INSTRUCTION_ID = 1_000_001;
const FIRST_PAYMENT_ID = 3_000_001;
/** Statuses of an instruction after which nothing can be added to it. */
const ENDED: ReadonlySet<string> = new Set(['SETTLED', 'FAILED', 'C_INSTRUCTION_SUB_NOT_PASSED']);
/** The instruction to another bank that carries a payment is numbered beside it. */
const PAYMENT_INSTRUCTION_OFFSET = 2_000_000;

/** Customer instructions and their payment transactions, up to and including the submit. */
export class Instructions {
  readonly instructions = new Map<number, InstructionRecord>();
  /** Ascending ids, deleted ones left out: pages are slices. */
  payments: PaymentRecord[] = [];
  private readonly paymentById = new Map<number, PaymentRecord>();
  private nextInstructionId = FIRST_INSTRUCTION_ID;
  private nextPaymentId = FIRST_PAYMENT_ID;

  constructor(
    private readonly accounts: Accounts,
    private readonly clock: BankClock,
    private readonly variants: Variants,
  ) {}

  initiate(input: InstructionInput, direct: boolean, atMs: number): InstructionRecord {
    this.requireDate(input.information.requestedExecutionDate, atMs);
    const account = this.debtorAccount(input);
    const id = this.nextInstructionId++;
    const history = new History(id);
    history.recordAll(direct ? ['SUB_STARTED'] : INSTRUCTION_INITIATED, atMs);
    const instruction: InstructionRecord = {
      id,
      ...input,
      account,
      createdAtMs: atMs,
      history,
      payments: [],
      submits: direct ? 1 : 0,
      openPayments: 0,
      direct,
      deleted: false,
      settlingPayments: 0,
      batch: [],
    };
    this.instructions.set(id, instruction);
    return instruction;
  }

  add(instruction: InstructionRecord, input: PaymentInput, atMs: number): PaymentRecord {
    const { addableAfterMs, untimelyAdds } = this.variants;
    if (atMs < instruction.createdAtMs + addableAfterMs)
      throw untimelyAdds === 'refused' ? untimely() : notFound('customer instruction');
    if (instruction.direct || this.variants.addAfterSubmit === 'refused')
      this.requireUnsubmitted(instruction);
    if (ENDED.has(instruction.history.current))
      throw conflict('INSTRUCTION_ENDED', 'the customer instruction has ended');
    return this.append(instruction, input, atMs);
  }

  /** One instruction with one payment, submitted as it is made; nothing is kept of a refused one. */
  submitDirectly(input: InstructionInput, payment: PaymentInput, atMs: number): PaymentRecord {
    const account = this.debtorAccount(input);
    const { creditorIban, outcome } = this.checkCreditor(payment.creditor, account);
    this.requireTotals(input.information, 1, BigInt(payment.amountMinor));
    if (magicEffect(creditorIban) === 'submitRefused' || isNotProcessable(outcome))
      throw unprocessable('SUBMISSION_REFUSED', 'the submission was refused');
    return this.append(this.initiate(input, true, atMs), payment, atMs);
  }

  /** A payment from outside into an account of the distributor. */
  receive(input: IncomingInput, atMs: number): PaymentRecord {
    const account = this.accounts.receivingAccount(input.iban);
    const { iban, ...rest } = input;
    const id = this.nextPaymentId++;
    const history = new History(id);
    history.recordAll(PAYMENT_INWARD, atMs);
    const today = this.clock.dateOf(atMs);
    return this.keep({
      ...rest,
      id,
      account,
      direction: 'INWARD',
      channel: 'RTNS',
      amountMinor: BigInt(input.amountMinor),
      chargeMinor: 0n,
      creditorIban: iban,
      createdAtMs: atMs,
      instructedDate: today,
      settlementDate: today,
      history,
      outcome: 'settles',
      heldMinor: 0n,
      booked: false,
      moved: 1,
    });
  }

  update(instruction: InstructionRecord, input: Partial<InstructionInput>, atMs: number): void {
    this.requireUnsubmitted(instruction);
    const date = input.information?.requestedExecutionDate;
    if (date !== undefined) this.requireDate(date, atMs);
    if (input.debtor) this.changeDebtor(instruction, input.debtor);
    instruction.information = { ...instruction.information, ...input.information };
    instruction.externalData = input.externalData ?? instruction.externalData;
    for (const payment of instruction.payments)
      payment.instructedDate = instruction.information.requestedExecutionDate;
  }

  delete(instruction: InstructionRecord, atMs: number): void {
    const isGone = instruction.submits > 0 && this.variants.onceSubmitted !== 'shown';
    if (isGone) return;
    this.requireUnsubmitted(instruction);
    instruction.deleted = true;
    instruction.history.record('CANCELLED', atMs);
    for (const payment of instruction.payments) {
      cancel(payment, atMs);
      this.paymentById.delete(payment.id);
    }
    this.payments = this.payments.filter((payment) => payment.instruction !== instruction);
  }

  updatePayment(payment: PaymentRecord, input: Partial<PaymentInput>, atMs: number): void {
    const instruction = this.requireEditable(payment);
    if (FAILURES.has(payment.history.current))
      throw conflict('PAYMENT_FAILED', 'the payment transaction failed its checks');
    const { amountMinor, ...rest } = input;
    if (input.creditor) Object.assign(payment, this.checkCreditor(input.creditor, instruction.account));
    const failure = failureAtInitiation(payment.outcome);
    if (failure !== undefined) payment.history.record(failure, atMs);
    Object.assign(payment, rest);
    if (amountMinor !== undefined) payment.amountMinor = BigInt(amountMinor);
  }

  deletePayment(payment: PaymentRecord, atMs: number): void {
    const instruction = this.requireEditable(payment);
    cancel(payment, atMs);
    instruction.payments = instruction.payments.filter((other) => other !== payment);
    this.paymentById.delete(payment.id);
    this.payments = this.payments.filter((other) => other !== payment);
  }

  /** Accepts the submit, or refuses it before anything is executed. True when it is a repeated one. */
  submit(instruction: InstructionRecord, atMs: number): boolean {
    const repeated = instruction.submits > 0;
    const { direct, history } = instruction;
    const executes = this.variants.secondSubmit === 'executed' && !direct && isRunning(instruction);
    if (repeated && !executes)
      throw conflict('INSTRUCTION_SUBMITTED', 'the customer instruction was submitted already');
    if (!repeated) {
      this.requireSubmittable(instruction, atMs);
      history.record('SUB_STARTED', atMs);
    }
    instruction.submits += 1;
    return repeated;
  }

  /** Whether an instruction of an account was submitted and its payments still wait to be processed. */
  hasWaiting(accountId: string): boolean {
    for (const { account, submits, checkedAtMs } of this.instructions.values())
      if (account.id === accountId && submits > 0 && checkedAtMs === undefined) return true;
    return false;
  }

  /** Throws 404 for one there is not, or was not at `asOfMs`. */
  instruction(id: number, asOfMs = Infinity): InstructionRecord {
    const instruction = this.instructions.get(id);
    if (!instruction || instruction.deleted || instruction.createdAtMs > asOfMs)
      throw notFound('customer instruction');
    return instruction;
  }

  /** Throws 404 for one there is not, or was not at `asOfMs`. */
  payment(id: number, asOfMs = Infinity): PaymentRecord {
    const payment = this.paymentById.get(id);
    if (!payment || payment.createdAtMs > asOfMs) throw notFound('payment transaction');
    return payment;
  }

  /** The payment an outward payment instruction carries. */
  instructedPayment(paymentInstructionId: number, asOfMs = Infinity): PaymentRecord {
    const payment = this.paymentById.get(paymentInstructionId - PAYMENT_INSTRUCTION_OFFSET);
    if (!payment || paymentInstructionIdOf(payment, asOfMs) === undefined)
      throw notFound('payment instruction');
    return payment;
  }

  private append(instruction: InstructionRecord, input: PaymentInput, atMs: number): PaymentRecord {
    const checked = this.checkCreditor(input.creditor, instruction.account);
    const id = this.nextPaymentId++;
    const history = new History(id);
    history.recordAll(instruction.direct ? ['SUB_STARTED'] : paymentAdded(checked.outcome), atMs);
    const payment: PaymentRecord = {
      ...input,
      ...checked,
      id,
      instruction,
      account: instruction.account,
      direction: 'OUTWARD',
      amountMinor: BigInt(input.amountMinor),
      debtor: instruction.debtor,
      createdAtMs: atMs,
      instructedDate: instruction.information.requestedExecutionDate,
      history,
      heldMinor: 0n,
      booked: false,
      moved: 0,
    };
    instruction.payments.push(payment);
    return this.keep(payment);
  }

  private keep(payment: PaymentRecord): PaymentRecord {
    this.payments.push(payment);
    this.paymentById.set(payment.id, payment);
    return payment;
  }

  private debtorAccount({ debtor }: Pick<InstructionInput, 'debtor'>): AccountRecord {
    return this.accounts.debtorAccount(electronicIban(debtor.accountId?.value ?? ''));
  }

  private changeDebtor(instruction: InstructionRecord, debtor: Party): void {
    const account = this.debtorAccount({ debtor });
    for (const { creditorIban } of instruction.payments) requireOther(creditorIban, account);
    for (const record of [instruction, ...instruction.payments]) Object.assign(record, { debtor, account });
  }

  private requireSubmittable(instruction: InstructionRecord, atMs: number): void {
    const { information, payments } = instruction;
    if (payments.length === 0)
      throw unprocessable('INSTRUCTION_EMPTY', 'the customer instruction has no payment transaction');
    this.requireDate(information.requestedExecutionDate, atMs);
    this.accounts.requireOpened(instruction.account);
    const counted = payments.filter((payment) => isCounted(payment, this.variants));
    this.requireTotals(information, counted.length, totalOf(counted));
    if (payments.some(({ creditorIban }) => magicEffect(creditorIban) === 'submitRefused'))
      throw unprocessable('SUBMISSION_REFUSED', 'the submission was refused');
  }

  private requireTotals(information: InstructionInformation, count: number, totalMinor: bigint): void {
    const { requestedNbPaymentTransactions: requestedNb = count, requestedTotalMinor = totalMinor } =
      information;
    const differ = requestedNb !== count || BigInt(requestedTotalMinor) !== totalMinor;
    if (this.variants.enforceControlTotals && differ)
      throw unprocessable('CONTROL_TOTALS_DIFFER', 'requested and calculated totals differ');
  }

  private requireDate(date: string, atMs: number): void {
    if (this.clock.startOf(date) === undefined)
      throw unprocessable('EXECUTION_DATE_INVALID', 'requestedExecutionDate is not a date');
    if (date < this.clock.dateOf(atMs))
      throw unprocessable('EXECUTION_DATE_PAST', 'requestedExecutionDate is in the past');
    if (this.variants.executionDays === 'target' && !isTargetDay(date))
      throw unprocessable('EXECUTION_DATE_CLOSED', 'requestedExecutionDate is not a bank day');
  }

  private requireUnsubmitted(instruction: InstructionRecord): void {
    if (instruction.submits > 0)
      throw conflict('INSTRUCTION_SUBMITTED', 'the customer instruction was submitted');
  }

  private requireEditable(payment: PaymentRecord): InstructionRecord {
    if (!payment.instruction) throw conflict('PAYMENT_INWARD', 'the payment transaction came from outside');
    this.requireUnsubmitted(payment.instruction);
    return payment.instruction;
  }

  private checkCreditor(
    creditor: Party,
    debtorAccount: AccountRecord,
  ): Pick<PaymentRecord, 'creditorIban' | 'channel' | 'chargeMinor' | 'outcome'> {
    const creditorIban = electronicIban(creditor.accountId?.value ?? '');
    if (!isIban(creditorIban)) throw unprocessable('IBAN_INVALID', 'the creditor IBAN is not valid');
    const effect = magicEffect(creditorIban);
    if (effect === 'refusedAtAdd')
      throw unprocessable('CREDITOR_REFUSED', 'the creditor account cannot be paid');
    requireOther(creditorIban, debtorAccount);
    const channel = this.accounts.creditorAccount(creditorIban) ? 'BOOK' : 'RTNS';
    const chargeMinor = channel === 'RTNS' ? BigInt(this.variants.chargeMinor) : 0n;
    const outcome = effect === undefined || effect === 'submitRefused' ? 'settles' : effect;
    return { creditorIban, channel, chargeMinor, outcome };
  }
}

function requireOther(creditorIban: string, debtorAccount: AccountRecord): void {
  if (creditorIban === debtorAccount.iban)
    throw unprocessable('SAME_ACCOUNT', 'debtor and creditor are the same account');
}

/** What failed its checks has ended already. */
function cancel({ history }: PaymentRecord, atMs: number): void {
  if (!FAILURES.has(history.current)) history.record('CANCELLED', atMs);
}

/** Whether the payments of a submitted instruction are processed: it passed its checks and was not refused. */
export function isRunning({ checkedAtMs, history }: InstructionRecord): boolean {
  return checkedAtMs !== undefined && history.current !== 'C_INSTRUCTION_SUB_NOT_PASSED';
}

/** Sum in cents. */
export function totalOf(payments: readonly PaymentRecord[]): bigint {
  return payments.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}

/** Whether a payment is part of what the bank calculates of its instruction. */
export function isCounted(
  { outcome }: PaymentRecord,
  { failedAtAdd }: Pick<Variants, 'failedAtAdd'>,
): boolean {
  return failedAtAdd === 'counted' || failureAtInitiation(outcome) === undefined;
}

/** The id of the outward payment instruction, once the payment is ready to leave the bank. */
export function paymentInstructionIdOf(payment: PaymentRecord, asOfMs = Infinity): number | undefined {
  return payment.history.hadBy('READY_FOR_EXCHANGE', asOfMs)
    ? payment.id + PAYMENT_INSTRUCTION_OFFSET
    : undefined;
}
