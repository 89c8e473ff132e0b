import { stringify } from 'lossless-json';
import type { BankClient } from '../../src/bank/client';
import type { OperationName } from './operations';
import * as requests from './requests';
import { SAMPLE_ID } from './shapes';

/** The ids the calls use, in the order of a path's parameters. */
export const IDS = [String(SAMPLE_ID), '8'] as const;
const [ID, OTHER_ID] = IDS;

const FACTS: requests.Facts = {
  debtorIban: 'DE70999900000000001001',
  creditorIban: 'FR1420041010050500013M02606',
  date: '2026-03-10',
};

export const FILTER = {
  status: 'SETTLED',
  fromDate: '2026-03-01T00:00:00Z',
  toDate: '2026-03-31T23:59:59Z',
  minAmount: '1',
  maxAmount: '999',
};

/** The bodies the calls send. */
const BODIES = {
  initiate: requests.initiation(FACTS),
  add: requests.addition(FACTS),
  direct: requests.directSubmission(FACTS),
  subscribe: requests.subscription('https://receiver.example/hook'),
  change: { externalData: requests.EXTERNAL_DATA },
};

type Call = (client: BankClient) => Promise<unknown>;

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};

/** How each operation is performed with the client; lists give their items. */
export const CLIENT_CALLS: Readonly<Record<OperationName, Call>> = {
  'list products': (bank) => all(bank.products.list()),
  'create account': (bank) => bank.accounts.create(ID, '12'),
  'get account': (bank) => bank.accounts.get(ID),
  'list accounts': (bank) => all(bank.accounts.list()),
  'close account': (bank) => bank.accounts.close(ID),
  'close user': (bank) => bank.users.close(ID),
  'get transaction': (bank) => bank.transactions.get(ID),
  'list payment transactions': (bank) => all(bank.paymentTransactions.list(FILTER)),
  'initiate instruction': (bank) => bank.customerInstructions.initiate(BODIES.initiate),
  'add payment transaction': (bank) => bank.customerInstructions.add(ID, BODIES.add),
  'submit instruction': (bank) => bank.customerInstructions.submit(ID),
  'submit directly': (bank) => bank.customerInstructions.submitDirectly(BODIES.direct),
  'subscribe hook': (bank) => bank.hooks.subscribe(BODIES.subscribe),
  'list hooks': (bank) => bank.hooks.list(),
  'delete hook': (bank) => bank.hooks.delete(ID),
  'associate identity': (bank) => bank.hooks.associateIdentity(ID, OTHER_ID),
  'update instruction': (bank) => bank.customerInstructions.update(ID, BODIES.change),
  'delete instruction': (bank) => bank.customerInstructions.delete(ID),
  'get instruction': (bank) => bank.customerInstructions.get(ID),
  'list payment transactions of an instruction': (bank) =>
    all(bank.customerInstructions.listPaymentTransactions(ID)),
  'update payment transaction': (bank) =>
    bank.customerInstructions.updatePaymentTransaction(ID, BODIES.change),
  'delete payment transaction': (bank) => bank.customerInstructions.deletePaymentTransaction(ID),
  'get payment transaction': (bank) => bank.paymentTransactions.get(ID),
  'get payment instruction': (bank) => bank.paymentInstructions.get(ID),
  'exchange payment instruction': (bank) => bank.paymentInstructions.exchange(ID),
  'refuse payment instruction': (bank) => bank.paymentInstructions.refuse(ID),
};

/** The same from bodies already written, and of records by their marks, as a pay run asks for them. */
export const OTHER_CALLS: readonly (readonly [OperationName, Call])[] = [
  [
    'initiate instruction',
    (bank) => bank.customerInstructions.initiateBytes(stringify(BODIES.initiate) ?? ''),
  ],
  ['list payment transactions', (bank) => all(bank.paymentTransactions.listed(FILTER, () => false))],
  [
    'list payment transactions of an instruction',
    (bank) => all(bank.customerInstructions.listedPaymentTransactions(ID)),
  ],
  ['add payment transaction', (bank) => bank.customerInstructions.addBytes(ID, stringify(BODIES.add) ?? '')],
];
