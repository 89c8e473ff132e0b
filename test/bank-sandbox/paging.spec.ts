import { PATHS } from '../../src/bank/types';
import type { Variants } from '../../src/bank-sandbox/variants';
import { BIRCH, paymentIdOf, Tester, type Json } from './client';

const LIST = PATHS.paymentTransactions();
let bank: Tester;
let ids: number[];

async function start(variants: Partial<Variants> = {}): Promise<void> {
  bank = await Tester.start({ variants });
  const payments = Array.from({ length: 45 }, (_, index) => ({
    value: 100 + index,
    messageId: `m-${index}`,
  }));
  ids = (await bank.pay(payments, {}, BIRCH)).added.map(paymentIdOf);
}
afterEach(() => bank.close());
const page = async (query = '') => (await bank.get(LIST + query)).body;
const idsOf = (body: Json): number[] => body.items.map(paymentIdOf);

it('answers the first twenty in ascending order when nothing is asked', async () => {
  await start();
  const body = await page();
  expect(body).toMatchObject({ count: 45, limit: 20, offset: 0, sort: '+paymentTransactionId' });
  expect(idsOf(body)).toEqual(ids.slice(0, 20));
});

it('counts pages from one, and answers an empty page behind the last', async () => {
  await start();
  expect(idsOf(await page('?page=3&pageSize=20'))).toEqual(ids.slice(40));
  expect(await page('?page=4&pageSize=20')).toMatchObject({ items: [], offset: 60 });
  expect((await bank.get(`${LIST}?page=0`)).status).toBe(400);
  expect((await bank.get(`${LIST}?page=x`)).status).toBe(400);
});

it('counts pages from zero where the bank does', async () => {
  await start({ pageBase: 0 });
  expect(idsOf(await page('?page=0&pageSize=10'))).toEqual(ids.slice(0, 10));
  expect(idsOf(await page('?page=1&pageSize=10'))).toEqual(ids.slice(10, 20));
});

it('gives no more than its largest page, and says so', async () => {
  await start({ maxPageSize: 7 });
  const body = await page('?page=2&pageSize=30');
  expect(body).toMatchObject({ limit: 7, offset: 7 });
  expect(idsOf(body)).toEqual(ids.slice(7, 14));
});

it('refuses a larger page than its largest where the bank does', async () => {
  await start({ maxPageSize: 30, largePages: 'refused' });
  expect((await bank.get(`${LIST}?page=1&pageSize=31`)).status).toBe(400);
  expect(idsOf(await page('?page=1&pageSize=30'))).toEqual(ids.slice(0, 30));
});

it('counts the page instead of the list where the bank does', async () => {
  await start({ countMeans: 'page' });
  expect((await page('?page=3&pageSize=20')).count).toBe(5);
});

it('takes what others hold out of a page once it is made, and counts it or not, where the bank does', async () => {
  await start({ recordsOfOthers: 35, othersAfter: 10, maxPageSize: 20, countMeans: 'places' });
  const shown = await Promise.all([1, 2, 3, 4, 5].map(async (n) => page(`?page=${n}&pageSize=20`)));
  expect(shown.map(idsOf)).toEqual([ids.slice(0, 10), [], ids.slice(10, 25), ids.slice(25, 45), []]);
  expect(shown.map(({ count, limit, offset }) => [count, limit, offset])).toEqual(
    [0, 20, 40, 60, 80].map((offset) => [80, 20, offset]),
  );
});

it('counts no more than it counts to, where the bank does', async () => {
  await start({ countUpTo: 40 });
  expect((await page('?page=3&pageSize=20')).count).toBe(40);
  expect(idsOf(await page('?page=3&pageSize=20'))).toEqual(ids.slice(40));
});

it('ignores page and pageSize, and reads limit and offset, where the bank does', async () => {
  await start({ ignorePageParams: true });
  expect(idsOf(await page('?page=3&pageSize=10'))).toEqual(ids.slice(0, 20));
  expect(idsOf(await page('?offset=30&limit=10'))).toEqual(ids.slice(30, 40));
});

