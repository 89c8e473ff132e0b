import { Logger } from '@nestjs/common';
import { BankClient } from '../../src/bank/client';
import { EVENTS } from '../../src/bank/types';
import { DatabaseAway } from '../../src/database/outage';
import { HookService } from '../../src/employer/hook.service';
import { execute } from '../support/database';
import { eventually } from '../support/eventually';
import { Company, Desk } from './desk';

const PUBLIC_URL = 'https://payrun.example/base/';
const ADDRESS = 'https://payrun.example/base/webhooks/bank';

let desk: Desk;
let companies: Company[];
beforeEach(async () => {
  desk = await Desk.open({ PUBLIC_URL });
  await desk.addApp();
  companies = [];
  for (const name of ['Alder Logistics GmbH', 'Birch Foods SARL', 'Cedar Creches SAS']) {
    companies.push(await desk.employer(name));
  }
});
afterEach(() => desk.close());

function attachAll() {
  return Promise.all(
    companies.map((company, index) =>
      company.attach(`100${index + 1}`, { bankIdentityId: `950${index + 1}` }, desk.apps[index % 2]),
    ),
  );
}

const ensure = (app = desk.app) => app.get(HookService).ensureHook();
const fault = (operation: string, kind: string, more: object = {}) =>
  desk.sandbox('POST', '/sandbox/faults', { operation, kind, times: 1, ...more });
const subscribeAtBank = (url: string, events: readonly string[] = EVENTS) =>
  desk.sandbox('POST', '/api/distributor/v1/hooks', { name: 'Payrun', url, events });
const deleteAtBank = (id: number) => desk.sandbox('DELETE', `/api/distributor/v1/hooks/${id}`);
const calls = (): Promise<Record<string, number>> => desk.sandbox('GET', '/sandbox/calls');
const asked = async (work: () => Promise<unknown>) => {
  const before = await calls();
  await work();
  const after = await calls();
  return (operation: string) => (after[operation] ?? 0) - (before[operation] ?? 0);
};

/** The hooks that reach each employer, by what this service has written down. */
async function reaching() {
  const live = (await Promise.all(companies.map(links))).map((all) => all.filter(({ removed }) => !removed));
  return live.map((all) => all.map(({ hook }) => hook));
}

async function links(company: Company) {
  return company.query<{ hook: string; identity: string; removed: boolean }>(
    `SELECT bank_hook_id AS hook, bank_identity_id AS identity, removed_at IS NOT NULL AS removed
     FROM bank_hook ORDER BY bank_hook_id`,
  );
}

it('makes one hook with every event when employers attach accounts at once on two replicas', async () => {
  const answers = await attachAll();
  expect(answers.map(({ status, body }) => [status, body.hook])).toEqual(companies.map(() => [201, 'ON']));
  const hooks = await desk.hooks();
  expect(hooks).toMatchObject([{ body: ADDRESS, events: [...EVENTS] }]);
  const hook = String(hooks[0]!.id);
  for (const [index, company] of companies.entries()) {
    expect(await links(company)).toEqual([{ hook, identity: `950${index + 1}`, removed: false }]);
  }
});

it('links nothing twice', async () => {
  await attachAll();
  const before = await desk.sandbox('GET', '/sandbox/calls');
  expect(await desk.app.get(HookService).ensureHook()).toBe('ON');
  const after = await desk.sandbox('GET', '/sandbox/calls');
  expect([after.subscribe, after.associateIdentity]).toEqual([before.subscribe, before.associateIdentity]);
});

it('does not say that nothing was done where the database is away once the events are given up', async () => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  const company = companies[0]!;
  await company.attach('1001', { bankIdentityId: '9501' });
  for (const other of companies.slice(1)) await other.as('operator', 'DELETE', '/hook');
  const hooks = desk.app.get<{ memory: () => Promise<never> }>(HookService);
  jest.spyOn(hooks, 'memory').mockRejectedValueOnce(new DatabaseAway(new Error('a test')));
  const removed = await company.as('operator', 'DELETE', '/hook');
  expect(removed).toMatchObject({ status: 503, body: { code: 'OUTCOME_UNKNOWN' } });
  expect((await company.audited()).at(-1)?.action).toBe('hook.given-up');
});

