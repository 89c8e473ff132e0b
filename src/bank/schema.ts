import { isLosslessNumber, stringify } from 'lossless-json';
import { z } from 'zod';
import { parseScaled } from '../domain/money';
import { ContractDrift } from './errors';
import { parseJson } from './json';
import { isPathId } from './link';
import { marksOf, type PaymentMarks } from './payment-marks';
import { writtenId } from './written-id';

/**
 * Answers as the client hands them out, in the order of the interface document. Every id is a string of its
 * digits, every amount the decimal text received; unknown fields and unknown codes survive. Only
 * what no caller can do without is required: the document's other fields may be missing or null.
 */
/** A number as the digits received. One rule for either form: a union would note a fault for each number it meets. */
const digitsOf = (value: unknown): unknown => (isLosslessNumber(value) ? value.value : value);

/** Of a record: what cannot stand in a path asks for nothing. */
const id = z.preprocess(writtenId, z.string().refine(isPathId));

/** An id that may be absent; a bank may write that as an empty text. */
const maybeId = z.preprocess(writtenId, z.string()).nullish();

const decimalText = z.preprocess(digitsOf, z.string().regex(/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/));

/** JSON does not tell `10` from `10.0` or `1e1`. */
const count = z.preprocess(integerOf, z.int().nonnegative());

const text = z.string().nullish();

export const amount = z.looseObject({ value: decimalText, currency: z.string().min(1).toUpperCase() });

/**
 * One that may be absent. A bank may write that as an Amount without a value, or a sum over nothing as one that is zero in
 * no currency.
 */
const maybeAmount = z.preprocess((given) => (isNoAmount(given) ? undefined : given), amount.nullish());

/** Stands for what is shown and is no Amount. */
export const UNREADABLE = 'unreadable';

/** No payment's status waits for its charges: that they cannot be read is no reason to read none of it. */
const charges = z.preprocess(
  (given) => (isNoAmount(given) ? undefined : given),
  amount.nullish().or(z.literal(UNREADABLE)).catch(UNREADABLE),
);

/** Answered as one Amount, sent as an array; a server that echoes the array is understood. */
const totalAmount = z
  .union([amount, z.array(amount).max(1)])
  .transform((one) => (Array.isArray(one) ? one[0] : one));

export const status = z.looseObject({ value: z.string().min(1), label: text });
/** One that may be absent; a bank may write that as one without a value. */
const maybeStatus = z.looseObject({ value: text, label: text }).nullish();
export const link = z.looseObject({ rel: z.string(), href: z.string() });
/** Nothing rests on them. */
const links = z.array(link).nullish().catch(undefined);
const historyEntry = z.looseObject({
  status,
  groupStatus: maybeStatus,
  date: text,
  previousTransitionId: maybeId,
});

export const product = z.looseObject({
  id,
  type: text,
  currency: text,
  name: text,
  profiles: z.array(id).nullish(),
});

export const account = z.looseObject({
  id,
  externalId: maybeId,
  userId: maybeId,
  productId: maybeId,
  status: z.string().min(1),
  label: text,
  balance: maybeAmount,
  availableBalance: maybeAmount,
  createdAt: text,
  lastUsedAt: text,
  iban: text,
  bic: text,
});

const accountingEntry = z.looseObject({
  id,
  accountId: maybeId,
  transactionId: maybeId,
  externalId: maybeId,
  description: text,
  type: text,
  amount: amount.nullish(),
  balance: amount.nullish(),
  availableBalance: amount.nullish(),
  createdAt: text,
  accountOwner: z.looseObject({ id: maybeId, name: text, externalId: maybeId, userRole: text }).nullish(),
});

const contribution = z.looseObject({
  id,
  role: text,
  device: z.unknown().optional(),
  contributor: text,
  name: text,
  externalId: maybeId,
  userRole: z.looseObject({}).nullish(),
  employee: z.unknown().optional(),
  supportId: maybeId,
});

/** What a transaction says of a payment: names and account numbers as plain text. */
const transactionData = z.looseObject({
  remittanceInformation: text,
  debtor: z.looseObject({ id: maybeId, name: text, accountId: text, bic: text }).nullish(),
  creditor: z.looseObject({ name: text, accountId: text, bic: text }).nullish(),
  additionalReferences: z.looseObject({ remittanceInfo: text }).nullish(),
});