it('pages the payments of one instruction the same way', async () => {
  await start();
  await bank.pay([{}]);
  const { customerInstructionId } = (await page()).items[0];
  const linked = PATHS.instructionPaymentTransactions(String(customerInstructionId));
  const { body } = await bank.get(`${linked}?page=2&pageSize=40`);
  expect(body.count).toBe(45);
  expect(idsOf(body)).toEqual(ids.slice(40));
});

it('gives all payments of one instruction in every answer where the bank does', async () => {
  await start({ instructionList: 'whole', maxPageSize: 7 });
  const { customerInstructionId } = (await page()).items[0];
  const linked = PATHS.instructionPaymentTransactions(String(customerInstructionId));
  const { body } = await bank.get(`${linked}?page=3&pageSize=10`);
  expect(body).toMatchObject({ count: 45, limit: 45, offset: 0 });
  expect(idsOf(body)).toEqual(ids);
});

it('leaves the items out of a page that holds nothing where the bank does', async () => {
  await start({ emptyLists: 'without-items' });
  expect(await page('?page=4&pageSize=20')).toEqual({
    count: 45,
    limit: 20,
    offset: 60,
    sort: '+paymentTransactionId',
  });
  expect((await page('?page=3&pageSize=20')).items).toHaveLength(5);
});

it.each([
  ['404', 404],
  ['204', 204],
] as const)('answers a page that holds nothing with %s where the bank does', async (emptyLists, status) => {
  await start({ emptyLists });
  expect((await bank.get(`${LIST}?page=4&pageSize=20`)).status).toBe(status);
  expect((await page('?page=3&pageSize=20')).items).toHaveLength(5);
  const { id } = await bank.initiate();
  expect((await bank.get(PATHS.instructionPaymentTransactions(String(id)))).status).toBe(status);
});

it('filters by status, time and amount, alone and together', async () => {
  await start();
  const { id } = await bank.initiate();
  await bank.advance(60_000);
  const { now } = (await bank.get('/sandbox/clock')).body;
  const late = paymentIdOf((await bank.add(id, { value: 120 })).body);
  expect(idsOf(await page('?status=INITIATED'))).toEqual([late]);
  expect((await page('?status=SETTLED')).count).toBe(45);
  expect(idsOf(await page('?minAmount=143'))).toEqual(ids.slice(43));
  expect(idsOf(await page('?maxAmount=101'))).toEqual(ids.slice(0, 2));
  expect(idsOf(await page(`?fromDate=${encodeURIComponent(now)}`))).toEqual([late]);
  expect((await page(`?toDate=${encodeURIComponent(now)}`)).count).toBe(45);
  expect(idsOf(await page('?minAmount=120&maxAmount=120&status=SETTLED'))).toEqual([ids[20]]);
  expect((await bank.get(`${LIST}?fromDate=yesterday`)).status).toBe(400);
});

it('refuses parameters the document does not show, and answers all there is without one, where the bank does', async () => {
  await start({ unshownParams: 'refused', maxPageSize: 20 });
  for (const path of [PATHS.products(), PATHS.accounts()]) {
    expect((await bank.get(`${path}?page=1`)).status).toBe(400);
    expect((await bank.get(path)).body.items.length).toBeGreaterThan(1);
  }
  const id = (await bank.get(PATHS.paymentTransaction(String(ids[0])))).body.customerInstructionId;
  const own = PATHS.instructionPaymentTransactions(id);
  expect((await bank.get(`${own}?pageSize=20`)).status).toBe(400);
  expect((await bank.get(own)).body).toMatchObject({ count: 45, limit: 45, offset: 0 });
  expect(idsOf(await page('?page=2&pageSize=20'))).toEqual(ids.slice(20, 40));
});
