import { DomainError } from '../domain/errors';

/** What a person proposes on the bank's written word, which is named by its reference, of which payments. */
export interface WrittenWord {
  evidence?: string;
  paymentIds?: readonly string[];
}

/**
 * The payments that a word of the bank is about: those a person named, or all that wait for one.
 * @throws DomainError EVIDENCE_NEEDED, PAYMENT_NOT_WAITING
 */
export function paymentsOfWord({ evidence, paymentIds }: WrittenWord, waiting: readonly string[]): string[] {
  if (evidence === undefined)
    throw new DomainError('EVIDENCE_NEEDED', 'Give the reference of the bank’s written word as evidence.');
  const asked = new Set(waiting);
  if (paymentIds?.some((id) => !asked.has(id)))
    throw new DomainError('PAYMENT_NOT_WAITING', 'Not every payment that was named waits for this answer.');
  return [...new Set(paymentIds ?? waiting)];
}
