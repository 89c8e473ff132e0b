import { Logger } from '@nestjs/common';
import axios from 'axios';
import { Client } from 'pg';
import { DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { PATHS } from '../../src/bank/types';
import { encodeCursor } from '../../src/http/cursor';
import { readId } from '../../src/http/prefixed-id';
import { AccountWatch } from '../../src/settlement/account-watch';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { MovedClock, Payroll, PayrollOptions } from '../support/payroll';

const ACCOUNT = '1002';
/**
 * How long before a run is due it is approved: longer than the test takes until then, and short enough for late in the
 * evening.
 */
const LEAD_MS = 60_000;
/** Long enough for the watch and several ticks of the workers. */
const SETTLE_MS = 600;
/** Longer than an instruction waits before it is taken up again. */
const TAKEN_UP_MS = 3_000;

let payroll: Payroll;
afterEach(() => {
  jest.restoreAllMocks();
  return payroll.close();
});

const start = async (options: PayrollOptions = {}) => {
  payroll = await Payroll.start({ hooked: true, clock: new MovedClock(), rowsPerInstruction: 2, ...options });
};
const sandbox = (path: string, body?: unknown) => axios.post(`${payroll.bank.url}/sandbox/${path}`, body);
const pause = (ms = SETTLE_MS) => new Promise((resolve) => setTimeout(resolve, ms));
const kinds = async () => (await payroll.attention()).map((one) => one.kind);
const storedStatus = async () =>
  (await payroll.as('preparer').get(payroll.path('/accounts'))).data.items[0].status as string;
const statusBecomes = (status: string) => eventually(async () => (await storedStatus()) === status, 15_000);
/** The status is kept before people are asked. */
const isAskedAbout = async () => {
  await eventually(async () => (await kinds()).length > 0, 5_000);
  expect(await kinds()).toEqual(['ACCOUNT_UNUSABLE']);
};

interface EventItem {
  event: string;
  known: boolean;
  accountIds: string[];
  times: number;
}
const events = async (query: Record<string, unknown> = {}) =>
  (await payroll.as('operator').get(payroll.path('/bank-events'), { params: query })).data as {
    items: EventItem[];
    nextCursor: string | null;
  };

/** Uploads and approves a run that is due later. */
async function approvedForLater(rows = payRows(4)) {
  const submitAt = new Date(payroll.clock.now().getTime() + LEAD_MS).toISOString();
  return payroll.paid(payFile(rows), { submitAt });
}

const becomeDue = () => payroll.clock.set(new Date(payroll.clock.now().getTime() + LEAD_MS + 1_000));

async function paidOnce(id: string, people: number) {
  await payroll.until(id, ['SETTLED'], 30_000);
  const { payees } = await payroll.ledger();
  expect(payees.map((payee) => payee.count)).toEqual(Array<number>(people).fill(1));
}

async function blockedAndUnblocked(subject = `accounts/${ACCOUNT}`) {
  const id = await approvedForLater();
  await sandbox(`${subject}/block`);
  await statusBecomes('SUSPENDED');
  await isAskedAbout();
  becomeDue();
  await pause();
  expect((await payroll.run(id)).status).toBe('APPROVED');
  expect((await payroll.calls()).submit).toBe(0);
  await sandbox(`${subject}/unblock`);
  await statusBecomes('OPENED');
  await paidOnce(id, 4);
  expect(await kinds()).toEqual([]);
}

/** Takes the whole balance, as a bank's own fees could, so that the account can be closed. */
async function emptied() {
  const accounts = (await axios.get(`${payroll.bank.url}/sandbox/portal/accounts`)).data as {
    accountId: string;
    balance: string;
  }[];
  const balance = accounts.find(({ accountId }) => accountId === ACCOUNT)!.balance.replace('.', '');
  for (const amountMinor of halves(BigInt(balance)))
    await sandbox('postings', { accountId: ACCOUNT, type: 'FEE', amountMinor: amountMinor.toString() });
}

const halves = (amount: bigint) => [amount / 2n, amount - amount / 2n];

describe('an account that the bank blocks after the approval', () => {
  it('stops its runs by an event, and once it is unblocked everybody is paid once', async () => {
    await start();
    await blockedAndUnblocked();
    const { items } = await events();
    const [account] = (await payroll.as('operator').get(payroll.path('/accounts'))).data.items;
    const named = items.filter((one) => one.event.startsWith('account.'));
    expect(named.map(({ event }) => event)).toEqual(['account.status.unblocked', 'account.status.blocked']);
    expect(named.every(({ known, accountIds }) => known && accountIds[0] === account.id)).toBe(true);
  });

  it('stops its runs too when its holder is blocked, and they go on when the holder is unblocked', async () => {
    await start();
    await blockedAndUnblocked('identities/9502');
    const named = (await events()).items.filter((one) => one.event.startsWith('identity.'));
    expect(named.map(({ event }) => event)).toEqual(['identity.unblocked', 'identity.blocked']);
  });

  it('stops its runs for good when its holder is closed', async () => {
    await start();
    const id = await approvedForLater();
    await emptied();
    const headers = { authorization: `Bearer ${DEFAULT_TOKEN}` };
    await axios.delete(payroll.bank.url + PATHS.user('502'), { headers });
    await statusBecomes('CLOSED');
    expect((await events()).items.map(({ event }) => event)).toContain('identity.closed');
    await isAskedAbout();
    becomeDue();
    await pause();
    expect((await payroll.run(id)).status).toBe('APPROVED');
    expect((await payroll.calls()).submit).toBe(0);
  });

  it('is found without any event by reading it now and then', async () => {
    await start({ hooked: false, settings: { ACCOUNT_READ_MS: '100' } });
    await blockedAndUnblocked();
    expect(await payroll.inbox()).toEqual([]);
  });

  it('is found when the bank drops its events', async () => {
    await start({ settings: { ACCOUNT_READ_MS: '100' } });
    await payroll.fault({ operation: 'webhook', kind: 'dropped' });
    await blockedAndUnblocked();
    expect((await payroll.inbox()).filter((one) => one.event.startsWith('account.'))).toEqual([]);
  });

  it.each([
    ['initiate', 'BUILDING', 'PLANNED BUILDING'],
    ['submit', 'SUBMITTING', 'VERIFIED'],
  ])(
    'holds back every %s of a run in the middle of them, and all goes out once',
    async (call, status, held) => {
      await start({
        settings: { BANK_REJECTS_BEFORE_EXECUTING: 'true', SUBMIT_DOUBT_MS: '20000' },
        sandbox: { variants: { linkReads: 'allowed' } },
      });
      const callsMade = async () => (await payroll.calls())[call] ?? 0;
      const probed = await callsMade();
      // Turned away before they are executed, the calls are made again until the account is known to be blocked.
      await payroll.fault({ operation: call, kind: '429', retryAfterS: 1 });
      const id = await payroll.paid(payFile(payRows(4)));
      await payroll.until(id, [status], 20_000);
      await eventually(async () => (await callsMade()) > probed, 20_000);
      // A call that is written down already, and waits for the bank's pause to end, would be made all the same.
      await payroll.letRest('INSTRUCTION');
      await sandbox(`accounts/${ACCOUNT}/block`);
      await statusBecomes('SUSPENDED');
      await payroll.clearFaults();
      await payroll.wakeAll();
      await eventually(async () => {
        const { instructions } = await payroll.run(id);
        return instructions.every((one: { status: string }) => held.split(' ').includes(one.status));
      }, 20_000);
      const before = await callsMade();
      await pause(TAKEN_UP_MS);
      expect(await kinds()).toEqual(['ACCOUNT_UNUSABLE']);
      expect(await callsMade()).toBe(before);
      expect((await payroll.ledger()).payees).toEqual([]);
      await sandbox(`accounts/${ACCOUNT}/unblock`);
      await paidOnce(id, 4);
      await eventually(async () => (await kinds()).length === 0, 5_000);
    },
  );

  it('counts of a run in mid-run what is not submitted alone', async () => {
    await start();
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    await payroll.letRest('RUN', 'INSTRUCTION');
    const first = `SELECT i.id FROM instruction i JOIN planned_instruction n ON n.id = i.planned_instruction_id
      WHERE n.ordinal = 1`;
    await execute(
      payroll.database.superuserUrl,
      `UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL;
       UPDATE lease SET wake_at = now() WHERE kind = 'INSTRUCTION' AND subject_id IN (${first})`,
    );
    await eventually(async () => (await payroll.calls()).submit === 1, 20_000);
    await payroll.letRest('RUN', 'INSTRUCTION');
    await sandbox(`accounts/${ACCOUNT}/block`);
    const asked = (await payroll.as('operator').get(await payroll.askedAbout(id, 'ACCOUNT_UNUSABLE'))).data;
    expect(asked.happened).toMatch(/ waits in mid-run, with 2 of its 4 payments, for its account/);
    expect(asked.certain).toMatch(/What of this run was submitted, or may have been, is not sent again/);
    expect(asked.payments).toBe(2);
    await sandbox(`accounts/${ACCOUNT}/unblock`);
    await statusBecomes('OPENED');
    await payroll.wakeAll();
    await paidOnce(id, 4);
    expect(await kinds()).toEqual([]);
  });
});

describe('an account that is blocked, and several runs on it', () => {
  /** On which a run is asked about within the time that it takes to come due. */
  const askedOf = (id: string) => payroll.askedAbout(id, 'ACCOUNT_UNUSABLE');
  const blocked = async () => {
    await start();
    const id = await approvedForLater();
    await sandbox(`accounts/${ACCOUNT}/block`);
    await statusBecomes('SUSPENDED');
    return { id, path: await askedOf(id) };
  };
  const told = async () => (await payroll.attention()).map(({ happened }) => happened);

  it('asks of the next run once the one that was asked about is cancelled, and of that one no more', async () => {
    const first = await blocked();
    const cancellation = payroll.path(`/pay-runs/${first.id}/cancellation`);
    expect((await payroll.as('preparer').post(cancellation, { reason: 'not now' })).status).toBe(200);
    expect((await payroll.as('operator').get(first.path)).data.resolution).toBe('the run was cancelled');
    const next = await approvedForLater();
    becomeDue();
    await askedOf(next);
    expect(await told()).toEqual([expect.stringContaining(next)]);
    expect((await payroll.run(next)).openAttentions).toBe(1);
  });

  it('asks of one no more whose approvals are taken back', async () => {
    const { id, path } = await blocked();
    const voided = await payroll
      .as('approver')
      .delete(payroll.path(`/pay-runs/${id}/approvals`), { data: { reason: 'not while it is blocked' } });
    expect(voided.status).toBe(200);
    expect((await payroll.as('operator').get(path)).data.resolution).toBe('its approvals were taken back');
    expect(await kinds()).toEqual([]);
    expect((await payroll.run(id)).openAttentions).toBe(0);
  });

  it('asks once more of one that is blocked again, though the service is cut short once it has kept that', async () => {
    const { id, path } = await blocked();
    const acknowledged = await payroll.decide(path, { action: 'ACKNOWLEDGE', reason: 'the bank was asked' });
    expect(acknowledged.status).toBe(200);
    await payroll.wakeAll();
    await payroll.letRest('ACCOUNT');
    expect(await kinds()).toEqual([]);
    await sandbox(`accounts/${ACCOUNT}/unblock`);
    await statusBecomes('OPENED');
    const alarm = jest.spyOn(AccountWatch.prototype as unknown as { alarm: () => Promise<void> }, 'alarm');
    alarm.mockRejectedValueOnce(new Error('cut short'));
    await sandbox(`accounts/${ACCOUNT}/block`);
    await statusBecomes('SUSPENDED');
    becomeDue();
    expect(await askedOf(id)).not.toBe(path);
    expect(alarm.mock.calls.length).toBeGreaterThan(0);
  });

  it('stops all at once while people work on a run, and asks nothing of one whose approvals they take back', async () => {
    await start();
    const id = await approvedForLater();
    const person = new Client({ connectionString: payroll.database.superuserUrl });
    await person.connect();
    try {
      await person.query('BEGIN');
      await person.query(`UPDATE pay_run SET status = 'READY' WHERE id = $1`, [readId('run', id)]);
      await sandbox(`accounts/${ACCOUNT}/block`);
      await statusBecomes('SUSPENDED');
      await pause();
      await person.query('COMMIT');
    } finally {
      await person.end();
    }
    await payroll.letRest('ACCOUNT');
    expect(await kinds()).toEqual([]);
  });

  it('asks of each by itself, and once it is unblocked of none', async () => {
    const first = await blocked();
    const decision = { action: 'ACKNOWLEDGE', reason: 'the bank was asked' };
    expect((await payroll.decide(first.path, decision)).status).toBe(200);
    const others = [await approvedForLater(payRows(2, 11)), await approvedForLater(payRows(2, 21))];
    becomeDue();
    for (const id of others) await askedOf(id);
    expect((await told()).some((happened) => happened.includes(first.id))).toBe(false);
    await payroll.as('operator').post(payroll.path('/stop'), { reason: 'not to be sent in between' });
    await sandbox(`accounts/${ACCOUNT}/unblock`);
    await statusBecomes('OPENED');
    await eventually(async () => !(await kinds()).includes('ACCOUNT_UNUSABLE'), 15_000);
  });
});

describe('what an event says', () => {
  const signed = (event: string, data: Record<string, unknown>) =>
    payroll.deliver(JSON.stringify({ id: 'e-1', webhookId: '1', type: event.split('.')[0], event, data }));

  it('is not believed: lies about the account and its holder change nothing', async () => {
    await start();
    const id = await approvedForLater();
    const reads = (await payroll.calls()).getAccount ?? 0;
    for (const event of ['account.status.blocked', 'identity.blocked', 'identity.closed']) {
      const data = { accountNumber: ACCOUNT, ownerIdentityId: 9502, status: 'CLOSED' };
      expect((await signed(event, data)).status).toBe(200);
    }
    await eventually(async () => ((await payroll.calls()).getAccount ?? 0) > reads, 5_000);
    await pause();
    expect(await storedStatus()).toBe('OPENED');
    expect(await kinds()).toEqual([]);
    becomeDue();
    await paidOnce(id, 4);
  });

  it('has the account read again when the lag bound has passed, in case the first read was too early', async () => {
    await start({ settings: { BANK_LAG_BOUND_MS: '3000' } });
    const reads = (await payroll.calls()).getAccount ?? 0;
    await signed('account.status.blocked', { accountNumber: ACCOUNT });
    await eventually(async () => ((await payroll.calls()).getAccount ?? 0) > reads, 5_000);
    await eventually(async () => (await payroll.calls()).getAccount === reads + 2, 5_000);
    await pause(3_500);
    expect((await payroll.calls()).getAccount).toBe(reads + 2);
  });

  it('has the account read a few times, however often it comes', async () => {
    await start({ hooked: false, settings: { BANK_LAG_BOUND_MS: '3000', TICK_MS: '50' } });
    const reads = async () => (await payroll.calls()).getAccount ?? 0;
    const often = async (event: string) => {
      for (const untilMs = Date.now() + SETTLE_MS * 5; Date.now() < untilMs; await pause(50))
        expect((await signed(event, { accountId: ACCOUNT })).status).toBe(200);
    };
    const before = await reads();
    await often('account.status.blocked');
    const after = await reads();
    expect(after).toBeGreaterThan(before);
    expect(after).toBeLessThanOrEqual(before + 3);
  });

  it('has no account read where it is about payments', async () => {
    await start({ hooked: false });
    const reads = (await payroll.calls()).getAccount;
    await signed('transaction.new', { accountId: ACCOUNT });
    expect((await events()).items).toMatchObject([{ event: 'transaction.new' }]);
    await pause();
    expect((await payroll.calls()).getAccount).toBe(reads);
  });

  it('asks nobody where the document lists its name without a meaning, and has its account read', async () => {
    await start();
    const reads = (await payroll.calls()).getAccount ?? 0;
    await signed('account.credited', { accountNumber: ACCOUNT });
    await eventually(async () => ((await payroll.calls()).getAccount ?? 0) > reads, 5_000);
    expect((await events()).items).toMatchObject([{ event: 'account.credited', known: true, times: 1 }]);
    expect(await kinds()).toEqual([]);
  });

  it('is told to people where its name is not in the document, once, and moves nothing', async () => {
    await start();
    const body = { accountNumber: ACCOUNT };
    for (let n = 0; n < 3; n += 1) await signed('account.exploded', body);
    expect(await payroll.attention()).toMatchObject([{ kind: 'UNKNOWN_EVENT' }]);
    expect((await events()).items).toMatchObject([{ event: 'account.exploded', known: false, times: 3 }]);
    const [attention] = await payroll.attention();
    const path = payroll.path(`/attention/${attention!.id}/actions`);
    const proposed = await payroll
      .as('operator')
      .post(path, { action: 'ACKNOWLEDGE', reason: 'asked the bank' });
    expect(proposed.status).toBeLessThan(300);
    expect(await storedStatus()).toBe('OPENED');
  });

  it('is told for each unknown name by itself, also when another is told already', async () => {
    await start();
    const unknown = ['account.exploded', 'card.melted', 'card.tapped'];
    for (const name of unknown) await signed(name, { accountNumber: ACCOUNT });
    const told = await payroll.attention();
    expect(told.map(({ kind }) => kind)).toEqual(unknown.map(() => 'UNKNOWN_EVENT'));
    for (const [n, name] of unknown.entries()) expect(told[n]!.happened).toContain(` ${name},`);
    const path = payroll.path(`/attention/${told[0]!.id}`);
    expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason: 'asked the bank' })).status).toBe(
      200,
    );
    expect((await payroll.attention()).map(({ id }) => id)).toEqual(told.slice(1).map(({ id }) => id));
    for (const name of unknown.slice(1)) await signed(name, { accountNumber: ACCOUNT, again: true });
    expect(await payroll.attention()).toHaveLength(2);
  });

  it('is not asked about again once two people have decided its name, however many more come', async () => {
    await start();
    await signed('account.exploded', { accountNumber: ACCOUNT });
    const [attention] = await payroll.attention();
    const path = payroll.path(`/attention/${attention!.id}`);
    expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason: 'asked the bank' })).status).toBe(
      200,
    );
    for (const amount of [1, 2]) await signed('account.exploded', { accountNumber: ACCOUNT, amount });
    expect(await payroll.attention()).toEqual([]);
    expect((await events()).items).toHaveLength(3);
  });

  it('is shown to the administrator where it concerns no employer, and one without a known name is warned of', async () => {
    await start();
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await sandbox('iban-structures', { event: 'iban_structure.created' });
    for (const name of ['iban_structure.field_updated', 'iban_structure.file_imported'])
      await signed(name, { ibanStructureId: 7 });
    for (let n = 0; n < 2; n += 1) await signed('card.melted', { cardId: 5 });
    const list = async (query: object = {}) =>
      (await payroll.as('administrator').get('/v1/bank-events', { params: query })).data;
    await eventually(async () => (await list()).items.length === 4, 5_000);
    const first = await list({ limit: 1 });
    expect(first.items).toMatchObject([{ event: 'card.melted', known: false, times: 2 }]);
    const { id } = JSON.parse(Buffer.from(first.nextCursor, 'base64url').toString()) as { id: string };
    for (const at of ['2026-99-99 99:99:99+00', '2026-02-30 10:00:00+00', '2026-02-01 10:00:00+16'])
      expect(await list({ cursor: encodeCursor({ at, id }) })).toMatchObject({ code: 'CURSOR_INVALID' });
    const rest = (await list({ cursor: first.nextCursor })).items as EventItem[];
    expect(rest.map(({ event, known }) => [event, known]).sort()).toEqual([
      ['iban_structure.created', true],
      ['iban_structure.field_updated', true],
      ['iban_structure.file_imported', true],
    ]);
    const words = warned.mock.calls.map(([what]) => what as { event?: string }).filter(({ event }) => event);
    expect(words).toMatchObject([{ event: 'card.melted' }]);
    warned.mockRestore();
    const metrics = (await axios.get(`${payroll.url}/metrics`)).data as string;
    expect(metrics).toContain('bank_events_total{known="false",concerns="nobody"} 2');
    expect((await payroll.as('operator').get('/v1/bank-events')).status).toBe(403);
    expect((await events()).items).toEqual([]);
    expect(await payroll.attention()).toEqual([]);
  });

  it('is stored, whatever characters it is made of', async () => {
    await start();
    const bodies = [
      `{"id":"1","event":"account.status.blocked","data":{"accountNumber":"${ACCOUNT}","note":"a\\u0000b"}}`,
      `{"id":"2","event":"a\\u0000b","data":{"accountNumber":"${ACCOUNT}"}}`,
      `{"id":"3","event":"\\ud800","data":{"accountNumber":"${ACCOUNT}","more":{"x":"\\udc00"}}}`,
      `{"id":"4","event":"","data":{"accountNumber":"${ACCOUNT}"}}`,
      `{"id":"5\\u0000","event":"transaction.new","data":{"accountId":"${ACCOUNT}\\u0000"}}`,
      '['.repeat(5_000) + ']'.repeat(5_000),
    ];
    for (const body of bodies) expect((await payroll.deliver(body)).status).toBe(200);
    expect(await payroll.inbox()).toHaveLength(bodies.length);
    expect((await events()).items.map(({ event }) => event).reverse()).toEqual([
      'account.status.blocked',
      'a\ufffdb',
      '\ufffd',
      'unnamed',
    ]);
    const told = await payroll.attention();
    expect(told.map(({ happened }) => /event (\S+),/.exec(happened)![1])).toEqual(['a_b', '_', 'unnamed']);
  });

  it('is shown page by page to the employer it concerns, and to no other', async () => {
    await start();
    const names = ['account.status.opened', 'account.status.blocked', 'identity.unblocked'];
    for (const name of names) await signed(name, { accountNumber: ACCOUNT, ownerIdentityId: 9502 });
    await signed('account.status.blocked', { accountNumber: '1001', ownerIdentityId: 9501 });
    const iban = await select<{ sealed: string }>(
      payroll.database.superuserUrl,
      'SELECT iban_sealed AS sealed FROM employer_account',
    );
    await signed('account.status.unblocked', { accountNumber: iban[0]!.sealed.slice(2) });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await events({ limit: 1, cursor });
      seen.push(...page.items.map(({ event }) => event));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(['account.status.unblocked', ...[...names].reverse()]);
    const created = await payroll.as('administrator').post('/v1/employers', {
      name: 'Another GmbH',
      timeZone: 'Europe/Berlin',
    });
    const other = `/v1/employers/${created.data.id}/bank-events`;
    expect((await payroll.as('operator').get(other)).status).toBe(404);
    expect((await payroll.as('finance').get(payroll.path('/bank-events'))).status).toBe(403);
    expect((await payroll.inbox()).length).toBe(5);
  });

  it('is shown to no other, and has nothing of it read, where its own id is by chance that of a payment of it', async () => {
    await start({ hooked: false });
    const { superuserUrl } = payroll.database;
    await payroll.until(await payroll.paid(payFile(payRows(2))), ['SETTLED']);
    await payroll.restsForADay();
    const another = DEFAULT_SEED.users[0]!;
    const created = await payroll.as('administrator').post('/v1/employers', {
      name: another.holderName,
      timeZone: 'Europe/Berlin',
    });
    await select(
      superuserUrl,
      `INSERT INTO person_role (employer_id, person_id, role)
       SELECT $1, person_id, role FROM person_role WHERE employer_id = $2`,
      [readId('emp', created.data.id), readId('emp', payroll.employer)],
    );
    const attached = await payroll.as('operator').post(`/v1/employers/${created.data.id}/accounts`, {
      bankAccountId: another.account!.accountId,
      debtorName: another.holderName,
      bankIdentityId: String(another.identityId),
    });
    expect(attached.status).toBe(201);
    const leases = () =>
      select(superuserUrl, `SELECT subject_id, epoch, woken_at FROM lease WHERE kind = 'FOLLOW'`);
    const [before, shown] = [await leases(), (await events()).items];
    const [payment] = (await payroll.ledger()).instructions.flatMap(({ rows }) => rows.map(({ id }) => id));
    const data = { accountId: another.account!.accountId };
    const body = JSON.stringify({ id: String(payment), event: 'transaction.vanished', data });
    expect((await payroll.deliver(body)).status).toBe(200);
    await pause();
    const its = await payroll.as('operator').get(`/v1/employers/${created.data.id}/bank-events`);
    expect(its.data.items).toMatchObject([{ event: 'transaction.vanished' }]);
    expect((await events()).items).toEqual(shown);
    expect(await payroll.attention()).toEqual([]);
    expect(before).toHaveLength(1);
    expect(await leases()).toEqual(before);
  });
});
