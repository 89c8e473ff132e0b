import { BankGateway } from '../../src/bank/gateway';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { select } from '../support/database';

describe('rows on their way to the bank', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 250, settings: { BANK_ADDS_IN_FLIGHT: '16' } });
  });
  afterEach(() => payroll.close());

  const count = async (sql: string) => {
    const [row] = await select<{ n: string }>(payroll.database.superuserUrl, `SELECT (${sql}) AS n`);
    return Number(row?.n);
  };
  const timesPaid = async () => (await payroll.ledger()).payees.map((payee) => payee.count);

  it('never leave more than 200 rows to be in doubt, and one batch is sent while another is written down', async () => {
    const id = await payroll.paid(payFile(payRows(700)));
    await payroll.until(id, ['SETTLED']);
    const mostOpen = await count(
      `SELECT max(rows) FROM add_intent a, LATERAL (
         SELECT sum(cardinality(o.row_nos)) AS rows FROM add_intent o
         WHERE o.intended_at <= a.intended_at AND o.finished_at > a.intended_at) AS open`,
    );
    expect(mostOpen).toBeGreaterThan(100);
    expect(mostOpen).toBeLessThanOrEqual(200);
    expect(await timesPaid()).toEqual(Array.from({ length: 700 }, () => 1));
  });

  it('are finished and written down when the service is stopped, and the rest is added by the next one', async () => {
    await payroll.fault({ operation: 'add', kind: 'slow-drip', every: 8, delayMs: 1 });
    await payroll.paid(payFile(payRows(500)));
    await eventually(async () => (await count('SELECT count(*) FROM add_intent')) > 0, 30_000);
    await payroll.stopServices();
    expect(await count('SELECT count(*) FROM add_intent WHERE finished_at IS NULL')).toBe(0);
    const added = await count('SELECT count(*) FROM bank_payment');
    expect(added).toBeGreaterThan(0);
    expect(added).toBeLessThan(500);
    await payroll.clearFaults();
    await payroll.addReplica();
    await eventually(
      async () => (await count(`SELECT count(*) FROM pay_run WHERE status = 'SETTLED'`)) === 1,
      30_000,
    );
    expect(await timesPaid()).toEqual(Array.from({ length: 500 }, () => 1));
  });
});

describe('rows that are intended when the service is stopped', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('are not sent any more unless they are on their way, and are added by the next one to the same instruction', async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 250, settings: { BANK_ADDS_IN_FLIGHT: '8' } });
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const sendAdd = gateway.sendAdd.bind(gateway);
    let sent = 0;
    gateway.sendAdd = async (prepared) => {
      sent += 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return sendAdd(prepared);
    };
    await payroll.paid(payFile(payRows(250)));
    await eventually(() => Promise.resolve(sent > 20), 15_000);
    const before = sent;
    await payroll.stopServices();
    expect(sent - before).toBeLessThanOrEqual(16);
    await payroll.addReplica();
    const { superuserUrl } = payroll.database;
    const settled = `SELECT FROM pay_run WHERE status = 'SETTLED'`;
    await eventually(async () => (await select(superuserUrl, settled)).length === 1, 30_000);
    expect(await select(superuserUrl, 'SELECT attempt FROM instruction')).toEqual([{ attempt: 1 }]);
    expect((await payroll.calls())['add']).toBe(250);
  });
});

describe('instructions that are filled one row at a time', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  const waitingForTurn = () =>
    select(
      payroll.database.superuserUrl,
      `SELECT FROM lease WHERE waits_for LIKE 'this service: an instruction of another run is filled one row at a time%'`,
    );

  it('keep no other run from being filled', async () => {
    payroll = await Payroll.start({ rowsPerInstruction: 20 });
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const sendAdd = gateway.sendAdd.bind(gateway);
    await payroll.fault({ operation: 'add', kind: '422', every: 1 });
    const slow = await payroll.paid(payFile(payRows(120).map((row) => ({ ...row, name: 'Slow Payee' }))));
    const attempts = async (id: string): Promise<number[]> =>
      (await payroll.run(id)).instructions.map(({ attempt }: { attempt: number }) => attempt);
    gateway.sendAdd = async (prepared, ...others) => {
      const isSlow = prepared.body.includes('Slow Payee');
      if (isSlow) await new Promise((resolve) => setTimeout(resolve, 400));
      return sendAdd(prepared, ...others);
    };
    await eventually(async () => (await attempts(slow)).every((attempt) => attempt === 2), 30_000);
    await payroll.clearFaults();
    const quick = await payroll.paid(payFile(payRows(50, 1_000)));
    await payroll.until(quick, ['SETTLED'], 10_000);
    expect((await payroll.run(slow)).status).toBe('BUILDING');
    expect(await waitingForTurn()).toEqual([]);
  });

  it('have another run that is filled so wait for its turn, and say so', async () => {
    payroll = await Payroll.start();
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const sendAdd = gateway.sendAdd.bind(gateway);
    const firstOf = new Map<string, string>();
    const taken: string[] = [];
    gateway.sendAdd = async (prepared, ...others) => {
      const [name = ''] = /Payee [AB]/.exec(prepared.body) ?? [];
      if (!firstOf.has(name)) firstOf.set(name, prepared.path);
      if (firstOf.get(name) === prepared.path) return { kind: 'no', reason: 'invalid', status: 422 };
      await new Promise((resolve) => setTimeout(resolve, 100));
      taken.push(name);
      return sendAdd(prepared, ...others);
    };
    const rows = (name: string, first: number) => payRows(20, first).map((row) => ({ ...row, name }));
    const runs: string[] = [];
    for (const [n, name] of ['Payee A', 'Payee B'].entries())
      runs.push(await payroll.paid(payFile(rows(name, n * 100))));
    await eventually(async () => (await waitingForTurn()).length === 1, 10_000);
    for (const id of runs) await payroll.until(id, ['SETTLED'], 30_000);
    expect(taken).toHaveLength(40);
    expect(taken.filter((name, n) => name !== taken[n - 1])).toHaveLength(2);
    expect(await waitingForTurn()).toEqual([]);
  });
});

describe('an instruction with an add whose answer was lost', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is believed to be whole only once the lag bound has passed since its last add', async () => {
    payroll = await Payroll.start({
      settings: { BANK_LAG_BOUND_MS: '2500' },
      sandbox: { variants: { addAfterSubmit: 'accepted', enforceControlTotals: false } },
    });
    await payroll.fault({ operation: 'add', kind: 'answer-lost', nth: 1 });
    // What the bank takes twice shows within the bound.
    await payroll.fault({ operation: 'add', kind: 'doubled', nth: 2, delayMs: 1_200 });
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
    expect((await payroll.run(id)).instructions[0].attempt).toBeGreaterThan(1);
  });
});

describe('a bank that answers two adds with the id of one payment', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is not believed: no row is added to the instruction again, and each is paid once', async () => {
    payroll = await Payroll.start({ sandbox: { variants: { linkReads: 'allowed' } } });
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const add = gateway.sendAdd.bind(gateway);
    const sent: string[] = [];
    let first: string | undefined;
    jest.spyOn(gateway, 'sendAdd').mockImplementation(async (prepared) => {
      sent.push(`${prepared.bankInstructionId} ${prepared.request.messageId}`);
      const outcome = await add(prepared);
      if (outcome.kind !== 'yes' || sent.length > 2) return outcome;
      first ??= outcome.value.bankPaymentId;
      return { ...outcome, value: { ...outcome.value, bankPaymentId: first } };
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 30_000);
    expect(new Set(sent).size).toBe(sent.length);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1]);
  });
});
