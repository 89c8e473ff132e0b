import axios from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { BankGateway } from '../../src/bank/gateway';
import { readId } from '../../src/http/prefixed-id';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const ACCOUNT = '1002';
const NEVER_SETTLES = MAGIC_CREDITORS.find(({ effect }) => effect === 'neverSettles')!.iban;

let payroll: Payroll;

const rows = (first: number, count: number) =>
  payRows(count, first).map((row) => ({ ...row, amount: '100.00' }));

/** Leaves so much on the account that payments can be made of it. */
async function leave(amountMinor: number): Promise<void> {
  const { data } = await axios.get<{ availableBalance: { value: number } }>(
    `${payroll.bank.url}/api/distributor/v1/accounts/${ACCOUNT}`,
    { headers: { authorization: `Bearer ${DEFAULT_TOKEN}` } },
  );
  await axios.post(`${payroll.bank.url}/sandbox/postings`, {
    accountId: ACCOUNT,
    type: 'DISTRIBUTOR_POSTING',
    direction: 'DEBIT',
    amountMinor: String(data.availableBalance.value - amountMinor),
  });
}

describe('a run beside one of which an instruction is parked', () => {
  beforeAll(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 2,
      settings: { SUBMIT_DOUBT_MS: '400' },
      sandbox: { variants: { amountUnit: 'minor', amountType: 'number', chargeMinor: 0 } },
    });
  });
  afterAll(() => payroll.close());

  it('leaves what is parked on the account, once, however many instructions beside it are under way', async () => {
    // One person with three contracts, of whom one payment is in each instruction.
    const open = rows(1, 6).map((row, n) =>
      n % 2 === 0
        ? { ...row, name: 'Ann Smith', iban: NEVER_SETTLES, amount: `100.0${n}` }
        : { ...row, amount: n === 1 ? '100.00' : `99.9${11 - n}` },
    );
    await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 3 });
    const parked = await payroll.paid(payFile(open));
    await payroll.askedAbout(parked, 'SUBMIT_UNKNOWN');
    await payroll.until(parked, ['FOLLOWING']);
    await leave(2 * 100_00 + 2 * 100_00);
    const id = await payroll.paid(payFile(rows(50, 2)), { kindOfPay: 'BONUS' });
    await payroll.until(id, ['SETTLED'], 15_000);
    expect((await payroll.attention()).map(({ kind }) => kind)).not.toContain('LOW_BALANCE');
  });
});

describe('a run beside one that was submitted and not read since', () => {
  beforeEach(async () => {
    payroll = await Payroll.start({
      settings: { FOLLOW_DELAYS_MS: '600000' },
      // The bank holds what was submitted before anything is taken from the account.
      sandbox: {
        variants: { amountUnit: 'minor', amountType: 'number', chargeMinor: 0, submitRuns: 'at-once' },
      },
    });
  });
  afterEach(() => payroll.close());

  const gateLooks = () =>
    execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET wake_at = now() WHERE kind = 'RUN' AND holder IS NULL`,
    );
  const lowBalance = async () => (await payroll.attention()).filter(({ kind }) => kind === 'LOW_BALANCE');

  it('asks nobody for money that the bank holds already, has it read, and goes on', async () => {
    await payroll.until(await payroll.paid(payFile(rows(1, 2))), ['FOLLOWING'], 15_000);
    await leave(2 * 100_00);
    const id = await payroll.paid(payFile(rows(50, 2)), { kindOfPay: 'BONUS' });
    await eventually(async () => {
      await gateLooks();
      expect(await lowBalance()).toEqual([]);
      return (await payroll.run(id)).status === 'FOLLOWING';
    }, 15_000);
  });

  it('is asked about when the money lacks all the same', async () => {
    const open = rows(1, 2).map((row, n) => ({
      ...row,
      name: 'Ann Smith',
      iban: NEVER_SETTLES,
      amount: `100.0${n}`,
    }));
    await payroll.fault({ operation: 'submit', kind: 'request-lost', every: 1 });
    const parked = await payroll.paid(payFile(open));
    await payroll.askedAbout(parked, 'SUBMIT_UNKNOWN');
    await leave(2 * 100_00);
    const id = await payroll.paid(payFile(rows(50, 2)), { kindOfPay: 'BONUS' });
    const waits = `SELECT FROM lease WHERE missing = 'MONEY'`;
    await eventually(async () => (await select(payroll.database.superuserUrl, waits)).length > 0, 15_000);
    await gateLooks();
    expect(await lowBalance()).toEqual([]);
    await execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET missing_since = missing_since - interval '2 minutes' WHERE missing = 'MONEY'`,
    );
    await gateLooks();
    const path = await payroll.askedAbout(id, 'LOW_BALANCE');
    const lacking = async (role: 'finance' | 'operator') => (await payroll.as(role).get(path)).data.lacking;
    expect([await lacking('finance'), await lacking('operator')]).toEqual(['200.01', null]);
  });
});

