import { Client } from 'pg';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

describe('an initiation that is answered after its instruction was given up', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('does not take back the question that people were asked about it', async () => {
    payroll = await Payroll.start({ settings: { REBUILD_LIMIT: '1' } });
    const { superuserUrl } = payroll.database;
    const outcomes = async () =>
      (
        await select<{ outcome: string | null }>(
          superuserUrl,
          `SELECT outcome FROM bank_call WHERE operation = 'initiate' ORDER BY intended_at`,
        )
      ).map(({ outcome }) => outcome);
    await payroll.fault({ operation: 'add', kind: 'request-lost', every: 1 });
    await payroll.fault({ operation: 'initiate', kind: 'slow-drip', nth: 2, delayMs: 1 });
    const id = await payroll.paid(payFile(payRows(1)));
    await eventually(async () => (await outcomes()).length === 2, 15_000);
    // Its worker cannot write the answer down; another one overtakes it, and gives the second instruction up as well.
    const blocker = new Client({ connectionString: superuserUrl });
    await blocker.connect();
    await blocker.query('BEGIN; SELECT FROM bank_call WHERE outcome IS NULL FOR UPDATE');
    await payroll.stealLeases();
    await payroll.askedAbout(id, 'REBUILD_LIMIT');
    expect(await outcomes()).toEqual(['YES', null, 'YES']);
    await blocker.query('COMMIT');
    await blocker.end();
    await eventually(async () => !(await outcomes()).includes(null), 10_000);
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual(['REBUILD_LIMIT']);
  }, 60_000);
});
