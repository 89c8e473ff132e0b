import { isLosslessNumber } from 'lossless-json';

/** What a record of a payment says of which one it is and whose; absent where it does not say, or not readably. */
export interface PaymentMarks {
  /** `paymentTransactionInternalInformation.id`. */
  bankPaymentId?: string;
  /** `paymentTransactionIdentification.id`. */
  bankTransactionId?: string;
  bankInstructionId?: string;
  messageId?: string;
  /** `INWARD` or `OUTWARD`. */
  direction?: string;
}

/** What the bank writes where a message id is absent (Payment transaction). */
const NOT_PROVIDED = 'NOTPROVIDED';

/** Reads the marks of a record as it came, whatever else is wrong with it. */
export function marksOf(record: unknown): PaymentMarks {
  const information = fieldOf(record, 'paymentTransactionInformation');
  const identification = fieldOf(information, 'paymentTransactionIdentification');
  const messageId = textOf(fieldOf(identification, 'messageId'));
  return {
    bankPaymentId: textOf(fieldOf(fieldOf(record, 'paymentTransactionInternalInformation'), 'id')),
    bankTransactionId: textOf(fieldOf(identification, 'id')),
    bankInstructionId:
      textOf(fieldOf(record, 'customerInstructionId')) ??
      textOf(fieldOf(identification, 'customerInstructionId')),
    messageId: messageId === NOT_PROVIDED ? undefined : messageId,
    direction: textOf(fieldOf(information, 'direction')),
  };
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** An empty text is how some write what there is not. */
function textOf(value: unknown): string | undefined {
  const text = isLosslessNumber(value) ? value.value : value;
  return typeof text === 'string' && text.trim() !== '' ? text : undefined;
}

/** Whether nothing says whose it is, so that it may be anybody's. */
export function isUnmarked({ bankPaymentId, bankInstructionId, messageId }: PaymentMarks): boolean {
  return bankPaymentId === undefined && bankInstructionId === undefined && messageId === undefined;
}
