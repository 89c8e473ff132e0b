/**
 * The bank's interface as it travels on the wire, in the order and words of the interface document.
 * Integers are `number` here because JSON carries them so; the client reads ids and amounts from the raw
 * text (see `schema.ts`) and never through a float.
 */

export const SCOPES = [
  'account_view',
  'account_creation',
  'account_close',
  'user_deactivate',
  'transaction_view',
  'customer-instruction_view',
  'payment-instruction_view',
  'customer-instruction_initiation',
  'customer-instruction_submission',
  'customer-instruction_submit',
  'event_management',
] as const;
export type Scope = (typeof SCOPES)[number];

export const EVENTS = [
  'account.status.opened',
  'account.status.blocked',
  'account.status.unblocked',
  'identity.blocked',
  'identity.unblocked',
  'identity.closed',
  'payment_transaction.external_refused',
  'payment_transaction.settled',
  'transaction.new',
  'iban_structure.created',
  'iban_structure.field_updated',
  'iban_structure.file_imported',
] as const;
export type EventName = (typeof EVENTS)[number];

/** A subscription can list it; it is not among those to subscribe to, and its meaning is not stated. */
export const UNEXPLAINED_EVENT = 'account.credited';

export const ACCOUNT_STATUSES = ['PENDING', 'OPENED', 'SUSPENDED', 'CLOSED'] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

export const TRANSACTION_TYPES = [
  'CREDIT_TRANSFER',
  'ACCOUNT_TO_EXTERNAL',
  'INTERNAL_TRANSFER',
  'FEE',
  'REFUND',
  'DISTRIBUTOR_POSTING',
] as const;
export type TransactionType = (typeof TRANSACTION_TYPES)[number];

export const LINK_RELS = [
  'updateCustomerInstruction',
  'deleteCustomerInstruction',
  'getCustomerInstruction',
  'getPaymentTransactionsList',
  'initiatePaymentTransaction',
  'submitCustomerInstruction',
  'updatePaymentTransaction',
  'deletePaymentTransaction',
  'getPaymentTransaction',
  'getPaymentInstruction',
  'exchangePaymentInstruction',
  'refusePaymentInstruction',
] as const;
export type LinkRel = (typeof LINK_RELS)[number];

/** Paths of the interface, relative to `{base_url}`; the listing alone carries no `/api`. */
export const PATHS = {
  products: () => '/api/distributor/v1/products',
  userAccounts: (userId: string) => `/api/distributor/v1/users/${userId}/accounts`,
  account: (accountId: string) => `/api/distributor/v1/accounts/${accountId}`,
  accounts: () => '/api/distributor/v1/accounts',
  user: (userId: string) => `/api/distributor/v1/users/${userId}`,
  transaction: (transactionId: string) => `/api/distributor/v1/transactions/${transactionId}`,
  paymentTransactions: () => '/service-domain/v1/payment-transactions',
  initiate: () => '/api/service-domain/v1/customer-instructions/credit-transfers',
  addPaymentTransaction: (instructionId: string) =>
    `/api/service-domain/v1/customer-instructions/credit-transfers/${instructionId}/payment-transactions`,
  submit: (instructionId: string) =>
    `/api/service-domain/v1/customer-instructions/credit-transfers/${instructionId}/submit`,
  submitDirectly: () => '/api/service-domain/v1/customer-instructions/credit-transfers/submit',
  creditTransfer: (instructionId: string) =>
    `/api/service-domain/v1/customer-instructions/credit-transfers/${instructionId}`,
  customerInstruction: (instructionId: string) =>
    `/api/service-domain/v1/customer-instructions/${instructionId}`,
  instructionPaymentTransactions: (instructionId: string) =>
    `/api/service-domain/v1/customer-instructions/${instructionId}/payment-transactions`,
  creditTransferPaymentTransaction: (paymentTransactionId: string) =>
    `/api/service-domain/v1/customer-instructions/credit-transfers/payment-transactions/${paymentTransactionId}`,
  paymentTransaction: (paymentTransactionId: string) =>
    `/api/service-domain/v1/payment-transactions/${paymentTransactionId}`,
  paymentInstruction: (paymentInstructionId: string) =>
    `/api/service-domain/v1/payment-instructions/${paymentInstructionId}`,
  exchange: (paymentInstructionId: string) =>
    `/api/service-domain/v1/outward-payment-instructions/${paymentInstructionId}/exchange`,
  refuse: (paymentInstructionId: string) =>
    `/api/service-domain/v1/outward-payment-instructions/${paymentInstructionId}/refuse`,
  hooks: () => '/api/distributor/v1/hooks',
  hook: (hookId: string) => `/api/distributor/v1/hooks/${hookId}`,
  hookIdentity: (hookId: string, identityId: string) =>
    `/api/distributor/v1/hooks/${hookId}/identities/${identityId}`,
} as const;

