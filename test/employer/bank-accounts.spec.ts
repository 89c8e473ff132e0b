import { Logger } from '@nestjs/common';
import { BankClient } from '../../src/bank/client';
import { newId } from '../../src/database/new-id';
import { DatabaseAway } from '../../src/database/outage';
import { AccountProbe } from '../../src/employer/account-probe';
import { Attachment } from '../../src/employer/attachment';
import { readId } from '../../src/http/prefixed-id';
import { connected, execute, LEAVES_UNANSWERED, select } from '../support/database';
import { eventually } from '../support/eventually';
import { Answer, Body, Company, Desk } from './desk';

/** Onboarded at the bank, without an account yet. */
const NEWCOMER = { userId: 601, identityId: 9601, holderName: 'Dogwood GmbH', kyc: 'VERIFIED' };

let desk: Desk;
let dogwood: Company;
beforeEach(async () => {
  desk = await Desk.open({ BANK_TIMEOUT_MS: '500' });
  dogwood = await desk.employer('Dogwood GmbH');
  await desk.sandbox('POST', '/sandbox/users', NEWCOMER);
});
afterEach(() => desk.close());

function open(more: Body = {}): Promise<Answer> {
  const body = { bankUserId: '601', productId: '12', ...more };
  return dogwood.as('operator', 'POST', '/bank-accounts', body);
}

const openings = async () => (await desk.sandbox('GET', '/sandbox/calls')).createAccount ?? 0;
const fault = (operation: string, kind: string) =>
  desk.sandbox('POST', '/sandbox/faults', { operation, kind, times: 1 });
const intents = () =>
  dogwood.query<Body>(
    `SELECT operation, outcome, target FROM bank_call WHERE operation LIKE '%_account' ORDER BY intended_at`,
  );
const said = (status: number) =>
  expect.stringMatching(`What came of it: status ${status} SCRIPTED_FAULT: a scripted fault\\.$`);
const lastAudited = async () => (await dogwood.audited()).at(-1);

/** Another pay run on the account, in a state. */
async function insertRun(accountId: string, status: string): Promise<void> {
  const id = newId();
  await execute(
    desk.store.superuserUrl,
    `INSERT INTO pay_run (employer_id, id, account_id, period, kind_of_pay, execution_date, status, row_count,
       total_minor, currency, created_by)
     VALUES ($1, $2, $3, '2026-01', 'SALARY', '2026-01-30', $4, 0, 0, 'EUR', $5)`,
    [dogwood.uuid, id, readId('acc', accountId), status, dogwood.people.preparer.personId],
  );
}

