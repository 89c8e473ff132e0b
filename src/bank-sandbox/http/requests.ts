import { z } from 'zod';
import { EVENTS } from '../../bank/types';
import { type AmountCodec, CURRENCY } from '../amounts';
import { RawNumber, writeJson } from '../json';
import { badRequest, unprocessable } from '../refusal';
import { isObject } from './corruption';
import type { InstructionInput, PaymentInput } from '../state/records';

/** Field lengths of this family of interfaces; a longer text is refused, never cut. */
const text = (max: number) => z.string().min(1).max(max);
const REFERENCE = text(35);
const REMITTANCE = text(140);
const EXTERNAL_DATA_MAX_CHARS = 1024;

const amount = z.object({
  value: z.union([z.number(), z.string(), z.instanceof(RawNumber)]),
  currency: z.literal(CURRENCY),
});

const postalAddress = z.object({
  addressLines: text(140).optional(),
  structuredAddress: z
    .object({ streetName: text(70), buildingNumber: text(16), postCode: text(16), townName: text(70) })
    .optional(),
  country: z.string().regex(/^\d{3}$/),
});

const party = z.object({
  name: text(140),
  id: z.object({ type: z.literal('identityId'), value: text(70) }).optional(),
  accountId: z.object({
    type: z.literal('IBAN'),
    // 34 characters and the spaces of the paper form.
    value: text(42),
    bankId: z
      .object({ type: z.literal('BIC'), value: z.string().regex(/^[A-Z0-9]{8}([A-Z0-9]{3})?$/) })
      .optional(),
  }),
  postalAddress: postalAddress.optional(),
});

/** Kept as it was parsed, for it is echoed: a record of the schema would lose the key `__proto__`. */
const externalData = z
  .custom<Record<string, unknown>>(isObject)
  .refine((data) => writeJson(data).length <= EXTERNAL_DATA_MAX_CHARS)
  .optional();

const remittanceInformation = z.object({ value: REMITTANCE, type: z.literal('UNSTRUCTURED') });

const instructionInformation = z.object({
  paymentInstrument: z.literal('CreditTransfer'),
  paymentService: z.literal('PAYMENTS').optional(),
  batchBooking: z.boolean().optional(),
  customerInstructionReference: REFERENCE.optional(),
  requestedNbPaymentTransactions: z.int().min(1).optional(),
  requestedTotalAmount: z.array(amount).length(1).optional(),
  requestedExecutionDate: z.string().regex(/^\d{4}-\d{2}-\d{2}$/),
  customerInstructionTypeInformation: z
    .object({ categoryPurpose: text(4).optional(), serviceLevel: text(35).optional() })
    .optional(),
});

const initiation = z.object({
  customerInstructionInformation: instructionInformation,
  customerInstructionOrderingParties: z.object({ debtor: party }),
  externalData,
});

const initiationChanges = z.object({
  customerInstructionInformation: instructionInformation.partial().optional(),
  customerInstructionOrderingParties: z.object({ debtor: party.optional() }).optional(),
  externalData,
});

const addition = z.object({
  paymentTransactionAmountInformation: z.object({
    instructedAmount: amount,
    chargeBearer: z.literal('SLEV').optional(),
  }),
  paymentTransactionParties: z.object({
    creditor: party,
    ultimateCreditor: party.partial({ accountId: true }).optional(),
  }),
  paymentTransactionDedicatedInformations: z.object({ remittanceInformation }).optional(),
  paymentTransactionInformation: z
    .object({
      paymentTransactionIdentification: z.object({ messageId: REFERENCE }).optional(),
      transactionType: text(35).optional(),
    })
    .optional(),
  externalData,
});

const directSubmission = initiation.extend({
  paymentTransaction: z.object({
    paymentTransactionDedicatedInformations: z.object({ remittanceInformation }).optional(),
    paymentTransactionAmountInformation: z.object({
      instructedAmount: amount.extend({ value: z.string() }),
    }),
    paymentTransactionParties: z.object({ creditor: party, postalAddress: postalAddress.optional() }),
  }),
});

const subscription = z.object({
  name: text(140),
  url: z.url({ protocol: /^https?$/ }).max(2048),
  events: z.array(z.enum(EVENTS)).min(1).max(EVENTS.length),
});

const accountCreation = z.object({ productId: z.int() });

const incomingPayment = z.object({
  iban: text(34),
  amountMinor: z.string().regex(/^[1-9]\d{0,10}$/),
  messageId: text(35).optional(),
  endToEndId: text(35).optional(),
});

const additionalUser = z.object({
  userId: z.int(),
  identityId: z.int(),
  holderName: text(140),
  kyc: z.enum(['VERIFIED', 'PENDING']),
});

