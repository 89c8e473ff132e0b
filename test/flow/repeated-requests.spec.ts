import { Database } from '../../src/database/database';
import { DatabaseAway } from '../../src/database/outage';
import { Onboarding } from '../../src/employer/onboarding';
import { notFound } from '../../src/http/prefixed-id';
import { People } from '../../src/identity/people.service';
import { monthsAfter } from '../../src/schedule/period-dates';
import { execute, LEAVES_UNANSWERED, select, TestDatabase, testDatabase } from '../support/database';
import { DatabaseProxy } from '../support/database-proxy';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

let database: TestDatabase;
let proxy: DatabaseProxy;
let payroll: Payroll;
let bankAccountId: string;
beforeAll(async () => {
  database = await testDatabase();
  proxy = await DatabaseProxy.start(database.url);
  payroll = await Payroll.start({
    database: { ...database, url: proxy.through(database.url) },
    replicas: 2,
    settings: { PUBLIC_URL: 'http://127.0.0.1:9' },
  });
  const accounts = 'SELECT bank_account_id AS id FROM employer_account';
  [{ id: bankAccountId }] = (await select<{ id: string }>(payroll.database.superuserUrl, accounts)) as [
    { id: string },
  ];
});
afterAll(async () => {
  await payroll?.close();
  await proxy?.stop();
});

const reason = 'it is not wanted any more';
const schedule = async () => ({
  dayOfMonth: 25,
  whenClosed: 'PREVIOUS',
  submitDaysBefore: 2,
  submitTime: '09:00',
  timeZone: 'Europe/Paris',
  firstPeriod: monthsAfter(payroll.executionDate().slice(0, 7), 2),
  kindOfPay: 'OTHER',
  accountId: await accountId(),
});
const accountId = async () =>
  (await payroll.as('operator').get(payroll.path('/accounts'))).data.items[0].id as string;
const detach = async (id: string) =>
  payroll.as('operator').post(payroll.path(`/accounts/${id}/detachment`), { reason });

/** What of an employer another person may undo: where it is asked for, with what, and how it is undone. */
const UNDONE: {
  what: string;
  role: 'operator' | 'preparer';
  path: () => Promise<string>;
  body: () => Promise<Record<string, unknown>>;
  undo: (path: string, made: { id: string }) => Promise<{ status: number }>;
}[] = [
  {
    what: 'a proposed action',
    role: 'operator',
    path: async () => {
      await payroll.deliver(
        JSON.stringify({ event: 'account.vanished', data: { accountId: bankAccountId } }),
      );
      const asked = (await payroll.attention()).find(({ kind }) => kind === 'UNKNOWN_EVENT');
      return `/attention/${asked!.id}/actions`;
    },
    body: async () => ({ action: 'ACKNOWLEDGE', reason: 'the bank was asked' }),
    undo: (path) => payroll.as('second').delete(path),
  },
  {
    what: 'a schedule',
    role: 'operator',
    path: async () => '/schedules',
    body: schedule,
    undo: (path, { id }) => payroll.as('operator').patch(`${path}/${id}`, { active: false }),
  },
  {
    what: 'a profile of pay files',
    role: 'preparer',
    path: async () => '/pay-file-profiles',
    body: async () => ({ name: 'German payroll', encoding: 'windows-1252' }),
    undo: (path, { id }) => payroll.as('preparer').delete(`${path}/${id}`),
  },
  {
    what: 'the link of a hook',
    role: 'operator',
    path: async () => '/hook',
    body: async () => ({}),
    undo: (path) => payroll.as('operator').delete(path),
  },
  {
    what: 'an attached account',
    role: 'operator',
    path: async () => {
      await detach(await accountId());
      return '/accounts';
    },
    body: async () => ({ bankAccountId, debtorName: 'Alder Logistics GmbH' }),
    undo: (_, { id }) => detach(id),
  },
];

it.each(UNDONE)(
  '$what does not stand again by a repetition once it was undone, where the answer was lost',
  async ({ what, role, path, body, undo }) => {
    const at = payroll.path(await path());
    const asked = await body();
    const headers = { 'idempotency-key': what.replaceAll(' ', '-') };
    const post = () => payroll.as(role).post(at, asked, { headers });
    const first = await post();
    expect(first.status).toBeLessThan(300);
    await execute(payroll.database.superuserUrl, LEAVES_UNANSWERED);
    expect((await undo(at, first.data)).status).toBeLessThan(300);
    expect(await post()).toMatchObject({ status: 409, data: { code: 'IDEMPOTENCY_UNFINISHED' } });
  },
);

