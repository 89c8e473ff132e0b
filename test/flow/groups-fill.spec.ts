import { BankReads } from '../../src/employer/bank-reads';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const submitsOff = async () =>
  (await payroll.as('administrator').get('/v1/service')).data.submitsOff as boolean;
const start = async (SUBMIT_DOUBT_MS: string) => {
  payroll = await Payroll.start({
    settings: { SUBMIT_DOUBT_MS },
    sandbox: { variants: { linkReads: 'allowed', submitRuns: 'later', groupsFill: 'progressively' } },
  });
};

describe('a bank that puts the payments of a submitted instruction into their groups one by one', () => {
  it.each([1, 5])(
    'stops nothing, and the totals are compared once they are whole (%d payments)',
    async (rows) => {
      await start('2000');
      const id = await payroll.paid(payFile(payRows(rows)));
      await payroll.until(id, ['SETTLED'], 20_000);
      expect([await kinds(), await submitsOff()]).toEqual([[], false]);
    },
  );

  it('stops everything where they are still too few when the time for doubts is over', async () => {
    await start('4000');
    const reads = payroll.services[0]!.app.get(BankReads);
    const { instruction } = reads;
    jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
      const shown = await instruction.call(reads, ...asked);
      if (!shown?.groups?.[0]) return shown;
      return { ...shown, groups: [{ ...shown.groups[0], count: 1, totalMinor: 1n }] };
    });
    const id = await payroll.paid(payFile(payRows(5)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect([await kinds(), await submitsOff()]).toEqual([[], false]);
    await eventually(async () => (await kinds()).includes('TOTAL_MISMATCH_AFTER_SUBMIT'), 20_000);
    expect(await submitsOff()).toBe(true);
  });
});
