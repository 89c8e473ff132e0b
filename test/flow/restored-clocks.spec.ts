import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { FRANK, Restoring } from '../support/restoring';
import { DatabaseWithClock, databaseWithClock } from '../support/set-clock-database';

let kept: DatabaseWithClock;
let payroll: Payroll;
let restoring: Restoring;
beforeEach(async () => {
  kept = await databaseWithClock();
  payroll = await Payroll.start({
    rowsPerInstruction: 2,
    paidBefore: true,
    database: kept.database,
    sandbox: { variants: { ...FRANK } },
    settings: { BANK_TIMEOUT_MS: '1000' },
  });
  restoring = new Restoring(payroll);
});
afterEach(() => restoring.close());

const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const markIs = (what: string) =>
  eventually(async () => {
    const [mark] = await restoring.stored<{ is: boolean }>(
      `SELECT ${what} AS is FROM (SELECT max(seen_at) AS seen_at FROM restore_mark) AS mark`,
    );
    return mark?.is === true;
  }, 90_000);

describe('a database that is restored, and whose clock was three days ahead once', () => {
  const forgotten = async () => {
    await payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 30_000);
    await restoring.restore();
    expect(await restoring.answered()).toContain('Forgotten');
    const { held } = (await payroll.upload(payFile(payRows(4)))).data;
    expect(held.holds).toMatchObject({ RUN_MAY_BE_FORGOTTEN: 1 });
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  };

  it('has all found that it has forgotten, though its last sign of life is dated ahead', async () => {
    await restoring.backUp();
    await restoring.inBackup("UPDATE restore_mark SET seen_at = pg_catalog.now() + interval '3 days'");
    await forgotten();
  }, 240_000);

  it('is marked anew once the clock is right, which is all that anybody can tell by later', async () => {
    await kept.setAhead('3 days');
    await markIs("seen_at > pg_catalog.now() + interval '2 days'");
    await kept.setAhead('0');
    await markIs('seen_at <= pg_catalog.now()');
    await restoring.backUp();
    await forgotten();
  }, 240_000);
});

describe('a database that is restored on a server whose clock is an hour behind that of the lost one', () => {
  /** A run that is approved in the backup and cancelled since. */
  const cancelledSince = async (): Promise<string> => {
    await kept.setAhead('1 hour');
    const run = await payroll.uploaded(payFile(payRows(4)));
    expect((await payroll.approve(run)).status).toBe(200);
    await restoring.backUp();
    const path = payroll.path(`/pay-runs/${run.id}`);
    await payroll.as('preparer').post(`${path}/cancellation`, { reason: 'wrong file' });
    await kept.setAhead('0');
    await payroll.until(run.id, ['CANCELLED'], 30_000);
    return run.id;
  };
  const resumed = async () => {
    await restoring.restore();
    await restoring.answered();
    expect(await restoring.resume('letter 4711')).toBe('RESUMED');
  };

  it('pays nobody by an approval that may have been taken back since', async () => {
    const id = await cancelledSince();
    await resumed();
    await payroll.askedAbout(id, 'APPROVAL_LAPSED');
    await payroll.until(id, ['READY'], 30_000);
    expect(await timesPaid()).toEqual([]);
    // What people approve since is newer, though the lost server dated its last an hour later.
    await payroll.approve(await payroll.run(id));
    // At a bank that does not show its instructions it stays stopped, as one that may be of a run forgotten too.
    await payroll.letRunsGoOn();
    await payroll.until(id, ['SETTLED'], 30_000);
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  }, 240_000);

  it('pays nobody whom another run paid since in its stead', async () => {
    const id = await cancelledSince();
    await payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 60_000);
    await resumed();
    expect((await payroll.run(id)).stopped).toMatchObject({ reason: 'RESTORED_UNCLEAR' });
    expect(await timesPaid()).toEqual([1, 1, 1, 1]);
  }, 240_000);
});

describe('a restore that is noticed while the clock is two hours ahead, which is put right then', () => {
  it('is held against the bank all the same', async () => {
    await restoring.backUp();
    await payroll.until(await payroll.paid(payFile(payRows(4))), ['SETTLED'], 30_000);
    await payroll.fault({ operation: 'listPaymentTransactions', kind: '500-before', every: 1 });
    await restoring.restore();
    await restoring.change("UPDATE database_restore SET noticed_at = noticed_at + interval '2 hours'");
    await payroll.clearFaults();
    expect(await restoring.answered()).toContain('Forgotten');
  });
});
