import { PATHS } from '../../src/bank/types';
import {
  type FaultAfter,
  FAULTS_AFTER,
  FAULTS_BEFORE,
  type FaultBefore,
} from '../../src/bank-sandbox/fault-kinds';
import { addition, paymentIdOf, Tester, type Json } from './client';
import { eventually } from '../support/eventually';
import { pause } from './receiver';

/** Of what the bank executes late: longer than a busy machine takes to see that it has not yet. */
const DELAY_MS = 2_000;
/** A busy machine has executed a call by then. */
const EXECUTED_MS = 2_000;

let bank: Tester;
let id: number;
beforeEach(async () => {
  bank = await Tester.start();
  ({ id } = await bank.initiate());
});
afterEach(() => bank.close());

const addPath = () => PATHS.addPaymentTransaction(String(id));
const count = async (): Promise<number> =>
  (await bank.get(PATHS.customerInstruction(String(id)))).body.calculatedNbPaymentTransactions;
const rawAdd = (signal?: AbortSignal) =>
  fetch(bank.url + addPath(), {
    method: 'POST',
    redirect: 'manual',
    headers: { authorization: 'Bearer sandbox-token', 'content-type': 'application/json' },
    body: JSON.stringify(addition()),
    signal,
  });

/** A call as its client sees it: its status and whether the body can be read. */
async function seen(path: string, body?: unknown, waitMs = 5_000): Promise<string> {
  const headers = { authorization: 'Bearer sandbox-token', 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(waitMs);
  const call = { method: 'POST', redirect: 'manual', headers, body: JSON.stringify(body), signal } as const;
  let status = 'none';
  try {
    const response = await fetch(bank.url + path, call);
    status = String(response.status);
    const text = await response.text();
    if (text !== '') JSON.parse(text);
    return text === '' ? `${status} empty` : status;
  } catch (error) {
    if (error instanceof SyntaxError) return `${status} unreadable`;
    return signal.aborted ? `${status} silence` : `${status} broken`;
  }
}

interface Effect {
  seen: string;
  executed: 0 | 1 | 2;
  later?: number;
  waitMs?: number;
}

/** What the client sees of a struck call that creates something, and how often the bank executed it. */
const EFFECTS: Record<FaultBefore | FaultAfter, Effect> = {
  'request-lost': { seen: 'none broken', executed: 0 },
  'late-commit': { seen: 'none broken', executed: 0, later: 1 },
  'hang-before': { seen: 'none silence', executed: 0, waitMs: 300 },
  '500-before': { seen: '500', executed: 0 },
  '401': { seen: '401', executed: 0 },
  '403': { seen: '403', executed: 0 },
  '404': { seen: '404', executed: 0 },
  '410': { seen: '410', executed: 0 },
  '409': { seen: '409', executed: 0 },
  '422': { seen: '422', executed: 0 },
  '429': { seen: '429', executed: 0 },
  redirect: { seen: '307 empty', executed: 0 },
  'answer-lost': { seen: 'none broken', executed: 1 },
  '500-after': { seen: '500', executed: 1 },
  garbage: { seen: '201 unreadable', executed: 1 },
  truncated: { seen: '201 unreadable', executed: 1 },
  'slow-drip': { seen: '201 silence', executed: 1, waitMs: EXECUTED_MS },
  hang: { seen: 'none silence', executed: 1, waitMs: EXECUTED_MS },
  'echo-corrupted': { seen: '201', executed: 1 },
  doubled: { seen: '201', executed: 1, later: 2 },
};

describe.each(Object.entries(EFFECTS))('%s', (kind, { seen: expected, executed, later, waitMs }) => {
  it('has its effect on an add', async () => {
    const added = async (): Promise<number> => (await bank.ledger()).instructions[0].rows.length;
    await bank.fault({ operation: 'add', kind, nth: 1, delayMs: DELAY_MS });
    expect(await seen(addPath(), addition(), waitMs)).toBe(expected);
    expect(await added()).toBe(executed);
    if (later !== undefined) await eventually(async () => (await added()) === later, 10_000);
  });

  it('has its effect on a submit: money moves once or not at all', async () => {
    await bank.add(id, { value: 700 });
    await bank.fault({ operation: 'submit', kind, nth: 1, delayMs: DELAY_MS });
    expect(await seen(PATHS.submit(String(id)), undefined, waitMs)).toBe(expected);
    const moved = async (): Promise<Json> => {
      await bank.advance(0);
      const { instructions, payees, entriesSumMinor } = await bank.ledger();
      expect(entriesSumMinor).toBe('0');
      expect(payees.map(({ movedMinor }: Json) => movedMinor)).toEqual(
        instructions[0].submits === 0 ? [] : ['700'],
      );
      return [instructions[0].submits, instructions[0].rows[0].moved];
    };
    // The bank refuses the second of two submits.
    const once = Math.min(executed, 1);
    expect(await moved()).toEqual([once, once]);
    if (later === undefined) return;
    await pause(DELAY_MS + 200);
    await eventually(async () => (await moved())[1] > 0, 10_000);
    expect(await moved()).toEqual([1, 1]);
  });
});

it('says of every fault of a call what it does', () => {
  expect(Object.keys(EFFECTS).sort()).toEqual([...FAULTS_BEFORE, ...FAULTS_AFTER].sort());
});

it('pays twice when a submit is doubled at a bank that executes both', async () => {
  await bank.close();
  bank = await Tester.start({ variants: { secondSubmit: 'executed' } });
  ({ id } = await bank.initiate());
  await bank.add(id, { value: 700 });
  await bank.fault({ operation: 'submit', kind: 'doubled', nth: 1 });
  expect((await bank.submit(id)).status).toBe(201);
  await bank.advance(0);
  expect((await bank.ledger()).payees).toMatchObject([{ count: 2, movedMinor: '1400' }]);
});

it.each(['request-lost', 'answer-lost'])('breaks the connection: %s', async (kind) => {
  await bank.fault({ operation: 'add', kind });
  await expect(rawAdd()).rejects.toThrow();
  expect(await count()).toBe(kind === 'answer-lost' ? 1 : 0);
});

it('commits late, after the connection is gone', async () => {
  await bank.fault({ operation: 'add', kind: 'late-commit', delayMs: DELAY_MS });
  await expect(rawAdd()).rejects.toThrow();
  expect(await count()).toBe(0);
  await eventually(async () => (await count()) === 1, 10_000);
});

it.each([
  ['500-before', 500, 0],
  ['401', 401, 0],
  ['403', 403, 0],
  ['409', 409, 0],
  ['422', 422, 0],
  ['429', 429, 0],
  ['500-after', 500, 1],
] as const)('answers %s with %d and executes %d', async (kind, status, executed) => {
  await bank.fault({ operation: 'add', kind });
  const reply = await bank.add(id);
  expect(reply.status).toBe(status);
  expect(reply.headers.get('retry-after')).toBeNull();
  expect(await count()).toBe(executed);
});

it('says when to come back after a 429 if told so', async () => {
  await bank.fault({ operation: 'add', kind: '429', retryAfterS: 60 });
  expect((await bank.add(id)).headers.get('retry-after')).toBe('60');
});

it('redirects to an address that would execute the call', async () => {
  await bank.fault({ operation: 'add', kind: 'redirect', nth: 1 });
  const response = await rawAdd();
  expect([response.status, response.headers.get('location')]).toEqual([307, addPath()]);
  expect(await count()).toBe(0);
});

it.each(['garbage', 'truncated'])(
  'executes and answers 201 with a body that is no JSON: %s',
  async (kind) => {
    await bank.fault({ operation: 'add', kind });
    const response = await rawAdd();
    expect(response.status).toBe(201);
    const text = await response.text();
    expect(() => JSON.parse(text) as unknown).toThrow();
    expect(await count()).toBe(1);
  },
);

it.each([
  ['hang', 1],
  ['hang-before', 0],
])('never answers: %s, executed %d', async (kind, executed) => {
  await bank.fault({ operation: 'add', kind });
  await expect(rawAdd(AbortSignal.timeout(EXECUTED_MS))).rejects.toThrow();
  expect(await count()).toBe(executed);
});

it('drips its answer byte by byte', async () => {
  await bank.fault({ operation: 'add', kind: 'slow-drip', delayMs: 100 });
  const response = await rawAdd(AbortSignal.timeout(EXECUTED_MS));
  await expect(response.text()).rejects.toThrow();
  expect(await count()).toBe(1);
});

it.each([
  ['amount', (body: Json) => body.paymentTransactionAmountInformation.instructedAmount.value],
  ['currency', (body: Json) => body.paymentTransactionAmountInformation.instructedAmount.currency],
  ['iban', (body: Json) => body.paymentTransactionParties.creditor.accountId.value],
  ['name', (body: Json) => body.paymentTransactionParties.creditor.name],
  [
    'messageId',
    (body: Json) => body.paymentTransactionInformation.paymentTransactionIdentification.messageId,
  ],
  ['id', paymentIdOf],
  ['charges', (body: Json) => body.paymentTransactionAmountInformation.chargesAmount.currency],
  ['chargeBearer', (body: Json) => body.paymentTransactionAmountInformation.chargeBearer],
] as const)('corrupts the %s in the echo only', async (field, read) => {
  await bank.fault({ operation: 'add', kind: 'echo-corrupted', field, nth: 1 });
  const { body } = await bank.add(id);
  const { items } = (await bank.get(PATHS.paymentTransactions())).body;
  expect(items).toHaveLength(1);
  expect(read(body)).not.toBe(read(items[0]));
});

it('executes a call twice when it is doubled', async () => {
  await bank.fault({ operation: 'add', kind: 'doubled', nth: 1 });
  expect((await bank.add(id)).status).toBe(201);
  expect(await count()).toBe(2);
  await bank.fault({ operation: 'add', kind: 'doubled', nth: 1, delayMs: DELAY_MS });
  expect((await bank.add(id)).status).toBe(201);
  expect(await count()).toBe(3);
  await eventually(async () => (await count()) === 4, 10_000);
});

it('strikes the nth call, every nth call, or the first ones', async () => {
  const statuses = async (calls: number): Promise<number[]> => {
    const result = [];
    for (let call = 0; call < calls; call += 1) result.push((await bank.get(PATHS.products())).status);
    await bank.delete('/sandbox/faults');
    return result;
  };
  const operation = 'listProducts';
  await bank.fault({ operation, kind: '500-before', nth: 2 });
  expect(await statuses(4)).toEqual([200, 500, 200, 200]);
  await bank.fault({ operation, kind: '500-before', every: 2 });
  expect(await statuses(4)).toEqual([200, 500, 200, 500]);
  await bank.fault({ operation, kind: '500-before', times: 2 });
  expect(await statuses(4)).toEqual([500, 500, 200, 200]);
});

describe('a share of the calls', () => {
  /** Which of 40 calls of a bank of its own are struck; `*` scripts beside it strike others. */
  async function struck(script: Record<string, unknown>, besides: Record<string, unknown>[] = []) {
    const other = await Tester.start();
    for (const one of besides) await other.fault({ operation: '*', kind: '409', ...one });
    await other.fault({ operation: 'listProducts', kind: '500-before', ...script });
    const calls: number[] = [];
    for (let call = 1; call <= 40; call += 1)
      if ((await other.get(PATHS.products())).status === 500) calls.push(call);
    await other.close();
    return calls;
  }

  it('is the same for the same seed in every run, and another for another seed', async () => {
    const calls = await struck({ rate: 0.5, seed: 7 });
    expect(calls.length).toBeGreaterThan(8);
    expect(calls.length).toBeLessThan(32);
    expect(await struck({ rate: 0.5, seed: 7 })).toEqual(calls);
    expect(await struck({ rate: 0.5, seed: 8 })).not.toEqual(calls);
    expect(await struck({ rate: 0.5 })).toEqual(await struck({ rate: 0.5 }));
  });

  it('does not depend on what else is scripted', async () => {
    const calls = await struck({ rate: 0.5, seed: 7 });
    const [first = 0] = calls;
    expect(await struck({ rate: 0.5, seed: 7 }, [{ nth: first }])).toEqual(calls.slice(1));
  });

  it('is none, all, or no more often than it may happen', async () => {
    expect(await struck({ rate: 0, seed: 7 })).toEqual([]);
    expect(await struck({ rate: 1, seed: 7 })).toHaveLength(40);
    const calls = await struck({ rate: 0.5, seed: 7 });
    expect(await struck({ rate: 0.5, seed: 7, times: 3 })).toEqual(calls.slice(0, 3));
  });
});

it('strikes any operation with "*", and none after the scripts are deleted', async () => {
  await bank.fault({ operation: '*', kind: '500-before' });
  expect((await bank.get(PATHS.accounts())).status).toBe(500);
  expect((await bank.get('/sandbox/faults')).body).toEqual([expect.objectContaining({ calls: 1, hits: 1 })]);
  expect((await bank.delete('/sandbox/faults')).status).toBe(204);
  expect((await bank.get(PATHS.accounts())).status).toBe(200);
});

it('refuses scripts it does not understand', async () => {
  const bad = [
    { operation: 'add', kind: 'explode' },
    { operation: 'add', kind: 'forged' },
    { operation: 'webhook', kind: '401' },
    { operation: 'add', kind: '401', nth: 1, every: 2 },
    { operation: 'add', kind: '401', nht: 1 },
    { operation: 'webhook', kind: 'flooded', copies: 501 },
  ];
  for (const script of bad) expect((await bank.post('/sandbox/faults', script)).status).toBe(422);
});

it('counts the calls of each operation, those that met a fault too', async () => {
  await bank.fault({ operation: 'add', kind: 'request-lost', nth: 1 });
  await rawAdd().catch(() => undefined);
  await bank.add(id);
  expect((await bank.get('/sandbox/calls')).body).toMatchObject({ initiate: 1, add: 2, submit: 0, token: 0 });
});

it('refuses a script for an operation there is not, with those there are', async () => {
  const { status, body } = await bank.post('/sandbox/faults', { operation: 'submitt', kind: '401' });
  expect(status).toBe(422);
  const names = Object.keys((await bank.get('/sandbox/calls')).body);
  expect(body.message).toBe(`operation is one of ${names.join(', ')}, webhook, *`);
  expect(names).toEqual(expect.arrayContaining(['initiate', 'listHooks', 'token', 'getInstruction']));
  for (const operation of [...names, '*']) await bank.fault({ operation, kind: '401' });
  expect((await bank.post('/sandbox/faults', { operation: 'sandbox', kind: '401' })).status).toBe(422);
});

it('counts nothing yet for the operations that were not called', async () => {
  const { initiate, ...others } = (await bank.get('/sandbox/calls')).body;
  expect(initiate).toBe(1);
  expect(new Set(Object.values(others))).toEqual(new Set([0]));
});
