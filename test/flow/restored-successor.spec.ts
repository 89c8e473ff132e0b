import { Variants } from '../../src/bank-sandbox/variants';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

let payroll: Payroll;
let restoring: Restoring;
const rows = payRows(2);
const reason = 'the bank said so on the telephone';

const start = async (variants: Partial<Variants>) => {
  payroll = await Payroll.start({
    paidBefore: true,
    sandbox: { variants: { omitFromLists: [], optionalFields: 'sent', ...variants } },
    settings: { BANK_TIMEOUT_MS: '1000', SUBMIT_DOUBT_MS: '400', RECONCILE_MS: '2000' },
  });
  restoring = new Restoring(payroll);
};
afterEach(() => restoring.close());

/** A run whose submit was lost, and which two people declared not executed: its payments are VOID. */
async function voided(): Promise<string> {
  const { id, path } = await payroll.parked(rows);
  const evidence = 'letter of the bank, 4710';
  expect((await payroll.decide(path, { action: 'NOT_EXECUTED', reason, evidence })).status).toBe(200);
  await payroll.until(id, ['FAILED'], 15_000);
  return id;
}

const refusalsOf = async (id: string) => {
  const { status, data } = await payroll.successorOf(id);
  if (status === 201) return [status];
  return [status, data.code, ...data.payments.map(({ code }: { code: string }) => code)];
};
const REFUSED = [409, 'NOTHING_TO_REPLACE', 'EMPLOYEE_MAY_BE_PAID', 'EMPLOYEE_MAY_BE_PAID'];
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);

