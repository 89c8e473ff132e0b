import { BankClient } from '../../src/bank/client';
import { ContractDrift } from '../../src/bank/errors';
import { Clock } from '../../src/config/clock';
import { SharedBudget, type SharedRate } from '../../src/bank/shared-budget';
import { paceOf, reserveTurns, type TurnRequest } from '../../src/domain/request-pace';
import { LosslessNumber, stringify } from 'lossless-json';
import { ManualClock } from './manual-clock';
import { answer, INSTRUCTION_BODY, PAYMENT_BODY, ScriptedBank } from './scripted-bank';
import { VirtualClock } from './virtual-clock';

const ACCOUNT = { id: '9', status: 'OPENED' };
const INSTRUCTION = { ...INSTRUCTION_BODY, id: 4 };
const ADDED = { ...PAYMENT_BODY, customerInstructionId: '4', paymentTransactionInformation: null };
const paymentWith = (id: number): unknown => ({
  ...PAYMENT_BODY,
  paymentTransactionInternalInformation: { ...PAYMENT_BODY.paymentTransactionInternalInformation, id },
});
const PAYMENT = paymentWith(5);
const HOOK = { id: 3, name: 'n', body: 'https://me', distributorId: 1, events: ['account.credited'] };
const DIRECT = {
  customerInstructionInformation: {
    paymentInstrument: 'CreditTransfer',
    requestedExecutionDate: '2026-03-10',
  },
  customerInstructionOrderingParties: { debtor: { name: 'A' } },
  paymentTransaction: {
    paymentTransactionAmountInformation: { instructedAmount: { currency: 'EUR', value: '1.00' } },
    paymentTransactionParties: { creditor: { name: 'B' } },
  },
};
const AMOUNT = { instructedAmount: { value: new LosslessNumber('1.10'), currency: 'EUR' } };

type Call = [route: string, reply: unknown, call: (client: BankClient) => Promise<unknown>, body?: string];

const first = async <T>(items: AsyncIterable<T>): Promise<T | undefined> => {
  for await (const item of items) return item;
  return undefined;
};
const list = (item: unknown): unknown => ({ items: [item], count: 1, limit: 20, offset: 0, sort: '+id' });
const SERVICE = '/api/service-domain/v1';
const TRANSFERS = `${SERVICE}/customer-instructions/credit-transfers`;

