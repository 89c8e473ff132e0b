import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BankClient } from '../../src/bank/client';
import * as types from '../../src/bank/types';
import { BankClock } from '../../src/bank-sandbox/clock';
import { AmountCodec } from '../../src/bank-sandbox/amounts';
import type { Route } from '../../src/bank-sandbox/http/exchange';
import { Links } from '../../src/bank-sandbox/http/links';
import { Requests } from '../../src/bank-sandbox/http/requests';
import { Views } from '../../src/bank-sandbox/http/views';
import type { BankRoutes } from '../../src/bank-sandbox/routes/routes';
import { Bank } from '../../src/bank-sandbox/state/bank';
import { readBankStatus } from '../../src/domain/bank-status';
import { OTHER_CALLS, CLIENT_CALLS } from './client-calls';
import { isLinkOnly, OPERATIONS, pathOf } from './operations';
import { operationsTable } from './readme-table';
import { RESOURCES } from './shapes';
import * as statuses from './statuses';

const values = (lines: readonly { value: string }[]): string[] => lines.map(({ value }) => value);

/** How many lines the document has: groups count as lines of their own, resources used within do not. */
const FIELDS: Readonly<Record<keyof typeof RESOURCES, number>> = {
  ListEnvelope: 4,
  Amount: 2,
  Status: 2,
  Product: 5,
  Account: 12,
  Transaction: 28,
  AccountingEntry: 15,
  Contribution: 9,
  CustomerInstruction: 24,
  PaymentTransactionsStatus: 3,
  HistoryEntry: 4,
  Link: 2,
  PaymentTransaction: 40,
  Party: 11,
  PostalAddress: 7,
  WebhookSubscription: 5,
  HookDeletion: 2,
  HookAssociation: 3,
  WebhookDelivery: 7,
  AccountCreationRequest: 1,
  InitiateRequest: 14,
  OrderingDebtor: 11,
  AddPaymentTransactionRequest: 15,
  Creditor: 8,
  UltimateCreditor: 2,
  DirectSubmissionRequest: 15,
  DirectPayment: 9,
  DirectCreditor: 7,
  AmountAsString: 2,
  SubscribeRequest: 3,
};

