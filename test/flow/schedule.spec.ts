import { OverduePeriods } from '../../src/schedule/overdue-periods';
import { PeriodMaker } from '../../src/schedule/period-maker';
import { payFile, payRows } from '../support/pay-rows';
import { MovedClock, Payroll } from '../support/payroll';

const DAY_MS = 86_400_000;

describe('two scheduled periods on moved clocks, with two replicas ticking', () => {
  let payroll: Payroll;
  let clock: MovedClock;
  beforeAll(async () => {
    clock = new MovedClock();
    payroll = await Payroll.start({ clock });
    await payroll.addReplica();
  });
  afterAll(() => payroll.close());

  const makePeriods = () =>
    Promise.all(payroll.services.flatMap(({ app }) => [1, 2, 3].map(() => app.get(PeriodMaker).tick())));

  it('make exactly two runs, each submitted when it is due and not before', async () => {
    const firstPeriod = nextMonth(payroll.clock.now());
    const created = await payroll.as('operator').post(payroll.path('/schedules'), {
      accountId: payroll.account,
      dayOfMonth: 'LAST_BANKING_DAY',
      whenClosed: 'PREVIOUS',
      submitDaysBefore: 1,
      submitTime: '09:00',
      timeZone: 'UTC',
      firstPeriod,
    });
    expect(created.status).toBe(201);
    const rows = payRows(6);
    const runs: string[] = [];
    for (let month = 0; month < 2; month += 1) {
      await makePeriods();
      const periods = (
        await payroll.as('operator').get(payroll.path(`/schedules/${created.data.id}/periods`))
      ).data.items;
      const due = periods.find((one: { payRunId: string | null }) => one.payRunId === null);
      const upload = () =>
        payroll.as('preparer').post(payroll.path('/pay-files'), payFile(rows), {
          headers: { 'content-type': 'text/csv' },
          params: { period: due.period },
        });
      clock.set(new Date(Date.parse(due.submitAt) - 2 * DAY_MS));
      const answers = await Promise.all([upload(), upload()]);
      expect(answers.map((answer) => answer.status)).toEqual([201, 201]);
      const run = answers[0].data;
      expect(answers[1].data.id).toBe(run.id);
      expect(run).toMatchObject({ executionDate: due.executionDate, period: due.period });
      expect((await payroll.approve(run)).status).toBeLessThan(300);
      await new Promise((resolve) => setTimeout(resolve, 400));
      expect((await payroll.run(run.id)).status).toBe('APPROVED');
      clock.set(new Date(Date.parse(due.submitAt) + 1_000));
      await payroll.bankClock(clock.now());
      await payroll.until(run.id, ['FOLLOWING', 'SETTLED'], 30_000);
      await payroll.bankClock(new Date(`${due.executionDate}T12:00:00Z`));
      clock.set(new Date(`${due.executionDate}T12:00:00Z`));
      await payroll.until(run.id, ['SETTLED'], 30_000);
      runs.push(run.id);
    }
    await makePeriods();
    const listed = (await payroll.as('finance').get(payroll.path('/pay-runs'))).data.items;
    expect(listed.map((run: { id: string }) => run.id).sort()).toEqual([...runs].sort());
    const { payees } = await payroll.ledger();
    expect(payees.map((payee) => payee.count)).toEqual(rows.map(() => 2));
  });

  it('a period that has a run takes no second one', async () => {
    const periods = await payroll.as('operator').get(payroll.path('/schedules'));
    const schedule = periods.data.items[0];
    const bound = (
      await payroll.as('operator').get(payroll.path(`/schedules/${schedule.id}/periods`))
    ).data.items.find((one: { payRunId: string | null }) => one.payRunId !== null);
    const other = await payroll.as('preparer').post(payroll.path('/pay-files'), payFile(payRows(2, 900)), {
      headers: { 'content-type': 'text/csv' },
      params: { period: bound.period },
    });
    expect(other.data.code).toBe('PERIOD_HAS_A_RUN');
  });
});

describe('a scheduled period whose run nobody approved in time', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({ clock: new MovedClock() });
  });
  afterEach(() => payroll.close());

  const told = async () => {
    await payroll.services[0]!.app.get(OverduePeriods).tick();
    return asked();
  };
  const asked = async () => (await payroll.attention()).map(({ kind, payRunId }) => ({ kind, payRunId }));
  const overdue = (payRunId: string | null) => ({ kind: 'PERIOD_OVERDUE', payRunId });

  it('is told to people until it is approved, or anew without a run once that is cancelled', async () => {
    const { data: schedule } = await payroll.as('operator').post(payroll.path('/schedules'), {
      accountId: payroll.account,
      dayOfMonth: 'LAST_BANKING_DAY',
      whenClosed: 'PREVIOUS',
      submitDaysBefore: 1,
      submitTime: '09:00',
      timeZone: 'UTC',
      firstPeriod: nextMonth(payroll.clock.now()),
    });
    const periods = async () =>
      (await payroll.as('operator').get(payroll.path(`/schedules/${schedule.id}/periods`))).data.items;
    const first = (await periods()).at(-1);
    payroll.clock.set(new Date(Date.parse(first.submitAt) - DAY_MS));
    const uploaded = () =>
      payroll.as('preparer').post(payroll.path('/pay-files'), payFile(payRows(3)), {
        headers: { 'content-type': 'text/csv' },
        params: { period: first.period },
      });
    const { data: cancelled } = await uploaded();
    expect(await told()).toEqual([]);
    payroll.clock.set(new Date(Date.parse(first.submitAt) + 1_000));
    await payroll.bankClock(payroll.clock.now());
    expect(await told()).toEqual([overdue(cancelled.id)]);
    await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${cancelled.id}/cancellation`), { reason: 'wrong file' });
    expect(await asked()).toEqual([]);
    expect(await told()).toEqual([overdue(null)]);
    const { data: run } = await uploaded();
    expect(await told()).toEqual([overdue(run.id)]);
    expect((await periods()).at(-1)).toMatchObject({ payRunId: run.id, overdue: true });
    expect((await payroll.approve(run)).status).toBeLessThan(300);
    expect(await asked()).toEqual([]);
    expect((await periods()).at(-1)).toMatchObject({ payRunId: run.id, overdue: false });
    await payroll.until(run.id, ['FOLLOWING', 'SETTLED'], 30_000);
    expect(await told()).toEqual([]);
  });

  it('is not said to have no run once the run that came late is approved', async () => {
    const terms = { whenClosed: 'PREVIOUS', submitDaysBefore: 1, submitTime: '09:00', timeZone: 'UTC' };
    const { data: schedule } = await payroll.as('operator').post(payroll.path('/schedules'), {
      ...terms,
      accountId: payroll.account,
      dayOfMonth: 'LAST_BANKING_DAY',
      firstPeriod: nextMonth(payroll.clock.now()),
    });
    const periods = await payroll.as('operator').get(payroll.path(`/schedules/${schedule.id}/periods`));
    const first = periods.data.items.at(-1);
    payroll.clock.set(new Date(Date.parse(first.submitAt) + 1_000));
    await payroll.bankClock(payroll.clock.now());
    expect(await told()).toEqual([overdue(null)]);
    const { data: run } = await payroll.as('preparer').post(payroll.path('/pay-files'), payFile(payRows(3)), {
      headers: { 'content-type': 'text/csv' },
      params: { period: first.period },
    });
    expect(await asked()).toEqual([overdue(null)]);
    expect((await payroll.approve(run)).status).toBeLessThan(300);
    expect(await asked()).toEqual([]);
  });
});

function nextMonth(now: Date): string {
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
  return first.toISOString().slice(0, 7);
}
