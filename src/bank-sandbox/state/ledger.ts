import type { TransactionType } from '../../bank/types';
import { conflict, notFound, unprocessable } from '../refusal';
import type { Outbox } from '../webhooks/outbox';
import type { Accounts } from './accounts';
import type {
  AccountRecord,
  InstructionRecord,
  Leg,
  PaymentRecord,
  PostingInput,
  TransactionRecord,
} from './records';

const FIRST_TRANSACTION_ID = 7_000_001;

interface Posting {
  type: TransactionType;
  from: AccountRecord;
  to: AccountRecord;
  amountMinor: bigint;
  description: string;
  payment?: PaymentRecord;
}

/** The double-entry book: every transaction takes from one account what it gives to another. */
export class Ledger {
  readonly transactions: TransactionRecord[] = [];

  constructor(
    private readonly accounts: Accounts,
    private readonly outbox: Outbox,
  ) {}

  transaction(id: number): TransactionRecord {
    const transaction = this.transactions[id - FIRST_TRANSACTION_ID];
    if (!transaction) throw notFound('transaction');
    return transaction;
  }

  post(posting: Posting, atMs: number): TransactionRecord {
    const id = FIRST_TRANSACTION_ID + this.transactions.length;
    const legs: [Leg, Leg] = [
      entry(posting.from, -posting.amountMinor, atMs),
      entry(posting.to, posting.amountMinor, atMs),
    ];
    const { type, amountMinor, description, payment } = posting;
    const transaction = { id, type, atMs, amountMinor, description, payment, legs };
    this.transactions.push(transaction);
    for (const { account } of legs) if (account !== this.accounts.clearing) this.announce(id, account, atMs);
    return transaction;
  }

  /**
   * Sets amount and charge aside: the available balance falls, the balance does not. False when it does not suffice.
   */
  hold(payment: PaymentRecord): boolean {
    const { account, heldMinor } = payment;
    const neededMinor = payment.amountMinor + payment.chargeMinor;
    if (this.accounts.statusOf(account) !== 'OPENED') return false;
    if (heldMinor === neededMinor) return true;
    if (availableMinor(account) < neededMinor) return false;
    account.heldMinor += neededMinor;
    payment.heldMinor = neededMinor;
    return true;
  }

  /** The payee receives the money: the hold becomes a debit, or the batch's debit is passed on. */
  settle(payment: PaymentRecord, atMs: number): void {
    const payee = this.payee(payment);
    this.release(payment);
    if (!payment.booked) {
      this.pay(payment, payment.account, payee, atMs);
      payment.booked = true;
    } else if (payee !== this.accounts.clearing) {
      this.pay(payment, this.accounts.clearing, payee, atMs);
    }
    this.charge(payment, atMs);
    payment.moved += 1;
  }

  /** A second execution of a payment, as a bank without protection against it makes one. */
  payAgain(payment: PaymentRecord, atMs: number): void {
    const { account, amountMinor, chargeMinor } = payment;
    if (availableMinor(account) < amountMinor + chargeMinor || this.lacksPayee(payment)) return;
    this.pay(payment, account, this.payee(payment), atMs);
    this.charge(payment, atMs);
    payment.moved += 1;
  }

  /** Gives back what is set aside for a payment that failed, or that was booked: all of it, or so much. */
  release(payment: PaymentRecord, amountMinor = payment.heldMinor): void {
    payment.account.heldMinor -= amountMinor;
    payment.heldMinor -= amountMinor;
  }

  /** Whether a payment within the bank has nobody to receive it now. */
  lacksPayee({ channel, creditorIban }: PaymentRecord): boolean {
    return channel === 'BOOK' && !this.accounts.payee(creditorIban);
  }

  /** Money of a payment comes back, less what the other bank keeps of it; of a payment that is no more than that, all of it. */
  refund(payment: PaymentRecord, keptMinor: bigint, atMs: number): void {
    const { clearing } = this.accounts;
    const { account: to } = payment;
    const amountMinor = payment.amountMinor - (keptMinor < payment.amountMinor ? keptMinor : 0n);
    this.post({ type: 'REFUND', from: clearing, to, amountMinor, description: 'Refund', payment }, atMs);
    payment.booked = false;
    payment.returnedMinor = amountMinor;
  }