it.each([
  ['the database is away', new DatabaseAway(new Error('gone'))],
  ['somebody detaches it', notFound('acc')],
])('an account does not stand again by a repetition where %s while it is probed', async (why, failure) => {
  const none = async () => {
    const { data } = await payroll.as('operator').get(payroll.path('/accounts'));
    for (const { id } of data.items) await detach(id);
  };
  await none();
  const onboarding: unknown = payroll.services[0]!.app.get(Onboarding);
  jest.spyOn(onboarding as { keep(): Promise<never> }, 'keep').mockRejectedValueOnce(failure);
  const headers = { 'idempotency-key': why.replaceAll(' ', '-') };
  const asked = { bankAccountId, debtorName: 'Alder Logistics GmbH' };
  const post = () => payroll.as('operator').post(payroll.path('/accounts'), asked, { headers });
  const first = await post();
  await none();
  const codes = [first, await post()].map(({ status, data }) => [status, data.code]);
  expect(codes).toEqual([
    [503, 'OUTCOME_UNKNOWN'],
    [409, 'IDEMPOTENCY_UNFINISHED'],
  ]);
});

it('a request whose COMMIT was not answered is not said to be running, by no replica', async () => {
  const headers = { 'idempotency-key': 'a-lost-commit' };
  const asked = { name: 'French payroll', encoding: 'windows-1252' };
  const post = () => payroll.as('preparer').post(payroll.path('/pay-file-profiles'), asked, { headers });
  const lost = proxy.atCommit(/INSERT INTO "?pay_file_profile/, 'answer lost');
  const first = await post();
  await lost;
  const second = await post();
  payroll.url = payroll.services[1]!.url;
  const codes = [first, second, await post()].map(({ status, data }) => [status, data.code]);
  payroll.url = payroll.services[0]!.url;
  expect(codes).toEqual([
    [503, 'OUTCOME_UNKNOWN'],
    [409, 'IDEMPOTENCY_UNFINISHED'],
    [409, 'IDEMPOTENCY_UNFINISHED'],
  ]);
});

it('a stop of everybody that another administrator threw is not turned back by a repeated resume whose COMMIT was not answered', async () => {
  const mine = payroll.as('administrator');
  const { app } = payroll.services[0]!;
  const key = await app.get(Database).outsideEmployers(async (tx) => {
    const { id } = await app.get(People).createPerson(tx, 'another administrator', true);
    return (await app.get(People).issueKey(tx, id, 'test')).key;
  });
  const stopped = await mine.post('/v1/service/stop', { reason: 'the bank looks odd' });
  const asked = { reason: 'the bank is well', stoppedAt: stopped.data.changedAt };
  const resume = () =>
    mine.post('/v1/service/resume', asked, { headers: { 'idempotency-key': 'the-bank-is-well' } });
  const lost = proxy.atCommit(/UPDATE service_switch/, 'answer lost');
  const first = await resume();
  await lost;
  expect([first.status, first.data.code]).toEqual([503, 'OUTCOME_UNKNOWN']);
  const headers = { authorization: `Bearer ${key}` };
  await mine.post('/v1/service/stop', { reason: 'strange payees' }, { headers });
  expect(await resume()).toMatchObject({ status: 409, data: { code: 'OTHER_STOPS_STAND' } });
  const { data } = await mine.get('/v1/service');
  expect(data).toMatchObject({ submitsOff: true, reason: 'strange payees' });
  const read = { reason: 'both looked into', stoppedAt: data.changedAt };
  expect((await mine.post('/v1/service/resume', read)).status).toBe(200);
});

it('one restore is told once where the answer to who said it was lost, and it is said again by the same key', async () => {
  const say = (reason: string) =>
    payroll
      .as('administrator')
      .post('/v1/service/restored', { reason }, { headers: { 'idempotency-key': 'rolled-back' } });
  const told = async () => (await payroll.attention()).filter(({ kind }) => kind === 'RESTORED').length;
  const lost = proxy.atCommit(/INSERT INTO database_restore/, 'answer lost');
  const first = await say('the disk was rolled back');
  await lost;
  expect([first.status, first.data.code]).toEqual([503, 'OUTCOME_UNKNOWN']);
  await eventually(async () => (await told()) === 1, 10_000);
  const [restore] = await select(
    payroll.database.superuserUrl,
    'SELECT id AS "restoreId" FROM database_restore WHERE told_at IS NOT NULL',
  );
  const replayed = { 'idempotent-replayed': 'true' };
  expect(await say('the disk was rolled back')).toMatchObject({
    status: 200,
    data: restore,
    headers: replayed,
  });
  expect((await say('and once more')).data.code).toBe('IDEMPOTENCY_KEY_REUSED');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(await told()).toBe(1);
  await execute(
    payroll.database.superuserUrl,
    `ALTER TABLE audit_entry DISABLE TRIGGER USER;
     UPDATE audit_entry SET at = at - interval '25 hours' WHERE action = 'service.restored';
     ALTER TABLE audit_entry ENABLE TRIGGER USER`,
  );
  const second = await say('the disk was rolled back');
  expect(second).toMatchObject({ status: 200, headers: expect.not.objectContaining(replayed) });
  expect(second.data).not.toEqual(restore);
});
