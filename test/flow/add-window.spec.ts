import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';
import { select } from '../support/database';

describe('rows on their way to the bank', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 250, settings: { BANK_ADDS_IN_FLIGHT: '16' } });
  });
  afterEach(() => payroll.close());

  const count = async (sql: string) => {
    const [row] = await select<{ n: string }>(payroll.database.superuserUrl, `SELECT (${sql}) AS n`);
    return Number(row?.n);
  };
  const timesPaid = async () => (await payroll.ledger()).payees.map((payee) => payee.count);

  it('never leave more than 200 rows to be in doubt, and one batch is sent while another is written down', async () => {
    const id = await payroll.paid(payFile(payRows(700)));
    await payroll.until(id, ['SETTLED']);
    const mostOpen = await count(
      `SELECT max(rows) FROM add_intent a, LATERAL (
         SELECT sum(cardinality(o.row_nos)) AS rows FROM add_intent o
         WHERE o.intended_at <= a.intended_at AND o.finished_at > a.intended_at) AS open`,
    );
    expect(mostOpen).toBeGreaterThan(100);
    expect(mostOpen).toBeLessThanOrEqual(200);
    expect(await timesPaid()).toEqual(Array.from({ length: 700 }, () => 1));
  });

  it('are finished and written down when the service is stopped, and the rest is added by the next one', async () => {
    await payroll.fault({ operation: 'add', kind: 'slow-drip', every: 8, delayMs: 1 });
    await payroll.paid(payFile(payRows(500)));
    await eventually(async () => (await count('SELECT count(*) FROM add_intent')) > 0, 30_000);
    await payroll.stopServices();
    expect(await count('SELECT count(*) FROM add_intent WHERE finished_at IS NULL')).toBe(0);
    const added = await count('SELECT count(*) FROM bank_payment');
    expect(added).toBeGreaterThan(0);
    expect(added).toBeLessThan(500);
    await payroll.clearFaults();
    await payroll.addReplica();
    await eventually(
      async () => (await count(`SELECT count(*) FROM pay_run WHERE status = 'SETTLED'`)) === 1,
      30_000,
    );
    expect(await timesPaid()).toEqual(Array.from({ length: 500 }, () => 1));
  });
});
