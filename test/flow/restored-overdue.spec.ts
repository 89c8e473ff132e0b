import { readId } from '../../src/http/prefixed-id';
import { OverduePeriods } from '../../src/schedule/overdue-periods';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
beforeEach(async () => {
  restoring = await Restoring.start();
  payroll = restoring.payroll;
});
afterEach(() => restoring.close());

const overdue = async () => {
  await payroll.services.at(-1)!.app.get(OverduePeriods).tick();
  return (await payroll.attention()).find(({ kind }) => kind === 'PERIOD_OVERDUE');
};

const ofThisMonth = () => payroll.executionDate().slice(0, 7);

/** A schedule whose pay of this month is due on the date of the run. */
const scheduled = async () => {
  const { status } = await payroll.as('operator').post(payroll.path('/schedules'), {
    accountId: payroll.account,
    dayOfMonth: Number(payroll.executionDate().slice(8)),
    whenClosed: 'NEXT',
    submitDaysBefore: 0,
    submitTime: '00:01',
    timeZone: 'UTC',
    firstPeriod: ofThisMonth(),
  });
  expect(status).toBe(201);
};

it('says of no run that nothing of it is submitted, of which the bank shows a forgotten submit', async () => {
  const run = await payroll.uploaded(payFile(payRows(2)));
  await restoring.backUp();
  const id = readId('run', run.id);
  // Prepared two hours ago.
  await restoring.inBackup(
    `ALTER TABLE pay_run DISABLE TRIGGER ALL;
     UPDATE pay_run SET created_at = created_at - interval '2 hours', submit_at = created_at - interval '2 hours';
     ALTER TABLE pay_run ENABLE TRIGGER ALL;
     ALTER TABLE pay_run_version DISABLE TRIGGER ALL;
     UPDATE pay_run_version SET created_at = created_at - interval '2 hours' WHERE pay_run_id = '${id}';
     ALTER TABLE pay_run_version ENABLE TRIGGER ALL`,
  );
  await payroll.approve(run);
  await payroll.until(run.id, ['SETTLED'], 20_000);
  await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
  await restoring.restore();
  const unread = await overdue();
  await payroll.clearFaults();
  const told = await restoring.answered();
  expect(await restoring.resume()).toBe('RESUMED');
  const read = await overdue();
  expect(told).toContain('submitted at the bank and not taken back');
  expect([unread?.certain, unread?.happened, read?.certain, read?.happened]).toEqual([
    expect.not.stringContaining('Nothing of this run is submitted'),
    expect.anything(),
    expect.not.stringContaining('Nothing of this run is submitted'),
    expect.anything(),
  ]);
});

it('does not ask for the file of a month whose run was forgotten and executed, as if none was submitted', async () => {
  await scheduled();
  await restoring.backUp();
  await restoring.inBackup(`UPDATE pay_schedule SET created_at = created_at - interval '2 days'`);
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SETTLED'], 20_000);
  await restoring.restore();
  const told = await restoring.answered();
  expect(await restoring.resume()).toBe('RESUMED');
  const asked = await overdue();
  expect(told).toContain('uploading its pay file again would pay twice');
  expect([asked?.happened, asked?.certain, asked?.askBank]).toEqual([
    expect.anything(),
    expect.not.stringContaining('No run of this month of the schedule is submitted'),
    expect.anything(),
  ]);
});

it('does not ask for a month anew whose run is cancelled because the bank has paid it, as RESTORED says', async () => {
  await scheduled();
  const { data: run } = await payroll.as('preparer').post(payroll.path('/pay-files'), payFile(payRows(2)), {
    headers: { 'content-type': 'text/csv' },
    params: { period: ofThisMonth() },
  });
  expect(run.payments).toBe(2);
  await restoring.backUp();
  await restoring.inBackup(`UPDATE pay_schedule SET created_at = created_at - interval '2 days'`);
  await payroll.approve(run);
  await payroll.until(run.id, ['SETTLED'], 20_000);
  await restoring.restore();
  const told = await restoring.answered();
  expect(told).toContain('or is to be cancelled');
  expect(await restoring.resume()).toBe('RESUMED');
  await payroll
    .as('preparer')
    .post(payroll.path(`/pay-runs/${run.id}/cancellation`), { reason: 'the bank has paid it' });
  await payroll.until(run.id, ['CANCELLED'], 20_000);
  const asked = await overdue();
  expect([asked?.happened, asked?.certain]).toEqual([
    expect.anything(),
    expect.not.stringContaining('No run of this month of the schedule is submitted'),
  ]);
});
