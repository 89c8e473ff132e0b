import { Logger } from '@nestjs/common';
import { newId } from '../../src/database/new-id';
import { PaySchedule } from '../../src/pay-run/pay-schedule.entity';
import { testConfig } from '../http/test-app';
import { execute, testDatabase, TestDatabase } from '../support/database';
import {
  makeEmployerWithAccount,
  makeSchedule,
  openReplica,
  periodsOf,
  Replica,
  SetClock,
  TERMS,
} from './schedules';

const CONFIG = testConfig({ BANK_CLOSED_DAYS: '2026-06-25' });
const clock = new SetClock('2026-03-10T10:00:00Z');
let store: TestDatabase;
let one: Replica;
let other: Replica;

beforeEach(async () => {
  clock.set('2026-03-10T10:00:00Z');
  store = await testDatabase();
  one = await openReplica(store.url, clock, CONFIG);
  other = await openReplica(store.url, clock, CONFIG);
});

afterEach(async () => {
  await one.dataSource.destroy();
  await other.dataSource.destroy();
  await store.drop();
});

const months = async (schedule: PaySchedule) =>
  (await periodsOf(one.database, schedule)).map(({ period }) => period);

/** Binds a run of no rows to a month of a schedule. */
async function bindRun({ id }: PaySchedule, period: string) {
  await execute(
    store.superuserUrl,
    `WITH run AS (
       INSERT INTO pay_run (employer_id, id, account_id, period, kind_of_pay, execution_date, status, row_count,
         total_minor, currency, schedule_id, created_by)
       SELECT p.employer_id, gen_random_uuid(), s.account_id, p.period, s.kind_of_pay, p.execution_date, 'DRAFT', 0,
         0, 'EUR', s.id, s.created_by
       FROM schedule_period p JOIN pay_schedule s ON s.id = p.schedule_id
       WHERE s.id = $1 AND p.period = $2 RETURNING id)
     UPDATE schedule_period SET pay_run_id = (SELECT id FROM run) WHERE schedule_id = $1 AND period = $2`,
    [id, period],
  );
}

it("makes and moves nothing by a clock that is not the database's", async () => {
  const schedule = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
  expect([await one.maker.tick(), await months(schedule)]).toEqual([0, []]);
  jest.restoreAllMocks();
  expect(await one.maker.tick()).toBeGreaterThan(0);
});

it('makes one row of each month, however often and in however many processes', async () => {
  const schedules = [
    await makeSchedule(one.database, '2026-03-10T10:00:00Z'),
    await makeSchedule(one.database, '2026-03-10T10:00:00Z', { dayOfMonth: null }),
  ];
  let made = 0;
  for (const month of ['2026-03', '2026-04', '2026-05']) {
    clock.set(`${month}-10T10:00:00Z`);
    for (let round = 0; round < 20; round += 1) {
      const counts = await Promise.all([
        one.maker.tick(),
        other.maker.tick(),
        one.maker.tick(),
        other.maker.tick(),
      ]);
      made += counts.reduce((sum, count) => sum + count, 0);
    }
  }
  for (const schedule of schedules) {
    expect(await months(schedule)).toEqual(['2026-03', '2026-04', '2026-05', '2026-06', '2026-07']);
  }
  expect(made).toBe(10);
});

it('gives each month the dates of its terms, around Easter and the closed days of this bank', async () => {
  const schedule = await makeSchedule(one.database, '2026-03-10T10:00:00Z', {
    dayOfMonth: 6,
    submitDaysBefore: 1,
  });
  const june = await makeSchedule(one.database, '2026-06-01T10:00:00Z');
  clock.set('2026-04-01T00:00:00Z');
  await one.maker.tick();
  expect(await periodsOf(one.database, schedule)).toMatchObject([
    // Easter Monday: Thursday before, submitted on the Wednesday.
    {
      period: '2026-04',
      executionDate: '2026-04-02',
      submitAt: new Date('2026-04-01T07:00:00Z'),
      payRunId: null,
    },
    { period: '2026-05', executionDate: '2026-05-06', submitAt: new Date('2026-05-05T07:00:00Z') },
    { period: '2026-06', executionDate: '2026-06-05', submitAt: new Date('2026-06-04T07:00:00Z') },
  ]);
  expect(await periodsOf(one.database, june)).toMatchObject([
    {
      period: '2026-06',
      executionDate: '2026-06-24',
      submitAt: new Date('2026-06-22T07:00:00Z'),
      createdAt: clock.now(),
    },
  ]);
});

