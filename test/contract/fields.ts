import type { OperationName } from './operations';
import {
  CUSTOMER_INSTRUCTION,
  HISTORY_ENTRY,
  LINK,
  PARTY,
  PAYMENT_TRANSACTION,
  PAYMENT_TRANSACTIONS_STATUS,
  POSTAL_ADDRESS,
} from './payment-fields';

type AnsweredName =
  | 'ListEnvelope'
  | 'Amount'
  | 'Status'
  | 'Product'
  | 'Account'
  | 'Transaction'
  | 'AccountingEntry'
  | 'Contribution'
  | 'CustomerInstruction'
  | 'PaymentTransactionsStatus'
  | 'HistoryEntry'
  | 'Link'
  | 'PaymentTransaction'
  | 'Party'
  | 'PostalAddress'
  | 'WebhookSubscription'
  | 'HookDeletion'
  | 'HookAssociation'
  | 'WebhookDelivery';

export type SentName =
  | 'AccountCreationRequest'
  | 'InitiateRequest'
  | 'OrderingDebtor'
  | 'AddPaymentTransactionRequest'
  | 'Creditor'
  | 'UltimateCreditor'
  | 'DirectSubmissionRequest'
  | 'DirectPayment'
  | 'DirectCreditor'
  | 'AmountAsString'
  | 'SubscribeRequest';

export type ResourceName = AnsweredName | SentName;

type Scalar = 'string' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'date';
/** `group`: an object whose fields are the lines below it; `object`: free-form; `null`: only null was observed. */
export type FieldType = Scalar | 'group' | 'object' | 'null' | ResourceName | `${ResourceName | Scalar}[]`;

/** One field of the interface document, a line of the contract. */
export interface Field {
  /** Dotted path within its resource. */
  path: string;
  type: FieldType;
  /** A record of the bank may lack it: the document says so, or it echoes what a request may leave out. */
  optional?: true;
  nullable?: true;
  /** The client refuses an answer without it; without the others a caller can do. */
  essential?: true;
  /** Values the document shows. */
  observed?: readonly string[];
  /** The only operations whose answers hold it. */
  onlyIn?: readonly OperationName[];
  notIn?: readonly OperationName[];
}

const NO_IBAN = ['create account'] as const;

const AMOUNT: Field[] = [
  { path: 'value', type: 'number', essential: true },
  { path: 'currency', type: 'string', essential: true, observed: ['EUR'] },
];

const STATUS: Field[] = [
  { path: 'value', type: 'string', essential: true },
  { path: 'label', type: 'string' },
];

const PRODUCT: Field[] = [
  { path: 'id', type: 'string', essential: true },
  { path: 'type', type: 'string', observed: ['CURRENT'] },
  { path: 'currency', type: 'string' },
  { path: 'name', type: 'string' },
  { path: 'profiles', type: 'integer[]' },
];

const ACCOUNT: Field[] = [
  { path: 'id', type: 'string', essential: true },
  { path: 'externalId', type: 'string', nullable: true },
  { path: 'userId', type: 'integer' },
  { path: 'productId', type: 'integer' },
  { path: 'status', type: 'string', essential: true, observed: ['PENDING', 'OPENED', 'SUSPENDED', 'CLOSED'] },
  { path: 'label', type: 'string' },
  { path: 'balance', type: 'Amount' },
  { path: 'availableBalance', type: 'Amount' },
  { path: 'createdAt', type: 'timestamp' },
  { path: 'lastUsedAt', type: 'timestamp' },
  { path: 'iban', type: 'string', notIn: NO_IBAN },
  { path: 'bic', type: 'string', notIn: NO_IBAN },
];

const TRANSACTION: Field[] = [
  { path: 'id', type: 'string', essential: true },
  { path: 'externalId', type: 'string', nullable: true },
  { path: 'processId', type: 'integer' },
  { path: 'businessProcessId', type: 'integer' },
  { path: 'type', type: 'string', observed: ['ACCOUNT_TO_EXTERNAL'] },
  { path: 'localizedType', type: 'group' },
  { path: 'localizedType.value', type: 'string' },
  { path: 'localizedType.label', type: 'string' },
  { path: 'amount', type: 'Amount', essential: true },
  { path: 'description', type: 'string' },
  { path: 'shortDescription', type: 'string' },
  { path: 'media', type: 'string', observed: ['API'] },
  { path: 'createdAt', type: 'timestamp' },
  { path: 'externalData', type: 'group' },
  { path: 'externalData.remittanceInformation', type: 'string', optional: true },
  { path: 'externalData.debtor', type: 'group', optional: true },
  { path: 'externalData.debtor.id', type: 'string' },
  { path: 'externalData.debtor.name', type: 'string' },
  { path: 'externalData.debtor.accountId', type: 'string' },
  { path: 'externalData.debtor.bic', type: 'string' },
  { path: 'externalData.creditor', type: 'group', optional: true },
  { path: 'externalData.creditor.name', type: 'string' },
  { path: 'externalData.creditor.accountId', type: 'string' },
  { path: 'externalData.creditor.bic', type: 'string' },
  { path: 'externalData.additionalReferences', type: 'group', optional: true },
  { path: 'externalData.additionalReferences.remittanceInfo', type: 'string' },
  { path: 'accountingEntries', type: 'AccountingEntry[]' },
  { path: 'contributions', type: 'Contribution[]' },
];

