import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transaction } from '../../src/database/database';

const DATABASE = '../../src/database/database';
const BANK = '../../src/bank/http';

/** What every transaction goes through; it is private to the types alone. */
interface Door {
  transaction<T>(this: unknown, setting: string, work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/** The transaction that code runs in, which it may outlive. */
const transaction = new AsyncLocalStorage<{ ended: boolean }>();
const calls: string[] = [];

/** Takes the calls that were made to the bank while a transaction of their own was open, and forgets them. */
export function takeCallsInside(): string[] {
  return calls.splice(0);
}

// By factories, so that only a suite that uses them loads them.
jest.doMock(DATABASE, () => {
  const actual = jest.requireActual<typeof import('../../src/database/database')>(DATABASE);
  const door = actual.Database.prototype as unknown as Door;
  const run = door.transaction;
  door.transaction = function (setting, work) {
    const open = { ended: false };
    const done = run.call(this, setting, (tx) => transaction.run(open, () => work(tx)));
    return (done as ReturnType<typeof work>).finally(() => (open.ended = true));
  };
  return actual;
});
jest.doMock(BANK, () => {
  const actual = jest.requireActual<typeof import('../../src/bank/http')>(BANK);
  const { send } = actual.BankHttp.prototype;
  actual.BankHttp.prototype.send = function (request) {
    const { method, url } = request;
    if (transaction.getStore()?.ended === false) calls.push(`${method} ${new URL(url).pathname}`);
    return send.call(this, request);
  };
  return actual;
});

/** No call to the bank inside a transaction, ever: it would hold a connection and locks for as long as the bank likes. */
afterEach(() =>
  expect({ callsInsideATransaction: takeCallsInside() }).toEqual({ callsInsideATransaction: [] }),
);
