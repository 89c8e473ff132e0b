import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PATHS } from '../../src/bank/types';
import { BIRCH, paymentIdOf, paymentStatusOf, Tester, type Json } from './client';
import { end, ended, startProcess } from './process';

let folder: string;
let stateFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bank-state-'));
  stateFile = join(folder, 'bank.journal');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Everything a restart must not change; links name another port. */
const seen = async (bank: Tester) => [
  await bank.ledger(),
  (await bank.get(PATHS.hooks())).body,
  (await bank.get(PATHS.accounts())).body,
  (await bank.get(PATHS.paymentTransactions())).body.items.map(
    ({ links: _links, ...payment }: Json) => payment,
  ),
  (await bank.get('/sandbox/webhooks')).body,
];

it('has every instruction, balance and hook again after a stop and a start', async () => {
  const before = await Tester.start({ stateFile });
  const hook = { name: 'hook', url: 'http://127.0.0.1:9/', events: ['transaction.new'] };
  await before.post(PATHS.hooks(), hook);
  await before.post(PATHS.hookIdentity('1', '9501'));
  const { body: opened } = await before.post(PATHS.userAccounts('502'), { productId: 12 });
  await before.pay([{ value: 100 }, { iban: BIRCH.account!.iban, value: 5 }], { batchBooking: true });
  const { id: unsubmitted } = await before.initiate();
  const { body: added } = await before.add(unsubmitted);
  const { id: deleted } = await before.initiate();
  await before.delete(PATHS.creditTransfer(String(deleted)));
  const told = await seen(before);
  await before.close();

  const after = await Tester.start({ stateFile });
  expect(await seen(after)).toEqual(told);
  expect((await after.account(opened.id)).iban).toBeDefined();
  const { body: next } = await after.add(unsubmitted, { value: 1 });
  expect(paymentIdOf(next)).toBe(paymentIdOf(added) + 1);
  expect((await after.submit(unsubmitted)).status).toBe(201);
  await after.close();
});

it('goes on with payments where they were, at the time the bank had', async () => {
  const before = await Tester.start({ stateFile, stepMs: 1_000 });
  const { added } = await before.pay([{}]);
  await before.advance(86_400_000 * 3);
  await before.pay([{}]);
  const { date } = (await before.get('/sandbox/clock')).body;
  await before.close();
  const after = await Tester.start({ stateFile, stepMs: 1_000 });
  expect((await after.get('/sandbox/clock')).body.date).toBe(date);
  expect(paymentStatusOf(await after.payment(paymentIdOf(added[0])))).toBe('SETTLED');
  await after.advance(60_000);
  expect((await after.ledger()).payees[0].count).toBe(2);
  await after.close();
});

it('has every posting, charge, decision and block again, and waits and follows where it did', async () => {
  const variants = {
    submitRuns: 'later',
    submitWaitsFor: 'approval',
    instructionEnds: 'with-its-payments',
    executionDays: 'next',
    chargeMinor: 15,
  } as const;
  const options = { stateFile, variants, stepMs: 60_000 };
  const before = await Tester.start(options);
  await before.post('/sandbox/postings', { accountId: '1001', type: 'FEE', amountMinor: '990' });
  await before.post('/sandbox/postings', {
    accountId: '1003',
    type: 'DISTRIBUTOR_POSTING',
    amountMinor: '5000',
  });
  const decide = (id: number, verb: string) => before.post(`/sandbox/instructions/${id}/${verb}`);
  const [released, refused, waiting] = [
    await before.pay([{ value: 100 }]),
    await before.pay([{ value: 200 }]),
    await before.pay([{ value: 300 }]),
  ];
  await before.advance(60_000);
  await decide(released.id, 'release');
  await decide(refused.id, 'refuse');
  await before.advance(3 * 60_000);
  const { id: later } = await before.pay([{ value: 400 }]);
  await before.post('/sandbox/identities/9502/block');
  const told = await seen(before);
  await before.close();

  const after = await Tester.start(options);
  expect(await seen(after)).toEqual(told);
  expect((await after.account('1002')).status).toBe('SUSPENDED');
  expect((await after.post(`/sandbox/instructions/${waiting.id}/release`)).status).toBe(200);
  // A week: past every closed day in a row.
  await after.advance(7 * 86_400_000);
  const statuses = (await after.ledger()).instructions.map(({ id, status }: Json) => [id, status]);
  expect(statuses).toEqual([
    [released.id, 'SETTLED'],
    [refused.id, 'C_INSTRUCTION_SUB_NOT_PASSED'],
    [waiting.id, 'SETTLED'],
    [later, 'C_INST_WAITING_FOR_APPROVAL'],
  ]);
  expect((await after.account('1001')).balance.value).toBe(25_000_000 - 990 - 115 - 315);
  expect((await after.ledger()).entriesSumMinor).toBe('0');
  await after.close();
});

