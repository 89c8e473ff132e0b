import { segment } from './link';
import { sameRecord } from './same-record';
import { transaction, type Transaction } from './schema';
import type { BankSession } from './session';
import { PATHS } from './types';

/** Transactions: bookings on the accounts. */
export class Transactions {
  constructor(private readonly session: BankSession) {}

  /** One transaction with its accounting entries. Scope `transaction_view` (Transactions). */
  get(transactionId: string): Promise<Transaction> {
    return this.session.read(
      PATHS.transaction(segment(transactionId)),
      transaction,
      sameRecord(transactionId),
    );
  }
}
