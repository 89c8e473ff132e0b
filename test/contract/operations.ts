import type { Scope } from '../../src/bank/types';
import type { ResourceName } from './fields';

/** One operation of the interface document, a line of the contract. */
export interface Operation {
  name: string;
  /** The document's section. */
  section: string;
  /** Of the paths shown only as links the document names no method: this is the product's choice. */
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to `{base_url}`. */
  path: string;
  /** All are needed; empty where the document shows none. */
  scopes: readonly Scope[];
  /** Body of the request; none where it is left out. */
  request?: ResourceName;
  /** Query parameters the document names. */
  query?: readonly string[];
  /** `unshown`: the document says nothing about the answer's body. */
  response: { shape: 'record' | 'list' | 'array'; of: ResourceName; sort?: string } | 'unshown';
  /** The success status, where the document gives one. */
  status?: number;
  /** Methods of `BankClient` that perform it. */
  client: readonly string[];
}

const DISTRIBUTOR = '/api/distributor/v1';
const SERVICE = '/api/service-domain/v1';
const TRANSFERS = `${SERVICE}/customer-instructions/credit-transfers`;
const LINK_ONLY = 'Paths exposed only as links';

const record = (of: ResourceName) => ({ shape: 'record', of }) as const;
const list = (of: ResourceName, sort: string) => ({ shape: 'list', of, sort }) as const;
const PAYMENT_SORT = '+paymentTransactionId';

const DOCUMENTED = [
  {
    name: 'list products',
    section: 'Products and accounts',
    method: 'GET',
    path: `${DISTRIBUTOR}/products`,
    scopes: ['account_view'],
    response: list('Product', '+id'),
    client: ['products.list'],
  },
  {
    name: 'create account',
    section: 'Products and accounts',
    method: 'POST',
    path: `${DISTRIBUTOR}/users/{userId}/accounts`,
    scopes: ['account_creation'],
    request: 'AccountCreationRequest',
    response: record('Account'),
    client: ['accounts.create'],
  },
  {
    name: 'get account',
    section: 'Products and accounts',
    method: 'GET',
    path: `${DISTRIBUTOR}/accounts/{accountId}`,
    scopes: ['account_view'],
    response: record('Account'),
    client: ['accounts.get'],
  },
  {
    name: 'list accounts',
    section: 'Products and accounts',
    method: 'GET',
    path: `${DISTRIBUTOR}/accounts`,
    scopes: ['account_view'],
    response: list('Account', '+ids'),
    client: ['accounts.list'],
  },
  {
    name: 'close account',
    section: 'Products and accounts',
    method: 'DELETE',
    path: `${DISTRIBUTOR}/accounts/{accountId}`,
    scopes: ['account_close'],
    response: 'unshown',
    status: 200,
    client: ['accounts.close'],
  },
  {
    name: 'close user',
    section: 'Products and accounts',
    method: 'DELETE',
    path: `${DISTRIBUTOR}/users/{userId}`,
    scopes: ['user_deactivate'],
    response: 'unshown',
    status: 200,
    client: ['users.close'],
  },
  {
    name: 'get transaction',
    section: 'Transactions',
    method: 'GET',
    path: `${DISTRIBUTOR}/transactions/{transactionId}`,
    scopes: ['transaction_view'],
    response: record('Transaction'),
    client: ['transactions.get'],
  },
  {
    name: 'list payment transactions',
    section: 'Transactions',
    method: 'GET',
    path: '/service-domain/v1/payment-transactions',
    scopes: ['customer-instruction_view', 'payment-instruction_view'],
    query: ['status', 'fromDate', 'toDate', 'minAmount', 'maxAmount', 'page', 'pageSize'],
    response: list('PaymentTransaction', PAYMENT_SORT),
    client: ['paymentTransactions.list', 'paymentTransactions.listed'],
  },
  {
    name: 'initiate instruction',
    section: 'Multi-step credit transfer',
    method: 'POST',
    path: TRANSFERS,
    scopes: ['customer-instruction_initiation'],
    request: 'InitiateRequest',
    response: record('CustomerInstruction'),
    client: ['customerInstructions.initiate', 'customerInstructions.initiateBytes'],
  },
  {
    name: 'add payment transaction',
    section: 'Multi-step credit transfer',
    method: 'POST',
    path: `${TRANSFERS}/{customerInstructionId}/payment-transactions`,
    scopes: ['customer-instruction_initiation'],
    request: 'AddPaymentTransactionRequest',
    response: record('PaymentTransaction'),
    client: ['customerInstructions.add', 'customerInstructions.addBytes'],
  },
  {
    name: 'submit instruction',
    section: 'Multi-step credit transfer',
    method: 'POST',
    path: `${TRANSFERS}/{customerInstructionId}/submit`,
    scopes: ['customer-instruction_submission'],
    response: record('CustomerInstruction'),
    status: 201,
    client: ['customerInstructions.submit'],
  },
  {
    name: 'submit directly',
    section: 'Direct submission',
    method: 'POST',
    path: `${TRANSFERS}/submit`,
    scopes: ['customer-instruction_submit'],
    request: 'DirectSubmissionRequest',
    response: record('CustomerInstruction'),
    client: ['customerInstructions.submitDirectly'],
  },
  {
    name: 'subscribe hook',
    section: 'Webhook management',
    method: 'POST',
    path: `${DISTRIBUTOR}/hooks`,
    scopes: ['event_management'],
    request: 'SubscribeRequest',
    response: record('WebhookSubscription'),
    client: ['hooks.subscribe'],
  },
  {
    name: 'list hooks',
    section: 'Webhook management',
    method: 'GET',
    path: `${DISTRIBUTOR}/hooks`,
    scopes: ['event_management'],
    response: { shape: 'array', of: 'WebhookSubscription' },
    client: ['hooks.list'],
  },
  {
    name: 'delete hook',
    section: 'Webhook management',
    method: 'DELETE',
    path: `${DISTRIBUTOR}/hooks/{hookId}`,
    scopes: ['event_management'],
    response: record('HookDeletion'),
    client: ['hooks.delete'],
  },
  {
    name: 'associate identity',
    section: 'Webhook management',
    method: 'POST',
    path: `${DISTRIBUTOR}/hooks/{hookId}/identities/{identityId}`,
    scopes: ['event_management'],
    response: record('HookAssociation'),
    client: ['hooks.associateIdentity'],
  },
] as const satisfies readonly Operation[];