/** The header that carries the lower-case hexadecimal HMAC-SHA-256 of a webhook's body. */
export const SIGNATURE_HEADER = 'X-Service-Signature';

export interface ListEnvelope<T> {
  items: T[];
  count: number;
  limit: number;
  offset: number;
  /** A sign followed by a field name, such as `+paymentTransactionId`. */
  sort: string;
}

export interface Amount {
  /** Whole or smaller units: not shown by the document; the direct submission sends it as a string. */
  value: number | string;
  currency: string;
}

export interface Status {
  value: string;
  label: string;
}

export interface Product {
  id: string;
  type: string;
  currency: string;
  name: string;
  profiles: number[];
}

export interface Account {
  id: string;
  externalId: string | null;
  userId: number;
  productId: number;
  status: string;
  label: string;
  balance: Amount;
  availableBalance: Amount;
  createdAt: string;
  lastUsedAt: string;
  /** Present in detail and list responses, absent in the create response. */
  iban?: string;
  bic?: string;
}

export interface AccountingEntry {
  id: string;
  accountId: string;
  transactionId: string;
  externalId: string | null;
  description: string;
  type: string;
  /** Negative for a debit. */
  amount: Amount;
  balance: Amount;
  availableBalance: Amount;
  createdAt: string;
  accountOwner: { id: string; name: string; externalId: string | null; userRole: string };
}

export interface Contribution {
  id: string;
  role: string;
  device: unknown;
  contributor: string;
  name: string;
  externalId: string | null;
  userRole: Record<string, unknown>;
  employee: unknown;
  supportId: number | null;
}

export interface Transaction {
  id: string;
  externalId: string | null;
  processId: number;
  businessProcessId: number;
  type: string;
  localizedType: { value: string; label: string };
  amount: Amount;
  description: string;
  shortDescription: string;
  media: string;
  createdAt: string;
  externalData: {
    remittanceInformation?: string;
    debtor?: { id: string; name: string; accountId: string; bic: string };
    creditor?: { name: string; accountId: string; bic: string };
    additionalReferences?: { remittanceInfo: string };
  };
  accountingEntries: AccountingEntry[];
  contributions: Contribution[];
}

export interface PostalAddress {
  addressLines?: string;
  structuredAddress?: { streetName: string; buildingNumber: string; postCode: string; townName: string };
  /** ISO 3166-1 numeric, leading zeros kept. */
  country: string;
}

export interface Party {
  name: string;
  id?: { type: string; value: string };
  accountId?: { type: string; value: string; bankId?: { type: string; value: string } };
  postalAddress?: PostalAddress;
}

export interface HistoryEntry {
  status: Status;
  groupStatus?: Status;
  date: string;
  previousTransitionId?: number;
}

export interface Link {
  rel: string;
  href: string;
}

export interface CustomerInstructionInformation {
  paymentInstrument: string;
  paymentService?: string;
  batchBooking?: boolean;
  customerInstructionReference?: string;
  requestedNbPaymentTransactions?: number;
  requestedTotalAmount?: Amount;
  requestedExecutionDate: string;
  customerInstructionTypeInformation?: { categoryPurpose?: string; serviceLevel?: string };
}

export interface PaymentTransactionsStatus {
  groupStatus: string;
  nbTransactions: number;
  totalAmount: Amount;
}

