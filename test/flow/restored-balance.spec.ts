import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
afterEach(() => restoring.close());

it('what a run that was forgotten took is not asked about as what a submit took twice', async () => {
  restoring = await Restoring.start();
  payroll = restoring.payroll;
  const rows = payRows(2);
  const id = await payroll.paid(payFile(rows));
  await payroll.until(id, ['SETTLED'], 20_000);
  const before = await payroll.run(id);
  await restoring.backUp();
  const others = payRows(2, 100).map((row, n) => ({ ...row, amount: rows[n]!.amount }));
  const other = await payroll.paid(payFile(others));
  await payroll.untilSettled(other);
  expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  await restoring.restore();
  const told = await restoring.answered();
  expect(await restoring.resume()).toBe('RESUMED');
  for (let n = 0; n < 10; n += 1) {
    await payroll.wakeAll();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  }
  const asked = (await payroll.attention()).map(({ kind, happened }) => [kind, happened]);
  const { data } = await payroll.as('administrator').get('/v1/service');
  expect([
    before.status,
    told.includes('for a run that was forgotten too'),
    (await payroll.run(id)).status,
    data.submitsOff,
    asked,
  ]).toEqual(['SETTLED', true, 'SETTLED', false, []]);
});