const CALLS: Call[] = [
  ['GET /api/distributor/v1/products?', list({ id: '1' }), (bank) => first(bank.products.list())],
  [
    'POST /api/distributor/v1/users/7/accounts',
    ACCOUNT,
    (bank) => bank.accounts.create('7', '12'),
    '{"productId":12}',
  ],
  ['GET /api/distributor/v1/accounts/9', ACCOUNT, (bank) => bank.accounts.get('9')],
  ['GET /api/distributor/v1/accounts?', list(ACCOUNT), (bank) => first(bank.accounts.list())],
  ['DELETE /api/distributor/v1/accounts/9', '', (bank) => bank.accounts.close('9')],
  ['DELETE /api/distributor/v1/users/7', '', (bank) => bank.users.close('7')],
  [
    'GET /api/distributor/v1/transactions/5',
    { id: '5', amount: { value: -1, currency: 'EUR' } },
    (bank) => bank.transactions.get('5'),
  ],
  [
    'GET /service-domain/v1/payment-transactions?',
    list(PAYMENT_BODY),
    (bank) => first(bank.paymentTransactions.list()),
  ],
  [`GET ${SERVICE}/payment-transactions/5`, PAYMENT, (bank) => bank.paymentTransactions.get('5')],
  [
    `POST ${TRANSFERS}/4/payment-transactions`,
    ADDED,
    (bank) =>
      bank.customerInstructions.add('4', {
        paymentTransactionAmountInformation: AMOUNT,
        paymentTransactionParties: { creditor: { name: 'B' } },
      }),
    '{"paymentTransactionAmountInformation":{"instructedAmount":{"value":1.10,"currency":"EUR"}},' +
      '"paymentTransactionParties":{"creditor":{"name":"B"}}}',
  ],
  [
    `POST ${TRANSFERS}/submit`,
    INSTRUCTION_BODY,
    (bank) => bank.customerInstructions.submitDirectly(DIRECT),
    JSON.stringify(DIRECT),
  ],
  [`POST ${TRANSFERS}/4/submit`, INSTRUCTION, (bank) => bank.customerInstructions.submit('4'), ''],
  [`GET ${SERVICE}/customer-instructions/4`, INSTRUCTION, (bank) => bank.customerInstructions.get('4')],
  [
    `GET ${SERVICE}/customer-instructions/4/payment-transactions?`,
    list(PAYMENT_BODY),
    (bank) => first(bank.customerInstructions.listPaymentTransactions('4')),
  ],
  [
    `PATCH ${TRANSFERS}/4`,
    INSTRUCTION,
    (bank) => bank.customerInstructions.update('4', { externalData: { a: 1 } }),
    '{"externalData":{"a":1}}',
  ],
  [`DELETE ${TRANSFERS}/4`, '', (bank) => bank.customerInstructions.delete('4')],
  [
    `PATCH ${TRANSFERS}/payment-transactions/5`,
    PAYMENT,
    (bank) => bank.customerInstructions.updatePaymentTransaction('5', {}),
    '{}',
  ],
  [
    `DELETE ${TRANSFERS}/payment-transactions/5`,
    '',
    (bank) => bank.customerInstructions.deletePaymentTransaction('5'),
  ],
  [`GET ${SERVICE}/payment-instructions/6`, { id: 6 }, (bank) => bank.paymentInstructions.get('6')],
  [
    `POST ${SERVICE}/outward-payment-instructions/6/exchange`,
    '',
    (bank) => bank.paymentInstructions.exchange('6'),
  ],
  [
    `POST ${SERVICE}/outward-payment-instructions/6/refuse`,
    '',
    (bank) => bank.paymentInstructions.refuse('6'),
  ],
  [
    'POST /api/distributor/v1/hooks',
    HOOK,
    (bank) => bank.hooks.subscribe({ name: 'n', url: 'https://me', events: [] }),
    '{"name":"n","url":"https://me","events":[]}',
  ],
  ['GET /api/distributor/v1/hooks', [HOOK], (bank) => bank.hooks.list()],
  ['GET /api/distributor/v1/hooks', '', (bank) => bank.hooks.list()],
  ['DELETE /api/distributor/v1/hooks/3', '', (bank) => bank.hooks.delete('3')],
  ['POST /api/distributor/v1/hooks/3/identities/8', '', (bank) => bank.hooks.associateIdentity('3', '8')],
  ['DELETE /api/distributor/v1/hooks/3', { message: 'ok', hookId: '3' }, (bank) => bank.hooks.delete('3')],
  [
    'POST /api/distributor/v1/hooks/3/identities/8',
    { message: 'ok', hookId: '3', identityId: '8' },
    (bank) => bank.hooks.associateIdentity('3', '8'),
  ],
];