describe('opening an account at the bank', () => {
  it('lists what the bank offers, to operators', async () => {
    const { status, body } = await dogwood.as('operator', 'GET', '/bank-products');
    expect([status, body.items]).toEqual([
      200,
      [
        { id: '11', name: 'Business Current', type: 'CURRENT', currency: 'EUR' },
        { id: '12', name: 'Payroll Current', type: 'CURRENT', currency: 'EUR' },
      ],
    ]);
    expect((await dogwood.as('finance', 'GET', '/bank-products')).status).toBe(403);
  });

  it('opens it, attaches it under the name of the employer, and finds out what is allowed', async () => {
    const { status, body } = await open({ bankIdentityId: '9601' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ debtorName: 'Dogwood GmbH', status: 'OPENED', ready: false });
    expect(body.reads).toContain('INSTRUCTION_PAYMENTS');
    const atBank = await desk.sandbox('GET', `/api/distributor/v1/accounts/${body.bankAccountId}`);
    expect(atBank).toMatchObject({ userId: 601, productId: 12, status: 'OPENED' });
    const target = '/api/distributor/v1/users/601/accounts';
    expect(await intents()).toEqual([{ operation: 'open_account', outcome: 'YES', target }]);
    const [row] = await dogwood.query<Body>('SELECT bank_user_id FROM employer_account');
    expect(row.bank_user_id).toBe('9601');
    const actions = (await dogwood.audited()).map(({ action }) => action);
    expect(actions).toEqual(['employer.created', 'account.attached', 'account.probed']);
  });

  it.each([
    ['KYC is not completed', { userId: 602, identityId: 9602, holderName: 'Elm', kyc: 'PENDING' }, /KYC/],
    ['not Latin', { userId: 602, identityId: 9602, holderName: 'Вяз', kyc: 'VERIFIED' }, /Latin/],
  ])('tells what the bank says of a user whose data is refused: %s', async (_name, user, words) => {
    await desk.sandbox('POST', '/sandbox/users', user);
    const refused = await open({ bankUserId: '602' });
    expect(refused).toMatchObject({ status: 422, body: { code: 'BANK_REFUSED' } });
    expect(refused.body.detail).toMatch(words);
    expect(await dogwood.query('SELECT 1 FROM employer_account')).toEqual([]);
    expect((await intents()).map(({ outcome }) => outcome)).toEqual(['NO']);
  });

  it('asks nothing of the bank for input that cannot be sent, or a name that no bank takes', async () => {
    for (const more of [
      { bankUserId: '6 1' },
      { productId: '1e1' },
      { productId: '' },
      { debtorName: 'Вяз' },
    ]) {
      expect((await open(more)).status).toBe(422);
    }
    const cedar = await desk.employer('Cedar Crèches SAS');
    const body = { bankUserId: '601', productId: '12' };
    const nameless = await cedar.as('operator', 'POST', '/bank-accounts', body);
    expect(nameless.body.code).toBe('DEBTOR_NAME_NEEDED');
    expect((await dogwood.as('finance', 'POST', '/bank-accounts', body)).status).toBe(403);
    expect(await openings()).toBe(0);
  });

  it.each(['404', '409', '410'])(
    'tells a refusal in the words of the bank, also where it is no 400 or 422 (%s)',
    async (kind) => {
      await fault('createAccount', kind);
      const refused = await open();
      expect(refused).toMatchObject({ status: 422, body: { code: 'BANK_REFUSED' } });
      expect(refused.body.detail).toMatch(new RegExp(`${kind} SCRIPTED_FAULT: a scripted fault`));
      expect((await intents()).map(({ outcome }) => outcome)).toEqual(['NO']);
      expect((await open()).status).toBe(201);
    },
  );

  it('says what was answered, and in which words, where that may be a refusal or not', async () => {
    await fault('createAccount', '500-before');
    const { status, body } = await open();
    expect([status, body]).toEqual([202, expect.objectContaining({ opened: 'IN_DOUBT', detail: said(500) })]);
    expect((await intents()).map(({ outcome }) => outcome)).toEqual(['IN_DOUBT']);
  });

  it('is not repeated by its key where the process ended before the answer, whoever had looked at the list before', async () => {
    const { authorization } = dogwood.people.operator;
    const url = `${await desk.app.getUrl()}/v1/employers/${dogwood.id}/bank-accounts`;
    const post = async () => {
      const headers = { authorization, 'idempotency-key': 'k', 'content-type': 'application/json' };
      const body = JSON.stringify({ bankUserId: '601', productId: '12', lookedAtList: true });
      const answer = await fetch(url, { method: 'POST', headers, body });
      return { status: answer.status, body: await answer.json() };
    };
    expect((await post()).status).toBe(201);
    // As a kill leaves it between the call and its answer, six minutes ago.
    await execute(
      desk.store.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE bank_call SET outcome = NULL, outcome_detail = NULL, finished_at = NULL,
         intended_at = intended_at - interval '6 minutes';
       ${LEAVES_UNANSWERED};
       DELETE FROM employer_account`,
    );
    expect(await post()).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_UNFINISHED' } });
    expect(await openings()).toBe(1);
    expect((await open({ lookedAtList: true })).status).toBe(201);
  });

  it('does not open again by itself what was not answered, and neither does a client that only repeats', async () => {
    await fault('createAccount', 'answer-lost');
    const { authorization } = dogwood.people.operator;
    const url = `${await desk.app.getUrl()}/v1/employers/${dogwood.id}/bank-accounts`;
    const post = async () => {
      const headers = { authorization, 'idempotency-key': 'k', 'content-type': 'application/json' };
      const body = JSON.stringify({ bankUserId: '601', productId: '12' });
      const answer = await fetch(url, { method: 'POST', headers, body });
      return { status: answer.status, body: await answer.json() };
    };
    const first = await post();
    expect(first).toMatchObject({ status: 202, body: { opened: 'IN_DOUBT', bankAccountId: null } });
    expect(await post()).toEqual(first);
    expect(await open()).toMatchObject({ status: 409, body: { code: 'OPENING_IN_DOUBT' } });
    expect(await openings()).toBe(1);
    expect((await intents()).map(({ outcome }) => outcome)).toEqual(['IN_DOUBT']);
    const listed = (await dogwood.as('operator', 'GET', '/bank-accounts')).body.items;
    expect(listed.at(-1)).toMatchObject({ attached: false, status: 'OPENED' });
    expect((await open({ lookedAtList: true })).status).toBe(201);
    expect(await openings()).toBe(2);
  });

  it.each([
    ['no answer comes', 'answer-lost', {}, 202],
    ['no answer comes to somebody who looked at the list', 'hang', { lookedAtList: true }, 202],
    ['the bank answers', undefined, {}, 201],
  ])('opens one account when five ask at once on two replicas: %s', async (_name, kind, more, status) => {
    await desk.addApp();
    if (kind) await desk.sandbox('POST', '/sandbox/faults', { operation: 'createAccount', kind });
    const body = { bankUserId: '601', productId: '12', ...more };
    const ask = (n: number) => dogwood.as('operator', 'POST', '/bank-accounts', body, desk.apps[n % 2]);
    const answers = await Promise.all([0, 1, 2, 3, 4].map(ask));
    expect(answers.map((one) => one.status).sort()).toEqual([status, 409, 409, 409, 409]);
    const refused = answers.filter((one) => one.status === 409);
    for (const { code } of refused.map((one) => one.body)) {
      expect(code).toMatch(kind ? /^OPENING_IN_DOUBT$/ : /^(OPENING_IN_DOUBT|ACCOUNT_JUST_OPENED)$/);
    }
    expect(await openings()).toBe(1);
  });

  it('takes a second click right after an answer for one click, unless it is meant', async () => {
    expect((await open()).status).toBe(201);
    expect(await open()).toMatchObject({ status: 409, body: { code: 'ACCOUNT_JUST_OPENED' } });
    expect((await open({ productId: '11' })).status).toBe(201);
    expect((await open({ lookedAtList: true })).status).toBe(201);
  });

  it('does not believe who looked at a list that need not show the account yet', async () => {
    const slow = await desk.addApp({ BANK_LAG_BOUND_MS: '5000' });
    await fault('createAccount', 'answer-lost');
    const body = { bankUserId: '601', productId: '12', lookedAtList: true };
    const ask = () => dogwood.as('operator', 'POST', '/bank-accounts', body, slow);
    expect((await ask()).status).toBe(202);
    expect(await ask()).toMatchObject({ status: 409, body: { code: 'OPENING_IN_DOUBT' } });
    await execute(
      desk.store.superuserUrl,
      `UPDATE bank_call SET finished_at = finished_at - interval '6 seconds' WHERE outcome = 'IN_DOUBT'`,
    );
    expect((await ask()).status).toBe(201);
  });

  it('opens one account where another is asked for while the bank has the first wait', async () => {
    const paused = await desk.addApp({ BANK_TIMEOUT_MS: '1000', BANK_LAG_BOUND_MS: '0' });
    const script = { operation: 'listProducts', kind: '429', retryAfterS: 6, times: 1 };
    await desk.sandbox('POST', '/sandbox/faults', script);
    const products = dogwood.as('operator', 'GET', '/bank-products', undefined, paused);
    const isAsked = async () => (await desk.sandbox('GET', '/sandbox/calls')).listProducts === 1;
    await eventually(isAsked, 5_000);
    const body = { bankUserId: '601', productId: '12', lookedAtList: true };
    const ask = () => dogwood.as('operator', 'POST', '/bank-accounts', body, paused);
    const first = ask();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await Promise.all([first, ask()]);
    expect((await products).status).toBe(200);
    expect(await openings()).toBeLessThanOrEqual(1);
    expect(await first).toMatchObject({ status: 503, body: { code: 'BANK_UNAVAILABLE' } });
    expect((await intents())[0]).toMatchObject({ outcome: 'NO' });
  });

  it('names the account that it opened but could not attach', async () => {
    await fault('getAccount', '500-before');
    const { status, body } = await open();
    expect([status, body.opened]).toEqual([202, 'YES']);
    const attached = await dogwood.as('operator', 'POST', '/accounts', {
      bankAccountId: body.bankAccountId,
      debtorName: 'Dogwood GmbH',
    });
    expect(attached.status).toBe(201);
  });

  it.each([
    ['attached', Attachment, 'attach'],
    ['probed', AccountProbe, 'probed'],
  ] as const)('is open also where the database is away before it is %s', async (_, service, method) => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const failing = desk.app.get<Record<string, () => Promise<never>>>(service);
    const away = jest.spyOn(failing, method).mockRejectedValueOnce(new DatabaseAway(new Error('a test')));
    const { status, body } = await open();
    expect([status, body.opened, body.bankAccountId]).toEqual([202, 'YES', expect.any(String)]);
    expect(await openings()).toBe(1);
    away.mockRestore();
  });
});

describe('an account as the bank has it now', () => {
  it('shows its balance to finance, once its unit was checked', async () => {
    const { body } = await dogwood.attach('1001');
    const path = `/accounts/${body.id}`;
    const unchecked = { status: 'OPENED', balance: null, availableBalance: null };
    expect((await dogwood.as('finance', 'GET', path)).body.atBank).toEqual(unchecked);
    await dogwood.as('finance', 'POST', `${path}/balance-check`, { balance: '250000.00' });
    const { atBank } = (await dogwood.as('finance', 'GET', path)).body;
    expect(atBank).toEqual({ status: 'OPENED', balance: '250000.00', availableBalance: '250000.00' });
    for (const role of ['operator', 'preparer', 'approver'] as const) {
      expect((await dogwood.as(role, 'GET', path)).body.atBank).toEqual(unchecked);
    }
    await desk.sandbox('POST', '/sandbox/accounts/1001/block');
    expect((await dogwood.as('approver', 'GET', path)).body).toMatchObject({
      status: 'OPENED',
      atBank: { status: 'SUSPENDED' },
    });
    await fault('getAccount', '500-before');
    expect(await dogwood.as('finance', 'GET', path)).toMatchObject({ status: 200, body: { atBank: null } });
  });
});

describe('closing an account at the bank', () => {
  const close = (id: string, role: 'operator' | 'finance' = 'operator') =>
    dogwood.as(role, 'DELETE', `/accounts/${id}`);

  it('closes an empty one for good, keeps its row, and writes down who did it', async () => {
    const { body } = await open();
    expect((await close(body.id, 'finance')).status).toBe(403);
    expect(await close(body.id)).toMatchObject({ status: 200, body: { status: 'CLOSED', ready: false } });
    const atBank = await desk.sandbox('GET', `/api/distributor/v1/accounts/${body.bankAccountId}`);
    expect(atBank.status).toBe('CLOSED');
    const [row] = await dogwood.query<Body>('SELECT bank_status FROM employer_account');
    expect(row.bank_status).toBe('CLOSED');
    expect((await intents()).at(-1)).toMatchObject({ operation: 'close_account', outcome: 'YES' });
    expect(await lastAudited()).toMatchObject({
      action: 'account.closed',
      person_id: dogwood.people.operator.personId,
    });
    expect(await close(body.id)).toMatchObject({ status: 409, body: { code: 'ACCOUNT_IS_CLOSED' } });
  });

  it.each([
    ['0', 200],
    ['-0.00', 200],
    ['0e0', 200],
    ['0E-10', 200],
    ['0.01', 409],
    ['1E-10', 409],
    ['-1', 409],
  ])('reads a balance of %s exactly, however it is written: %s', async (value, status) => {
    const { body } = await open();
    const { accounts } = desk.app.get(BankClient);
    const { get } = accounts;
    jest.spyOn(accounts, 'get').mockImplementation(async (id) => {
      const balance = { value, currency: 'EUR' };
      return { ...(await get.call(accounts, id)), balance, availableBalance: balance };
    });
    expect((await close(body.id)).status).toBe(status);
  });

  it('is done once by whoever asks for it at once, and written down once', async () => {
    const { body } = await open();
    // As where the bank has closed it for the first, which has not written that down yet.
    await desk.sandbox('DELETE', `/api/distributor/v1/accounts/${body.bankAccountId}`);
    const answers = await connected(desk.store.superuserUrl, async (held) => {
      await held.query('BEGIN; SELECT FROM employer_account FOR NO KEY UPDATE');
      const both = Promise.all([close(body.id), close(body.id)]);
      const waiting = `SELECT FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE 'UPDATE employer_account%'`;
      await eventually(async () => (await select(desk.store.superuserUrl, waiting)).length === 2, 10_000);
      await held.query('COMMIT');
      return both;
    });
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await dogwood.audited()).filter(({ action }) => action === 'account.closed')).toHaveLength(1);
  });

  it('refuses one that holds money, or on which a run is open', async () => {
    const funded = await dogwood.attach('1001');
    expect(await close(funded.body.id)).toMatchObject({ status: 409, body: { code: 'BALANCE_NOT_ZERO' } });
    const { body } = await open();
    await insertRun(body.id, 'FOLLOWING');
    expect(await close(body.id)).toMatchObject({ status: 409, body: { code: 'ACCOUNT_HAS_OPEN_RUNS' } });
    expect((await desk.sandbox('GET', '/sandbox/calls')).closeAccount).toBe(0);
    await execute(desk.store.superuserUrl, `UPDATE pay_run SET status = 'SETTLED'`);
    expect((await close(body.id)).status).toBe(200);
  });

  it('settles by a read what was not answered, and says so where that is not possible', async () => {
    const { body } = await open();
    await fault('closeAccount', 'request-lost');
    expect(await close(body.id)).toMatchObject({ status: 409, body: { code: 'CLOSING_IN_DOUBT' } });
    await fault('closeAccount', '404');
    expect((await close(body.id)).body).toMatchObject({ code: 'CLOSING_IN_DOUBT', detail: said(404) });
    for (const kind of ['409', '422']) {
      await fault('closeAccount', kind);
      const refused = await close(body.id);
      expect(refused).toMatchObject({ status: 422, body: { code: 'BANK_REFUSED' } });
      expect(refused.body.detail).toMatch(new RegExp(`${kind} SCRIPTED_FAULT: a scripted fault`));
    }
    await fault('closeAccount', 'answer-lost');
    expect(await close(body.id)).toMatchObject({ status: 200, body: { status: 'CLOSED' } });
    const told = (await intents()).map(({ operation, outcome }) => `${operation} ${outcome}`);
    expect(told).toEqual([
      'open_account YES',
      'close_account IN_DOUBT',
      'close_account IN_DOUBT',
      'close_account NO',
      'close_account NO',
      'close_account IN_DOUBT',
    ]);
  });

  describe('at a bank that shows closed accounts no more', () => {
    const gone = () => desk.sandbox('POST', '/sandbox/faults', { operation: 'getAccount', kind: '404' });
    const failAfterwards = (kind: string) =>
      desk.sandbox('POST', '/sandbox/faults', { operation: 'getAccount', kind, nth: 2 });

    it('takes one whose close was not answered for closed', async () => {
      const { body } = await open();
      await fault('closeAccount', 'answer-lost');
      await failAfterwards('404');
      expect(await close(body.id)).toMatchObject({ status: 200, body: { status: 'CLOSED' } });
    });

    it('and so at the second attempt, without another call, where nothing could be read after the first', async () => {
      const { body } = await open();
      await fault('closeAccount', 'answer-lost');
      await failAfterwards('500-before');
      expect(await close(body.id)).toMatchObject({ status: 409, body: { code: 'CLOSING_IN_DOUBT' } });
      await gone();
      expect(await close(body.id)).toMatchObject({ status: 200, body: { status: 'CLOSED' } });
      expect((await desk.sandbox('GET', '/sandbox/calls')).closeAccount).toBe(1);
      expect(await lastAudited()).toMatchObject({ action: 'account.closed' });
    });

    it('but takes none for closed that it did not ask to be, or that the bank refused to close', async () => {
      const { body } = await open();
      await fault('closeAccount', '422');
      expect(await close(body.id)).toMatchObject({ status: 422, body: { code: 'BANK_REFUSED' } });
      await gone();
      expect(await close(body.id)).toMatchObject({ status: 502, body: { code: 'BANK_ANSWER_UNUSABLE' } });
    });
  });

  it('takes note of one that was closed at the bank already', async () => {
    const { body } = await open();
    await desk.sandbox('DELETE', `/api/distributor/v1/accounts/${body.bankAccountId}`);
    expect(await close(body.id)).toMatchObject({ status: 200, body: { status: 'CLOSED' } });
  });
});
