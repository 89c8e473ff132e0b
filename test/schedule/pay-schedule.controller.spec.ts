import { newId } from '../../src/database/new-id';
import { showId } from '../../src/http/prefixed-id';
import { employerApi, scheduleApp } from './schedule-app';
import { bindRun, SetClock } from './schedules';

const TERMS = {
  dayOfMonth: 25,
  whenClosed: 'PREVIOUS',
  submitDaysBefore: 2,
  submitTime: '09:00',
  timeZone: 'Europe/Paris',
  firstPeriod: '2026-03',
};

const clock = new SetClock('2026-03-10T10:00:00Z');
let app: Awaited<ReturnType<typeof scheduleApp>>;

beforeAll(async () => {
  app = await scheduleApp(clock);
});

beforeEach(() => {
  clock.set('2026-03-10T10:00:00Z');
});

afterAll(() => app.close());

it('creates a schedule with its next periods, and enters it in the audit chain', async () => {
  const { call, accountId, personId } = await employerApi(app);
  const created = await call('post', 'schedules', { ...TERMS, accountId });
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    ...TERMS,
    id: expect.stringMatching(/^sch_[0-9a-f]{32}$/),
    accountId,
    kindOfPay: 'SALARY',
    active: true,
    createdBy: showId('per', personId),
    createdAt: '2026-03-10T10:00:00.000Z',
  });
  const { body } = await call('get', `schedules/${created.body.id}/periods`);
  expect(body).toEqual({
    items: [
      ['2026-05', '2026-05-25', '2026-05-21T07:00:00.000Z'],
      ['2026-04', '2026-04-24', '2026-04-22T07:00:00.000Z'],
      ['2026-03', '2026-03-25', '2026-03-23T08:00:00.000Z'],
    ].map(([period, executionDate, submitAt]) => ({
      period,
      executionDate,
      submitAt,
      payRunId: null,
      overdue: false,
    })),
    nextCursor: null,
  });
  const audit = await call('get', 'audit');
  expect(audit.body.items).toMatchObject([
    {
      action: 'pay-schedule.created',
      subject: created.body.id,
      person: showId('per', personId),
      detail: { accountId },
    },
  ]);
});

it("leaves out no month of a schedule by a clock that is ahead of the database's", async () => {
  const { call, accountId } = await employerApi(app);
  const aheadMs = 40 * 86_400_000;
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
  clock.set(new Date(Date.parse('2026-03-10T10:00:00Z') + aheadMs).toISOString());
  const created = await call('post', 'schedules', { ...TERMS, accountId });
  jest.restoreAllMocks();
  expect(created.body.createdAt).toMatch(/^2026-03-10T(09:59|10:00)/);
  const { body } = await call('get', `schedules/${created.body.id}/periods`);
  expect(body.items.map(({ period }: { period: string }) => period)).toEqual([
    '2026-05',
    '2026-04',
    '2026-03',
  ]);
});

it('takes the time zone of its employer where it names none, and keeps it', async () => {
  const { call, accountId, employerId } = await employerApi(app);
  await app.database.inEmployer(employerId, (tx) =>
    tx.query(`UPDATE employer SET time_zone = 'Europe/Athens'`),
  );
  const { timeZone: _timeZone, ...terms } = TERMS;
  const created = await call('post', 'schedules', { ...terms, accountId });
  expect(created.body).toMatchObject({ ...terms, timeZone: 'Europe/Athens' });
  const { body } = await call('get', `schedules/${created.body.id}/periods?limit=1`);
  expect(body.items[0].submitAt).toBe('2026-05-21T06:00:00.000Z');
});

it('keeps the last banking day as what it is', async () => {
  const { call, accountId } = await employerApi(app);
  const terms = { ...TERMS, accountId, dayOfMonth: 'LAST_BANKING_DAY', kindOfPay: 'BONUS' };
  const created = await call('post', 'schedules', terms);
  expect(created.body).toMatchObject(terms);
  const listed = await call('get', 'schedules');
  expect(listed.body).toEqual({ items: [created.body], nextCursor: null });
});

it.each<[string, object, string]>([
  ['day', { dayOfMonth: 32 }, '#/dayOfMonth'],
  ['day in words', { dayOfMonth: 'LAST_DAY' }, '#/dayOfMonth'],
  ['choice for closed days', { whenClosed: 'SAME' }, '#/whenClosed'],
  ['number of days', { submitDaysBefore: 21 }, '#/submitDaysBefore'],
  ['part of a day', { submitDaysBefore: 1.5 }, '#/submitDaysBefore'],
  ['time', { submitTime: '24:00' }, '#/submitTime'],
  ['time zone', { timeZone: 'Europe/Atlantis' }, '#/timeZone'],
  ['period', { firstPeriod: '2026-13' }, '#/firstPeriod'],
  ['kind of pay', { kindOfPay: 'salary!' }, '#/kindOfPay'],
  ['account', { accountId: 'acc_1' }, '#/accountId'],
  ['field', { colour: 'blue' }, '#/colour'],
])('refuses a %s that is none, and says where', async (_, change, pointer) => {
  const { call, accountId } = await employerApi(app);
  const { status, body } = await call('post', 'schedules', { ...TERMS, accountId, ...change });
  expect(status).toBe(422);
  expect(body).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ pointer }] });
  expect((await call('get', 'schedules')).body.items).toEqual([]);
});

