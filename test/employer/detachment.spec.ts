import { newId } from '../../src/database/new-id';
import { readId } from '../../src/http/prefixed-id';
import { execute } from '../support/database';
import { Body, Company, Desk } from './desk';

const reason = 'it belongs to the other company';

let desk: Desk;
let alder: Company;
let accountId: string;
beforeEach(async () => {
  desk = await Desk.open();
  alder = await desk.employer('Alder Logistics GmbH');
  accountId = String((await alder.attach()).body.id);
});
afterEach(() => desk.close());

const detach = (role: 'operator' | 'finance' = 'operator', by = alder) =>
  by.as(role, 'POST', `/accounts/${accountId}/detachment`, { reason });
const listed = async (by = alder): Promise<Body[]> =>
  (await by.as('operator', 'GET', '/accounts')).body.items;
const found = async (): Promise<Body> =>
  (await alder.as('operator', 'GET', '/bank-accounts')).body.items.find(
    ({ bankAccountId }: Body) => bankAccountId === '1001',
  );

const keys = () => [alder.uuid, newId(), readId('acc', accountId), alder.people.preparer.personId];

it('takes an account from its employer for good, and says who did it and why', async () => {
  expect((await detach('finance')).status).toBe(403);
  const { status, body } = await detach();
  expect([status, body]).toEqual([200, { id: accountId, detachedAt: expect.any(String) }]);
  expect(await listed()).toEqual([]);
  for (const [method, path] of [
    ['POST', '/probe'],
    ['DELETE', ''],
    ['POST', '/detachment'],
  ] as const)
    expect(await alder.as('operator', method, `/accounts/${accountId}${path}`, { reason })).toMatchObject({
      status: 404,
      body: { code: 'ACCOUNT_NOT_FOUND' },
    });
  expect(await alder.as('finance', 'GET', `/accounts/${accountId}`)).toMatchObject({
    status: 200,
    body: { ...body, bankAccountId: '1001', debtorName: expect.any(String), ready: false, atBank: null },
  });
  expect((await alder.audited()).at(-1)).toMatchObject({
    action: 'account.detached',
    person_id: alder.people.operator.personId,
    subject: accountId,
    detail: { bankAccountId: '1001', reason },
  });
  expect(await desk.sandbox('GET', '/api/distributor/v1/accounts/1001')).toMatchObject({ status: 'OPENED' });
});

it('lets the account be attached again, by another employer too', async () => {
  const cedar = await desk.employer('Cedar SAS');
  expect(await cedar.attach()).toMatchObject({ status: 409, body: { code: 'ACCOUNT_ALREADY_CONNECTED' } });
  expect(await found()).toMatchObject({ attached: true });
  expect((await detach('operator', cedar)).status).toBe(404);
  expect((await detach()).status).toBe(200);
  expect(await found()).toMatchObject({ attached: false });
  expect((await cedar.attach()).status).toBe(201);
  expect((await listed(cedar)).length).toBe(1);
  expect(await found()).toBeUndefined();
});

it('is refused while a run on the account is open', async () => {
  await execute(
    desk.store.superuserUrl,
    `INSERT INTO pay_run (employer_id, id, account_id, period, kind_of_pay, execution_date, status, row_count,
       total_minor, currency, created_by)
     VALUES ($1, $2, $3, '2026-01', 'SALARY', '2026-01-30', 'FOLLOWING', 0, 0, 'EUR', $4)`,
    keys(),
  );
  expect(await detach()).toMatchObject({ status: 409, body: { code: 'ACCOUNT_HAS_OPEN_RUNS' } });
  await execute(desk.store.superuserUrl, `UPDATE pay_run SET status = 'SETTLED'`);
  expect((await detach()).status).toBe(200);
});

it('is refused while a schedule pays from the account', async () => {
  await execute(
    desk.store.superuserUrl,
    `INSERT INTO pay_schedule (employer_id, id, account_id, kind_of_pay, when_closed, submit_days_before, submit_time,
       time_zone, first_period, created_by)
     VALUES ($1, $2, $3, 'SALARY', 'PREVIOUS', 1, '10:00', 'UTC', '2099-01', $4)`,
    keys(),
  );
  expect(await detach()).toMatchObject({ status: 409, body: { code: 'ACCOUNT_HAS_SCHEDULES' } });
  await execute(desk.store.superuserUrl, `UPDATE pay_schedule SET active = false`);
  expect((await detach()).status).toBe(200);
});