describe('a link is believed, and not asked for again,', () => {
  const isLinkedOnce = async (company: Company, app = desk.app) => {
    expect(await links(company)).toMatchObject([{ identity: '9501', removed: false }]);
    const since = await asked(async () => expect(await ensure(app)).toBe('ON'));
    expect(since('associateIdentity')).toBe(0);
  };

  it('where the bank answers it with 204, and so is the end of the hook', async () => {
    await desk.close();
    desk = await Desk.open({ PUBLIC_URL }, { variants: { hookAnswers: 'nothing' } });
    const company = await desk.employer('Alder Logistics GmbH');
    const { body } = await company.attach('1001', { bankIdentityId: '9501' });
    expect(body.hook).toBe('ON');
    await isLinkedOnce(company);
    const removed = await company.as('operator', 'DELETE', '/hook');
    expect(removed.body).toMatchObject({ subscriptionEnded: true });
    expect(await desk.hooks()).toEqual([]);
  });

  it('where its answer was lost, and the bank says 409 to the next', async () => {
    const company = companies[0]!;
    await fault('associateIdentity', 'answer-lost');
    const { body } = await company.attach('1001', { bankIdentityId: '9501' });
    expect(body.hook).toBe('FAILED');
    await fault('associateIdentity', '409');
    expect(await ensure()).toBe('ON');
    await isLinkedOnce(company);
  });
});

it.each([
  ['with a slash at its end', (address: string) => `${address}/`],
  ['masked', (address: string) => `${address.slice(0, 16)}***`],
])(
  'makes one hook where the bank lists its address %s, and answers the subscribe with it as it is',
  async (_, shownAs) => {
    for (const app of desk.apps) {
      const { hooks } = app.get(BankClient);
      const list = hooks.list.bind(hooks);
      jest.spyOn(hooks, 'list').mockImplementation(async () => {
        const listed = await list();
        return listed.map((hook) => ({ ...hook, body: shownAs(hook.body ?? '') }));
      });
    }
    await attachAll();
    const [hook] = await desk.hooks();
    for (const app of desk.apps) expect(await ensure(app)).toBe('ON');
    expect(await desk.hooks()).toEqual([hook]);
    expect(await reaching()).toEqual(companies.map(() => [String(hook!.id)]));
    for (const company of companies) await company.as('operator', 'DELETE', '/hook');
    expect(await desk.hooks()).toEqual([]);
  },
);

it('makes a hook, and links it, also where the list right after its subscribe fails', async () => {
  await fault('listHooks', '500-before', { nth: 2 });
  await companies[0]!.attach('1001', { bankIdentityId: '9501' });
  expect((await desk.hooks()).map(({ id }) => [String(id)])).toEqual([(await reaching())[0]]);
});

it('restores a hook that the bank lost, once, when replicas look at the same moment', async () => {
  await attachAll();
  const [lost] = await desk.hooks();
  await desk.sandbox('DELETE', `/api/distributor/v1/hooks/${lost!.id}`);
  const before = await desk.sandbox('GET', '/sandbox/calls');
  // The one who looks first learns what it saw only after the other has looked too.
  const script = { operation: 'listHooks', kind: 'slow-drip', nth: 1, delayMs: 200 };
  await desk.sandbox('POST', '/sandbox/faults', script);
  const states = await Promise.all(desk.apps.map((app) => app.get(HookService).ensureHook()));
  expect(states).toEqual(['ON', 'ON']);
  await desk.sandbox('DELETE', '/sandbox/faults');
  const after = await desk.sandbox('GET', '/sandbox/calls');
  expect(after.subscribe - before.subscribe).toBe(1);
  const hooks = await desk.hooks();
  expect(hooks).toHaveLength(1);
  const hook = String(hooks[0]!.id);
  for (const company of companies) {
    expect((await links(company)).filter((link) => link.hook === hook && !link.removed)).toHaveLength(1);
  }
});

it('finds the hook whose subscribe stayed unanswered, and leaves those of others alone', async () => {
  await desk.sandbox('POST', '/api/distributor/v1/hooks', {
    name: 'other',
    url: 'https://other.example/hook',
    events: ['transaction.new'],
  });
  await desk.sandbox('POST', '/sandbox/faults', { operation: 'subscribe', kind: 'answer-lost', times: 1 });
  await attachAll();
  expect((await desk.hooks()).map(({ body }) => body)).toEqual(['https://other.example/hook', ADDRESS]);
});

it('ends superfluous hooks of its own address', async () => {
  const first = await subscribeAtBank(ADDRESS);
  await subscribeAtBank(ADDRESS);
  await companies[0]!.attach('1001', { bankIdentityId: '9501' });
  expect((await desk.hooks()).map(({ id }) => id)).toEqual([first.id]);
});

