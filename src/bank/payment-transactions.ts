import { segment } from './link';
import { listFetcher } from './list';
import { eachItem, type ListHabits, type ListSize } from './pager';
import { samePayment } from './same-record';
import { paymentTransaction, type PaymentTransaction, paymentTransactionList } from './schema';
import type { BankSession } from './session';
import { PATHS, type PaymentTransactionFilter } from './types';

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
  list(
    filter: PaymentTransactionFilter = {},
    onEnd?: (size: ListSize) => void,
  ): AsyncIterable<PaymentTransaction> {
    const fetch = listFetcher(this.session, PATHS.paymentTransactions(), paymentTransactionList, {
      ...filter,
    });
    return eachItem({ fetch, idOf: idOfPayment, habits: this.habits, onEnd });
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
