import type { AmountCodec, AmountText } from './amount-codec';
import type { PaymentIds } from './payment-ids';
import type { Account, CustomerInstruction, HistoryEntry, PaymentTransaction } from './schema';

/** One step of a record's history, oldest first as the bank lists it. */
export interface BankStep {
  status: string;
  /** The bank's timestamp as received. */
  at?: string;
}

/** A payment transaction in Payrun's words; amounts in minor units, absent where the bank leaves them out. */
export interface BankPayment {
  bankPaymentId: string;
  /** Both ids the record carries, without repeats. */
  ids: PaymentIds;
  bankInstructionId?: string;
  messageId?: string;
  amountMinor?: bigint;
  currency?: string;
  /** Creditor's account and name. */
  iban?: string;
  name?: string;
  /** `INWARD` or `OUTWARD`. */
  direction?: string;
  status: string;
  groupStatus?: string;
  history: BankStep[];
  /** Calendar date `YYYY-MM-DD`. */
  settlementDate?: string;
  chargesMinor?: bigint;
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
  /** Calendar date `YYYY-MM-DD`, as the bank repeats it. */
  executionDate?: string;
  requestedCount?: number;
  requestedTotalMinor?: bigint;
  calculatedCount?: number;
  calculatedTotalMinor?: bigint;
  currency?: string;
  debtorIban?: string;
  /** Absent until the submission has been taken in. */
  groups?: BankPaymentGroup[];
  history: BankStep[];
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

/** What the bank writes where a message id is absent (Payment transaction). */
const NOT_PROVIDED = 'NOTPROVIDED';

/** @throws ContractDrift for an amount that is no whole number of minor units. */
export function paymentOf(record: PaymentTransaction, codec: AmountCodec): BankPayment {
  const internal = record.paymentTransactionInternalInformation;
  const identification = record.paymentTransactionInformation?.paymentTransactionIdentification;
  const amounts = record.paymentTransactionAmountInformation;
  const creditor = record.paymentTransactionParties?.creditor;
  const messageId = identification?.messageId;
  const other = identification?.id;
  return {
    bankPaymentId: internal.id,
    ids: other == null || other === internal.id ? [internal.id] : [internal.id, other],
    bankInstructionId: record.customerInstructionId ?? identification?.customerInstructionId ?? undefined,
    messageId: messageId === NOT_PROVIDED || messageId === '' ? undefined : (messageId ?? undefined),
    amountMinor: minorOf(amounts?.instructedAmount, codec),
    currency: amounts?.instructedAmount?.currency,
    iban: creditor?.accountId?.value ?? undefined,
    name: creditor?.name ?? undefined,
    direction: record.paymentTransactionInformation?.direction ?? undefined,
    status: internal.status.value,
    groupStatus: internal.groupStatus?.value,
    history: stepsOf(internal.history),
    settlementDate: record.paymentTransactionDateInformation?.settlementDate ?? undefined,
    chargesMinor: minorOf(amounts?.chargesAmount, codec),
  };
}

/** @throws ContractDrift as {@link paymentOf}. */
export function instructionOf(record: CustomerInstruction, codec: AmountCodec): BankInstruction {
  const information = record.customerInstructionInformation;
  return {
    bankInstructionId: record.id,
    reference: information?.customerInstructionReference ?? undefined,
    status: record.status.value,
    groupStatus: record.groupStatus?.value,
    executionDate: information?.requestedExecutionDate ?? undefined,
    requestedCount: information?.requestedNbPaymentTransactions ?? undefined,
    requestedTotalMinor: minorOf(information?.requestedTotalAmount, codec),
    calculatedCount: record.calculatedNbPaymentTransactions ?? undefined,
    calculatedTotalMinor: minorOf(record.calculatedAmount, codec),
    currency: record.calculatedAmount?.currency ?? information?.requestedTotalAmount?.currency,
    debtorIban: record.customerInstructionOrderingParties?.debtor?.accountId?.value ?? undefined,
    groups: record.paymentTransactionsStatus?.map((group) => ({
      group: group.groupStatus,
      count: group.nbTransactions,
      totalMinor: codec.decode(group.totalAmount).amountMinor,
    })),
    history: stepsOf(record.history),
  };
}

/** @throws ContractDrift as {@link paymentOf}. */
export function accountOf(record: Account, codec: AmountCodec): BankAccount {
  return {
    bankAccountId: record.id,
    userId: record.userId ?? undefined,
    productId: record.productId ?? undefined,
    status: record.status,
    label: record.label ?? undefined,
    iban: record.iban ?? undefined,
    bic: record.bic ?? undefined,
    currency: record.balance?.currency ?? record.availableBalance?.currency,
    balanceMinor: minorOf(record.balance, codec),
    availableMinor: minorOf(record.availableBalance, codec),
  };
}

function minorOf(amount: AmountText | null | undefined, codec: AmountCodec): bigint | undefined {
  return amount ? codec.decode(amount).amountMinor : undefined;
}

function stepsOf(history: readonly HistoryEntry[] | null | undefined): BankStep[] {
  return (history ?? []).map((entry) => ({ status: entry.status.value, at: entry.date ?? undefined }));
}
