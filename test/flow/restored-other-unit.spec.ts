import { payFile, payRows } from '../support/pay-rows';
import type { Payroll } from '../support/payroll';
import { Restoring } from '../support/restoring';

const OTHER_UNIT = 'the unit of amounts was checked under another BANK_AMOUNT_UNIT';

let payroll: Payroll;
let restoring: Restoring;
beforeEach(async () => {
  // Cents are read as other amounts of euros; euros with cents are none of cents, and nothing is read then.
  restoring = await Restoring.start({ RECONCILE_MS: '2000' }, { amountUnit: 'minor' });
  payroll = restoring.payroll;
});
afterEach(() => restoring.close());

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const setUnit = (unit: 'minor' | 'major') => Object.assign(payroll.settings, { BANK_AMOUNT_UNIT: unit });

it('a run that is being submitted is taken back only by a process of the unit its account was checked under', async () => {
  await payroll.stopPastTheGate();
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SUBMITTING'], 20_000);
  await restoring.backUp();
  await payroll.letRunsGoOn();
  await payroll.until(id, ['SETTLED'], 20_000);
  setUnit('major');
  await restoring.restore();
  const told = await restoring.answered();
  expect(told).toContain(OTHER_UNIT);
  expect(told).not.toContain('differs');
  const path = await payroll.askedAbout(id, 'UNRECORDED_SUBMIT');
  const executed = { action: 'EXECUTED', reason: 'as the bank wrote', evidence: 'letter of the bank, 4711' };
  const refused = await payroll.decide(path, executed);
  expect([refused.data.code, refused.data.detail]).toEqual([
    'BANK_UNREADABLE',
    expect.stringContaining(OTHER_UNIT),
  ]);
  expect(await kinds()).not.toContain('TOTAL_MISMATCH_AFTER_SUBMIT');
  expect((await payroll.run(id)).status).toBe('SUBMITTING');

  setUnit('minor');
  await payroll.stopServices();
  payroll.url = (await payroll.addReplica()).url;
  await payroll.until(id, ['SETTLED'], 20_000);
  expect(await restoring.resume()).toBe('RESUMED');
  await payroll.reconcile();
  expect(await kinds()).toEqual([]);
  expect(await timesPaid()).toEqual([1, 1]);
});
