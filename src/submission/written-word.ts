import { DomainError } from '../domain/errors';
import { assertAllAmong } from '../pay-run/named-payments';

/** What a person proposes on the bank's written word, which is named by its reference, of which payments. */
export interface WrittenWord {
  evidence?: string;
  paymentIds?: readonly string[];
}

/** Whether what was proposed names a written word of the bank. */
export function isWritten(evidence: string | null): evidence is string {
  return (evidence ?? '').trim() !== '';
}

/**
 * The payments that a word of the bank is about: those a person named, or all that wait for one.
 * @throws DomainError EVIDENCE_REQUIRED, PAYMENT_NOT_WAITING
 */
export function paymentsOfWord({ evidence, paymentIds }: WrittenWord, waiting: readonly string[]): string[] {
  if (evidence === undefined)
    throw new DomainError('EVIDENCE_REQUIRED', 'Give the reference of the bank’s written word as evidence.');
  const not = 'Not every payment that was named waits for this answer';
  assertAllAmong(paymentIds ?? [], new Set(waiting), { code: 'PAYMENT_NOT_WAITING', not });
  return [...new Set(paymentIds ?? waiting)];
}