describe('the client', () => {
  let bank: ScriptedBank;
  let client: BankClient;

  beforeAll(async () => {
    bank = await new ScriptedBank().listen();
    client = new BankClient({ baseUrl: `${bank.url}/sandbox`, amountUnit: 'minor', token: 'T' });
  });
  afterAll(async () => {
    client.close();
    await bank.close();
  });

  it.each(CALLS)('asks %s', async (route, reply, call, body = '') => {
    bank.handler = (_request, response) => answer(response, reply === '' ? 204 : 200, reply);
    bank.requests.length = 0;
    const result = await call(client);
    const request = bank.requests[0];
    const asked = `${request?.method} ${request?.url.replace('/sandbox', '').replace(/\?.*/, '?')}`;
    expect(asked).toBe(route);
    expect(request?.body).toBe(body);
    expect(request?.headers.authorization).toBe('Bearer T');
    expect(request?.headers['content-type']).toBe(body === '' ? undefined : 'application/json');
    if (request?.method === 'GET') expect(result).toBeDefined();
    else expect(result).toMatchObject({ kind: 'yes' });
  });

  it('refuses an id that would leave its place in the path, and sends nothing', async () => {
    bank.requests.length = 0;
    expect(() => client.accounts.get('..')).toThrow(RangeError);
    expect(() => client.customerInstructions.submit('')).toThrow(RangeError);
    expect(bank.requests).toHaveLength(0);
  });

  const answering = (body: unknown): void => {
    bank.handler = (_request, response) => answer(response, 200, body);
  };

  it.each<[string, unknown, (client: BankClient, id: string) => Promise<unknown>]>([
    ['an account', ACCOUNT, (one, id) => one.accounts.get(id)],
    ['a transaction', { id: 9, amount: AMOUNT.instructedAmount }, (one, id) => one.transactions.get(id)],
    ['an instruction', { ...INSTRUCTION_BODY, id: 9 }, (one, id) => one.customerInstructions.get(id)],
    ['a payment', paymentWith(9), (one, id) => one.paymentTransactions.get(id)],
  ])('does not take another record for %s that was asked for', async (_name, body, get) => {
    answering(stringify(body));
    await expect(get(client, '9')).resolves.toBeDefined();
    await expect(get(client, '8')).rejects.toEqual(new ContractDrift(['id']));
    await expect(get(client, '09')).rejects.toThrow(ContractDrift);
  });

  it('finds a payment by either of its two ids, as a number or a string', async () => {
    answering(PAYMENT_BODY);
    for (const id of ['900', '901']) await client.paymentTransactions.get(id);
    answering(JSON.stringify(PAYMENT_BODY).replace('901', '"901"'));
    await expect(client.paymentTransactions.get('901')).resolves.toBeDefined();
    await expect(client.paymentTransactions.get('4711')).rejects.toEqual(new ContractDrift(['id']));
  });

  it.each<[string, unknown, (client: BankClient, id: string) => Promise<unknown>]>([
    ['submit', { ...INSTRUCTION_BODY, id: '9' }, (one, id) => one.customerInstructions.submit(id)],
    ['update', { ...INSTRUCTION_BODY, id: 9 }, (one, id) => one.customerInstructions.update(id, {})],
    [
      'payment update',
      paymentWith(9),
      (one, id) => one.customerInstructions.updatePaymentTransaction(id, {}),
    ],
  ])('calls a %s in doubt whose answer names another record', async (_name, body, change) => {
    answering(body);
    expect(await change(client, '9')).toMatchObject({ kind: 'yes' });
    expect(await change(client, '8')).toMatchObject({
      kind: 'in-doubt',
      why: 'echo-differs: id',
      status: 200,
    });
  });

  it('calls an add in doubt whose answer names another instruction, in either place', async () => {
    const add = (id: string): Promise<unknown> => client.customerInstructions.addBytes(id, '{}');
    const unnamed = { ...PAYMENT_BODY, paymentTransactionInformation: { direction: 'OUTWARD' } };
    answering(PAYMENT_BODY);
    expect(await add('4711')).toMatchObject({ kind: 'yes' });
    expect(await add('4712')).toMatchObject({ kind: 'in-doubt', why: 'echo-differs: customerInstructionId' });
    answering({ ...PAYMENT_BODY, customerInstructionId: '4711' });
    expect(await add('4711')).toMatchObject({ kind: 'yes' });
    answering({ ...PAYMENT_BODY, customerInstructionId: 4712 });
    for (const id of ['4711', '4712']) expect(await add(id)).toMatchObject({ kind: 'in-doubt' });
    answering({ ...unnamed, customerInstructionId: 4712 });
    expect(await add('4711')).toMatchObject({ why: 'echo-differs: customerInstructionId' });
    answering({ ...unnamed, customerInstructionId: null });
    expect(await add('4711')).toMatchObject({ kind: 'yes' });
  });

  it('does not send a submit whose token comes late', async () => {
    const credentials = { tokenUrl: `${bank.url}/token`, clientId: 'me', clientSecret: 'secret' };
    const waiting = new BankClient({ baseUrl: bank.url, amountUnit: 'minor', token: credentials });
    const held: (() => void)[] = [];
    bank.handler = ({ url }, response) => {
      if (url !== '/token') return answer(response, 200, INSTRUCTION);
      held.push(() => answer(response, 200, { access_token: 'T', expires_in: 600 }));
    };
    const late = await waiting.customerInstructions.submit('4');
    expect(late).toMatchObject({ kind: 'no', reason: 'not-sent', why: expect.stringContaining('in time') });
    for (const give of held) give();
    expect(await waiting.customerInstructions.submit('4')).toMatchObject({ kind: 'yes' });
    expect(bank.requests.filter(({ url }) => url.endsWith('/4/submit'))).toHaveLength(1);
    waiting.close();
  });

  it.each([
    ['set', (clock: Clock) => jest.spyOn(clock, 'now').mockReturnValue(new Date(Date.now() + 6_000))],
    ['elapsed', () => jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 6_000)],
  ])(
    'does not send a submit that is late by the %s time, though its connection stands',
    async (_time, pass) => {
      const clock = new Clock();
      const mayLeave = clock.within(5_000);
      bank.requests.length = 0;
      bank.handler = (_request, response) => answer(response, 200, INSTRUCTION);
      expect(await client.customerInstructions.submit('4', { mayLeave })).toMatchObject({ kind: 'yes' });
      pass(clock);
      const late = await client.customerInstructions.submit('4', { mayLeave });
      jest.restoreAllMocks();
      expect(late).toEqual({ kind: 'no', reason: 'not-sent', why: 'too-late' });
      expect(bank.requests).toHaveLength(1);
    },
  );

  it('sends a submit in the turn that was waited for, unless that is over or a pause began', async () => {
    const clock = new ManualClock();
    const budget = {
      take: jest.fn().mockResolvedValue(undefined),
      observe: jest.fn(),
      pauseLeftMs: jest.fn(() => 0),
    };
    const paced = new BankClient({ baseUrl: bank.url, amountUnit: 'minor', token: 'T', budget, clock });
    bank.handler = (_request, response) => answer(response, 200, INSTRUCTION);
    const submitted = async (pass: () => void): Promise<unknown[]> => {
      const turn = await paced.turn();
      pass();
      expect(await paced.customerInstructions.submit('4', { turn })).toMatchObject({ kind: 'yes' });
      return budget.take.mock.calls.splice(0);
    };
    expect(await submitted(() => (clock.ms += 900))).toEqual([[120_000, { urgent: true }]]);
    expect(await submitted(() => (clock.ms += 1_100))).toEqual([
      [120_000, { urgent: true }],
      [1_000, {}],
    ]);
    expect(await submitted(() => budget.pauseLeftMs.mockReturnValueOnce(1))).toEqual([
      [120_000, { urgent: true }],
      [1_000, {}],
    ]);
    paced.close();
  });

  it.each([
    ['the second of two turns, where the read between took a moment', 1_500, 1],
    ['a turn of its own, where it took longer', 90_000, 2],
  ])('sends a submit in %s', async (_which, tookMs, turns) => {
    const clock = new VirtualClock();
    const reserve = jest.fn((_configured, request: TurnRequest) =>
      Promise.resolve({
        perMinute: 60,
        turns: reserveTurns({ dueInMs: 0, pausedInMs: 0 }, paceOf(60), request),
      }),
    );
    const rate: SharedRate = {
      reserve,
      pause: () => Promise.resolve(),
      pauseLeftMs: () => Promise.resolve(0),
      learn: () => Promise.resolve(),
    };
    const budget = new SharedBudget(rate, 60, clock);
    const paced = new BankClient({ baseUrl: bank.url, amountUnit: 'minor', token: 'T', budget, clock });
    bank.handler = (_request, response) => answer(response, 200, INSTRUCTION);
    const { turn } = await paced.turnAfter(async () => {
      clock.ms += tookMs;
    });
    expect(await paced.customerInstructions.submit('4', { turn })).toMatchObject({ kind: 'yes' });
    expect(reserve).toHaveBeenCalledTimes(turns);
    paced.close();
  });

  it('shares what each list taught it', async () => {
    const fresh = new BankClient({ baseUrl: bank.url, amountUnit: 'minor', token: 'T' });
    const accounts = Array.from({ length: 30 }, (_none, index) => ({ id: `${index}`, status: 'OPENED' }));
    bank.handler = (request, response) => {
      const page = Number(new URL(request.url, bank.url).searchParams.get('page'));
      const offset = Math.max(page - 1, 0) * 20;
      answer(response, 200, { items: accounts.slice(offset, offset + 20), count: 30, limit: 20, offset });
    };
    const ids = [];
    for await (const account of fresh.accounts.list()) ids.push(account.id);
    expect(ids).toHaveLength(30);
    expect(fresh.habits).toMatchObject({ accounts: { pageBase: 1, pageSize: 20 }, products: {} });
    fresh.close();
  });
});
