import { DomainError } from '../domain/errors';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { showId } from '../http/prefixed-id';

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
  const others = (paymentIds ?? []).filter((id) => !asked.has(id)).map((id) => showId('pay', id));
  if (others.length > 0) {
    const message = `Not every payment that was named waits for this answer: ${textOfFirstFew(others, MOST_NAMED)}.`;
    throw new DomainError('PAYMENT_NOT_WAITING', message);
  }
  return [...new Set(paymentIds ?? waiting)];
}