it('moves the months without a run, once, when a closed day of the bank is learnt, and no month that has one', async () => {
  const schedule = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  await one.maker.tick();
  const [march, april, may] = await periodsOf(one.database, schedule);
  await bindRun(schedule, '2026-05');
  const learnt = testConfig({ BANK_CLOSED_DAYS: '2026-04-24,2026-05-25' });
  const replicas = [await openReplica(store.url, clock, learnt), await openReplica(store.url, clock, learnt)];
  const moved = await Promise.all(replicas.map(({ maker }) => maker.tick()));
  for (const { dataSource } of replicas) await dataSource.destroy();
  expect(moved.sort()).toEqual([0, 1]);
  expect(await periodsOf(one.database, schedule)).toEqual([
    march,
    { ...april, executionDate: '2026-04-23', submitAt: new Date('2026-04-21T07:00:00Z') },
    { ...may, payRunId: expect.any(String) },
  ]);
});

it('makes no more months of a schedule that was deactivated', async () => {
  const ended = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  const going = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  await one.maker.tick();
  await one.database.inEmployer(ended.employerId, (tx) => tx.query('UPDATE pay_schedule SET active = false'));
  clock.set('2026-05-10T10:00:00Z');
  await one.maker.tick();
  expect(await months(ended)).toEqual(['2026-03', '2026-04', '2026-05']);
  expect(await months(going)).toHaveLength(5);
});

it('waits for a deactivation that is under way, and then makes nothing', async () => {
  const schedule = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  let tick: Promise<number> | undefined;
  await one.database.inEmployer(schedule.employerId, async (tx) => {
    await tx.query('UPDATE pay_schedule SET active = false');
    tick = other.maker.tick();
    await new Promise((resolve) => setTimeout(resolve, 200));
  });
  expect(await tick).toBe(0);
  expect(await months(schedule)).toEqual([]);
});

it('makes the months of the others when those of one employer fail, and tells', async () => {
  const broken = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  const whole = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  await execute(store.superuserUrl, `UPDATE pay_schedule SET time_zone = 'Nowhere' WHERE id = $1`, [
    broken.id,
  ]);
  await expect(one.maker.tick()).rejects.toMatchObject({
    message: 'the work failed for 1 employers',
    cause: { code: 'TIME_ZONE_UNKNOWN' },
  });
  expect(await months(whole)).toHaveLength(3);
});

it('reaches every employer, also beyond what is read at once', async () => {
  const { personId } = await makeEmployerWithAccount(one.database);
  await execute(
    store.superuserUrl,
    `WITH e AS (INSERT INTO employer (id, name, time_zone)
         SELECT gen_random_uuid(), 'E' || n, 'Europe/Paris' FROM generate_series(1, 501) n RETURNING id),
       a AS (INSERT INTO employer_account (employer_id, id, bank_account_id, bank_user_id, debtor_name, iban_sealed,
           iban_hash, currency, bank_status)
         SELECT id, id, id, '7', 'E', 'sealed', '\\x00', 'EUR', 'OPENED' FROM e RETURNING employer_id)
     SELECT count(*) FROM a`,
  );
  await execute(
    store.superuserUrl,
    `INSERT INTO pay_schedule (employer_id, id, account_id, kind_of_pay, day_of_month, when_closed,
       submit_days_before, submit_time, time_zone, first_period, created_by, created_at)
     SELECT employer_id, id, id, 'SALARY', 25, 'PREVIOUS', 2, '09:00', 'Europe/Paris', '2026-05', $1, '2026-03-10'
     FROM employer_account WHERE bank_user_id = '7' AND id = employer_id`,
    [personId],
  );
  expect(await one.maker.tick()).toBe(501);
});

it('makes months for its transaction’s employer only', async () => {
  const mine = await makeSchedule(one.database, '2026-03-10T10:00:00Z');
  const theirs = await makeSchedule(one.database, '2026-03-10T10:00:00Z', { ...TERMS, id: newId() });
  await one.database.inEmployer(mine.employerId, (tx) => one.maker.makePeriods(tx));
  expect(await months(mine)).toHaveLength(3);
  expect(await months(theirs)).toHaveLength(0);
});