  /**
   * Books what no payment asked for: a fee of the bank, which a payment of the account may show as its charge, or money
   * the distributor moves. Throws a 422 refusal when a debit exceeds the available balance, a 409 for a closed account.
   */
  postTo(
    account: AccountRecord,
    posting: PostingInput & { payment?: PaymentRecord },
    atMs: number,
  ): TransactionRecord {
    const { type, direction, payment } = posting;
    const amountMinor = BigInt(posting.amountMinor);
    if (account.status === 'CLOSED') throw conflict('ACCOUNT_CLOSED', 'the account is closed');
    if (direction === 'DEBIT' && availableMinor(account) < amountMinor)
      throw unprocessable('BALANCE_TOO_LOW', 'the available balance does not cover the posting');
    if (payment && (type !== 'FEE' || payment.account !== account))
      throw unprocessable('PAYMENT_NOT_CHARGED', 'only a FEE is charged for a payment, on its own account');
    const { clearing } = this.accounts;
    const [from, to] = direction === 'DEBIT' ? [account, clearing] : [clearing, account];
    const description = type === 'FEE' ? 'Account fee' : 'Distributor posting';
    if (payment)
      payment.furtherChargeMinor =
        (payment.furtherChargeMinor ?? 0n) + (direction === 'DEBIT' ? amountMinor : -amountMinor);
    return this.post({ type, from, to, amountMinor, description, payment }, atMs);
  }

  /** Batch booking: one entry for the payments of the instruction that settle now, each of which is then settled. */
  bookBatch(instruction: InstructionRecord, settling: readonly PaymentRecord[], atMs: number): void {
    if (settling.length === 0) return;
    const amountMinor = settling.reduce((sum, payment) => sum + payment.amountMinor, 0n);
    // Its charge stays set aside until the payment settles.
    for (const payment of settling) this.release(payment, payment.amountMinor);
    const from = instruction.account;
    const to = this.accounts.clearing;
    const description = instruction.information.customerInstructionReference ?? 'Batch credit transfer';
    const { id } = this.post({ type: 'CREDIT_TRANSFER', from, to, amountMinor, description }, atMs);
    for (const payment of settling) {
      payment.booked = true;
      payment.transactionId = id;
    }
  }

  private payee(payment: PaymentRecord): AccountRecord {
    return this.accounts.payee(payment.creditorIban) ?? this.accounts.clearing;
  }

  private pay(payment: PaymentRecord, from: AccountRecord, to: AccountRecord, atMs: number): void {
    const type = payment.channel === 'BOOK' ? 'INTERNAL_TRANSFER' : 'ACCOUNT_TO_EXTERNAL';
    const { amountMinor } = payment;
    const { id } = this.post({ type, from, to, amountMinor, description: 'Credit transfer', payment }, atMs);
    payment.transactionId ??= id;
  }

  /** The bank's own price, booked beside the payment; it is not given back when the payment is returned. */
  private charge(payment: PaymentRecord, atMs: number): void {
    const { account: from, chargeMinor: amountMinor } = payment;
    if (amountMinor === 0n) return;
    const to = this.accounts.clearing;
    const description = 'Charge for a credit transfer';
    const { id } = this.post({ type: 'FEE', from, to, amountMinor, description, payment }, atMs);
    payment.feeTransactionId ??= id;
  }

  private announce(transactionId: number, account: AccountRecord, atMs: number): void {
    const { identityId } = this.accounts.user(account.userId);
    const id = String(transactionId);
    this.outbox.emit('transaction.new', { identityId, entityId: id }, { transactionId: id }, atMs);
  }
}

function availableMinor(account: AccountRecord): bigint {
  return account.balanceMinor - account.heldMinor;
}

function entry(account: AccountRecord, amountMinor: bigint, atMs: number): Leg {
  account.balanceMinor += amountMinor;
  account.lastUsedAtMs = atMs;
  const { balanceMinor } = account;
  return { account, amountMinor, balanceMinor, availableMinor: availableMinor(account) };
}
