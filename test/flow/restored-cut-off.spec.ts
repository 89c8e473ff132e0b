import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
afterEach(() => restoring.close());

const lapsed = async (id: string) =>
  (await payroll.attention()).find(({ kind, payRunId }) => kind === 'APPROVAL_LAPSED' && payRunId === id);

it('a run that a restore left unclear is not said to be never submitted once its cut-off has passed (READY in the backup)', async () => {
  restoring = await Restoring.start();
  payroll = restoring.payroll;
  const run = await payroll.uploaded(payFile(payRows(2)));
  await restoring.backUp();
  await payroll.approve(run);
  await payroll.until(run.id, ['SETTLED'], 20_000);
  await payroll.fault({ operation: 'listPaymentTransactions', kind: '403', every: 1 });
  await restoring.restore();
  await restoring.answered();
  expect(await restoring.resume('letter of the bank, 4712')).toBe('RESUMED');
  expect((await payroll.run(run.id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
  expect((await payroll.approve(await payroll.run(run.id))).status).toBeLessThan(300);
  payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
  await payroll.wakeAll();
  await payroll.until(run.id, ['READY'], 30_000);
  const asked = await lapsed(run.id);
  const { payees } = await payroll.ledger();
  expect(payees.map(({ count }) => count)).toEqual([1, 1]);
  expect([asked?.happened, asked?.certain]).toEqual([
    expect.not.stringContaining('Amend the run and have it approved again'),
    expect.not.stringContaining('No submit of this run was sent'),
  ]);
});

it('nor is one that was VERIFIED in the backup, at a bank that lets no instruction be read', async () => {
  restoring = await Restoring.start({}, { linkReads: 'refused' });
  payroll = restoring.payroll;
  await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['VERIFIED'], 20_000);
  await restoring.backUp();
  await payroll.clearFaults();
  await payroll.until(id, ['SETTLED'], 20_000);
  await payroll.fault({ operation: 'listPaymentTransactions', kind: '403', every: 1 });
  await restoring.restore();
  await restoring.answered();
  expect(await restoring.resume('letter of the bank, 4712')).toBe('RESUMED');
  const before = await payroll.run(id);
  payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
  await payroll.wakeAll();
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const asked = await lapsed(id);
  expect([before.status, before.stopped?.reason, asked?.happened, asked?.certain]).toEqual([
    'VERIFIED',
    'RESTORED_UNCLEAR',
    expect.not.stringContaining('Amend the run and have it approved again'),
    expect.not.stringContaining('No submit of this run was sent'),
  ]);
});

it('what a restored database may have forgotten to have submitted is not said to be never submitted at the cut-off', async () => {
  restoring = await Restoring.start({}, { linkReads: 'refused' });
  payroll = restoring.payroll;
  await payroll.stopPastTheGate();
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SUBMITTING'], 20_000);
  await restoring.backUp();
  await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
  await payroll.letRunsGoOn();
  await payroll.until(id, ['SETTLED'], 20_000);
  await payroll.fault({ operation: 'listPaymentTransactions', kind: '403', every: 1 });
  await restoring.restore();
  await restoring.answered();
  expect(await restoring.resume('letter of the bank, 4712')).toBe('RESUMED');
  const before = await payroll.run(id);
  expect([before.status, before.stopped?.reason]).toEqual(['SUBMITTING', 'RESTORED_UNCLEAR']);
  payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
  await payroll.wakeAll();
  await payroll.until(id, ['FAILED'], 30_000);
  const { data } = await payroll.as('operator').get(await payroll.askedAbout(id, 'STALE_DATE'));
  const { payees } = await payroll.ledger();
  expect(payees.map(({ count }) => count)).toEqual([1, 1]);
  expect([data.happened, data.certain, data.askBank]).toEqual([
    expect.anything(),
    expect.not.stringContaining('We did not submit this instruction'),
    expect.anything(),
  ]);
});
