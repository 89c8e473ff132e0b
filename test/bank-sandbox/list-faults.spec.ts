import { PATHS } from '../../src/bank/types';
import { LIST_OPERATIONS } from '../../src/bank-sandbox/fault-kinds';
import { BIRCH, paymentIdOf, Tester, type Json } from './client';

const PAYMENTS = 45;
const PAGE = `${PATHS.paymentTransactions()}?pageSize=10&page=`;
let bank: Tester;
let ids: number[];
let truth: Json;
beforeAll(async () => {
  bank = await Tester.start();
  const payments = Array.from({ length: PAYMENTS }, (_, n) => ({ value: 100 + n, messageId: `m-${n}` }));
  ids = (await bank.pay(payments, {}, BIRCH)).added.map(paymentIdOf);
  truth = await bank.ledger();
});
afterEach(async () => {
  await bank.delete('/sandbox/faults');
  expect(await bank.ledger()).toEqual(truth);
});

const idOf = (record: Json): unknown => record.id ?? paymentIdOf(record);
const list = async (path: string): Promise<Json> => (await bank.get(path)).body;
const amountOf = (record: Json): Json =>
  (record.balance ?? record.paymentTransactionAmountInformation.instructedAmount).value;

/** Every list with an envelope: its path, and the path of one of its records where there is one. */
const LISTS: Record<(typeof LIST_OPERATIONS)[number], { path: string; one?: (id: string) => string }> = {
  listProducts: { path: PATHS.products() },
  listAccounts: { path: PATHS.accounts(), one: PATHS.account },
  listPaymentTransactions: { path: `${PAGE}1`, one: PATHS.paymentTransaction },
  listInstructionPaymentTransactions: {
    path: PATHS.instructionPaymentTransactions('1'),
    one: PATHS.paymentTransaction,
  },
};

describe.each(Object.entries(LISTS))('a wrong answer of %s', (operation, { path, one }) => {
  let good: Json;
  let middle: number;
  beforeEach(async () => {
    const { instructions } = truth;
    const here = path.replace('/1/', `/${instructions[0].id}/`);
    good = { ...(await list(here)), path: here };
    middle = good.items.length >> 1;
  });
  /** What the list says once, with the fault; the next time it tells the truth again. */
  const wrong = async (script: Record<string, unknown>): Promise<Json> => {
    const { path: here, ...body } = good;
    await bank.fault({ operation, kind: 'list-wrong', nth: 1, ...script });
    const { items, ...envelope } = await list(here);
    expect(envelope).toEqual({ ...envelope, count: good.count, limit: good.limit, offset: good.offset });
    expect(await list(here)).toEqual(body);
    return items;
  };

  it('lacks its middle record', async () => {
    expect(await wrong({ what: 'missing' })).toEqual(good.items.toSpliced(middle, 1));
    expect(await wrong({})).toHaveLength(good.items.length - 1);
  });

  it('has a record twice', async () => {
    expect(await wrong({ what: 'twice' })).toEqual(good.items.toSpliced(middle, 0, good.items[middle]));
  });

  it('has a record of nobody', async () => {
    const items = await wrong({ what: 'foreign' });
    const [foreign] = items.splice(middle + 1, 1);
    expect(items).toEqual(good.items);
    expect(good.items.map(idOf)).not.toContain(idOf(foreign));
    expect(foreign).not.toHaveProperty('externalData');
    expect(Object.keys(foreign)).toEqual(
      Object.keys(good.items[middle]).filter((key) => key !== 'externalData'),
    );
    if (one) expect((await bank.get(one(String(idOf(foreign))))).status).toBe(404);
  });

  it('changes a field of one record, where the record has it', async () => {
    const field = operation === 'listProducts' ? 'name' : 'amount';
    const items = await wrong({ what: 'changed', field });
    const [changed] = items.splice(middle, 1, good.items[middle]);
    expect(items).toEqual(good.items);
    expect(idOf(changed)).toBe(idOf(good.items[middle]));
    if (field === 'name') expect(changed.name).not.toBe(good.items[middle].name);
    else expect(amountOf(changed)).not.toBe(amountOf(good.items[middle]));
  });
});

it.each([
  ['listAccounts', PATHS.accounts(), (record: Json) => record.iban],
  [
    'listPaymentTransactions',
    `${PAGE}1`,
    (record: Json) => record.paymentTransactionParties.creditor.accountId.value,
  ],
] as const)('changes an IBAN of %s to another that is valid', async (operation, path, ibanOf) => {
  const good = (await list(path)).items.map(ibanOf);
  await bank.fault({ operation, kind: 'list-wrong', what: 'changed', field: 'iban' });
  const wrong = (await list(path)).items.map(ibanOf);
  const differing = wrong.filter((iban: string, index: number) => iban !== good[index]);
  expect(differing).toEqual(['BE68539007547034']);
});

it('has a fee of the bank that names no payee, inside the same instruction', async () => {
  await bank.fault({ operation: 'listPaymentTransactions', kind: 'list-wrong', what: 'fee' });
  const { items } = await list(`${PAGE}1`);
  const [, , , , , , fee] = items;
  const { transactionType, paymentTransactionIdentification: named } = fee.paymentTransactionInformation;
  expect([transactionType, named.messageId, fee.paymentTransactionParties]).toEqual([
    'FEE',
    undefined,
    undefined,
  ]);
  expect(named.customerInstructionId).toBe(truth.instructions[0].id);
});