it('attaches the account also where the bank refuses the link, and links it once its identity is named', async () => {
  const [company] = companies;
  const attached = await company!.attach('1001');
  expect(attached).toMatchObject({ status: 201, body: { hook: 'FAILED' } });
  const path = `/accounts/${attached.body.id}`;
  const named = await company!.as('operator', 'PATCH', path, { bankIdentityId: '9501' });
  expect(named.status).toBe(200);
  expect(await links(company!)).toMatchObject([{ identity: '9501', removed: false }]);
  expect((await company!.as('finance', 'PATCH', path, { bankIdentityId: '1' })).status).toBe(403);
});

it('keeps a hook until its last employer gave its events up, also over a restart', async () => {
  await attachAll();
  const answers = [];
  for (const company of companies) answers.push(await company.as('operator', 'DELETE', '/hook'));
  expect(answers.map(({ body }) => body.subscriptionEnded)).toEqual([false, false, true]);
  expect(await desk.hooks()).toEqual([]);
  const restarted = await desk.addApp();
  await restarted.get(HookService).ensureHook();
  for (const company of companies) {
    expect((await links(company)).map(({ removed }) => removed)).toEqual([true]);
    expect((await company.audited()).at(-1)?.action).toBe('hook.given-up');
  }
  expect((await companies[1]!.as('operator', 'POST', '/hook')).body).toEqual({ hook: 'ON' });
  expect((await links(companies[1]!)).filter(({ removed }) => !removed)).toHaveLength(1);
  expect(await desk.hooks()).toHaveLength(1);
});

it('asks nothing of the bank without PUBLIC_URL, and starts while the bank is down', async () => {
  await attachAll();
  const silent = await desk.addApp({ PUBLIC_URL: '' });
  const count = await asked(() => silent.get(HookService).ensureHook());
  expect([await silent.get(HookService).ensureHook(), count('listHooks')]).toEqual(['OFF', 0]);
  await desk.sandbox('POST', '/sandbox/faults', { operation: 'listHooks', kind: 'hang-before' });
  const started = await desk.addApp({ BANK_TIMEOUT_MS: '300' });
  expect(await started.get(HookService).ensureHook()).toBe('FAILED');
});

it('makes the hook at the next check where the bank was down at the start, and where it lost it', async () => {
  await fault('subscribe', '500-before', { times: 3 });
  expect((await attachAll()).map(({ body }) => body.hook)).toEqual(companies.map(() => 'FAILED'));
  expect(await desk.hooks()).toEqual([]);
  for (let n = 0; n < 2; n += 1) {
    expect(await ensure()).toBe('ON');
    const [hook, ...more] = await desk.hooks();
    expect(more).toEqual([]);
    expect(await reaching()).toEqual(companies.map(() => [String(hook!.id)]));
    await deleteAtBank(hook!.id);
  }
});

it('ends a hook that is not wanted any more, however often the bank loses the call', async () => {
  await attachAll();
  for (const company of companies.slice(1)) await company.as('operator', 'DELETE', '/hook');
  const remove = async () => (await companies[0]!.as('operator', 'DELETE', '/hook')).body;
  await fault('deleteHook', 'request-lost', { times: 3 });
  expect(await remove()).toEqual({ subscriptionEnded: false });
  expect(await remove()).toEqual({ subscriptionEnded: false });
  expect(await ensure()).toBe('FAILED');
  expect(await desk.hooks()).toHaveLength(1);
  expect(await ensure()).toBe('ON');
  expect(await desk.hooks()).toEqual([]);
  expect(await remove()).toEqual({ subscriptionEnded: true });
  await fault('listHooks', '500-before', { times: 5 });
  expect(await remove()).toEqual({ subscriptionEnded: false });
});

it('asks for the lost end of a hook when a person asks again, and never uses that hook again', async () => {
  await attachAll();
  for (const company of companies.slice(1)) await company.as('operator', 'DELETE', '/hook');
  await fault('deleteHook', 'request-lost', { times: 2 });
  await companies[0]!.as('operator', 'DELETE', '/hook');
  const [ended] = await desk.hooks();
  expect((await companies[0]!.as('operator', 'POST', '/hook')).body).toEqual({ hook: 'ON' });
  await ensure();
  const left = await desk.hooks();
  expect(left).toHaveLength(1);
  expect(left[0]!.id).not.toBe(ended!.id);
  expect(await reaching()).toEqual([[String(left[0]!.id)], [], []]);
});

