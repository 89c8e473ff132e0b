import { BankGateway } from '../../src/bank/gateway';
import type { PreparedAdd } from '../../src/bank/prepared';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const ONE_AT_A_TIME = { BANK_ADDS_IN_FLIGHT: '1' };
const SIDE_BY_SIDE = {};

describe('adds that the bank forbids', () => {
  let payroll: Payroll;
  afterEach(async () => {
    jest.restoreAllMocks();
    await payroll.close();
  });

  const start = (settings: object, rowsPerInstruction = 40) =>
    Payroll.start({ rowsPerInstruction, settings: { ...settings } });
  /** Has the bank forbid what it is asked about; all else is taken. */
  const forbid = (isForbidden: (add: PreparedAdd) => boolean) => {
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { sendAdd } = gateway;
    return jest
      .spyOn(gateway, 'sendAdd')
      .mockImplementation((...args) =>
        isForbidden(args[0])
          ? Promise.resolve({ kind: 'no', reason: 'forbidden', status: 403 })
          : sendAdd.apply(gateway, args),
      );
  };
  const of =
    (rows: readonly { iban: string }[]) =>
    ({ body }: PreparedAdd) =>
      rows.some(({ iban }) => body.includes(iban));
  const asked = async (kind: string, times: number) => {
    await eventually(async () => (await payroll.attention()).length === times, 20_000);
    expect((await payroll.attention()).map((one) => one.kind)).toEqual(Array(times).fill(kind));
  };
  const resume = async (id: string) => {
    const path = await payroll.askedAbout(id, 'CREDENTIALS');
    const { data } = await payroll.as('operator').get(path);
    const reason = 'our access is whole';
    expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
    return data as { happened: string; certain: string; askBank: string };
  };
  const isStopped = async () => (await payroll.as('operator').get(payroll.path(''))).data.stopped !== null;
  const paid = async () => (await payroll.ledger()).payees.map(({ count }) => count);

  it('are sent once more, and nobody is asked where that is taken', async () => {
    payroll = await start(SIDE_BY_SIDE);
    await payroll.fault({ operation: 'add', kind: '403', times: 2, every: 1 });
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await paid()).toEqual([1, 1, 1, 1]);
  });

  it('are of one payment where the others are taken, also those that were to come after it', async () => {
    payroll = await start(SIDE_BY_SIDE);
    const rows = payRows(4);
    forbid(of(rows.slice(0, 1)));
    const id = await payroll.paid(payFile(rows));
    const path = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    const { data } = await payroll.as('finance').get(path);
    expect(data).toMatchObject({
      actions: ['EXCLUDE_PAYMENT', 'TRY_AGAIN'],
      paymentId: expect.any(String),
    });
    await asked('ROW_REFUSED_BY_BANK', 1);
    jest.restoreAllMocks();
    const again = { action: 'TRY_AGAIN', reason: 'the bank has mended what it was' };
    expect((await payroll.decide(path, again)).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await paid()).toEqual([1, 1, 1, 1]);
  });

  it.each([
    ['two of four, one add at a time', 4, [0, 3], ONE_AT_A_TIME],
    ['the last two of four, one add at a time', 4, [2, 3], ONE_AT_A_TIME],
    ['six of twelve', 12, [0, 2, 4, 6, 8, 10], { BANK_ADDS_IN_FLIGHT: '2' }],
    ['seven, one add at a time', 12, [0, 2, 4, 6, 8, 10, 11], ONE_AT_A_TIME],
    ['eight that lie together', 12, [0, 1, 2, 3, 4, 5, 6, 7], { BANK_ADDS_IN_FLIGHT: '4' }],
    ['eight that are sent alone', 12, [0, 1, 2, 3, 4, 5, 6, 7], { BANK_ADDS_IN_FLIGHT: '8' }],
    ['nine that lie together', 12, [0, 1, 2, 3, 4, 5, 6, 7, 8], { BANK_ADDS_IN_FLIGHT: '4' }],
    ['ten that lie together', 12, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], ONE_AT_A_TIME],
  ] as const)(
    'are asked about by payment where others are taken after them: %s',
    async (_, n, forbidden, settings) => {
      payroll = await start(settings);
      const rows = payRows(n);
      forbid(of(forbidden.map((one) => rows[one]!)));
      const id = await payroll.paid(payFile(rows));
      await asked('ROW_REFUSED_BY_BANK', forbidden.length);
      expect(await isStopped()).toBe(false);
      expect((await payroll.run(id)).status).toBe('BUILDING');
    },
  );

  it('are asked about by payment also where the rate is limited for the others', async () => {
    payroll = await start(ONE_AT_A_TIME);
    const rows = payRows(4);
    const spy = forbid(of(rows.slice(0, 1)));
    const forbidding = spy.getMockImplementation()!;
    let limited = false;
    spy.mockImplementation((...args) => {
      if (limited || !of(rows.slice(2, 3))(args[0])) return forbidding(...args);
      limited = true;
      return Promise.resolve({ kind: 'no', reason: 'rate-limited', status: 429, retryAfterMs: 100 });
    });
    await payroll.paid(payFile(rows));
    await asked('ROW_REFUSED_BY_BANK', 1);
  });

  it('are one question of our access, and then one of each, also where the rate is limited before that is shown', async () => {
    payroll = await start({ BANK_ADDS_IN_FLIGHT: '8' });
    let sent = 0;
    forbid(() => true).mockImplementation(() =>
      Promise.resolve(
        ++sent % 20 === 0
          ? { kind: 'no', reason: 'rate-limited', status: 429, retryAfterMs: 100 }
          : { kind: 'no', reason: 'forbidden', status: 403 },
      ),
    );
    const id = await payroll.paid(payFile(payRows(40)));
    await asked('CREDENTIALS', 1);
    expect((await resume(id)).happened).toMatch(/it forbids (39|40) payments/);
    await asked('ROW_REFUSED_BY_BANK', 40);
    expect(sent).toBeLessThan(200);
  });

  it.each([
    ['the last five', 12, [7, 8, 9, 10, 11], SIDE_BY_SIDE],
    ['the last seven, one add at a time', 12, [5, 6, 7, 8, 9, 10, 11], ONE_AT_A_TIME],
    ['six of twelve that are sent side by side', 12, [0, 2, 4, 6, 8, 10], SIDE_BY_SIDE],
    ['all', 3, [0, 1, 2], SIDE_BY_SIDE],
  ] as const)(
    'are asked about by payment once two people have said that our access is there: %s',
    async (_, n, forbidden, settings) => {
      payroll = await start(settings);
      const rows = payRows(n);
      forbid(of(forbidden.map((one) => rows[one]!)));
      const id = await payroll.paid(payFile(rows));
      await asked('CREDENTIALS', 1);
      const told = await resume(id);
      expect(told.happened).toMatch('The bank forbids payments to be added while building');
      expect(told.certain).toMatch('Whether it refuses our access or these payments is not known');
      await asked('ROW_REFUSED_BY_BANK', forbidden.length);
      expect(await isStopped()).toBe(false);
    },
  );

  it('are told with the instruction they were sent to, how many they are and of which rows', async () => {
    payroll = await start(SIDE_BY_SIDE);
    forbid(() => true);
    const id = await payroll.paid(payFile(payRows(3)));
    await asked('CREDENTIALS', 1);
    const { happened, askBank } = await resume(id);
    const instruction = /In customer instruction (\S+) it forbids 3 payments: rows 1, 2, 3\.$/.exec(
      happened,
    )?.[1];
    expect(instruction).toBeDefined();
    expect(askBank).toMatch(`why are payments forbidden in customer instruction ${instruction}?`);
  });

  it.each([
    ['side by side', SIDE_BY_SIDE],
    ['one at a time', ONE_AT_A_TIME],
    ['eight at a time', { BANK_ADDS_IN_FLIGHT: '8' }],
  ])('are one question of our access where all are forbidden from some one on (%s)', async (_, settings) => {
    payroll = await start(settings);
    let taken = 0;
    const spy = forbid(() => taken++ >= 10);
    const id = await payroll.paid(payFile(payRows(40)));
    await asked('CREDENTIALS', 1);
    spy.mockRestore();
    await resume(id);
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await paid()).toEqual(payRows(40).map(() => 1));
  });

  it('are one question of our access also where others went before it that were worked in any order', async () => {
    payroll = await start(SIDE_BY_SIDE);
    const rows = payRows(20);
    const spy = forbid(of(rows.filter((_, n) => n % 2 === 0)));
    const id = await payroll.paid(payFile(rows));
    await asked('CREDENTIALS', 1);
    spy.mockRestore();
    await resume(id);
    await payroll.until(id, ['SETTLED'], 20_000);
  });

  it('are one question of our access also beside a payment that is forbidden by itself, which is asked about then', async () => {
    payroll = await start({ BANK_ADDS_IN_FLIGHT: '8' });
    const rows = payRows(20);
    let sent = 0;
    const spy = forbid((add) => sent++ >= 11 || of(rows.slice(0, 1))(add));
    const id = await payroll.paid(payFile(rows));
    await asked('CREDENTIALS', 1);
    spy.mockRestore();
    forbid(of(rows.slice(0, 1)));
    await resume(id);
    await asked('ROW_REFUSED_BY_BANK', 1);
  });

  it('are a question of our access again where it is withdrawn again', async () => {
    payroll = await start(ONE_AT_A_TIME);
    let left = 5;
    const spy = forbid(() => left-- <= 0);
    const id = await payroll.paid(payFile(payRows(20)));
    await asked('CREDENTIALS', 1);
    left = 5;
    await resume(id);
    await eventually(async () => left < 0, 20_000);
    await asked('CREDENTIALS', 1);
    spy.mockRestore();
    await resume(id);
    await payroll.until(id, ['SETTLED'], 20_000);
  });

  it('are not decided by what people said of an initiation that was refused', async () => {
    payroll = await start(SIDE_BY_SIDE);
    await payroll.fault({ operation: 'initiate', kind: '403', times: 1, every: 1 });
    const rows = payRows(12);
    const spy = forbid(of(rows.slice(5)));
    const id = await payroll.paid(payFile(rows));
    await asked('CREDENTIALS', 1);
    expect((await resume(id)).happened).toMatch('The bank refused our access while building');
    await asked('CREDENTIALS', 1);
    spy.mockRestore();
    expect((await resume(id)).happened).toMatch('The bank forbids payments to be added');
    await payroll.until(id, ['SETTLED'], 20_000);
  });

  it.each([
    ['tried again', 'TRY_AGAIN'],
    ['left out', 'EXCLUDE_PAYMENT'],
  ])('are asked about by payment, and stop nobody again, where one of them is %s', async (_, action) => {
    payroll = await start(SIDE_BY_SIDE);
    const rows = payRows(12);
    forbid(of(rows.slice(5)));
    const { id } = await payroll.uploaded(payFile(rows)).then(async (run) => {
      await payroll.approve(run);
      return run;
    });
    await asked('CREDENTIALS', 1);
    await resume(id);
    await asked('ROW_REFUSED_BY_BANK', 7);
    const before = new Set((await payroll.attention()).map((one) => one.id));
    const path = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    expect((await payroll.decide(path, { action, reason: 'the bank said so' })).status).toBe(200);
    if (action === 'EXCLUDE_PAYMENT') {
      await payroll.until(id, ['READY'], 20_000);
      const { rootHash, total } = await payroll.run(id);
      expect((await payroll.approve({ id, rootHash, total })).status).toBeLessThan(300);
    }
    await eventually(async () => (await payroll.attention()).some((one) => !before.has(one.id)), 20_000);
    await asked('ROW_REFUSED_BY_BANK', action === 'EXCLUDE_PAYMENT' ? 6 : 7);
    expect(await isStopped()).toBe(false);
  });

  it('are asked about by payment, and stop nobody again, where one of them is tried again and taken', async () => {
    payroll = await start(SIDE_BY_SIDE);
    const rows = payRows(12);
    const spy = forbid(of(rows.slice(5)));
    const id = await payroll.paid(payFile(rows));
    await asked('CREDENTIALS', 1);
    await resume(id);
    await asked('ROW_REFUSED_BY_BANK', 7);
    const path = await payroll.askedAbout(id, 'ROW_REFUSED_BY_BANK');
    const { happened } = (await payroll.as('operator').get(path)).data as { happened: string };
    const mended = rows[Number(/row (\d+)/.exec(happened)?.[1]) - 1]!;
    spy.mockRestore();
    forbid(of(rows.slice(5).filter((row) => row !== mended)));
    const again = { action: 'TRY_AGAIN', reason: 'the bank allows it now' };
    expect((await payroll.decide(path, again)).status).toBe(200);
    await asked('ROW_REFUSED_BY_BANK', 6);
    expect(await isStopped()).toBe(false);
  });

  it('are a question of our access again, of all of them, where it was resumed too early', async () => {
    payroll = await start(ONE_AT_A_TIME);
    const spy = forbid(() => true);
    const id = await payroll.paid(payFile(payRows(15)));
    await asked('CREDENTIALS', 1);
    expect((await resume(id)).happened).toMatch('it forbids 6 payments');
    await asked('CREDENTIALS', 1);
    spy.mockRestore();
    expect((await resume(id)).happened).toMatch('it forbids 15 payments');
    await payroll.until(id, ['SETTLED'], 20_000);
  });
});