it('throws the state away and begins from the seed when it is asked to, and keeps what follows', async () => {
  const before = await Tester.start({ stateFile });
  await before.pay([{ value: 100 }]);
  await before.close();
  const fresh = await Tester.start({ stateFile, fresh: true });
  expect((await fresh.ledger()).instructions).toEqual([]);
  expect((await fresh.account('1001')).balance.value).toBe(25_000_000);
  await fresh.pay([{ value: 7 }]);
  await fresh.close();
  const after = await Tester.start({ stateFile, fresh: false });
  expect((await after.ledger()).payees).toEqual([expect.objectContaining({ movedMinor: '7' })]);
  await after.close();
});

it('begins from the seed too where there is no state to throw away', async () => {
  const bank = await Tester.start({ stateFile, fresh: true });
  expect((await bank.ledger()).accounts).toHaveLength(3);
  await bank.close();
});

it('starts a fresh state at the time it is given, and an old one at the time it has', async () => {
  const before = await Tester.start({ stateFile, nowMs: Date.parse('2024-02-28T10:00:00Z') });
  expect((await before.get('/sandbox/clock')).body.date).toBe('2024-02-28');
  await before.post('/sandbox/clock', { date: '2024-03-05' });
  expect((await before.post('/sandbox/clock', { date: '2024-03-04' })).status).toBe(422);
  await before.close();
  const after = await Tester.start({ stateFile, nowMs: Date.parse('2024-02-28T10:00:00Z') });
  expect((await after.get('/sandbox/clock')).body.date).toBe('2024-03-05');
  await after.close();
});

it('forgets a line that a crash cut in two, and nothing else', async () => {
  const before = await Tester.start({ stateFile });
  const { id } = await before.initiate();
  await before.add(id);
  await before.close();
  const told = readFileSync(stateFile, 'utf8');
  appendFileSync(stateFile, '{"command":"add","atMs":1,"inp');
  const after = await Tester.start({ stateFile });
  expect((await after.add(id)).status).toBe(201);
  await after.close();
  const added = readFileSync(stateFile, 'utf8').slice(told.length);
  const commands = added
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { command: string }).command);
  expect(commands).toEqual(['configure', 'add']);
});

it('keeps what happened under other variants when it is started with new ones', async () => {
  const before = await Tester.start({
    stateFile,
    variants: { secondSubmit: 'executed', addAfterSubmit: 'accepted' },
  });
  const { id } = await before.pay([{ value: 100 }]);
  await before.submit(id);
  await before.add(id, { value: 5 });
  await before.advance(0);
  const told = await before.ledger();
  await before.close();
  const after = await Tester.start({ stateFile, stepMs: 60_000, variants: { amountUnit: 'major' } });
  expect(await after.ledger()).toEqual(told);
  expect((await after.submit(id)).status).toBe(409);
  expect((await after.account('1001')).balance.value).toBe(249_997.95);
  await after.close();
});

