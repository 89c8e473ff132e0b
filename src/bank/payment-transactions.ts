import { segment } from './link';
import { listAt } from './list';
import type { ListHabits, ListSize } from './paging';
import { eachItem } from './pager';
import { ibanOf, type PaymentMarks } from './payment-marks';
import { samePayment } from './same-record';
import {
  type ListedPayment,
  pageOfPayments,
  paymentTransaction,
  type PaymentTransaction,
  UNREADABLE,
  wasSettled,
} from './schema';
import type { BankSession } from './session';
import { PATHS, type PaymentTransactionFilter } from './types';

/** How a list is read, as `listed` says, and whether it is read on where nothing tells its end. */
interface Reading {
  isTolerant?: boolean;
  isOnceEnough?: boolean;
  isEnough?: () => boolean;
}

/** Transactions: payment transactions, whatever instruction they belong to. */
export class PaymentTransactions {
  constructor(
    private readonly session: BankSession,
    private readonly habits: ListHabits,
  ) {}

  /**
   * Payment transactions that match. Scopes `customer-instruction_view` and `payment-instruction_view`
   * (Transactions). Amount bounds are in the bank's unit; how each filter behaves may differ by implementation.
   */
  async *list(
    filter: PaymentTransactionFilter = {},
    onEnd?: (size: ListSize) => void,
  ): AsyncGenerator<PaymentTransaction, void, undefined> {
    for await (const { payment } of this.listed(filter, () => true, onEnd)) if (payment) yield payment;
  }

  /**
   * As {@link list}; records that are not wanted by their marks are not read, nor held to the interface; others are unless
   * that `isTolerant`. Each comes once where that is enough, or again where it says otherwise.
   */
  listed(
    filter: PaymentTransactionFilter,
    isWanted: (marks: PaymentMarks) => boolean,
    onEnd?: (size: ListSize) => void,
    { isTolerant = false, isOnceEnough = false, isEnough }: Reading = {},
  ): AsyncIterable<ListedPayment> {
    const page = pageOfPayments(isWanted, isTolerant);
    const list = listAt(this.session, PATHS.paymentTransactions(), page, { ...filter });
    return eachItem({
      ...list,
      idOf: ({ id }) => id,
      ...(!isOnceEnough && { saysOf: ({ payment }) => payment && saysOfPayment(payment) }),
      habits: this.habits,
      onEnd,
      isEnough,
      pagingIsShown: true,
    });
  }

  /** One payment transaction. Scope not shown (Paths exposed only as links). */
  get(paymentTransactionId: string): Promise<PaymentTransaction> {
    const path = PATHS.paymentTransaction(segment(paymentTransactionId));
    return this.session.read(path, paymentTransaction, samePayment(paymentTransactionId));
  }
}

/** What tells one payment transaction from another in a list. */
export function idOfPayment(payment: PaymentTransaction): string {
  return payment.paymentTransactionInternalInformation.id;
}

/**
 * What a record says of what became of a payment, of what and whom it pays, and of its charges: a list may show both of
 * two that differ.
 */
export function saysOfPayment(payment: PaymentTransaction): string {
  const { status, groupStatus } = payment.paymentTransactionInternalInformation;
  const { instructedAmount, chargesAmount, chargeBearer } = payment.paymentTransactionAmountInformation ?? {};
  const { value, currency } = instructedAmount ?? {};
  const charges =
    chargesAmount === UNREADABLE ? [UNREADABLE] : [chargesAmount?.value, chargesAmount?.currency];
  const iban = ibanOf(payment.paymentTransactionParties?.creditor?.accountId);
  return [
    status.value,
    groupStatus?.value,
    wasSettled(payment),
    value,
    currency,
    iban,
    ...charges,
    chargeBearer,
  ].join(' ');
}
