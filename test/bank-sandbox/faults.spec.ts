import { PATHS } from '../../src/bank/types';
import { addition, paymentIdOf, Tester, type Json } from './client';
import { pause } from './receiver';

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

it.each(['request-lost', 'answer-lost'])('breaks the connection: %s', async (kind) => {
  await bank.fault({ operation: 'add', kind });
  await expect(rawAdd()).rejects.toThrow();
  expect(await count()).toBe(kind === 'answer-lost' ? 1 : 0);
});

it('commits late, after the connection is gone', async () => {
  await bank.fault({ operation: 'add', kind: 'late-commit', delayMs: 150 });
  await expect(rawAdd()).rejects.toThrow();
  expect(await count()).toBe(0);
  await pause(300);
  expect(await count()).toBe(1);
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
  await expect(rawAdd(AbortSignal.timeout(150))).rejects.toThrow();
  expect(await count()).toBe(executed);
});

it('drips its answer byte by byte', async () => {
  await bank.fault({ operation: 'add', kind: 'slow-drip', delayMs: 20 });
  const response = await rawAdd(AbortSignal.timeout(300));
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
});

it('strikes the nth call, every nth call, or a share of them that a seed repeats', async () => {
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
  await bank.fault({ operation, kind: '500-before', rate: 0.5, seed: 7 });
  const first = await statuses(30);
  await bank.fault({ operation, kind: '500-before', rate: 0.5, seed: 7 });
  expect(await statuses(30)).toEqual(first);
  const struck = first.filter((status) => status === 500).length;
  expect(struck).toBeGreaterThan(5);
  expect(struck).toBeLessThan(25);
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
  ];
  for (const script of bad) expect((await bank.post('/sandbox/faults', script)).status).toBe(422);
});

it('counts the calls of each operation, those that met a fault too', async () => {
  await bank.fault({ operation: 'add', kind: 'request-lost', nth: 1 });
  await rawAdd().catch(() => undefined);
  await bank.add(id);
  expect((await bank.get('/sandbox/calls')).body).toEqual({ initiate: 1, add: 2 });
});
