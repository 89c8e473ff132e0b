import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
afterEach(() => restoring.close());

const NOT_READ = [409, 'NOT_RECONCILED'];
const reason = 'nobody of them is paid yet';
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);

const releaseHold = (run: string, code: string) =>
  payroll.as('approver').post(payroll.path(`/pay-runs/${run}/holds/release`), { code, reason });

describe('a run that was paid after the backup, and is uploaded again before the bank is read', () => {
  it('is released by nobody before it is told what the bank shows', async () => {
    restoring = await Restoring.start();
    payroll = restoring.payroll;
    await restoring.backUp();
    const paid = await payroll.paid(payFile(payRows(2)));
    await payroll.until(paid, ['SETTLED'], 30_000);
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restoring.restore();
    const { data } = await payroll.upload(payFile(payRows(2)));
    expect(data.held.holds).toEqual({ RUN_MAY_BE_FORGOTTEN: 1 });
    const held = await releaseHold(data.id, 'RUN_MAY_BE_FORGOTTEN');
    const approved = await payroll.approve(await payroll.run(data.id));
    await payroll.clearFaults();
    await restoring.answered();
    expect(await restoring.resume()).toBe('RESUMED');
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(await timesPaid()).toEqual([1, 1]);
    expect([held.status, held.data.code]).toEqual(NOT_READ);
    expect(approved.data.code).toBe('HOLDS_OPEN');
    expect((await releaseHold(data.id, 'RUN_MAY_BE_FORGOTTEN')).status).toBe(200);
  });

  it('has further pay allowed by nobody on the record alone', async () => {
    restoring = await Restoring.start();
    payroll = restoring.payroll;
    const paid = await payroll.paid(payFile(payRows(2)));
    await payroll.until(paid, ['SETTLED'], 30_000);
    await restoring.backUp();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restoring.restore();
    const { period } = await payroll.run(paid);
    const further = { employeeId: 'E000001', period, kindOfPay: 'SALARY', reason };
    const allow = () => payroll.as('approver').post(payroll.path('/releases'), further);
    const refused = await allow();
    expect([refused.status, refused.data.code]).toEqual(NOT_READ);
    await payroll.clearFaults();
    await restoring.answered();
    expect((await allow()).status).toBe(201);
  });
});
