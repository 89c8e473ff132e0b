import { SchedulerRegistry } from '@nestjs/schedule';
import { Test, TestingModule } from '@nestjs/testing';
import { BankModule } from '../../src/bank/bank.module';
import { Clock } from '../../src/config/clock';
import { ConfigModule } from '../../src/config/config.module';
import { Database } from '../../src/database/database';
import { DatabaseAway, NotDurable } from '../../src/database/outage';
import { DatabaseModule } from '../../src/database/database.module';
import { Fenced, Leases, wake } from '../../src/database/leases';
import { newId } from '../../src/database/new-id';
import { ENTITIES } from '../../src/entities';
import { HttpModule } from '../../src/http/http.module';
import { ScheduleModule } from '../../src/schedule/schedule.module';
import { AccountWatch } from '../../src/settlement/account-watch';
import { FollowService } from '../../src/settlement/follow.service';
import { SubmissionService } from '../../src/submission/submission.service';
import { testConfig } from '../http/test-app';
import { execute, select, testDatabase, TestDatabase } from '../support/database';
import { makeSchedule, periodsOf, SetClock } from './schedules';
import { eventually } from '../support/eventually';

const clock = new SetClock('2026-03-10T10:00:00Z');
let store: TestDatabase;

beforeAll(async () => {
  store = await testDatabase();
});

afterAll(() => store.drop());

function replica(): Promise<TestingModule> {
  const config = testConfig({ DATABASE_URL: store.url, TICK_MS: '20' });
  return Test.createTestingModule({
    imports: [
      ConfigModule.with(config),
      DatabaseModule.with(ENTITIES),
      HttpModule.with([DatabaseAway, Fenced], [NotDurable]),
      BankModule,
      ScheduleModule,
    ],
  })
    .overrideProvider(Clock)
    .useValue(clock)
    .compile();
}

it('makes periods and partitions when it starts, in two replicas at once, and stops with its application', async () => {
  const replicas = [await replica(), await replica()];
  const [database] = replicas.map((one) => one.get(Database));
  const schedule = await makeSchedule(database!, '2026-03-10T10:00:00Z');
  await execute(
    store.superuserUrl,
    `DO $$ BEGIN EXECUTE 'DROP TABLE bank_call_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMM'); END $$`,
  );
  const partition = () =>
    database!.outsideEmployers((tx) =>
      tx.query<{ made: boolean }>(
        `SELECT to_regclass('bank_call_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMM')) IS NOT NULL AS made`,
      ),
    );
  await Promise.all(replicas.map((one) => one.init()));
  expect((await partition())[0]?.made).toBe(true);
  await eventually(async () => (await periodsOf(database!, schedule)).length > 0, 5_000);
  expect((await periodsOf(database!, schedule)).map(({ period }) => period)).toEqual([
    '2026-03',
    '2026-04',
    '2026-05',
  ]);
  await Promise.all(replicas.map((one) => one.close()));
});

it('looks for work at the bank at the interval of the configuration, and drains it in the end', async () => {
  const started = await replica();
  const workers = [
    started.get(SubmissionService, { strict: false }),
    started.get(FollowService, { strict: false }),
    started.get(AccountWatch, { strict: false }),
  ];
  const ticks = workers.map((worker) => jest.spyOn(worker, 'tick'));
  const drains = workers.map((worker) => jest.spyOn(worker, 'drain'));
  await started.init();
  await eventually(() => ticks.every((tick) => tick.mock.calls.length >= 3), 5_000);
  expect(started.get(SchedulerRegistry, { strict: false }).getIntervals()).toEqual([
    'partitions',
    'clock',
    'times ahead',
    'restores',
    'leased work',
    'unsent submits',
    'hook',
    'reconciler',
    'pay periods',
    'overdue periods',
    'waiting runs',
    'idempotency keys',
    'refused files',
  ]);
  await started.close();
  expect(drains.every((drain) => drain.mock.calls.length > 0)).toBe(true);
  const after = ticks.map((tick) => tick.mock.calls.length);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(ticks.map((tick) => tick.mock.calls.length)).toEqual(after);
});

it('begins no transaction at a tick at which nothing is due, and claims only the kinds of which something is', async () => {
  const started = await replica();
  const database = started.get(Database);
  const asked = jest.spyOn(database, 'ask');
  const transactions = (['asWorker', 'inEmployer', 'outsideEmployers'] as const).map((door) =>
    jest.spyOn(database, door),
  );
  const begun = () => transactions.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  await started.init();
  const ticks = async (count: number) => {
    const enough = asked.mock.calls.length + 2 * count;
    await eventually(() => asked.mock.calls.length >= enough, 5_000);
  };
  // What is done at the start and then seldom.
  await eventually(async () => {
    const before = begun();
    await ticks(10);
    return begun() === before;
  }, 5_000);
  const claim = jest.spyOn(started.get(Leases), 'claim');
  const schedule = await makeSchedule(database, '2026-03-10T10:00:00Z');
  await ticks(2);
  expect(claim).not.toHaveBeenCalled();
  const account = newId();
  await database.inEmployer(schedule.employerId, async (tx) => wake(tx, 'ACCOUNT', [account]));
  // What asks is not only what claims.
  await eventually(() => claim.mock.calls.length > 0, 5_000);
  await ticks(2);
  expect(claim.mock.calls.map(([kind]) => kind)).toEqual(['ACCOUNT']);
  await eventually(async () => {
    const [row] = await select(store.superuserUrl, 'SELECT epoch, holder, wake_at FROM lease');
    return row?.epoch === '1' && row.holder === null;
  }, 5_000);
  await started.close();
});
