import axios from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { execute } from '../support/database';
import { payFile, payRows, Row } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const CHARGE_MINOR = 999n;
const ACCOUNT = '1002';
const SIGNS = ['positive', 'negative'] as const;

describe.each(SIGNS)('a bank that charges for each payment, written %s', (chargeSign) => {
  let payroll: Payroll;
  beforeAll(async () => {
    const variants = { chargeMinor: Number(CHARGE_MINOR), chargeSign };
    payroll = await Payroll.start({ sandbox: { variants } });
  });
  afterAll(() => payroll.close());

  const minor = (amount: string) => BigInt(amount.replace('.', ''));
  const balance = async () => {
    const { data } = await axios.get<{ accountId: string; balance: string }[]>(
      `${payroll.bank.url}/sandbox/portal/accounts`,
    );
    return minor(data.find(({ accountId }) => accountId === ACCOUNT)!.balance);
  };
  const post = (amountMinor: bigint) =>
    axios.post(`${payroll.bank.url}/sandbox/postings`, {
      accountId: ACCOUNT,
      type: 'DISTRIBUTOR_POSTING',
      direction: amountMinor < 0n ? 'DEBIT' : 'CREDIT',
      amountMinor: String(amountMinor < 0n ? -amountMinor : amountMinor),
    });
  const leave = async (amountMinor: bigint) => post(amountMinor - (await balance()));
  const sum = (rows: readonly Row[]) => rows.reduce((total, { amount }) => total + minor(amount), 0n);
  const reconciliation = async (id: string, query = '') =>
    (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation${query}`))).data;

  it('has what left the account explained to the cent, charges apart, also where one payment failed', async () => {
    const rows = payRows(4);
    await leave(sum(rows));
    const before = await balance();
    // Nothing is known of charges yet: the gate cannot expect them.
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
    const { explained, table, equations } = await reconciliation(id);
    expect(explained).toBe(true);
    expect(table.charges).toEqual({ payments: 3, amount: '29.97' });
    expect(minor(table.debited.amount)).toBe(minor(table.settled.amount) + 3n * CHARGE_MINOR);
    expect(before - (await balance())).toBe(minor(table.debited.amount));
    expect(equations.map(({ name }: { name: string }) => name)).toContain('DEBITED');
    expect(await reconciliation(id, '?format=csv')).toContain('table,charges,3,29.97,');
    const csv: string = await reconciliation(id, '/rows?format=csv');
    expect(csv.split('\r\n')[0]).toContain(',charges,');
    expect(csv.split('\r\n')[1]).toContain(',9.99,');
  });

  it('is expected at the gate to charge as it did: the run waits until they are covered too, and says so', async () => {
    const rows = payRows(4, 10);
    await leave(sum(rows) + 4n * CHARGE_MINOR - 1n);
    const id = await payroll.paid(payFile(rows));
    const low = async () => (await payroll.attention()).find(({ kind }) => kind === 'LOW_BALANCE');
    await eventually(async () => (await low()) !== undefined, 20_000);
    expect((await low())!.happened).toContain('but not the charges to be expected');
    expect((await payroll.run(id)).status).toBe('VERIFIED');
    await post(1n);
    await payroll.until(id, ['SETTLED'], 40_000);
    expect(await low()).toBeUndefined();
    expect(await balance()).toBe(0n);
  });

  it('has charges explained that come after the end, of what was paid and of what was not', async () => {
    const rows = payRows(4, 20);
    rows[3]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAfterExchange')!.iban;
    await leave(sum(rows) + 4n * CHARGE_MINOR + 1_000n);
    const before = await balance();
    const id = await payroll.paid(payFile(rows), { kindOfPay: 'LATE' });
    await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
    const { items } = (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data;
    for (const status of ['SETTLED', 'REJECTED']) {
      const { bankPaymentId } = items.find((one: { status: string }) => one.status === status);
      const fee = { accountId: ACCOUNT, type: 'FEE', amountMinor: '15', paymentId: Number(bankPaymentId) };
      await axios.post(`${payroll.bank.url}/sandbox/postings`, fee);
    }
    const readNow = `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`;
    await eventually(async () => {
      await execute(payroll.database.superuserUrl, readNow);
      return (await reconciliation(id)).table.charges.payments === 4;
    }, 20_000);
    const { explained, table } = await reconciliation(id);
    expect([explained, table.charges]).toEqual([true, { payments: 4, amount: '30.27' }]);
    expect(before - (await balance())).toBe(minor(table.debited.amount));
    const csv: string = await reconciliation(id, '/rows?format=csv');
    expect(csv.match(/,(9\.99|10\.14|0\.15),/g)?.sort()).toEqual([',0.15,', ',10.14,', ',9.99,', ',9.99,']);
  });
});