export const transaction = z.looseObject({
  id,
  externalId: maybeId,
  processId: maybeId,
  businessProcessId: maybeId,
  type: text,
  localizedType: z.looseObject({ value: text, label: text }).nullish(),
  amount,
  description: text,
  shortDescription: text,
  media: text,
  createdAt: text,
  externalData: transactionData.nullish(),
  accountingEntries: z.array(accountingEntry).nullish(),
  contributions: z.array(contribution).nullish(),
});

const postalAddress = z.looseObject({
  addressLines: text,
  structuredAddress: z
    .looseObject({ streetName: text, buildingNumber: text, postCode: text, townName: text })
    .nullish(),
  country: text,
});

/** That of the initiating party the document calls an id and no more. */
const partyId = z.preprocess(
  (given) => (typeof given === 'string' || isLosslessNumber(given) ? { value: given } : given),
  z.looseObject({ type: text, value: maybeId }),
);

export const party = z.looseObject({
  name: text,
  id: partyId.nullish(),
  accountId: z
    .looseObject({ type: text, value: text, bankId: z.looseObject({ type: text, value: text }).nullish() })
    .nullish(),
  postalAddress: postalAddress.nullish(),
});

export const paymentTransaction = z.looseObject({
  paymentTransactionInformation: z
    .looseObject({
      paymentInstrument: text,
      paymentTransactionIdentification: z
        .looseObject({
          messageId: text,
          endToEndId: text,
          clearingChannel: text,
          externalTransactionId: maybeId,
          id: maybeId,
          customerInstructionId: maybeId,
        })
        .nullish(),
      paymentTransactionTypeInformation: z.looseObject({ serviceLevel: text }).nullish(),
      direction: text,
      transactionType: text,
    })
    .nullish(),
  paymentTransactionInternalInformation: z.looseObject({
    id,
    status,
    groupStatus: maybeStatus,
    history: z.array(historyEntry).nullish(),
    contractId: maybeId,
  }),
  paymentTransactionDateInformation: z
    .looseObject({ creationDate: text, instructedDate: text, settlementDate: text })
    .nullish(),
  paymentTransactionAmountInformation: z
    .looseObject({
      instructedAmount: amount.nullish(),
      chargesAmount: charges,
      chargeBearer: text,
    })
    .nullish(),
  paymentTransactionParties: z
    .looseObject({
      initiatingParty: party.nullish(),
      debtor: party.nullish(),
      creditor: party.nullish(),
      ultimateCreditor: party.nullish(),
    })
    .nullish(),
  paymentTransactionDedicatedInformations: z
    .looseObject({ remittanceInformation: z.looseObject({ type: text, value: text }).nullish() })
    .nullish(),
  customerInstructionId: maybeId,
  paymentInstructionId: maybeId,
  externalData: z.unknown().optional(),
  links,
});

export const customerInstruction = z.looseObject({
  id,
  status,
  groupStatus: maybeStatus,
  history: z.array(historyEntry).nullish(),
  calculatedNbPaymentTransactions: count.nullish(),
  calculatedAmount: maybeAmount,
  paymentTransactionsStatus: z
    .array(z.looseObject({ groupStatus: z.string(), nbTransactions: count, totalAmount: maybeAmount }))
    .nullish(),
  customerInstructionInformation: z
    .looseObject({
      paymentInstrument: text,
      paymentService: text,
      batchBooking: z.boolean().nullish(),
      customerInstructionReference: text,
      requestedNbPaymentTransactions: count.nullish(),
      requestedTotalAmount: totalAmount.nullish(),
      requestedExecutionDate: text,
      customerInstructionTypeInformation: z
        .looseObject({ categoryPurpose: text, serviceLevel: text })
        .nullish(),
    })
    .nullish(),
  customerInstructionOrderingParties: z
    .looseObject({ initiatingParty: party.nullish(), debtor: party.nullish() })
    .nullish(),
  externalData: z.unknown().optional(),
  paymentTransaction: paymentTransaction.nullish(),
  links,
});

/** Fields of a payment instruction are not shown beyond its links. */
export const paymentInstruction = z.looseObject({ id: maybeId, status: status.nullish(), links });

export const webhookSubscription = z.looseObject({
  id,
  name: text,
  body: text,
  distributorId: maybeId,
  events: z.array(z.string()).nullish(),
});
export const webhookSubscriptions = z.array(webhookSubscription);
export const hookMessage = z.looseObject({ message: text, hookId: maybeId, identityId: maybeId });

/**
 * Conventions: List envelope, or the array alone, as of hooks. `count` may mean the page or the whole list. Where it
 * is there, `items` of a page that holds nothing may be null, or left out where no other field holds a list.
 */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    envelopeOf,
    z.looseObject({
      items: z.array(item),
      count: count.nullish().catch(undefined),
      limit: count.nullish().catch(undefined),
      offset: count.nullish().catch(undefined),
      sort: text,
    }),
  );