describe('a successor that was paid after the backup', () => {
  it('is not made once more when it is cancelled on the word of the bank that it was paid', async () => {
    await start({ linkReads: 'refused' });
    const parent = await voided();
    const { data: made } = await payroll.successorOf(parent);
    const path = payroll.path(`/pay-runs/${made.id}`);
    await payroll.as('finance').post(`${path}/stop`, { reason: 'a pause' });
    expect((await payroll.approve(made)).status).toBeLessThan(300);
    await restoring.backUp();
    // The backup is of a run that nobody stopped.
    await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
    await payroll.resume(path, 'operator', 'go on');
    await payroll.until(made.id, ['SETTLED'], 20_000);

    await restoring.restore();
    expect(await restoring.answered()).toContain("that may be this service's or not");
    const cancelled = await payroll.as('preparer').post(`${path}/cancellation`, { reason: 'it was paid' });
    expect(cancelled.data).toMatchObject({ status: 'CANCELLED' });
    expect(await restoring.resume('letter of the bank, 4712')).toBe('RESUMED');
    expect(await refusalsOf(parent)).toEqual(REFUSED);
    const again = await payroll.upload(payFile(rows), { supplementOf: parent });
    expect(again.data).toMatchObject({ payments: 0, held: { holds: { EMPLOYEE_MAY_BE_PAID: 2 } } });
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('is not made once more where the database has forgotten it too, before and after people resume', async () => {
    await start({ linkReads: 'allowed' });
    const parent = await voided();
    await restoring.backUp();
    const { data: made } = await payroll.successorOf(parent);
    expect((await payroll.approve(made)).status).toBeLessThan(300);
    await payroll.until(made.id, ['SETTLED'], 20_000);

    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restoring.restore();
    expect(await refusalsOf(parent)).toEqual(REFUSED);
    await payroll.clearFaults();
    const told = await restoring.answered();
    expect(told).toContain('for a run that was forgotten too');
    expect(told).toContain('what older runs did not pay is held for a person: 1 with 2 payments');
    expect(await restoring.resume()).toBe('RESUMED');
    expect(await refusalsOf(parent)).toEqual(REFUSED);

    const { data: again } = await payroll.upload(payFile(rows), { supplementOf: parent });
    expect(again).toMatchObject({
      payments: 0,
      held: { holds: { EMPLOYEE_MAY_BE_PAID: 2, RUN_MAY_BE_FORGOTTEN: 1 } },
    });
    const holds = payroll.path(`/pay-runs/${again.id}/holds`);
    const { items } = (await payroll.as('approver').get(holds)).data;
    expect(items[0]).toMatchObject({ code: 'RUN_MAY_BE_FORGOTTEN', payment: null });
    const held = items[1];
    expect(held.message).toBe(
      `What ${parent} did not pay may have been paid by a run that a restored database has forgotten. That run is FAILED now.`,
    );
    const release = { code: held.code, paymentId: held.payment.id, reason: 'the bank says it was not paid' };
    const released = await payroll.as('approver').post(`${holds}/release`, release);
    expect(released.data).toMatchObject({ status: 'READY', payments: 1 });
    expect(await timesPaid()).toEqual([1, 1]);
  });

  it('leaves what came after the restore as it was: that is replaced as ever', async () => {
    // A list that is not found need not be empty: what follows would be held.
    await start({ linkReads: 'refused', emptyLists: 'envelope' });
    await restoring.backUp();
    await restoring.listIsKnown();
    await restoring.restore();
    await restoring.answered();
    await restoring.resume('letter of the bank, 4712');
    const parent = await voided();
    expect((await payroll.successorOf(parent)).status).toBe(201);
  });
});

describe('what is left at its cut-off of a run from before a restore', () => {
  /** Ends a run before anything of it is submitted. @returns what people are told */
  const cutOff = async (id: string) => {
    await payroll.until(id, ['SUBMITTING'], 20_000);
    payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
    await payroll.until(id, ['FAILED'], 30_000);
    const { data } = await payroll.as('operator').get(await payroll.askedAbout(id, 'STALE_DATE'));
    return data as { happened: string; askBank: string };
  };

  it('is told to be paid by no successor where the bank did not show everything, but by an upload that is held', async () => {
    await start({ linkReads: 'allowed' });
    const run = await payroll.uploaded(payFile(rows));
    await restoring.backUp();
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '403', every: 1 });
    await restoring.restore();
    await restoring.answered();
    expect(await restoring.resume('letter of the bank, 4712')).toBe('RESUMED');
    await payroll.clearFaults();
    // It may have been submitted itself: two people say that it was not.
    const path = payroll.path(`/pay-runs/${run.id}`);
    await payroll.as('operator').post(`${path}/stop`, { reason });
    expect((await payroll.resume(path, 'approver', reason)).status).toBe(200);
    await payroll.stopPastTheGate();
    await payroll.approve(await payroll.run(run.id));
    const { happened, askBank } = await cutOff(run.id);
    expect(happened).toContain('may have paid 2 of its 2 payments: no successor pays these');
    expect(happened).not.toContain('successor of the run');
    expect(askBank).toContain('submitted since the backup');
    expect(await refusalsOf(run.id)).toEqual(REFUSED);
    expect(happened).toContain('supplementOf');
    const again = await payroll.upload(payFile(rows), { supplementOf: run.id });
    expect(again.data.held.holds).toMatchObject({ EMPLOYEE_MAY_BE_PAID: 2 });
  });

  it('is told to be paid by a successor but for whom a run that was cancelled before it may have paid', async () => {
    await start({ linkReads: 'allowed' });
    const older = await payroll.uploaded(payFile(rows));
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${older.id}/cancellation`), { reason });
    await payroll.until(older.id, ['CANCELLED']);
    const run = await payroll.uploaded(payFile(payRows(2, 2)));
    await restoring.backUp();
    await restoring.restore();
    await restoring.answered();
    expect(await restoring.resume()).toBe('RESUMED');
    await payroll.stopPastTheGate();
    await payroll.approve(await payroll.run(run.id));
    const { happened } = await cutOff(run.id);
    expect(happened).toContain('may have paid 1 of its 2 payments: no successor pays these');
    expect(happened).toContain('A successor of the run pays the others');
    const made = await payroll.successorOf(run.id);
    expect([made.status, made.data.payments]).toEqual([201, 1]);
  });
});
