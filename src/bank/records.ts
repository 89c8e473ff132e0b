import { isIsoDate } from '../domain/calendar';
import { isCurrency, MAX_AMOUNT_MINOR, parseScaled } from '../domain/money';
import type { AmountCodec, AmountText } from './amount-codec';
import { ContractDrift } from './errors';
import type { PaymentIds } from './payment-ids';
import { ibanOf, marksOf, type PaymentMarks } from './payment-marks';
import {
  type Account,
  type CustomerInstruction,
  type PaymentTransaction,
  UNREADABLE,
  wasSettled,
} from './schema';

/** Which payment a record is of, and how far it has got. */
export interface BankPaymentStatus {
  bankPaymentId: string;
  /** Both ids the record carries, without repeats. */
  ids: PaymentIds;
  bankInstructionId?: string;
  messageId?: string;
  /** `INWARD` or `OUTWARD`. */
  direction?: string;
  /** The words of its remittance; read of what came in only. */
  remittanceWords?: readonly string[];
  /** Debtor's account; read of what came in only. */
  debtorIban?: string;
  status: string;
}

/** The same, as a list tells young ones from old. */
export interface DatedPaymentStatus extends BankPaymentStatus {
  /** When it was made at the bank, or, where that is not shown, the execution date; in milliseconds since 1970. */
  datedMs?: number;
}

/** A payment transaction in Payrun's words; amounts in minor units, absent where the bank leaves them out. */
export interface BankPayment extends BankPaymentStatus {
  amountMinor?: bigint;
  currency?: string;
  /** Creditor's account and name. */
  iban?: string;
  name?: string;
  groupStatus?: string;
  /** Such as `ACCOUNT_TO_EXTERNAL` (Transaction types). */
  transactionType?: string;
  /** Whether its history says that it was settled, whatever its status is now (Payment transaction, `history`). */
  wasSettled: boolean;
  /** Calendar date `YYYY-MM-DD`. */
  settlementDate?: string;
  /** As that, where it stands alone: one with a time may be of another time zone, and is left out. */
  bareSettlementDate?: string;
  /** In cents; absent where none are shown, or what is shown cannot be read. */
  chargesMinor?: bigint;
  /** That charges are shown which are no whole amount of cents in euro: how much was charged is not known. */
  chargesUnread?: true;
  /** Who bears the charges, in capitals, such as `SLEV` (Payment transaction, `chargeBearer`). */
  chargeBearer?: string;
}

/** Payments of a submitted instruction by the bank's group (`paymentTransactionsStatus`). */
export interface BankPaymentGroup {
  group: string;
  count: number;
  totalMinor: bigint;
}

/** A customer instruction in Payrun's words. */
export interface BankInstruction {
  bankInstructionId: string;
  reference?: string;
  status: string;
  groupStatus?: string;
  /** Calendar date `YYYY-MM-DD`, as the bank repeats it; one with a time may be of another time zone, and is left out. */
  executionDate?: string;
  requestedCount?: number;
  requestedTotalMinor?: bigint;
  calculatedCount?: number;
  calculatedTotalMinor?: bigint;
  currency?: string;
  debtorIban?: string;
  /** Absent until the submission has been taken in. */
  groups?: BankPaymentGroup[];
}

/** An account at the bank; balances in minor units. */
export interface BankAccount {
  bankAccountId: string;
  userId?: string;
  productId?: string;
  status: string;
  label?: string;
  iban?: string;
  bic?: string;
  currency?: string;
  balanceMinor?: bigint;
  availableMinor?: bigint;
}

type PaymentGroup = NonNullable<CustomerInstruction['paymentTransactionsStatus']>[number];

/** Types of what a bank books by itself, which is no payment to anybody (Transaction types). */
const OWN_ENTRIES: ReadonlySet<string> = new Set(['FEE', 'REFUND']);

