import { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import { Variants } from '../../src/bank-sandbox/variants';
import { execute } from '../support/database';
import { emptyList } from '../support/empty-list';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

/** Banks that show no instruction once it was submitted, but its payments. */
const GONE: Variants['onceSubmitted'][] = ['gone', 'gone-with-its-list'];

let payroll: Payroll;
const start = async (onceSubmitted: Variants['onceSubmitted']) => {
  payroll = await Payroll.start({
    settings: { SUBMIT_DOUBT_MS: '400' },
    sandbox: { variants: { onceSubmitted, linkReads: 'allowed', omitFromLists: [], listingLagMs: 0 } },
  });
};
afterEach(() => {
  jest.restoreAllMocks();
  return payroll.close();
});

const timesPaid = async () => (await payroll.ledger()).payees.map(({ count }) => count);
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const decided = async (path: string, action: string) => {
  return payroll.decide(path, { action, reason: 'the bank said so' });
};
/** Has what is stored read again at once. */
const readNow = () =>
  execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
/** A run whose one submit was lost, parked. */
const parked = async () => {
  const { id, path } = await payroll.parked(payRows(3));
  const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
  return { id, path, bankInstructionId: String(bankInstructionId) };
};

describe('a submit without an answer, at a bank that shows no instruction any more once it was submitted', () => {
  it.each(GONE)('is proven executed by the payments: %s', async (are) => {
    await start(are);
    await payroll.fault({ operation: 'submit', kind: 'answer-lost', nth: 1 });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await kinds()).toEqual([]);
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it.each(GONE)('is not declared not executed where it was: %s', async (are) => {
    await start(are);
    const { id, path, bankInstructionId } = await parked();
    // Nothing else reads it between the submit and the decision.
    await payroll.letRest('INSTRUCTION');
    await payroll.submitAtBank(bankInstructionId);
    const answer = await decided(path, 'NOT_EXECUTED');
    expect([answer.status, answer.data.code]).toEqual([
      409,
      expect.stringMatching(/WAS_EXECUTED|RESOLVED|NOT_PROVEN_DEAD/),
    ]);
    await readNow();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it('is not declared not executed, whatever the bank writes, where its own list is empty and the general one shows that it was', async () => {
    await start('gone');
    const { id, path, bankInstructionId } = await parked();
    await payroll.letRest('INSTRUCTION');
    await payroll.submitAtBank(bankInstructionId);
    const own = jest
      .spyOn(payroll.services[0]!.app.get(BankGateway), 'listInstructionPayments')
      .mockImplementation(emptyList);
    const word = { action: 'NOT_EXECUTED', reason: 'the bank said so', evidence: 'letter of today, B-9' };
    expect(await payroll.decide(path, word)).toMatchObject({ status: 409, data: { code: 'WAS_EXECUTED' } });
    own.mockRestore();
    await readNow();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it('is not declared not executed, whatever the bank writes, where both lists are empty and a payment by itself shows that it was', async () => {
    await start('gone');
    await payroll.letsRead('INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST', 'PAYMENT');
    const { id, path, bankInstructionId } = await parked();
    await payroll.letRest('INSTRUCTION');
    await payroll.submitAtBank(bankInstructionId);
    const bank = payroll.services[0]!.app.get(BankGateway);
    jest.spyOn(bank, 'listInstructionPayments').mockImplementation(emptyList);
    jest.spyOn(bank, 'listPayments').mockImplementation(emptyList);
    const word = { action: 'NOT_EXECUTED', reason: 'the bank said so', evidence: 'letter of today, B-9' };
    expect(await payroll.decide(path, word)).toMatchObject({ status: 409, data: { code: 'WAS_EXECUTED' } });
    jest.restoreAllMocks();
    await readNow();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it.each(GONE)('is not proven dead by a delete of what was gone already: %s', async (are) => {
    await start(are);
    const { id, path, bankInstructionId } = await parked();
    for (const operation of ['listPaymentTransactions', 'listInstructionPaymentTransactions'])
      await payroll.fault({ operation, kind: '404', every: 1 });
    await payroll.fault({ operation: 'getPaymentTransaction', kind: '404', every: 1 });
    await payroll.submitAtBank(bankInstructionId);
    expect(await decided(path, 'NOT_EXECUTED')).toMatchObject({
      status: 409,
      data: { code: 'NOT_PROVEN_DEAD' },
    });
    await payroll.as('operator').delete(`${path}/actions`);
    await payroll.clearFaults();
    await readNow();
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it('pays nobody again whom it paid after it was declared otherwise, though people went on and it is shown no more', async () => {
    await start('shown');
    const { id, path, bankInstructionId } = await parked();
    await payroll.fault({ operation: 'deleteInstruction', kind: '500-before', every: 1 });
    const word = { action: 'NOT_EXECUTED', reason: 'the bank said so', evidence: 'letter of today, B-9' };
    await payroll.as('operator').post(`${path}/actions`, word);
    expect((await payroll.confirm(path)).status).toBe(200);
    await payroll.clearFaults();
    await payroll.until(id, ['FAILED'], 20_000);
    await payroll.submitAtBank(bankInstructionId);
    await eventually(async () => {
      await readNow();
      return (await kinds()).includes('INVARIANT_BREACH');
    }, 20_000);
    const moved = await payroll.askedAbout(id, 'INVARIANT_BREACH');
    expect((await decided(moved, 'RESUME')).status).toBe(200);
    for (const operation of ['listPaymentTransactions', 'listInstructionPaymentTransactions'])
      await payroll.fault({ operation, kind: '404', every: 1 });
    for (const operation of ['getInstruction', 'getPaymentTransaction'])
      await payroll.fault({ operation, kind: '404', every: 1 });
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data.explained).toBe(false);
    const made = await payroll.successorOf(id);
    expect([made.status, made.data.payments[0].code]).toEqual([409, 'PAYMENT_STATUS_UNCLEAR']);
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });

  it.each(GONE)(
    'pays nobody again where it was executed after it was declared otherwise: %s',
    async (are) => {
      await start(are);
      const { id, path, bankInstructionId } = await parked();
      await payroll.as('operator').post(`${path}/actions`, {
        action: 'NOT_EXECUTED',
        reason: 'the bank said so',
        evidence: 'letter of today, reference B-9',
      });
      await payroll.fault({ operation: 'deleteInstruction', kind: '500-before', every: 1 });
      expect((await payroll.confirm(path)).status).toBe(200);
      await payroll.clearFaults();
      await payroll.until(id, ['FAILED'], 20_000);
      const made = await payroll.successorOf(id);
      expect(made.status).toBe(201);
      await payroll.submitAtBank(bankInstructionId);
      await payroll.approve(made.data);
      await eventually(async () => {
        await readNow();
        const told = await kinds();
        return told.includes('REPLACED_PAYMENT_MOVED') && told.includes('INVARIANT_BREACH');
      }, 20_000);
      expect(await timesPaid()).toEqual([1, 1, 1]);
    },
  );
});

describe('an instruction that somebody else submits before its gate, at a bank that shows it no more and lists it a while later', () => {
  it('is not built again before a lag bound has passed', async () => {
    payroll = await Payroll.start({
      // What is given up is not read again in time.
      settings: { BANK_LAG_BOUND_MS: '3000', FOLLOW_DELAYS_MS: '600000' },
      sandbox: {
        variants: {
          onceSubmitted: 'gone-with-its-list',
          linkReads: 'allowed',
          omitFromLists: [],
          listingLagMs: 0,
        },
      },
    });
    await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    await payroll.submitAtBank(String(bankInstructionId));
    const listedMs = performance.now() + 2_000;
    for (const name of ['listStatuses', 'listPayments'] as const) {
      const list = BankGateway.prototype[name] as (...asked: unknown[]) => AsyncGenerator<BankPayment>;
      jest.spyOn(BankGateway.prototype, name).mockImplementation(async function* (
        this: BankGateway,
        ...asked: unknown[]
      ) {
        const isListed = performance.now() > listedMs;
        for await (const one of list.apply(this, asked))
          if (isListed || one.bankInstructionId !== String(bankInstructionId)) yield one;
      });
    }
    await payroll.letRunsGoOn();
    await payroll.askedAbout(id, 'INVARIANT_BREACH');
    expect((await payroll.run(id)).instructions).toMatchObject([{ bankInstructionId }]);
    expect(await timesPaid()).toEqual([1, 1, 1]);
  });
});