const EXPOSED_AS_LINKS = [
  {
    name: 'update instruction',
    section: LINK_ONLY,
    method: 'PATCH',
    path: `${TRANSFERS}/{id}`,
    scopes: [],
    response: record('CustomerInstruction'),
    client: ['customerInstructions.update'],
  },
  {
    name: 'delete instruction',
    section: LINK_ONLY,
    method: 'DELETE',
    path: `${TRANSFERS}/{id}`,
    scopes: [],
    response: 'unshown',
    client: ['customerInstructions.delete'],
  },
  {
    name: 'get instruction',
    section: LINK_ONLY,
    method: 'GET',
    path: `${SERVICE}/customer-instructions/{id}`,
    scopes: [],
    response: record('CustomerInstruction'),
    client: ['customerInstructions.get'],
  },
  {
    name: 'list payment transactions of an instruction',
    section: LINK_ONLY,
    method: 'GET',
    path: `${SERVICE}/customer-instructions/{id}/payment-transactions`,
    scopes: [],
    response: list('PaymentTransaction', PAYMENT_SORT),
    client: [
      'customerInstructions.listPaymentTransactions',
      'customerInstructions.listedPaymentTransactions',
    ],
  },
  {
    name: 'update payment transaction',
    section: LINK_ONLY,
    method: 'PATCH',
    path: `${TRANSFERS}/payment-transactions/{id}`,
    scopes: [],
    response: record('PaymentTransaction'),
    client: ['customerInstructions.updatePaymentTransaction'],
  },
  {
    name: 'delete payment transaction',
    section: LINK_ONLY,
    method: 'DELETE',
    path: `${TRANSFERS}/payment-transactions/{id}`,
    scopes: [],
    response: 'unshown',
    client: ['customerInstructions.deletePaymentTransaction'],
  },
  {
    name: 'get payment transaction',
    section: LINK_ONLY,
    method: 'GET',
    path: `${SERVICE}/payment-transactions/{id}`,
    scopes: [],
    response: record('PaymentTransaction'),
    client: ['paymentTransactions.get'],
  },
  {
    name: 'get payment instruction',
    section: LINK_ONLY,
    method: 'GET',
    path: `${SERVICE}/payment-instructions/{id}`,
    scopes: [],
    response: 'unshown',
    client: ['paymentInstructions.get'],
  },
  {
    name: 'exchange payment instruction',
    section: LINK_ONLY,
    method: 'POST',
    path: `${SERVICE}/outward-payment-instructions/{id}/exchange`,
    scopes: [],
    response: 'unshown',
    client: ['paymentInstructions.exchange'],
  },
  {
    name: 'refuse payment instruction',
    section: LINK_ONLY,
    method: 'POST',
    path: `${SERVICE}/outward-payment-instructions/{id}/refuse`,
    scopes: [],
    response: 'unshown',
    client: ['paymentInstructions.refuse'],
  },
] as const satisfies readonly Operation[];

export type OperationName = (typeof DOCUMENTED)[number]['name'] | (typeof EXPOSED_AS_LINKS)[number]['name'];

/** Every operation of the document, in its order; those shown only as links are the last ten. */
export const OPERATIONS: readonly (Operation & { name: OperationName })[] = [
  ...DOCUMENTED,
  ...EXPOSED_AS_LINKS,
];

export const isLinkOnly = ({ section }: Operation): boolean => section === LINK_ONLY;

/** The path with ids in the place of its parameters, in their order. */
export function pathOf({ path }: Operation, ...ids: (string | number)[]): string {
  const left = [...ids];
  return path.replace(/\{\w+\}/g, () => String(left.shift()));
}