const ACCOUNTING_ENTRY: Field[] = [
  { path: 'id', type: 'string', essential: true },
  { path: 'accountId', type: 'string' },
  { path: 'transactionId', type: 'string' },
  { path: 'externalId', type: 'string', nullable: true },
  { path: 'description', type: 'string' },
  { path: 'type', type: 'string', observed: ['TRANSFER'] },
  { path: 'amount', type: 'Amount' },
  { path: 'balance', type: 'Amount' },
  { path: 'availableBalance', type: 'Amount' },
  { path: 'createdAt', type: 'timestamp' },
  { path: 'accountOwner', type: 'group' },
  { path: 'accountOwner.id', type: 'string' },
  { path: 'accountOwner.name', type: 'string' },
  { path: 'accountOwner.externalId', type: 'string', nullable: true },
  { path: 'accountOwner.userRole', type: 'string', observed: ['COMPANY'] },
];

const CONTRIBUTION: Field[] = [
  { path: 'id', type: 'string', essential: true },
  { path: 'role', type: 'string', observed: ['INTERMEDIARY', 'ACCOUNT_OWNER'] },
  { path: 'device', type: 'null' },
  { path: 'contributor', type: 'string' },
  { path: 'name', type: 'string' },
  { path: 'externalId', type: 'string', nullable: true },
  { path: 'userRole', type: 'object' },
  { path: 'employee', type: 'null' },
  { path: 'supportId', type: 'integer', nullable: true },
];

const SUBSCRIPTION: Field[] = [
  { path: 'id', type: 'integer', essential: true },
  { path: 'name', type: 'string' },
  { path: 'body', type: 'string' },
  { path: 'distributorId', type: 'integer' },
  { path: 'events', type: 'string[]' },
];

const HOOK_DELETION: Field[] = [
  { path: 'message', type: 'string' },
  { path: 'hookId', type: 'string' },
];

/** Conventions: List envelope, without its items. */
const LIST_ENVELOPE: Field[] = [
  { path: 'count', type: 'integer' },
  { path: 'limit', type: 'integer' },
  { path: 'offset', type: 'integer' },
  { path: 'sort', type: 'string', observed: ['+id', '+ids', '+paymentTransactionId'] },
];

/** Events: Delivery 2; `data` is that of account.status.opened, the only one shown. */
const WEBHOOK_DELIVERY: Field[] = [
  { path: 'id', type: 'string' },
  { path: 'webhookId', type: 'string' },
  { path: 'type', type: 'string', observed: ['account'] },
  { path: 'event', type: 'string', observed: ['account.status.opened'] },
  { path: 'data', type: 'group' },
  { path: 'data.accountNumber', type: 'string' },
  { path: 'data.ownerIdentityId', type: 'integer' },
];

/** Every resource the document says it answers, field by field. */
export const ANSWERED: Readonly<Record<AnsweredName, readonly Field[]>> = {
  ListEnvelope: LIST_ENVELOPE,
  Amount: AMOUNT,
  Status: STATUS,
  Product: PRODUCT,
  Account: ACCOUNT,
  Transaction: TRANSACTION,
  AccountingEntry: ACCOUNTING_ENTRY,
  Contribution: CONTRIBUTION,
  CustomerInstruction: CUSTOMER_INSTRUCTION,
  PaymentTransactionsStatus: PAYMENT_TRANSACTIONS_STATUS,
  HistoryEntry: HISTORY_ENTRY,
  Link: LINK,
  PaymentTransaction: PAYMENT_TRANSACTION,
  Party: PARTY,
  PostalAddress: POSTAL_ADDRESS,
  WebhookSubscription: SUBSCRIPTION,
  HookDeletion: HOOK_DELETION,
  HookAssociation: [...HOOK_DELETION, { path: 'identityId', type: 'string' }],
  WebhookDelivery: WEBHOOK_DELIVERY,
};