it('gives a foreign payment a messageId of its own, inside the same instruction', async () => {
  await bank.fault({ operation: 'listPaymentTransactions', kind: 'list-wrong', what: 'foreign' });
  const { items } = await list(`${PAGE}1`);
  const identifications = items.map(
    (item: Json) => item.paymentTransactionInformation.paymentTransactionIdentification,
  );
  const [, , , , , real, foreign] = identifications;
  expect(foreign.customerInstructionId).toBe(real.customerInstructionId);
  expect(identifications.map(({ messageId }: Json) => messageId)).toEqual([
    ...['m-0', 'm-1', 'm-2', 'm-3', 'm-4', 'm-5', 'of-nobody', 'm-6', 'm-7', 'm-8', 'm-9'],
  ]);
});

describe('a list that moves while it is read', () => {
  const operation = 'listPaymentTransactions';
  /** Reads all five pages; from the third call on the records have moved. */
  const readMoving = async (by?: number): Promise<Json[]> => {
    for (const nth of [3, 4, 5]) await bank.fault({ operation, kind: 'list-moving', nth, by });
    const pages: Json[] = [];
    for (let page = 1; page <= 5; page += 1) pages.push(await list(PAGE + page));
    return pages;
  };
  const idsIn = (pages: Json[]): number[] => pages.flatMap(({ items }) => items.map(paymentIdOf));

  it('skips one record', async () => {
    const pages = await readMoving();
    expect(idsIn(pages)).toEqual(ids.toSpliced(20, 1));
    expect(pages.map(({ offset }) => offset)).toEqual([0, 10, 20, 30, 40]);
    expect(pages.map(({ count }) => count)).toEqual([45, 45, 45, 45, 45]);
  });

  it('skips as many as it is told', async () => {
    expect(idsIn(await readMoving(4))).toEqual(ids.toSpliced(20, 4));
  });

  it('shows one record twice when it moves the other way, and none is skipped', async () => {
    expect(idsIn(await readMoving(-1))).toEqual(ids.toSpliced(20, 0, ids[19]!));
  });

  it('moves a single page only', async () => {
    await bank.fault({ operation, kind: 'list-moving', nth: 2 });
    const pages = [await list(`${PAGE}1`), await list(`${PAGE}2`), await list(`${PAGE}3`)];
    expect(idsIn(pages)).toEqual([...ids.slice(0, 10), ...ids.slice(11, 21), ...ids.slice(20, 30)]);
  });

  it('has nothing to show before its first record, nor after its last', async () => {
    await bank.fault({ operation, kind: 'list-moving', by: -1, nth: 1 });
    expect(idsIn([await list(`${PAGE}1`)])).toEqual(ids.slice(0, 10));
    await bank.fault({ operation, kind: 'list-moving', by: 5, nth: 1 });
    expect((await list(`${PAGE}5`)).items).toEqual([]);
  });

  it('is the list of accounts or of products too', async () => {
    await bank.fault({ operation: 'listAccounts', kind: 'list-moving', nth: 1 });
    const accounts = (await list(`${PATHS.accounts()}?limit=1&offset=0`)).items;
    expect(accounts.map(idOf)).toEqual(['1002']);
    await bank.fault({ operation: 'listProducts', kind: 'list-moving', nth: 1 });
    expect((await list(PATHS.products())).items.map(idOf)).toEqual(['12']);
  });

  it('keeps to the filter of the query', async () => {
    await bank.fault({ operation, kind: 'list-moving', nth: 1 });
    expect(idsIn([await list(`${PAGE}1&minAmount=140`)])).toEqual(ids.slice(41));
  });
});

it.each(['list-wrong', 'list-moving'])('%s does nothing to a list without records', async (kind) => {
  const empty = `${PAGE}1&status=REJECTED`;
  const good = await list(empty);
  for (const what of ['missing', 'foreign', 'changed', 'twice'] as const) {
    await bank.fault({ operation: '*', kind, ...(kind === 'list-wrong' && { what }), nth: 1 });
    expect(await list(empty)).toEqual(good);
  }
  expect(good.items).toEqual([]);
});

it('leaves a list that is refused as it is', async () => {
  await bank.fault({ operation: 'listAccounts', kind: 'list-wrong', times: 1 });
  expect(await bank.as('unknown').get(PATHS.accounts())).toMatchObject({ status: 401 });
});

it('strikes the nth of all lists with "*", and counts no other call', async () => {
  await bank.fault({ operation: '*', kind: 'list-wrong', nth: 2 });
  await bank.get(PATHS.account('1001'));
  expect((await list(PATHS.accounts())).items).toHaveLength(3);
  expect(await list(PATHS.hooks())).toEqual([]);
  expect((await list(PATHS.products())).items).toHaveLength(1);
  expect((await bank.get('/sandbox/faults')).body).toEqual([expect.objectContaining({ calls: 2, hits: 1 })]);
});

it('is asked of lists with an envelope only', async () => {
  const scripts = [
    { operation: 'add', kind: 'list-wrong' },
    { operation: 'listHooks', kind: 'list-moving' },
    { operation: 'webhook', kind: 'list-wrong' },
    { operation: 'listAccounts', kind: 'list-wrong', what: 'lost' },
    { operation: 'listAccounts', kind: 'list-moving', by: 0 },
    { operation: 'listAccounts', kind: 'list-moving', by: 101 },
  ];
  for (const script of scripts) expect((await bank.post('/sandbox/faults', script)).status).toBe(422);
});