describe('a run beside one whose transfer within the bank was last shown at SUBMITTED, long ago', () => {
  afterEach(() => payroll.close());

  it('does not leave what the bank has debited on the account once more', async () => {
    payroll = await Payroll.start({
      sandbox: {
        variants: { amountUnit: 'minor', amountType: 'number', chargeMinor: 0, bookEnds: 'SUBMITTED' },
      },
    });
    const within = rows(1, 1).map((row) => ({ ...row, iban: DEFAULT_SEED.users[0]!.account!.iban }));
    await payroll.until(await payroll.paid(payFile(within)), ['FOLLOWING'], 15_000);
    const shown = `SELECT FROM bank_payment WHERE bank_status = 'SUBMITTED'`;
    await eventually(async () => (await select(payroll.database.superuserUrl, shown)).length === 1, 15_000);
    await leave(2 * 100_00);
    payroll.clock.offsetMs += 7 * 86_400_000;
    await payroll.bankClock(payroll.clock.now());
    const id = await payroll.paid(payFile(rows(50, 2)), { kindOfPay: 'BONUS' });
    await payroll.until(id, ['FOLLOWING', 'SETTLED'], 15_000);
    expect((await payroll.attention()).map(({ kind }) => kind)).not.toContain('LOW_BALANCE');
  });
});