describe('the contract has a line for', () => {
  it('each of the 16 operations and of the 10 that are shown only as links', () => {
    const names = OPERATIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(26);
    expect(OPERATIONS.filter(isLinkOnly)).toHaveLength(10);
    const calls = OPERATIONS.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(calls).size).toBe(26);
  });

  it.each(Object.entries(FIELDS))('each field of %s, %i of them', (name, lines) => {
    const paths = RESOURCES[name as keyof typeof RESOURCES].map(({ path }) => path);
    expect(paths).toHaveLength(lines);
    expect(new Set(paths).size).toBe(lines);
  });

  it('every field of every resource it knows', () => {
    expect(Object.keys(FIELDS).sort()).toEqual(Object.keys(RESOURCES).sort());
  });

  it('each of the 18 statuses, 3 group statuses, 4 account statuses and 7 sequences', () => {
    expect(new Set(values(statuses.STATUSES)).size).toBe(18);
    expect(statuses.GROUP_STATUSES).toHaveLength(3);
    expect(statuses.ACCOUNT_STATUSES).toHaveLength(4);
    const sequences = Object.values(statuses.SEQUENCES);
    expect(sequences).toHaveLength(7);
    const moved = sequences.flatMap(({ after, statuses: written }) => [...after, ...written]);
    expect(moved.filter((status) => !values(statuses.STATUSES).includes(status))).toEqual([]);
  });

  it('each of the 11 scopes, used by an operation', () => {
    const used = new Set(OPERATIONS.flatMap(({ scopes }) => scopes));
    expect(statuses.SCOPES).toHaveLength(11);
    expect([...used].sort()).toEqual([...statuses.SCOPES].sort());
  });

  it('each of the 12 link rels, leading to an operation', () => {
    expect(Object.keys(statuses.LINK_RELS)).toHaveLength(12);
    const names: string[] = OPERATIONS.map(({ name }) => name);
    expect(Object.values(statuses.LINK_RELS).filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe('the names the code uses', () => {
  it('are those of the contract', () => {
    expect(types.SCOPES).toEqual(statuses.SCOPES);
    expect(types.EVENTS).toEqual(statuses.EVENTS);
    expect(types.EVENTS).toHaveLength(12);
    expect(types.TRANSACTION_TYPES).toEqual(statuses.TRANSACTION_TYPES);
    expect(types.TRANSACTION_TYPES).toHaveLength(6);
    expect(types.ACCOUNT_STATUSES).toEqual(values(statuses.ACCOUNT_STATUSES));
    expect(types.LINK_RELS).toEqual(Object.keys(statuses.LINK_RELS));
  });

  it.each(statuses.STATUSES)('read the status $value as $reads', ({ value, reads }) => {
    expect(readBankStatus(value).kind).toBe(reads);
  });

  it('have a path for every operation and none besides', () => {
    const paths = Object.values(types.PATHS).map((path: (...ids: string[]) => string) => path('7', '8'));
    const lines = OPERATIONS.map((operation) => pathOf(operation, '7', '8'));
    expect([...new Set(paths)].sort()).toEqual([...new Set(lines)].sort());
  });
});

describe('nothing is left out:', () => {
  it('every method of the client performs an operation', () => {
    const client = new BankClient({ baseUrl: 'http://bank', amountUnit: 'minor', token: 'T' });
    const nouns = Object.entries(client).filter(
      ([name]) => !['amounts', 'habits', 'http', 'session'].includes(name),
    );
    const methods = nouns.flatMap(([noun, resource]) =>
      Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
        .filter((method) => method !== 'constructor')
        .map((method) => `${noun}.${method}`),
    );
    client.close();
    expect(OPERATIONS.flatMap((operation) => [...operation.client]).sort()).toEqual(methods.sort());
    const called = Object.keys(CLIENT_CALLS).length + OTHER_CALLS.length;
    expect(called).toBe(methods.length);
  });

  it('every route of the sandbox answers an operation', () => {
    const routes = sandboxRoutes();
    expect(routes).toHaveLength(OPERATIONS.length);
    // Of two routes that match, the server takes the first.
    const taken = OPERATIONS.map((operation) => {
      const path = pathOf(operation, 1, 2);
      const route = routes.find((one) => one.method === operation.method && one.path.test(path));
      if (!isLinkOnly(operation)) expect(route?.scopes).toEqual(operation.scopes);
      return route;
    });
    expect(new Set(taken)).toEqual(new Set(routes));
  });

  it('every operation stands in the table for the README', () => {
    const rows = operationsTable().split('\n').slice(2);
    expect(rows).toHaveLength(OPERATIONS.length);
    for (const [index, { name, path }] of OPERATIONS.entries()) {
      expect(rows[index]).toContain(name);
      expect(rows[index]).toContain(path);
    }
  });
});

/** Token endpoint and controls: the sandbox's own, in no line of the document. */
const OWN = ['tokenRoutes', 'sandboxRoutes'];

/** The routes of every file of routes, so that a new file cannot be forgotten. */
function sandboxRoutes(): Route[] {
  const bank = new Bank(new BankClock(() => 0));
  const codec = new AmountCodec(bank.variants);
  const views = new Views(bank.accounts, codec, new Links(), bank.variants);
  const context: BankRoutes = {
    bank,
    codec,
    views,
    requests: new Requests(codec),
    variants: bank.variants,
  };
  const folder = resolve(__dirname, '../../src/bank-sandbox/routes');
  return readdirSync(folder).flatMap((file) => {
    const exported = jest.requireActual<Record<string, (context: BankRoutes) => Route[]>>(join(folder, file));
    const makers = Object.entries(exported).filter(
      ([name]) => name.endsWith('Routes') && !OWN.includes(name),
    );
    return makers.flatMap(([, make]) => make(context));
  });
}