/** Whether a record is the bank's own entry: a fee, or the refund of a previous transaction. */
export function isOwnEntry({ transactionType }: Pick<BankPayment, 'transactionType'>): boolean {
  return transactionType !== undefined && OWN_ENTRIES.has(transactionType);
}

/** Whether it is a fee: the bank books one for what it does, such as to cancel, and it proves no payment. */
export function isFee({ transactionType }: Pick<BankPayment, 'transactionType'>): boolean {
  return transactionType === 'FEE';
}

/** Whether it says to which instruction it belongs. A message id does so of ours alone, and not of what others add to it. */
export function namesItsInstruction(one: Pick<BankPayment, 'bankInstructionId'>): boolean {
  return one.bankInstructionId !== undefined;
}

/** A payment without its amounts, which nothing of this depends on. */
export function paymentStatusOf(record: PaymentTransaction): BankPaymentStatus {
  const { id, status } = record.paymentTransactionInternalInformation;
  const marks = marksOf(record);
  const { bankTransactionId: other, bankInstructionId, messageId, direction } = marks;
  const ids: PaymentIds = other === undefined || other === id ? [id] : [id, other];
  return {
    bankPaymentId: id,
    ids,
    bankInstructionId,
    messageId,
    direction,
    remittanceWords: marks.remittanceWords,
    debtorIban: marks.debtorIban,
    status: status.value,
  };
}

/** The same with its date, where one is shown that can be read. */
export function datedStatusOf(record: PaymentTransaction): DatedPaymentStatus {
  const { creationDate, instructedDate } = record.paymentTransactionDateInformation ?? {};
  const datedMs = [creationDate, instructedDate].map((date) => Date.parse(date ?? '')).find(Number.isFinite);
  return Object.assign(paymentStatusOf(record), { datedMs });
}

/** Marks with their amount in minor units, where they have one that can be read. */
export function withMinor(marks: PaymentMarks, codec: AmountCodec): PaymentMarks {
  if (marks.amount === undefined) return marks;
  try {
    return { ...marks, ...codec.decode(marks.amount) };
  } catch (error) {
    if (error instanceof ContractDrift) return marks;
    throw error;
  }
}

/** @throws ContractDrift for an instructed amount that is no whole number of minor units. */
export function paymentOf(record: PaymentTransaction, codec: AmountCodec): BankPayment {
  const internal = record.paymentTransactionInternalInformation;
  const amounts = record.paymentTransactionAmountInformation;
  const creditor = record.paymentTransactionParties?.creditor;
  const charges = chargesOf(amounts?.chargesAmount, codec);
  // Not spread first: to V8 each field behind a spread is a new shape of object, at a microsecond each.
  return Object.assign(paymentStatusOf(record), {
    amountMinor: minorOf(amounts?.instructedAmount, 'instructedAmount', codec),
    currency: amounts?.instructedAmount?.currency,
    iban: ibanOf(creditor?.accountId),
    name: textOf(creditor?.name),
    groupStatus: textOf(internal.groupStatus?.value),
    transactionType: textOf(record.paymentTransactionInformation?.transactionType),
    wasSettled: wasSettled(record),
    settlementDate: dateOf(record.paymentTransactionDateInformation?.settlementDate),
    bareSettlementDate: bareDateOf(record.paymentTransactionDateInformation?.settlementDate),
    chargesMinor: charges === UNREADABLE ? undefined : charges,
    chargesUnread: charges === UNREADABLE || undefined,
    chargeBearer: textOf(amounts?.chargeBearer)?.trim().toUpperCase(),
  });
}

