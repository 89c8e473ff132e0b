import axios from 'axios';
import type { BankPayment } from '../../src/bank/records';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, PayrollOptions } from '../support/payroll';
import { passThrough } from '../support/payments-shown';

const READS = [
  'getInstruction',
  'listInstructionPaymentTransactions',
  'listPaymentTransactions',
  'getPaymentTransaction',
];

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const atBank = async (verb: 'release' | 'refuse') => {
  for (const { id } of (await payroll.ledger()).instructions)
    await axios
      .post(`${payroll.bank.url}/sandbox/instructions/${id}/${verb}`)
      .catch((error: unknown) => axios.isAxiosError(error) || Promise.reject(error as Error));
};
const decide = async (path: string, evidence?: string) => {
  const body = { action: 'NOT_EXECUTED', reason: 'the bank has confirmed it', evidence };
  return payroll.decide(path, body);
};

/** Has the bank show the payments that wait before their submit at other statuses, to whoever reads them. */
function showsAs(...statuses: string[]): void {
  const { app } = payroll.services[0]!;
  const changed = (payments: BankPayment[]) =>
    payments.map((one, n) =>
      one.status === 'INITIATED' ? { ...one, status: statuses[n % statuses.length]! } : one,
    );
  const [reads, source] = [app.get(BankReads), app.get(PaymentSource)];
  passThrough(reads, changed);
  const { paymentsOf } = source;
  jest
    .spyOn(source, 'paymentsOf')
    .mockImplementation(async (...asked) => changed(await paymentsOf.apply(source, asked)));
}

const wakeFollowers = () =>
  execute(payroll.database.superuserUrl, `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW'`);

/** A run whose strong authentication somebody refused, at a bank that leaves its payments INITIATED. */
async function refused(
  shownAs: readonly string[] = [],
  settings: PayrollOptions['settings'] = {},
): Promise<{ id: string; path: string }> {
  payroll = await Payroll.start({
    settings,
    sandbox: {
      variants: { submitWaitsFor: 'strong-authentication', refusalEnds: 'itself', linkReads: 'allowed' },
    },
  });
  const id = await payroll.paid(payFile(payRows(4)));
  await payroll.askedAbout(id, 'BANK_ACTION_REQUIRED');
  if (shownAs.length > 0) {
    showsAs(...shownAs);
    // Read once before the end, which none of them rises after.
    const seen = `SELECT FROM bank_payment WHERE bank_status = ANY ('{${shownAs.join()}}')`;
    await eventually(async () => {
      await wakeFollowers();
      return (await select(payroll.database.superuserUrl, seen)).length === 4;
    }, 15_000);
  }
  await atBank('refuse');
  return { id, path: await payroll.askedAbout(id, 'ENDED_BY_BANK') };
}

