import { EVENTS } from '../../src/bank/types';
import { HookService } from '../../src/employer/hook.service';
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
  const twin = { name: 'Payrun', url: ADDRESS, events: ['transaction.new'] };
  const first = await desk.sandbox('POST', '/api/distributor/v1/hooks', twin);
  await desk.sandbox('POST', '/api/distributor/v1/hooks', twin);
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
  expect(await silent.get(HookService).ensureHook()).toBe('OFF');
  await desk.sandbox('POST', '/sandbox/faults', { operation: 'listHooks', kind: 'hang-before' });
  const started = await desk.addApp({ BANK_TIMEOUT_MS: '300' });
  expect(await started.get(HookService).ensureHook()).toBe('FAILED');
});
