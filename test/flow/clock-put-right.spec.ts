import { setTimeout as pause } from 'node:timers/promises';
import { WaitingRuns } from '../../src/schedule/waiting-runs';
import { select } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { MovedClock, Payroll } from '../support/payroll';
import { databaseWithClock, DatabaseWithClock } from '../support/set-clock-database';

const ADAY = '1 day';
const DAY_MS = 86_400_000;
/** The work list is looked through for times ahead twice a minute. */
const PUT_RIGHT_WITHIN_MS = 60_000;

describe('a database whose clock was a day ahead, and is put right', () => {
  let payroll: Payroll;
  let date: string;
  let kept: DatabaseWithClock;
  const clock = new MovedClock();
  beforeEach(async () => {
    kept = await databaseWithClock();
    ({ payroll, date } = await Payroll.startOnPayday({
      clock,
      database: kept.database,
      settings: { BANK_PATIENCE_MS: '2000' },
    }));
  });
  afterEach(async () => {
    clock.offsetMs = 0;
    jest.restoreAllMocks();
    await payroll.close();
  });

  /** Approved while the database's clock is ahead, which no replica trusts; due by now. */
  const approvedMeanwhile = async (submitAt?: string) => {
    const run = await payroll.uploaded(payFile(payRows(4)), {
      executionDate: date,
      ...(submitAt !== undefined && { submitAt }),
    });
    // Nobody holds the run when the clock goes wrong: it rests, unless what wakes it is believed.
    await pause(3_000);
    await kept.setAhead(ADAY);
    expect((await payroll.approve(run)).status).toBe(200);
    await kept.setAhead('0');
    return run.id;
  };

  it('still has submitted in time what was approved meanwhile', async () => {
    const id = await approvedMeanwhile(clock.now().toISOString());
    await eventually(
      async () => ['FOLLOWING', 'SETTLED'].includes((await payroll.run(id)).status),
      PUT_RIGHT_WITHIN_MS,
    );
  }, 150_000);

  it('has people asked in the last hour about what stands still since a time that is still to come', async () => {
    const id = await approvedMeanwhile(clock.now().toISOString());
    await payroll.stopServices();
    const service = await payroll.addReplica({ TICK_MS: String(DAY_MS) });
    payroll.url = service.url;
    clock.set(new Date(`${date}T15:30:00Z`));
    await service.app.get(WaitingRuns).tick();
    expect(await payroll.attention()).toMatchObject([{ kind: 'DUE_BUT_WAITING', payRunId: id }]);
  }, 150_000);

  it('still reads what became of what was submitted, and of what a dead holder held', async () => {
    const id = await payroll.paid(payFile(payRows(4)), {
      executionDate: date,
      submitAt: clock.now().toISOString(),
    });
    await payroll.until(id, ['FOLLOWING', 'SETTLED']);
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + DAY_MS);
    await kept.setAhead(ADAY);
    await payroll.wakeAll();
    await pause(2_000);
    jest.restoreAllMocks();
    await kept.setAhead('0');
    await eventually(async () => {
      const [ahead] = await select<{ count: number }>(
        payroll.database.superuserUrl,
        `SELECT count(*)::int AS count FROM lease
         WHERE coalesce(leased_until, wake_at) > pg_catalog.now() + interval '25 hours' AND wake_at < 'infinity'`,
      );
      return ahead?.count === 0 && (await payroll.run(id)).status === 'SETTLED';
    }, PUT_RIGHT_WITHIN_MS);
  }, 150_000);
});