export interface CustomerInstruction {
  id: number;
  status: Status;
  groupStatus: Status;
  history: HistoryEntry[];
  calculatedNbPaymentTransactions: number;
  calculatedAmount: Amount;
  /** Present after submission. */
  paymentTransactionsStatus?: PaymentTransactionsStatus[];
  customerInstructionInformation: CustomerInstructionInformation;
  customerInstructionOrderingParties: { initiatingParty?: Party; debtor: Party };
  externalData?: Record<string, unknown>;
  /** Present in the direct-submission response only. */
  paymentTransaction?: PaymentTransaction;
  links: Link[];
}

export interface PaymentTransaction {
  paymentTransactionInformation: {
    paymentInstrument: string;
    paymentTransactionIdentification: {
      messageId: string;
      endToEndId: string;
      clearingChannel?: string;
      externalTransactionId?: string;
      id: number;
      customerInstructionId?: number;
    };
    paymentTransactionTypeInformation?: { serviceLevel: string };
    direction: 'INWARD' | 'OUTWARD';
    transactionType?: string;
  };
  paymentTransactionInternalInformation: {
    id: number;
    status: Status;
    groupStatus?: Status;
    history: HistoryEntry[];
    contractId: number;
  };
  paymentTransactionDateInformation: {
    creationDate: string;
    instructedDate: string;
    settlementDate?: string;
  };
  paymentTransactionAmountInformation: {
    instructedAmount: Amount;
    chargesAmount: Amount;
    chargeBearer?: string;
  };
  paymentTransactionParties?: {
    initiatingParty?: Party;
    debtor?: Party;
    creditor?: Party;
    ultimateCreditor?: Party;
  };
  paymentTransactionDedicatedInformations?: { remittanceInformation: { type: string; value: string } };
  customerInstructionId?: number;
  paymentInstructionId?: number;
  externalData?: Record<string, unknown>;
  links: Link[];
}

/** Step 1 request body. `requestedTotalAmount` is an array here and a single Amount in the answer. */
export interface InitiateRequest {
  customerInstructionInformation: Omit<CustomerInstructionInformation, 'requestedTotalAmount'> & {
    requestedTotalAmount?: Amount[];
  };
  customerInstructionOrderingParties: { debtor: Party };
  externalData?: Record<string, unknown>;
}

/** Step 2 request body. */
export interface AddPaymentTransactionRequest {
  paymentTransactionAmountInformation: { instructedAmount: Amount; chargeBearer?: string };
  paymentTransactionParties: { creditor: Party; ultimateCreditor?: Party };
  paymentTransactionDedicatedInformations?: { remittanceInformation: { value: string; type: string } };
  paymentTransactionInformation?: {
    paymentTransactionIdentification?: { messageId: string };
    transactionType?: string;
  };
  externalData?: Record<string, unknown>;
}

export interface DirectSubmissionRequest {
  customerInstructionInformation: InitiateRequest['customerInstructionInformation'];
  customerInstructionOrderingParties: { debtor: Party };
  externalData?: Record<string, unknown>;
  paymentTransaction: {
    paymentTransactionDedicatedInformations?: { remittanceInformation: { value: string; type: string } };
    paymentTransactionAmountInformation: { instructedAmount: { currency: string; value: string } };
    paymentTransactionParties: { creditor: Party; postalAddress?: PostalAddress };
  };
}

/** Query parameters of the payment-transaction list. */
export interface PaymentTransactionFilter {
  status?: string;
  fromDate?: string;
  toDate?: string;
  minAmount?: string;
  maxAmount?: string;
}

export interface SubscribeRequest {
  name: string;
  url: string;
  events: string[];
}

export interface WebhookSubscription {
  id: number;
  name: string;
  /** The destination address (sent as `url` when subscribing). */
  body: string;
  distributorId: number;
  events: string[];
}

export interface WebhookDelivery {
  id: string;
  /** Identifier of the delivery channel. */
  webhookId: string;
  /** The event family, such as `account`. */
  type: string;
  event: string;
  data: Record<string, unknown>;
}