it('writes nothing for a request that was refused', async () => {
  const bank = await Tester.start({ stateFile });
  const { size } = statSync(stateFile);
  await bank.submit(1);
  await bank.delete(PATHS.account('1001'));
  expect(statSync(stateFile).size).toBe(size);
  await bank.close();
});

describe('as a process of its own', () => {
  it('loses nothing it answered when it is killed', async () => {
    const first = await startProcess({ SANDBOX_STATE_FILE: stateFile });
    const before = new Tester(first.url);
    const { id } = await before.initiate();
    for (let row = 0; row < 20; row += 1) await before.add(id, { messageId: `m-${row}` });
    await before.submit(id);
    await end(first.child, 'SIGKILL');

    const second = await startProcess({ SANDBOX_STATE_FILE: stateFile });
    const after = new Tester(second.url);
    await after.advance(0);
    const { instructions, payees } = await after.ledger();
    expect(instructions[0]).toMatchObject({ id, submits: 1 });
    expect(instructions[0].rows).toHaveLength(20);
    expect(payees[0].count).toBe(20);
    expect(await end(second.child, 'SIGTERM')).toBe(0);
  });

  it('loses no posting and no decision it answered when it is killed', async () => {
    const env = {
      SANDBOX_STATE_FILE: stateFile,
      SANDBOX_VARIANTS: JSON.stringify({ submitWaitsFor: 'approval', chargeMinor: 15 }),
    };
    const first = await startProcess(env);
    const before = new Tester(first.url);
    await before.post('/sandbox/postings', { accountId: '1001', type: 'FEE', amountMinor: '990' });
    const [released, refused] = [await before.pay([{ value: 100 }]), await before.pay([{ value: 200 }])];
    await before.post(`/sandbox/instructions/${released.id}/release`);
    await before.post(`/sandbox/instructions/${refused.id}/refuse`);
    await end(first.child, 'SIGKILL');

    const second = await startProcess(env);
    const after = new Tester(second.url);
    await after.advance(0);
    expect((await after.account('1001')).balance.value).toBe(25_000_000 - 990 - 115);
    const { instructions } = await after.ledger();
    expect(instructions.map(({ rows }: Json) => rows[0].status)).toEqual([
      'SETTLED',
      'P_INSTRUCTION_SUB_NOT_PASSED',
    ]);
    await end(second.child, 'SIGTERM');
  });

  it('begins afresh when its environment says so', async () => {
    const first = await startProcess({ SANDBOX_STATE_FILE: stateFile });
    await new Tester(first.url).pay([{}]);
    await end(first.child, 'SIGKILL');
    const second = await startProcess({ SANDBOX_STATE_FILE: stateFile, SANDBOX_FRESH: 'true' });
    expect((await new Tester(second.url).ledger()).instructions).toEqual([]);
    await end(second.child, 'SIGTERM');
  });

  it('ends with 1 when a variant is not lawful', async () => {
    const started = startProcess({ SANDBOX_VARIANTS: '{"pageBase":2}' });
    await expect(started).rejects.toThrow('the sandbox ended with 1');
  });

  it('takes token, variants and port from the environment', async () => {
    const { child, url } = await startProcess({
      SANDBOX_TOKEN: 'mine',
      SANDBOX_VARIANTS: JSON.stringify({ amountUnit: 'major' }),
    });
    const bank = new Tester(url, undefined, 'mine');
    expect((await bank.account('1001')).balance.value).toBe(250_000);
    expect((await new Tester(url).get(PATHS.accounts())).status).toBe(401);
    await end(child, 'SIGTERM');
    const { port } = new URL(url);
    const again = await startProcess({ SANDBOX_PORT: port });
    expect(again.url).toBe(url);
    await end(again.child, 'SIGTERM');
  });

  it('does not outlive its parent', async () => {
    const parent = await startProcess({});
    const orphan = await startProcess({ SANDBOX_PARENT_PID: String(parent.child.pid) });
    await end(parent.child, 'SIGKILL');
    expect(await ended(orphan.child)).toBe(0);
  });
});
