import { isLosslessNumber } from 'lossless-json';
import type { AmountText } from './amount-codec';
import { isPathId } from './link';
import { writtenId } from './written-id';

/** What a record of a payment says of which one it is and whose; absent where it does not say, or not readably. */
export interface PaymentMarks {
  /** `paymentTransactionInternalInformation.id`. */
  bankPaymentId?: string;
  /** `paymentTransactionIdentification.id`. */
  bankTransactionId?: string;
  bankInstructionId?: string;
  messageId?: string;
  /** What it repeats of the payment that it gives back; read of what came in only. */
  endToEndId?: string;
  /** When it was made at the bank (`creationDate`), in milliseconds since 1970. */
  madeMs?: number;
  /** `INWARD` or `OUTWARD`. */
  direction?: string;
  /** The words of its remittance, where what comes back may name what it was; read of what came in only. */
  remittanceWords?: readonly string[];
  /** Creditor's account, where it is shown by its IBAN; read of what came in only. */
  creditorIban?: string;
  /** Debtor's, in the same way. */
  debtorIban?: string;
  /** Its amount as received; read of what came in only. */
  amount?: AmountText;
  /** The same in minor units, once the bank's unit was applied to it. */
  amountMinor?: bigint;
  currency?: string;
}

/** What the bank writes where a message id or an end-to-end id is absent (Payment transaction). */
const NOT_PROVIDED = 'NOTPROVIDED';

/** The direction of what came in (Payment transaction). */
export const INWARD = 'INWARD';

/** Reads the marks of a record as it came, whatever else is wrong with it. */
export function marksOf(record: unknown): PaymentMarks {
  const information = fieldOf(record, 'paymentTransactionInformation');
  const identification = fieldOf(information, 'paymentTransactionIdentification');
  const direction = textOf(fieldOf(information, 'direction'));
  const transactionId = idOf(identification, 'id');
  return {
    bankPaymentId: idOf(fieldOf(record, 'paymentTransactionInternalInformation'), 'id'),
    bankTransactionId: transactionId !== undefined && isPathId(transactionId) ? transactionId : undefined,
    bankInstructionId: idOf(record, 'customerInstructionId') ?? idOf(identification, 'customerInstructionId'),
    messageId: referenceOf(identification, 'messageId'),
    madeMs: momentOf(fieldOf(fieldOf(record, 'paymentTransactionDateInformation'), 'creationDate')),
    direction,
    ...(direction === INWARD && {
      endToEndId: referenceOf(identification, 'endToEndId'),
      creditorIban: partyIbanOf(record, 'creditor'),
      debtorIban: partyIbanOf(record, 'debtor'),
      remittanceWords: remittanceWordsOf(record),
      ...amountOf(record),
    }),
  };
}

/** Ours are in small letters: that a bank writes them in capitals tells nothing apart. */
function referenceOf(identification: unknown, name: 'messageId' | 'endToEndId'): string | undefined {
  const reference = textOf(fieldOf(identification, name));
  return reference === NOT_PROVIDED ? undefined : reference?.toLowerCase();
}

function partyIbanOf(record: unknown, name: 'creditor' | 'debtor'): string | undefined {
  const party = fieldOf(fieldOf(record, 'paymentTransactionParties'), name);
  return ibanOf(fieldOf(party, 'accountId'));
}

/** How an IBAN begins, of whatever type it is said to be (Party object, `accountId`). */
const LIKE_AN_IBAN = /^\s*[a-z]{2}\s*[0-9]{2}/i;

/** Absent where an account is shown by another type, and not by its IBAN all the same. */
export function ibanOf(accountId: unknown): string | undefined {
  const value = textOf(fieldOf(accountId, 'value'));
  const type = textOf(fieldOf(accountId, 'type')) ?? 'IBAN';
  const isIban = value !== undefined && (type.toUpperCase() === 'IBAN' || LIKE_AN_IBAN.test(value));
  return isIban ? value : undefined;
}

function remittanceWordsOf(record: unknown): string[] | undefined {
  const information = fieldOf(record, 'paymentTransactionDedicatedInformations');
  const remittance = textOf(fieldOf(fieldOf(information, 'remittanceInformation'), 'value'));
  return remittance?.toLowerCase().split(/[^0-9a-z-]+/);
}

function amountOf(record: unknown): Pick<PaymentMarks, 'amount'> {
  const amount = fieldOf(fieldOf(record, 'paymentTransactionAmountInformation'), 'instructedAmount');
  const [value, currency] = [textOf(fieldOf(amount, 'value')), textOf(fieldOf(amount, 'currency'))];
  return value === undefined || currency === undefined
    ? {}
    : { amount: { value, currency: currency.toUpperCase() } };
}

function momentOf(value: unknown): number | undefined {
  const ms = Date.parse(textOf(value) ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

function idOf(value: unknown, name: string): string | undefined {
  return textOf(writtenId(fieldOf(value, name)));
}

/** An empty text is how some write what there is not. */
function textOf(value: unknown): string | undefined {
  const text = isLosslessNumber(value) ? value.value : value;
  return typeof text === 'string' && text.trim() !== '' ? text : undefined;
}

/**
 * Whether it came in, and so is none that was sent, whatever it repeats of one: the other side of a transfer within the
 * bank, or money that comes back. What bears an id that the bank gave a payment of ours is ours.
 */
export function isIncoming(
  { direction, bankPaymentId }: PaymentMarks,
  isOurs: (bankPaymentId: string) => boolean,
): boolean {
  return direction === INWARD && !isOurs(bankPaymentId ?? '');
}

/** What may be the message id of a payment that it names: its own, its end-to-end id, and the words of its remittance. */
export function namesIn({ messageId, endToEndId, remittanceWords = [] }: PaymentMarks): readonly string[] {
  return [messageId, endToEndId, ...remittanceWords].filter((name) => name !== undefined);
}

/** Whether nothing says whose it is, so that it may be anybody's. */
export function isUnmarked({ bankPaymentId, bankInstructionId, messageId }: PaymentMarks): boolean {
  return bankPaymentId === undefined && bankInstructionId === undefined && messageId === undefined;
}