function envelopeOf(body: unknown): unknown {
  if (Array.isArray(body)) return { items: body };
  const { items, count: counted } = (body ?? {}) as Record<string, unknown>;
  const isPage = items == null && count.safeParse(counted).success;
  const isEmpty = isPage && (items === null || !Object.values(body as object).some(Array.isArray));
  return isEmpty ? { ...(body as object), items: [] } : body;
}

function integerOf(value: unknown): number | undefined {
  const digits = digitsOf(value);
  const whole = typeof digits === 'string' ? parseScaled(digits, 0) : undefined;
  return whole === undefined ? undefined : Number(whole);
}

function isNoAmount(given: unknown): boolean {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false;
  const { value, currency } = given as Record<string, unknown>;
  const isNone = (field: unknown): boolean => field == null || field === '';
  return isNone(value) || (isNone(currency) && isZero(digitsOf(value)));
}

function isZero(digits: unknown): boolean {
  return typeof digits === 'string' && parseScaled(digits, 0) === 0n;
}

export const productList = listOf(product);
export const accountList = listOf(account);
export const paymentTransactionList = listOf(paymentTransaction);

/** A record of a list of everybody's payments: whole only where it was wanted. */
export interface ListedPayment {
  /** What tells it from another in the list. */
  id: string;
  marks: PaymentMarks;
  payment?: z.output<typeof paymentTransaction>;
  /** By which fields one that was wanted does not follow the interface, where that is tolerated. */
  faults?: string[];
}

/**
 * A page of everybody's payments. Those that are not wanted are passed over however odd they are: what somebody else's
 * record lacks is no reason to read none of ours. @param isTolerant whether one that is wanted may be odd as well
 */
export function pageOfPayments(isWanted: (marks: PaymentMarks) => boolean, isTolerant = false) {
  const listed = z.unknown().transform((record, context): ListedPayment => {
    const marks = marksOf(record);
    const id = marks.bankPaymentId ?? stringify(record) ?? '';
    if (!isWanted(marks)) return { id, marks };
    const read = paymentTransaction.safeParse(record);
    if (read.success) return { id, marks, payment: read.data };
    if (isTolerant) return { id, marks, faults: faultsIn(read.error) };
    for (const { path, message } of read.error.issues) context.addIssue({ code: 'custom', path, message });
    return z.NEVER;
  });
  return listOf(listed);
}

export type Status = z.output<typeof status>;
export type Link = z.output<typeof link>;
export type HistoryEntry = z.output<typeof historyEntry>;
export type Product = z.output<typeof product>;
export type Account = z.output<typeof account>;
export type Transaction = z.output<typeof transaction>;
export type Party = z.output<typeof party>;
export type PaymentTransaction = z.output<typeof paymentTransaction>;
export type CustomerInstruction = z.output<typeof customerInstruction>;
export type PaymentInstruction = z.output<typeof paymentInstruction>;
export type WebhookSubscription = z.output<typeof webhookSubscription>;
export type HookMessage = z.output<typeof hookMessage>;

/**
 * Reads an answer's body. Numbers never pass through a float: unknown ones are kept as `LosslessNumber`.
 * @throws ContractDrift when it is no JSON or lacks a required field.
 */
export function readAs<T extends z.ZodType>(schema: T, body: string): z.output<T> {
  const result = schema.safeParse(parseBody(body));
  if (result.success) return result.data;
  throw new ContractDrift(faultsIn(result.error));
}

function faultsIn({ issues }: z.ZodError): string[] {
  return issues.slice(0, NAMED_FIELDS).map(({ path }) => path.join('.') || 'body');
}

/** The first faults say what changed; a page of a hundred broken records would repeat them. */
const NAMED_FIELDS = 5;

/** How JSON writes U+0000, which no text of the database can hold. */
const ESCAPED_NUL = /(?<!\\)((?:\\\\)*)\\u0000/g;

/** @throws ContractDrift; an unparsable body or one nested too deep for the stack is no answer. */
function parseBody(body: string): unknown {
  try {
    return parseJson(body.replace(ESCAPED_NUL, '$1\\ufffd'));
  } catch {
    throw new ContractDrift(['body']);
  }
}

/** Whether a payment's history says that it was settled once, whatever it shows now. */
export function wasSettled({
  paymentTransactionInternalInformation: { history },
}: PaymentTransaction): boolean {
  return (history ?? []).some(({ status }) => status.value === 'SETTLED');
}