it('remembers that events were given up before any hook was there', async () => {
  await fault('subscribe', '500-before', { times: 2 });
  const [company] = companies;
  await company!.attach('1001', { bankIdentityId: '9501' });
  expect((await company!.as('operator', 'DELETE', '/hook')).body).toEqual({ subscriptionEnded: true });
  await desk.sandbox('DELETE', '/sandbox/faults');
  await ensure();
  expect(await desk.hooks()).toEqual([]);
  expect((await company!.as('operator', 'POST', '/hook')).body).toEqual({ hook: 'ON' });
  expect((await reaching())[0]).toEqual([String((await desk.hooks())[0]!.id)]);
});

it('moves to the address of the service started last, and all replicas keep to it', async () => {
  await attachAll();
  const moved = await desk.addApp({ PUBLIC_URL: 'https://moved.example' });
  expect(await ensure(moved)).toBe('ON');
  for (const app of desk.apps) expect(await ensure(app)).toBe('ON');
  const hooks = await desk.hooks();
  expect(hooks).toMatchObject([{ body: 'https://moved.example/webhooks/bank', events: [...EVENTS] }]);
  expect(await reaching()).toEqual(companies.map(() => [String(hooks[0]!.id)]));
});

it('knows a hook from before addresses were remembered by its id, and a hook of others that has an id of ours', async () => {
  await attachAll();
  const [old] = await desk.hooks();
  const forget = `UPDATE hook_subscription SET url = NULL, shown_as = NULL; DELETE FROM hook_address`;
  await execute(desk.store.superuserUrl, forget);
  await execute(
    desk.store.superuserUrl,
    `INSERT INTO hook_subscription (bank_hook_id, url, shown_as) VALUES ($1, $2, $2)`,
    [String(old!.id + 1), ADDRESS],
  );
  await subscribeAtBank('https://other.example/webhooks/bank');
  const moved = await desk.addApp({ PUBLIC_URL: 'https://moved.example' });
  await ensure(moved);
  expect((await desk.hooks()).map(({ body }) => body)).toEqual([
    'https://other.example/webhooks/bank',
    'https://moved.example/webhooks/bank',
  ]);
});

it('ends the second hook of a subscribe that was carried out late', async () => {
  await fault('subscribe', 'late-commit', { delayMs: 5_000 });
  await attachAll();
  await eventually(async () => (await desk.hooks()).length === 2, 10_000);
  await Promise.all(desk.apps.map((app) => ensure(app)));
  const hooks = await desk.hooks();
  expect(hooks).toHaveLength(1);
  expect(await reaching()).toEqual(companies.map(() => [String(hooks[0]!.id)]));
});

it('replaces a hook of its address that lacks events, and never ends it before its successor is there', async () => {
  await subscribeAtBank(ADDRESS, ['transaction.new']);
  await fault('subscribe', '500-before', { times: 3 });
  await attachAll();
  expect(await desk.hooks()).toMatchObject([{ events: ['transaction.new'] }]);
  expect(await ensure()).toBe('ON');
  const hooks = await desk.hooks();
  expect(hooks).toMatchObject([{ body: ADDRESS, events: [...EVENTS] }]);
  expect(await reaching()).toEqual(companies.map(() => [String(hooks[0]!.id)]));
});

it('takes a hook that it made for complete, also where the bank does not show every event', async () => {
  await attachAll();
  const list = desk.app.get(BankClient).hooks;
  const shown = await list.list();
  jest.spyOn(list, 'list').mockResolvedValue(shown.map((hook) => ({ ...hook, events: ['transaction.new'] })));
  const count = await asked(() => ensure());
  expect([count('subscribe'), count('deleteHook')]).toEqual([0, 0]);
});

it('does not make a second hook while the list of the bank need not show the first', async () => {
  const slow = await desk.addApp({ BANK_LAG_BOUND_MS: '60000' });
  await companies[0]!.attach('1001', { bankIdentityId: '9501' }, slow);
  const { hooks } = slow.get(BankClient);
  jest.spyOn(hooks, 'list').mockResolvedValue([]);
  const count = await asked(() => ensure(slow));
  expect(count('subscribe')).toBe(0);
});

it('links again where a bank that began anew gives the same id to another hook', async () => {
  await attachAll();
  const [hook] = await desk.hooks();
  await deleteAtBank(hook!.id);
  await execute(
    desk.store.superuserUrl,
    `UPDATE bank_hook SET bank_hook_id = $1::text; UPDATE hook_subscription SET bank_hook_id = $1::text`.replaceAll(
      '$1',
      `'${hook!.id + 1}'`,
    ),
  );
  const count = await asked(() => ensure());
  expect([count('subscribe'), count('associateIdentity')]).toEqual([1, companies.length]);
});