/** @throws ContractDrift for an amount that is no whole number of minor units. */
export function instructionOf(record: CustomerInstruction, codec: AmountCodec): BankInstruction {
  const information = record.customerInstructionInformation;
  return {
    bankInstructionId: record.id,
    reference: textOf(information?.customerInstructionReference),
    status: record.status.value,
    groupStatus: textOf(record.groupStatus?.value),
    executionDate: bareDateOf(information?.requestedExecutionDate),
    requestedCount: information?.requestedNbPaymentTransactions ?? undefined,
    requestedTotalMinor: minorOf(information?.requestedTotalAmount, 'requestedTotalAmount', codec),
    calculatedCount: record.calculatedNbPaymentTransactions ?? undefined,
    calculatedTotalMinor: sumOf(record.calculatedAmount, 'calculatedAmount', codec),
    currency: record.calculatedAmount?.currency ?? information?.requestedTotalAmount?.currency,
    debtorIban: ibanOf(record.customerInstructionOrderingParties?.debtor?.accountId),
    groups: record.paymentTransactionsStatus?.map((group) => groupOf(group, codec)),
  };
}

/** A group of no payments may have no total. */
function groupOf(
  { groupStatus: group, nbTransactions: count, totalAmount }: PaymentGroup,
  codec: AmountCodec,
): BankPaymentGroup {
  const path = 'paymentTransactionsStatus.totalAmount';
  const totalMinor = sumOf(totalAmount, path, codec) ?? (count === 0 ? 0n : undefined);
  if (totalMinor === undefined) throw new ContractDrift([path]);
  return { group, count, totalMinor };
}

/** @throws ContractDrift as {@link instructionOf}. */
export function accountOf(record: Account, codec: AmountCodec): BankAccount {
  return {
    bankAccountId: record.id,
    userId: textOf(record.userId),
    productId: textOf(record.productId),
    status: record.status,
    label: textOf(record.label),
    iban: textOf(record.iban),
    bic: textOf(record.bic),
    currency: record.balance?.currency ?? record.availableBalance?.currency,
    balanceMinor: sumOf(record.balance, 'balance', codec),
    availableMinor: sumOf(record.availableBalance, 'availableBalance', codec),
  };
}

/** An empty text is how some write what there is not. */
function textOf(text: string | null | undefined): string | undefined {
  return text == null || text.trim() === '' ? undefined : text;
}

/**
 * The date a text begins with, as the document writes dates (Conventions). What is none is left out: no payment's
 * status waits for it.
 */
function dateOf(text: string | null | undefined): string | undefined {
  const [, date = ''] = WRITTEN_DATE.exec(text ?? '') ?? [];
  return isIsoDate(date) ? date : undefined;
}

/** A date that stands alone; undefined for any other text. */
function bareDateOf(text: string | null | undefined): string | undefined {
  const date = text?.trim() ?? '';
  return isIsoDate(date) ? date : undefined;
}

const WRITTEN_DATE = /^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:$|[T ])/;

type MaybeAmount = AmountText | null | undefined;

function minorOf(amount: MaybeAmount, path: string, codec: AmountCodec): bigint | undefined {
  return amount ? codec.decode(amount, path).amountMinor : undefined;
}

function sumOf(amount: MaybeAmount, path: string, codec: AmountCodec): bigint | undefined {
  return amount ? codec.decodeSum(amount, path) : undefined;
}

/**
 * Charges in cents, also where they are written as what is taken from the account, which the document shows negative
 * (Transaction, accounting entry); none is none in any currency. Those in another one, or that are no amount of cents, are
 * told apart from such as the bank does not show.
 */
function chargesOf(
  amount: MaybeAmount | typeof UNREADABLE,
  codec: AmountCodec,
): bigint | typeof UNREADABLE | undefined {
  if (!amount) return undefined;
  if (amount === UNREADABLE) return UNREADABLE;
  if (parseScaled(amount.value, 0) === 0n) return 0n;
  if (!isCurrency(amount.currency)) return UNREADABLE;
  try {
    const { amountMinor } = codec.decode(amount);
    const chargedMinor = amountMinor < 0n ? -amountMinor : amountMinor;
    return chargedMinor <= MAX_AMOUNT_MINOR ? chargedMinor : UNREADABLE;
  } catch (error) {
    if (error instanceof ContractDrift) return UNREADABLE;
    throw error;
  }
}
