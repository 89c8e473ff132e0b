import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

describe('an initiation that is answered after its instruction was given up', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('does not take back the question that people were asked about it', async () => {
    payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '1', BANK_TIMEOUT_MS: '20000' } });
    const initiated = () =>
      select<{ outcome: string | null }>(
        payroll.database.superuserUrl,
        `SELECT outcome FROM bank_call WHERE operation = 'initiate' ORDER BY intended_at`,
      );
    await payroll.fault({ operation: 'add', kind: 'request-lost', every: 1 });
    await payroll.fault({ operation: 'initiate', kind: 'slow-drip', nth: 2, delayMs: 5 });
    const id = await payroll.paid(payFile(payRows(1)));
    await eventually(async () => (await initiated()).length === 2, 15_000);
    // Its worker is overtaken, and the other one gives the second instruction up as well.
    await payroll.stealLeases();
    await payroll.askedAbout(id, 'REBUILD_LIMIT');
    expect((await initiated()).map(({ outcome }) => outcome)).toEqual(['YES', null, 'YES']);
    await eventually(async () => (await initiated()).every(({ outcome }) => outcome === 'YES'), 20_000);
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual(['REBUILD_LIMIT']);
  }, 60_000);
});
