import type { AddPayment, InitiateInstruction } from './prepared';
import type { BankInstruction, BankPayment } from './records';

/** What an instruction announced, as far as its record shows it. */
export type Announced = Pick<InitiateInstruction, 'reference' | 'count' | 'totalMinor' | 'currency'> & {
  debtor: Pick<InitiateInstruction['debtor'], 'iban'>;
};

/**
 * Fields of an answer that contradict what was sent; absent is not different. The execution date is left out: a bank
 * may move it to its next banking day. A reference is the same in capitals: nothing is kept apart by its case.
 */
export function echoFaultsOfInitiate(sent: Announced, echo: BankInstruction): string[] {
  return differing([
    ['reference', sent.reference.toLowerCase(), echo.reference?.toLowerCase()],
    ['count', sent.count, echo.requestedCount],
    ['total', sent.totalMinor, echo.requestedTotalMinor],
    ['currency', sent.currency, echo.currency],
    ['debtorIban', folded(sent.debtor.iban), folded(echo.debtorIban)],
  ]);
}

/**
 * As {@link echoFaultsOfInitiate}; the client has compared the instruction. A name is not compared: the bank may write
 * it in its own way.
 */
export function echoFaultsOfPayment(sent: AddPayment, echo: BankPayment): string[] {
  return differing([
    ['messageId', sent.messageId, echo.messageId],
    ['amount', sent.amountMinor, echo.amountMinor],
    ['currency', sent.currency, echo.currency],
    ['iban', folded(sent.creditor.iban), folded(echo.iban)],
  ]);
}

type Comparison = [field: string, sent: unknown, echo: unknown];

function differing(comparisons: Comparison[]): string[] {
  return comparisons.filter(([, sent, echo]) => echo !== undefined && sent !== echo).map(([field]) => field);
}

function folded(iban: string | undefined): string | undefined {
  return iban?.replaceAll(' ', '').toUpperCase();
}
