/**
 * The ids the bank knows a payment by: that of its internal information, by which it is told from any other, and that
 * of its identification where it has one of its own (Payment transaction). They need not be of one sequence, so that
 * the same number may be one id of this payment and the other id of another: each is only held against its like.
 */
export type PaymentIds = readonly [payment: string, transaction?: string];

/** The ids of a payment as far as they are known; empty while its add is in doubt. */
export type KnownIds = PaymentIds | readonly [];

/** From how they are stored. */
export function knownIds(payment: string | null, transaction: string | null): KnownIds {
  if (payment === null) return [];
  return transaction === null ? [payment] : [payment, transaction];
}