const ADDITIONAL_USER =
  'userId and identityId are whole numbers, holderName has 1 to 140 characters, kyc is VERIFIED or PENDING';

/** Checks request bodies against the document and turns them into commands. */
export class Requests {
  constructor(private readonly codec: AmountCodec) {}

  initiation(body: unknown): InstructionInput {
    return this.instructionInput(parsed(initiation, body));
  }

  initiationChanges(body: unknown): Partial<InstructionInput> {
    const changes = parsed(initiationChanges, body);
    const { requestedTotalAmount, ...information } = changes.customerInstructionInformation ?? {};
    const total = this.totalMinor(requestedTotalAmount);
    return {
      information: { ...information, ...total } as InstructionInput['information'],
      debtor: changes.customerInstructionOrderingParties?.debtor,
      externalData: changes.externalData,
    };
  }

  addition(body: unknown): PaymentInput {
    const request = parsed(addition, body);
    const { paymentTransactionInformation: information, paymentTransactionParties: parties } = request;
    return defined({
      amountMinor: this.positiveMinor(request.paymentTransactionAmountInformation.instructedAmount),
      chargeBearer: request.paymentTransactionAmountInformation.chargeBearer,
      creditor: parties.creditor,
      ultimateCreditor: parties.ultimateCreditor,
      remittance: request.paymentTransactionDedicatedInformations?.remittanceInformation,
      messageId: information?.paymentTransactionIdentification?.messageId,
      transactionType: information?.transactionType,
      externalData: request.externalData,
    });
  }

  additionChanges(body: unknown): Partial<PaymentInput> {
    const request = parsed(addition.partial(), body);
    const amounts = request.paymentTransactionAmountInformation;
    return defined({
      amountMinor: amounts && this.positiveMinor(amounts.instructedAmount),
      chargeBearer: amounts?.chargeBearer,
      creditor: request.paymentTransactionParties?.creditor,
      ultimateCreditor: request.paymentTransactionParties?.ultimateCreditor,
      remittance: request.paymentTransactionDedicatedInformations?.remittanceInformation,
      messageId: request.paymentTransactionInformation?.paymentTransactionIdentification?.messageId,
      transactionType: request.paymentTransactionInformation?.transactionType,
      externalData: request.externalData,
    });
  }

  directSubmission(body: unknown): { instruction: InstructionInput; payment: PaymentInput } {
    const request = parsed(directSubmission, body);
    const { paymentTransaction: transaction } = request;
    const { creditor, postalAddress: address } = transaction.paymentTransactionParties;
    return {
      instruction: this.instructionInput(request),
      payment: defined({
        amountMinor: this.positiveMinor(transaction.paymentTransactionAmountInformation.instructedAmount),
        creditor: address ? { ...creditor, postalAddress: address } : creditor,
        remittance: transaction.paymentTransactionDedicatedInformations?.remittanceInformation,
      }),
    };
  }

  subscription = (body: unknown) => parsed(subscription, body);
  accountCreation = (body: unknown) => parsed(accountCreation, body);
  additionalUser = (body: unknown) => parsed(additionalUser, body, ADDITIONAL_USER);
  incomingPayment = (body: unknown) => parsed(incomingPayment, body);

  private instructionInput(request: z.infer<typeof initiation>): InstructionInput {
    const { requestedTotalAmount, ...information } = request.customerInstructionInformation;
    return defined({
      information: { ...information, ...this.totalMinor(requestedTotalAmount) },
      debtor: request.customerInstructionOrderingParties.debtor,
      externalData: request.externalData,
    });
  }

  private totalMinor(total: z.infer<typeof amount>[] | undefined): { requestedTotalMinor?: string } {
    const first = total?.[0];
    return first ? { requestedTotalMinor: this.codec.read(first.value).toString() } : {};
  }

  private positiveMinor(instructed: z.infer<typeof amount>): string {
    const minor = this.codec.read(instructed.value);
    if (minor <= 0n) throw unprocessable('AMOUNT_INVALID', 'amount value is not positive');
    return minor.toString();
  }
}

/**
 * Names the fields at fault, never their values, and the lawful ones where they are given. Throws a 400 for no object at
 * all, else a 422.
 */
export function parsed<T>(schema: z.ZodType<T>, body: unknown, lawful?: string): T {
  if (body === null || typeof body !== 'object') throw badRequest('a JSON object is required');
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const fields = result.error.issues.map((issue) => issue.path.join('.'));
  const named = `not valid: ${[...new Set(fields)].join(', ')}`;
  throw unprocessable('FIELD_INVALID', lawful === undefined ? named : `${named}; ${lawful}`);
}

/** Without the keys that are undefined, so that a change changes only what it names. */
function defined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}
