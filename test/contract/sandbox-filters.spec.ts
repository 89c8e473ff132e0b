import { paymentIdOf, paymentStatusOf, Tester } from '../bank-sandbox/client';
import type { Json } from './shapes';

describe('the sandbox filters its list of payment transactions by', () => {
  let bank: Tester;
  beforeAll(async () => {
    bank = await Tester.start();
    await bank.pay([{ value: 100 }, { value: 900 }]);
    await bank.advance(60_000);
    const { id } = await bank.initiate();
    for (const value of [300, 2000, 500]) {
      await bank.add(id, { value });
      await bank.advance(60_000);
    }
  });
  afterAll(() => bank.close());

  const path = '/service-domain/v1/payment-transactions';
  const listed = async (query: Record<string, string>): Promise<Json> =>
    (await bank.get(`${path}?${new URLSearchParams(query).toString()}`)).body;
  const idsIn = ({ items }: Json): number[] => items.map(paymentIdOf);
  const createdAt = (payment: Json): string => payment.paymentTransactionDateInformation.creationDate;
  const valueOf = (payment: Json): number =>
    payment.paymentTransactionAmountInformation.instructedAmount.value;

  it.each<[string, (some: Json) => string, (payment: Json, bound: string) => boolean]>([
    ['status', paymentStatusOf, (payment, bound) => paymentStatusOf(payment) === bound],
    ['fromDate', createdAt, (payment, bound) => createdAt(payment) >= bound],
    ['toDate', createdAt, (payment, bound) => createdAt(payment) <= bound],
    ['minAmount', (some) => String(valueOf(some)), (payment, bound) => valueOf(payment) >= Number(bound)],
    ['maxAmount', () => '1049', (payment, bound) => valueOf(payment) <= Number(bound)],
  ])('%s', async (name, boundOf, keeps) => {
    const { items } = await listed({});
    const bound = boundOf(items[Math.floor(items.length / 2)]);
    const expected = items.filter((payment: Json) => keeps(payment, bound)).map(paymentIdOf);
    expect(expected.length).toBeGreaterThan(0);
    expect(expected.length).toBeLessThan(items.length);
    expect(idsIn(await listed({ [name]: bound }))).toEqual(expected);
  });

  it('page and pageSize', async () => {
    const { items } = await listed({});
    expect(idsIn(await listed({ page: '2', pageSize: '3' }))).toEqual(items.slice(3, 6).map(paymentIdOf));
  });
});