it.each(['31', 'LAST', null])('says what a day of the month may be: not %j', async (dayOfMonth) => {
  const { call, accountId } = await employerApi(app);
  const { status, body } = await call('post', 'schedules', { ...TERMS, accountId, dayOfMonth });
  expect(status).toBe(422);
  expect(body.errors).toEqual([
    expect.objectContaining({
      pointer: '#/dayOfMonth',
      detail: 'must be a day from 1 to 31, or LAST_BANKING_DAY',
    }),
  ]);
});

it.each(['2027-04', '2062-03', '2169-12'])(
  'refuses a first period of which no month would be made for a year: %s',
  async (firstPeriod) => {
    const { call, accountId } = await employerApi(app);
    const { status, body } = await call('post', 'schedules', { ...TERMS, accountId, firstPeriod });
    expect([status, body.code, body.latest]).toEqual([422, 'FIRST_PERIOD_TOO_FAR', '2027-03']);
  },
);

it('refuses an account of another employer', async () => {
  const { call } = await employerApi(app);
  const { accountId } = await employerApi(app);
  const refused = await call('post', 'schedules', { ...TERMS, accountId });
  expect([refused.status, refused.body.code]).toEqual([422, 'ACCOUNT_UNKNOWN']);
});

it('refuses an account that the bank has closed', async () => {
  const { call, employerId, accountId } = await employerApi(app);
  await app.database.inEmployer(employerId, (tx) =>
    tx.query(`UPDATE employer_account SET bank_status = 'CLOSED'`),
  );
  const refused = await call('post', 'schedules', { ...TERMS, accountId });
  expect([refused.status, refused.body.code]).toEqual([409, 'ACCOUNT_IS_CLOSED']);
});

it('refuses a submit after the cut-off of its own execution date, and names both moments', async () => {
  const { call, accountId } = await employerApi(app);
  const late = { ...TERMS, accountId, submitDaysBefore: 0, submitTime: '16:00' };
  const { status, body } = await call('post', 'schedules', late);
  expect(status).toBe(422);
  expect(body).toMatchObject({
    code: 'SUBMIT_AT_TOO_LATE',
    period: '2026-03',
    submitAt: '2026-03-25T15:00:00.000Z',
    latest: '2026-03-25T15:00:00.000Z',
  });
  expect((await call('post', 'schedules', { ...late, submitTime: '15:59' })).status).toBe(201);
});

it('holds one active schedule of an account and kind of pay, and another one after it ended', async () => {
  const { call, accountId } = await employerApi(app);
  const first = await call('post', 'schedules', { ...TERMS, accountId });
  const second = await call('post', 'schedules', { ...TERMS, accountId, dayOfMonth: 1 });
  expect([second.status, second.body.code]).toEqual([409, 'SCHEDULE_EXISTS']);
  await call('patch', `schedules/${first.body.id}`, { active: false });
  expect((await call('post', 'schedules', { ...TERMS, accountId, dayOfMonth: 1 })).status).toBe(201);
});

it('creates one schedule for one idempotency key', async () => {
  const { call, accountId } = await employerApi(app);
  const post = () => call('post', 'schedules', { ...TERMS, accountId }).set('idempotency-key', 'first');
  const [created, replayed] = [await post(), await post()];
  expect([created.status, replayed.status]).toEqual([201, 201]);
  expect(replayed.body).toEqual(created.body);
});

it('has a limit on active schedules of an employer', async () => {
  const { call, accountId, employerId, personId } = await employerApi(app);
  await app.database.inEmployer(employerId, (tx) =>
    tx.query(
      `INSERT INTO pay_schedule (employer_id, id, account_id, kind_of_pay, when_closed, submit_days_before,
         submit_time, time_zone, first_period, created_by)
       SELECT $1, gen_random_uuid(), id, 'KIND' || n, 'NEXT', 1, '09:00', 'UTC', '2030-01', $2
       FROM employer_account, generate_series(1, 100) n WHERE employer_id = $1`,
      [employerId, personId],
    ),
  );
  const refused = await call('post', 'schedules', { ...TERMS, accountId });
  expect([refused.status, refused.body.code]).toEqual([409, 'TOO_MANY_SCHEDULES']);
});

it('ends a schedule once, whoever asks again, and changes nothing else of it', async () => {
  const { call, accountId } = await employerApi(app);
  const created = await call('post', 'schedules', { ...TERMS, accountId });
  const path = `schedules/${created.body.id}`;
  const ended = await call('patch', path, { active: false });
  expect([ended.status, ended.body]).toEqual([200, { ...created.body, active: false }]);
  expect((await call('patch', path, { active: false })).body).toEqual(ended.body);
  const audit = await call('get', 'audit');
  expect(audit.body.items.map((entry: { action: string }) => entry.action)).toEqual([
    'pay-schedule.deactivated',
    'pay-schedule.created',
  ]);
  expect((await call('patch', path, { active: true })).status).toBe(422);
  expect((await call('patch', path, { active: false, dayOfMonth: 3 })).status).toBe(422);
});