describe('two runs at their gates in the same moment', () => {
  beforeEach(async () => {
    payroll = await Payroll.start({
      sandbox: { variants: { amountUnit: 'minor', amountType: 'number', chargeMinor: 0 } },
    });
  });
  afterEach(() => payroll.close());

  const statusOf = async (id: string) => (await payroll.run(id)).status;

  it('do not both count on the money of one', async () => {
    const { superuserUrl } = payroll.database;
    await leave(2 * 100_00);
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    const ids = [
      await payroll.paid(payFile(rows(1, 2))),
      await payroll.paid(payFile(rows(50, 2)), { kindOfPay: 'BONUS' }),
    ];
    for (const id of ids) await payroll.until(id, ['VERIFIED']);
    await execute(
      superuserUrl,
      `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_sleep(2); RETURN NEW; END $$;
       CREATE TRIGGER slow_gate BEFORE UPDATE ON pay_run FOR EACH ROW
         WHEN (OLD.status = 'VERIFIED' AND NEW.status = 'SUBMITTING') EXECUTE FUNCTION dawdle()`,
    );
    // Until neither is at its gate, so that both come there together.
    await eventually(async () => {
      const held = await select(superuserUrl, `SELECT FROM lease WHERE kind = 'RUN' AND holder IS NOT NULL`);
      return held.length === 0;
    }, 10_000);
    await payroll.clearFaults();
    await execute(superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'RUN'`);
    await eventually(async () => (await Promise.all(ids.map(statusOf))).includes('SETTLED'), 20_000);
    expect((await Promise.all(ids.map(statusOf))).sort()).toEqual(['SETTLED', 'VERIFIED']);
  });
});

describe('a run beside one of which an instruction is to be built again after its gate', () => {
  beforeAll(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 2,
      sandbox: { variants: { amountUnit: 'minor', amountType: 'number', chargeMinor: 0 } },
    });
  });
  afterAll(() => payroll.close());

  it('leaves what that is to pay on the account', async () => {
    await payroll.stopPastTheGate();
    const first = await payroll.paid(payFile(rows(1, 4)));
    await payroll.until(first, ['SUBMITTING']);
    const [one, other] = (await payroll.run(first)).instructions;
    await payroll.addAtBank(other.bankInstructionId);
    // One after the other: what differs stops the run, and what is not submitted by then is not.
    const url = payroll.database.superuserUrl;
    const rests = `UPDATE lease SET wake_at = 'infinity', woken_at = NULL
      WHERE subject_id = $1 AND holder IS NULL RETURNING subject_id`;
    // One that is held just then would be due again once it is given back.
    await eventually(async () => (await select(url, rests, [readId('ins', other.id)])).length > 0, 10_000);
    await execute(url, 'UPDATE pay_run SET stopped_at = NULL, stopped_reason = NULL');
    await execute(url, 'UPDATE lease SET wake_at = now() WHERE subject_id = $1', [readId('ins', one.id)]);
    await eventually(async () => (await payroll.run(first)).paymentsByStatus.SETTLED?.payments === 2, 15_000);
    await payroll.letRunsGoOn();
    await payroll.askedAbout(first, 'FOREIGN_RECORD');
    await eventually(async () => (await payroll.run(first)).instructionsByStatus.PLANNED === 1, 5_000);
    expect((await payroll.run(first)).paymentsByStatus.APPROVED?.payments).toBe(2);
    await leave(3 * 100_00);
    const id = await payroll.paid(payFile(rows(50, 2)), { kindOfPay: 'BONUS' });
    const waits = `SELECT FROM lease WHERE missing = 'MONEY'`;
    await eventually(async () => (await select(payroll.database.superuserUrl, waits)).length > 0, 5_000);
    expect((await payroll.run(id)).status).toBe('VERIFIED');
  });
});

describe('a run that the available balance does not cover', () => {
  afterEach(() => payroll.close());

  const start = async (reserves: 'at-debit' | 'at-add') => {
    payroll = await Payroll.start({
      sandbox: { variants: { amountUnit: 'minor', amountType: 'number', chargeMinor: 0, reserves } },
    });
  };
  const goOn = { action: 'GO_ON', reason: 'the bank says that it counts the run itself as pending' };
  const lacking = async (path: string) => (await payroll.as('finance').get(path)).data.lacking;
  /** Has the gate look at the balance, and conclude from it, several times: who looks again is done with the look before. */
  const looks = async () => {
    const gate = jest.spyOn(payroll.services[0]!.app.get(BankGateway), 'getAccount');
    await eventually(async () => {
      await payroll.wakeAll();
      return gate.mock.calls.length > 3;
    }, 15_000);
    gate.mockRestore();
  };
  /** Until then nobody passes the gate: what it read before is concluded from. */
  const holdGates = async () => {
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    await looks();
  };

  it('since the bank reserves it from its adds on is held, goes on by the word of two people, and settles', async () => {
    await start('at-add');
    await leave(2 * 100_00);
    const id = await payroll.paid(payFile(rows(1, 2)));
    const path = await payroll.askedAbout(id, 'LOW_BALANCE');
    expect(await lacking(path)).toBe('200.00');
    expect((await payroll.as('operator').post(`${path}/actions`, goOn)).status).toBe(201);
    const alone = await payroll.confirm(path, 'operator');
    expect([alone.status, alone.data.code]).toEqual([409, 'SECOND_PERSON_REQUIRED']);
    await payroll.wakeAll();
    expect((await payroll.run(id)).status).toBe('VERIFIED');
    expect((await payroll.confirm(path)).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 15_000);
    expect(await payroll.attention()).toEqual([]);
    const audited = await select(
      payroll.database.superuserUrl,
      `SELECT action FROM audit_entry WHERE detail->>'action' = 'GO_ON' ORDER BY seq`,
    );
    expect(audited.map(({ action }) => action)).toEqual(['attention.proposed', 'attention.confirmed']);
  });

  it('is told anew where the open question does not say what it lacks, or says less, before people let it go on', async () => {
    await start('at-add');
    await leave(2 * 100_00);
    const id = await payroll.paid(payFile(rows(1, 2)));
    let path = await payroll.askedAbout(id, 'LOW_BALANCE');
    for (const told of ['NULL', '19999']) {
      await holdGates();
      await execute(
        payroll.database.superuserUrl,
        `UPDATE attention SET lacking_minor = ${told} WHERE resolved_at IS NULL`,
      );
      await payroll.clearFaults();
      const before = path;
      await eventually(async () => {
        await payroll.wakeAll();
        path = await payroll.askedAbout(id, 'LOW_BALANCE');
        return path !== before;
      }, 15_000);
      expect(await lacking(path)).toBe('200.00');
    }
    expect((await payroll.decide(path, goOn)).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 15_000);
  });

  it('is asked about again after an amendment, whatever was decided of the version before', async () => {
    await start('at-debit');
    await leave(50_00);
    const id = await payroll.paid(payFile(rows(1, 2)));
    const path = await payroll.askedAbout(id, 'LOW_BALANCE');
    await holdGates();
    expect((await payroll.decide(path, goOn)).status).toBe(200);
    const { items } = (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data;
    const amendment = { excludePaymentIds: [items[0].id], reason: 'left the company' };
    const amended = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), amendment);
    expect(amended.status).toBeLessThan(300);
    await payroll.until(id, ['READY']);
    await payroll.approve(await payroll.run(id));
    await payroll.until(id, ['VERIFIED'], 15_000);
    await payroll.clearFaults();
    const again = await payroll.askedAbout(id, 'LOW_BALANCE');
    expect(again).not.toBe(path);
    expect(await lacking(again)).toBe('50.00');
    expect((await payroll.run(id)).status).toBe('VERIFIED');
  });

  const acknowledge = async (path: string) => {
    const decided = await payroll.decide(path, { action: 'ACKNOWLEDGE', reason: 'we fund it' });
    expect(decided.status).toBe(200);
  };
  const isAsked = async () => (await payroll.attention()).some(({ kind }) => kind === 'LOW_BALANCE');
  const debit = (amountMinor: string) =>
    axios.post(`${payroll.bank.url}/sandbox/postings`, {
      accountId: ACCOUNT,
      type: 'DISTRIBUTOR_POSTING',
      direction: 'DEBIT',
      amountMinor,
    });

  it('is asked about again where more lacks than was acknowledged, and not where as much does', async () => {
    await start('at-debit');
    await leave(150_00);
    const id = await payroll.paid(payFile(rows(1, 2)));
    await acknowledge(await payroll.askedAbout(id, 'LOW_BALANCE'));
    await looks();
    expect(await isAsked()).toBe(false);
    await debit('10000');
    const again = await payroll.askedAbout(id, 'LOW_BALANCE');
    expect(await lacking(again)).toBe('150.00');
    expect((await payroll.decide(again, goOn)).status).toBe(200);
    await payroll.until(id, ['FAILED', 'PARTLY_SETTLED'], 15_000);
  });

  it('is asked about once more before it is too late, whatever was acknowledged long before', async () => {
    const variants = { amountUnit: 'minor', amountType: 'number', chargeMinor: 0 } as const;
    let date: string;
    ({ payroll, date } = await Payroll.startOnPayday({ sandbox: { variants } }));
    await leave(150_00);
    const id = await payroll.paid(payFile(rows(1, 2)), { executionDate: date });
    await acknowledge(await payroll.askedAbout(id, 'LOW_BALANCE'));
    await execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE attention_action SET confirmed_at = confirmed_at - interval '2 hours'`,
    );
    await looks();
    expect(await isAsked()).toBe(false);
    payroll.clock.set(new Date(`${date}T15:10:00Z`));
    const last = await payroll.askedAbout(id, 'LOW_BALANCE');
    await acknowledge(last);
    await looks();
    expect(await isAsked()).toBe(false);
  });

  it('is asked about again where more lacks than was read; what the bank does not fund then ends unpaid', async () => {
    await start('at-debit');
    await leave(150_00);
    const id = await payroll.paid(payFile(rows(1, 2)));
    const path = await payroll.askedAbout(id, 'LOW_BALANCE');
    expect(await lacking(path)).toBe('50.00');
    await holdGates();
    await debit('100');
    expect((await payroll.decide(path, goOn)).status).toBe(200);
    await payroll.clearFaults();
    const again = await payroll.askedAbout(id, 'LOW_BALANCE');
    expect([again === path, await lacking(again)]).toEqual([false, '51.00']);
    expect((await payroll.decide(again, goOn)).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED'], 15_000);
    expect((await payroll.run(id)).paymentsByStatus).toMatchObject({
      SETTLED: { payments: 1 },
      FAILED: { payments: 1 },
    });
  });
});
