import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';
import { RUN_DECISION_NAMES, RUN_DECISIONS } from '../support/run-decisions';
import { Restoring } from '../support/restoring';

const EVIDENCE = 'letter of the bank, 4711: nobody submitted any of them';

let payroll: Payroll;
let restoring: Restoring;
beforeEach(async () => {
  restoring = await Restoring.start({ RECONCILE_MS: '2000' }, { linkReads: 'refused' });
  payroll = restoring.payroll;
});
afterEach(() => restoring.close());

type Run = Awaited<ReturnType<Payroll['uploaded']>>;

const runPath = (id: string) => payroll.path(`/pay-runs/${id}`);
const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const lapses = async () => (await payroll.attention()).filter(({ kind }) => kind === 'APPROVAL_LAPSED');

/** A run of four that is verified and held there. */
async function verified(): Promise<Run> {
  const run = await payroll.uploaded(payFile(payRows(4)));
  await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
  await payroll.approve(run);
  await payroll.until(run.id, ['VERIFIED'], 20_000);
  return run;
}

describe('a run that is verified in a restored backup, at a bank that lets no instruction be read, and', () => {
  it.each(RUN_DECISION_NAMES)(
    '%s since, pays nobody before it is approved again, once people resume by the word of the bank',
    async (what) => {
      const run = await verified();
      await restoring.backUp();
      await payroll.as('finance').post(`${runPath(run.id)}/stop`, { reason: 'a pause' });
      await payroll.clearFaults();
      await RUN_DECISIONS[what](payroll, run.id);
      await restoring.restore();
      const told = await restoring.answered();
      expect(told).toContain('does not let 2 instructions be read');
      expect(told).toContain('older approvals lapse when people resume');
      // What may be submitted is not given up before people have the word of the bank.
      expect(await lapses()).toEqual([]);
      expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
      await payroll.until(run.id, ['READY'], 20_000);
      expect((await lapses()).map(({ happened }) => happened)).toEqual([
        expect.stringContaining('Cancel or amend the run again'),
      ]);
      expect(await timesPaid()).toEqual([]);
      await payroll.approve(await payroll.run(run.id));
      await payroll.until(run.id, ['SETTLED'], 30_000);
      expect(await timesPaid()).toEqual([1, 1, 1, 1]);
      await payroll.reconcile();
      expect((await payroll.attention()).map(({ kind }) => kind)).toEqual([]);
    },
  );
});

describe('people who resume after a restore by the word of a bank that lets no instruction be read', () => {
  it('let a run go on that was approved again since', async () => {
    const run = await verified();
    await restoring.backUp();
    await restoring.restore();
    await restoring.answered();
    const amendment = { executionDate: payroll.executionDate(), reason: 'as it stands' };
    await payroll.as('preparer').post(`${runPath(run.id)}/amendments`, amendment);
    await payroll.until(run.id, ['READY'], 20_000);
    await payroll.approve(await payroll.run(run.id));
    await payroll.clearFaults();
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
    await payroll.until(run.id, ['SETTLED'], 30_000);
    expect(await lapses()).toEqual([]);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('let a run go on that was being submitted already', async () => {
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await restoring.backUp();
    await restoring.inBackup('UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
    await restoring.restore();
    expect(await restoring.answered()).toContain('does not let 2 instructions be read');
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
    await payroll.until(id, ['SETTLED'], 30_000);
    expect(await lapses()).toEqual([]);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  });

  it('give up nothing while another restore is not decided', async () => {
    const run = await verified();
    await restoring.backUp();
    await restoring.restore();
    await restoring.answered();
    const said = { reason: 'another copy was put back' };
    expect((await payroll.as('administrator').post('/v1/service/restored', said)).status).toBeLessThan(300);
    await eventually(async () => {
      const asked = (await payroll.attention()).filter(({ kind }) => kind === 'RESTORED');
      return asked.length === 2 && asked.every(({ happened }) => happened.includes('let 2 instructions'));
    }, 20_000);
    await payroll.clearFaults();
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect((await payroll.run(run.id)).status).toBe('VERIFIED');
    expect(await lapses()).toEqual([]);
    expect(await restoring.resume(EVIDENCE)).toBe('RESUMED');
    await payroll.until(run.id, ['READY'], 20_000);
    expect(await timesPaid()).toEqual([]);
  });
});