it('says that a period is overdue when its submit has passed without an approved run, while the schedule is active', async () => {
  const { call, accountId, employerId } = await employerApi(app);
  const { body: schedule } = await call('post', 'schedules', { ...TERMS, accountId });
  const overdue = async () => {
    const { body } = await call('get', `schedules/${schedule.id}/periods`);
    return body.items
      .filter((one: { overdue: boolean }) => one.overdue)
      .map((one: { period: string }) => one.period);
  };
  clock.set('2026-03-23T07:59:59Z');
  expect(await overdue()).toEqual([]);
  clock.set('2026-04-22T07:00:00Z');
  expect(await overdue()).toEqual(['2026-04', '2026-03']);
  const payRunId = showId('run', await bindRun(app.database, employerId, '2026-03'));
  expect(await overdue()).toEqual(['2026-04', '2026-03']);
  for (const status of ['READY', 'APPROVED'])
    await app.database.inEmployer(employerId, (tx) => tx.query('UPDATE pay_run SET status = $1', [status]));
  expect(await overdue()).toEqual(['2026-04']);
  const { body: periods } = await call('get', `schedules/${schedule.id}/periods`);
  expect(periods.items.at(-1)).toMatchObject({ period: '2026-03', payRunId });
  await call('patch', `schedules/${schedule.id}`, { active: false });
  expect(await overdue()).toEqual([]);
});

it('asks nobody any more about the periods of a schedule that was ended', async () => {
  const { call, accountId, employerId } = await employerApi(app);
  const { body: schedule } = await call('post', 'schedules', { ...TERMS, accountId });
  clock.set('2026-03-24T10:00:00Z');
  const open = () =>
    app.database.inEmployer(employerId, (tx) => tx.query('SELECT FROM attention WHERE resolved_at IS NULL'));
  await app.overdue.tick();
  expect(await open()).toHaveLength(1);
  await call('patch', `schedules/${schedule.id}`, { active: false });
  expect(await open()).toEqual([]);
});

it('gives schedules and periods out page by page', async () => {
  const { call, accountId } = await employerApi(app);
  const ids: string[] = [];
  for (const kindOfPay of ['A', 'B', 'C']) {
    ids.unshift((await call('post', 'schedules', { ...TERMS, accountId, kindOfPay })).body.id);
    clock.set(new Date(clock.now().getTime() + 1).toISOString());
  }
  const first = await call('get', 'schedules?limit=2');
  const second = await call('get', `schedules?limit=2&cursor=${first.body.nextCursor}`);
  expect([...first.body.items, ...second.body.items].map(({ id }) => id)).toEqual(ids);
  expect(second.body.nextCursor).toBeNull();
  const [newest] = ids;
  const later = await call('get', `schedules/${newest}/periods?limit=2`);
  const earlier = await call('get', `schedules/${newest}/periods?limit=2&cursor=${later.body.nextCursor}`);
  expect(later.body.items.map(({ period }: { period: string }) => period)).toEqual(['2026-05', '2026-04']);
  expect(earlier.body.items.map(({ period }: { period: string }) => period)).toEqual(['2026-03']);
  expect((await call('get', `schedules/${newest}/periods?cursor=abc`)).body.code).toBe('CURSOR_INVALID');
});

it('lets everybody with a role read, and operators alone write', async () => {
  const { call, accountId } = await employerApi(app, 'preparer');
  expect((await call('get', 'schedules')).status).toBe(200);
  expect((await call('post', 'schedules', { ...TERMS, accountId })).status).toBe(403);
  expect((await call('patch', `schedules/${showId('sch', newId())}`, { active: false })).status).toBe(403);
});

it('does not know schedules of another employer', async () => {
  const owner = await employerApi(app);
  const { body: schedule } = await owner.call('post', 'schedules', { ...TERMS, accountId: owner.accountId });
  const stranger = await employerApi(app);
  const read = await stranger.call('get', `schedules/${schedule.id}/periods`);
  const ended = await stranger.call('patch', `schedules/${schedule.id}`, { active: false });
  expect([read.status, read.body.code]).toEqual([404, 'SCHEDULE_NOT_FOUND']);
  expect([ended.status, ended.body.code]).toEqual([404, 'SCHEDULE_NOT_FOUND']);
  expect((await owner.call('get', 'schedules')).body.items).toMatchObject([{ active: true }]);
});

it('describes its routes', () => {
  const { paths } = app.document();
  expect(Object.keys(paths).filter((path) => path.includes('schedules'))).toEqual([
    '/v1/employers/{employerId}/schedules',
    '/v1/employers/{employerId}/schedules/{scheduleId}',
    '/v1/employers/{employerId}/schedules/{scheduleId}/periods',
  ]);
});