describe('a submitted instruction that the bank ends while it leaves its payments where they were', () => {
  it('is told at once as what it is, and paid again once two people have the bank’s word in writing', async () => {
    const { id, path } = await refused();
    expect(await kinds()).toEqual(['ENDED_BY_BANK']);
    const { data } = await payroll.as('finance').get(path);
    expect(data).toMatchObject({ payments: 4, actions: ['NOT_EXECUTED'] });
    expect(data.happened).toContain('as C_INSTRUCTION_SUB_NOT_PASSED, and did not end 4 of its payments');
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
    const unproven = await decide(path);
    expect([unproven.status, unproven.data.code]).toEqual([409, 'NOT_PROVEN_DEAD']);
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await decide(path, 'letter 4711 of the bank')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    expect(await kinds()).toEqual([]);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true });
    const dates = { executionDate: payroll.executionDate(), submitAt: payroll.clock.now().toISOString() };
    const made = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), dates);
    expect(made.status).toBe(201);
    expect((await payroll.approve(made.data)).status).toBeLessThan(300);
    await payroll.askedAbout(made.data.id, 'BANK_ACTION_REQUIRED');
    await atBank('release');
    await payroll.until(made.data.id, ['SETTLED'], 20_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  });

  it('agrees in silence with the bank that ends its payments unpaid later', async () => {
    const { id, path } = await refused();
    expect((await decide(path, 'letter 4711 of the bank')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    jest.spyOn(source, 'paymentsOf').mockImplementation(async (...asked) => {
      const seen = await paymentsOf.apply(source, asked);
      return seen.map((one) => ({ ...one, status: 'P_INSTRUCTION_SUB_NOT_PASSED' }));
    });
    const server = payroll.database.superuserUrl;
    await eventually(async () => {
      await payroll.wakeAll();
      return (await select(server, 'SELECT FROM bank_payment WHERE bank_rank < 14')).length === 0;
    }, 15_000);
    await payroll.reconcile();
    expect(await kinds()).toEqual([]);
  });

  it.each([
    [['SUB_STARTED', 'SUB_IS_VALID']],
    [['SUB_STRONG_AUTH_REQUIRED', 'INITIATED']],
    [['C_INST_WAITING_FOR_APPROVAL', 'SUB_INT_CTRL_PASSED']],
  ])(
    'is ended by two people too where its payments had begun to be checked, or wait (%j)',
    async (statuses) => {
      const { id, path } = await refused(statuses);
      await eventually(async () => (await payroll.as('finance').get(path)).data.payments === 4, 15_000);
      expect((await decide(path, 'letter 4711 of the bank')).status).toBe(200);
      await payroll.until(id, ['FAILED'], 15_000);
      expect(await kinds()).toEqual([]);
      const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect(report.data).toMatchObject({ explained: true });
      const dates = { executionDate: payroll.executionDate(), submitAt: payroll.clock.now().toISOString() };
      const made = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), dates);
      expect([made.status, made.data.payments]).toEqual([201, 4]);
      jest.restoreAllMocks();
      showsAs('SUBMITTED');
      await execute(
        payroll.database.superuserUrl,
        `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW'`,
      );
      await payroll.askedAbout(made.data.id, 'REPLACED_PAYMENT_MOVED');
      expect(await kinds()).toContain('CONTRADICTION');
    },
  );

  it('is not ended by people while a payment of it waits for its date', async () => {
    const { path } = await refused();
    await payroll.letRest('FOLLOW');
    showsAs('WAREHOUSED', 'INITIATED');
    const moved = await decide(path, 'letter 4711 of the bank');
    expect([moved.status, moved.data.code]).toEqual([409, 'WAS_EXECUTED']);
    await wakeFollowers();
    await eventually(async () => !(await kinds()).includes('ENDED_BY_BANK'), 15_000);
  });

  it('is not declared not executed once the bank shows that a payment of it went on', async () => {
    const { id, path } = await refused();
    await payroll.letRest('FOLLOW');
    const reads = payroll.services[0]!.app.get(BankReads);
    passThrough(reads, ([first, ...others]) => [{ ...first!, status: 'EXCHANGED' }, ...others]);
    const moved = await decide(path, 'letter 4711 of the bank');
    expect([moved.status, moved.data.code]).toEqual([409, 'WAS_EXECUTED']);
    await wakeFollowers();
    await eventually(async () => !(await kinds()).includes('ENDED_BY_BANK'), 15_000);
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
  });

  it('is neither asked about nor declared not executed while the bank takes its payments on after that end', async () => {
    const { id, path } = await refused();
    await payroll.letRest('FOLLOW');
    showsAs('INITIATED', 'SUB_STARTED');
    const moved = await decide(path, 'letter 4711 of the bank');
    expect([moved.status, moved.data.code]).toEqual([409, 'WAS_EXECUTED']);
    await wakeFollowers();
    await eventually(async () => !(await kinds()).includes('ENDED_BY_BANK'), 15_000);
    const { getInstruction = 0, listInstructionPaymentTransactions: read = 0 } = await payroll.calls();
    await eventually(async () => {
      await wakeFollowers();
      const calls = await payroll.calls();
      return (
        (calls.listInstructionPaymentTransactions ?? 0) + (calls.getInstruction ?? 0) >
        read + getInstruction + 4
      );
    }, 15_000);
    expect(await kinds()).not.toContain('ENDED_BY_BANK');
    // It left them there, and its day is over, which at a weekend is the next banking day.
    payroll.clock.set(new Date(Date.parse(`${payroll.executionDate()}T23:59:00Z`) + 660_000));
    await wakeFollowers();
    const again = await payroll.askedAbout(id, 'ENDED_BY_BANK');
    const { data } = await payroll.as('finance').get(again);
    expect(data.happened).toContain('It went on with it, or with payments of it, after that.');
    expect((await decide(again, 'letter 4711 of the bank')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
  });

  it('is followed as what is open while the bank goes on with what was declared not executed', async () => {
    const { id, path } = await refused();
    expect((await decide(path, 'letter 4711 of the bank')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    await payroll.restsForADay();
    showsAs('SUBMITTED');
    await wakeFollowers();
    await eventually(async () => (await kinds()).includes('CONTRADICTION'), 15_000);
    jest.restoreAllMocks();
    showsAs('SETTLED');
    const paid = async () =>
      (await payroll.attention()).filter((one) => one.happened.includes('SETTLED after'));
    await eventually(async () => (await paid()).length === 4, 15_000);
    for (const one of await paid()) {
      const acknowledged = { action: 'ACKNOWLEDGE', reason: 'the bank looks into it' };
      const about = payroll.path(`/attention/${one.id}`);
      expect((await payroll.decide(about, acknowledged)).status).toBe(200);
    }
    await payroll.restsForADay();
  });

  it('is declared not executed, and ends, where the bank refuses to show it', async () => {
    const { id, path } = await refused();
    for (const operation of READS) await payroll.fault({ operation, kind: '403', every: 1 });
    expect((await decide(path, 'letter 4711 of the bank')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
  });

  it('breaks no invariant where the bank ends its payments after they were declared not executed', async () => {
    const { id, path } = await refused([], { RECONCILE_MS: '2000' });
    expect((await decide(path, 'letter 4711 of the bank')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    const { superuserUrl } = payroll.database;
    const reads = payroll.services[0]!.app.get(BankReads);
    passThrough(reads, (found) => found.map((one) => ({ ...one, status: 'REJECTED' })));
    const ended = `SELECT FROM bank_payment WHERE bank_status = 'REJECTED'`;
    await eventually(async () => {
      await execute(
        superuserUrl,
        `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
      );
      return (await select(superuserUrl, ended)).length === 4;
    }, 15_000);
    await payroll.reconcile();
    expect(await select(superuserUrl, 'SELECT invariant FROM invariant_breach')).toEqual([]);
    expect(await kinds()).toEqual([]);
  });
});
