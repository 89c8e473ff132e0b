import axios from 'axios';
import { BankUnreachable } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { emptyList } from '../support/empty-list';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const ACCOUNT = '1002';

describe('a submit that the bank executes a second time, which shows in the balance alone', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 3,
      sandbox: { variants: { secondSubmit: 'executed' } },
    });
  });
  afterEach(() => payroll.close());

  /** Executes an instruction of three payments once more. Returns when each of them is paid twice. */
  const executeAgain = async (bankInstructionId: string) => {
    await payroll.submitAtBank(bankInstructionId);
    await eventually(async () => {
      const { payees } = await payroll.ledger();
      return payees.filter(({ count }) => count === 2).length === 3;
    }, 20_000);
  };
  const accountReads = async () => (await payroll.calls()).getAccount ?? 0;

  it('stops everything and asks about that instruction', async () => {
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 2 });
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await eventually(async () => (await payroll.attention()).length > 0, 20_000);
    const [asked] = await select<{ kind: string; bank: string }>(
      payroll.database.superuserUrl,
      'SELECT a.kind, i.bank_instruction_id AS bank FROM attention a JOIN instruction i ON i.id = a.instruction_id',
    );
    const { instructions } = await payroll.ledger();
    const twice = instructions.find(({ submits }) => submits === 2);
    expect(asked).toEqual({ kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', bank: String(twice?.id) });
    expect((await payroll.ledger()).payees.map(({ count }) => count).sort()).toEqual([1, 1, 1, 2, 2, 2]);
  });

  it('keeps who was not paid by it from being paid again until that is decided', async () => {
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 1 });
    const rows = payRows(3);
    rows[0]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'rejected')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    const path = await payroll.askedAbout(id, 'TOTAL_MISMATCH_AFTER_SUBMIT');
    const executionDate = payroll.executionDate();
    const successor = () =>
      payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), { executionDate });
    expect((await successor()).data.payments).toMatchObject([{ code: 'PAYMENT_STATUS_UNCLEAR' }]);
    expect((await payroll.decide(path, { action: 'RESUME', reason: 'the bank took it back' })).status).toBe(
      200,
    );
    expect((await successor()).status).toBe(201);
  });

  it('is looked for also where reading the end took longer than the look has to wait', async () => {
    await payroll.close();
    payroll = await Payroll.start({
      rowsPerInstruction: 3,
      settings: { SUBMIT_DOUBT_MS: '1' },
      sandbox: { variants: { secondSubmit: 'executed' } },
    });
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 2 });
    await payroll.until(await payroll.paid(payFile(payRows(6))), ['SETTLED'], 30_000);
    await eventually(async () => (await payroll.attention()).length > 0, 5_000);
  });

  it('is looked for again where the balance could not be read when the run had ended', async () => {
    await payroll.close();
    payroll = await Payroll.start({
      rowsPerInstruction: 3,
      // Until the look at the balance, longer than it takes to keep that from being read.
      settings: { SUBMIT_DOUBT_MS: '5000' },
      sandbox: { variants: { secondSubmit: 'executed' } },
    });
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 2 });
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['FOLLOWING', 'SETTLED'], 30_000);
    await payroll.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
    await payroll.until(id, ['SETTLED'], 30_000);
    const before = await accountReads();
    await eventually(async () => (await accountReads()) > before + 2, 20_000);
    expect(await payroll.attention()).toEqual([]);
    await payroll.clearFaults();
    await eventually(async () => (await payroll.attention()).length > 0, 20_000);
  });

  it('is not suspected where a payment that was refused has not come back, though an instruction took as much', async () => {
    const rows = payRows(4).map((row) => ({ ...row, amount: '1500.00' }));
    rows[1]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAfterExchange')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['FOLLOWING', 'PARTLY_SETTLED'], 30_000);
    const posting = { accountId: ACCOUNT, type: 'FEE', amountMinor: '150000' };
    await axios.post(`${payroll.bank.url}/sandbox/postings`, posting);
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    await payroll.restsForADay();
    expect(await payroll.attention()).toEqual([]);
  });

  it('is found out a day after the end too, where the bank executed it only then', async () => {
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await payroll.restsForADay();
    expect(await payroll.attention()).toEqual([]);
    await executeAgain((await payroll.run(id)).instructions[1].bankInstructionId);
    await payroll.aDayLater();
    expect(await payroll.attention()).toMatchObject([{ kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', payRunId: id }]);
  });

  it.each([
    ['its own list is empty and the general one', 'listPaymentTransactions'],
    ['its own list', 'listInstructionPaymentTransactions'],
  ])('is found out, too, where the instruction is hidden, and %s cannot be read', async (_, garbled) => {
    await payroll.close();
    payroll = await Payroll.start({
      rowsPerInstruction: 3,
      settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
      sandbox: { variants: { linkReads: 'allowed', secondSubmit: 'executed' } },
    });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await payroll.restsForADay();
    expect(await payroll.attention()).toEqual([]);
    await executeAgain((await payroll.run(id)).instructions[0].bankInstructionId);
    await payroll.fault({ operation: garbled, kind: 'garbage', every: 1 });
    await payroll.fault({ operation: 'getInstruction', kind: '404', every: 1 });
    await payroll.fault({ operation: 'getPaymentTransaction', kind: '403', every: 1 });
    const bank = payroll.services[0]!.app.get(BankGateway);
    if (garbled === 'listPaymentTransactions')
      jest.spyOn(bank, 'listInstructionPayments').mockImplementation(emptyList);
    const isAsked = async () =>
      (await payroll.attention()).some(({ kind }) => kind === 'TOTAL_MISMATCH_AFTER_SUBMIT');
    payroll.clock.offsetMs += 86_400_000;
    const wake = `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`;
    await execute(payroll.database.superuserUrl, wake);
    await eventually(isAsked, 5_000);
    // It is told after the account was looked at.
    await eventually(
      async () => (await payroll.attention()).some(({ kind }) => kind === 'CONTRACT_DRIFT'),
      5_000,
    );
    if (garbled === 'listPaymentTransactions') await payroll.restsForADay();
  });

  it('is found out where another run was paid from the account meanwhile', async () => {
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await payroll.restsForADay();
    const other = await payroll.paid(payFile(payRows(2, 20)), { kindOfPay: 'LATE' });
    await payroll.until(other, ['SETTLED'], 30_000);
    await payroll.restsForADay();
    await executeAgain((await payroll.run(id)).instructions[1].bankInstructionId);
    await payroll.aDayLater();
    expect(await payroll.attention()).toMatchObject([{ kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', payRunId: id }]);
  });

  it('is found out, too, of a run right after the end of another from its account, which was debited otherwise since', async () => {
    await payroll.close();
    payroll = await Payroll.start({
      // However long an answer might take: it shows what ended longer before it was asked for than a read can be old.
      settings: { BANK_LAG_BOUND_MS: '1000', BANK_TIMEOUT_MS: '25000' },
      sandbox: { variants: { secondSubmit: 'executed' } },
    });
    const other = await payroll.paid(payFile(payRows(2)));
    await payroll.until(other, ['SETTLED'], 60_000);
    await payroll.restsForADay();
    const fee = { accountId: ACCOUNT, type: 'FEE', amountMinor: '999' };
    await axios.post(`${payroll.bank.url}/sandbox/postings`, fee);
    await payroll.fault({ operation: 'submit', kind: 'doubled', nth: 1 });
    const rows = payRows(3, 50);
    const id = await payroll.paid(payFile(rows), { kindOfPay: 'BONUS' });
    await payroll.until(id, ['SETTLED'], 60_000);
    await payroll.restsForADay();
    expect(await payroll.timesPaid(rows)).toEqual([2, 2, 2]);
    expect(await payroll.attention()).toMatchObject([{ kind: 'TOTAL_MISMATCH_AFTER_SUBMIT', payRunId: id }]);
  });

  const follow = () =>
    execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
    );
  const isDone = async (lease: string) => {
    const done = `SELECT FROM lease WHERE kind = 'FOLLOW' AND NOT (holder IS NULL AND woken_at IS NULL AND ${lease})`;
    return (await select(payroll.database.superuserUrl, done)).length === 0;
  };
  /** Executes what ended first once more, and charges for each of its payments. Answers what the bank calls it. */
  const executeFirstAgain = async () => {
    const [first] = await select<{ id: string; payments: string[] }>(
      payroll.database.superuserUrl,
      `SELECT i.bank_instruction_id AS id, array_agg(b.bank_payment_id) AS payments
       FROM instruction i JOIN bank_payment b ON b.instruction_id = i.id
       GROUP BY i.id, i.bank_instruction_id, i.closed_at ORDER BY i.closed_at, i.id LIMIT 1`,
    );
    await executeAgain(first!.id);
    for (const paymentId of first!.payments) {
      const fee = { accountId: ACCOUNT, type: 'FEE', amountMinor: '15', paymentId: Number(paymentId) };
      await axios.post(`${payroll.bank.url}/sandbox/postings`, fee);
    }
    return first!.id;
  };
  const isTold = async () =>
    (await payroll.attention()).some(({ kind }) => kind === 'TOTAL_MISMATCH_AFTER_SUBMIT');
  const READS = ['getInstruction', 'listInstructionPaymentTransactions', 'listPaymentTransactions'];

  it.each(['Payrun', 'the bank'])(
    'is found out where it is charged for after the end, and %s is away until a day later',
    async (away) => {
      await payroll.close();
      payroll = await Payroll.start({
        settings: {
          SUBMIT_DOUBT_MS: '3600000',
          FOLLOW_DELAYS_MS: '50,7200000',
          FOLLOW_STEP_MS: '600000',
        },
        sandbox: { variants: { linkReads: 'allowed', secondSubmit: 'executed' } },
      });
      const id = await payroll.paid(payFile(payRows(3)));
      await payroll.until(id, ['SETTLED'], 30_000);
      await eventually(() => isDone(`wake_at > now()`), 5_000);
      await executeFirstAgain();
      if (away === 'the bank') {
        for (const operation of READS) await payroll.fault({ operation, kind: '500-before', every: 1 });
        payroll.clock.offsetMs += 7_200_000;
        await follow();
        await eventually(() => isDone('missing IS NOT NULL'), 5_000);
        await payroll.clearFaults();
      }
      await payroll.aDayLater();
      if (away === 'Payrun') {
        expect(await payroll.attention()).toEqual([]);
        await payroll.aDayLater();
      }
      expect(await isTold()).toBe(true);
    },
  );

  it.each(['an instruction cannot be read', 'a payment is not shown'])(
    'is found out where it is charged for after the end, and a day later %s',
    async (unread) => {
      await payroll.close();
      payroll = await Payroll.start({
        rowsPerInstruction: 3,
        settings: { FOLLOW_DELAYS_MS: '50,7200000', FOLLOW_STEP_MS: '600000' },
        sandbox: { variants: { linkReads: 'allowed', secondSubmit: 'executed' } },
      });
      const id = await payroll.paid(payFile(payRows(6)));
      await payroll.until(id, ['SETTLED'], 30_000);
      await payroll.restsForADay();
      const first = await executeFirstAgain();
      const source = payroll.services[0]!.app.get(PaymentSource);
      const { paymentsOf } = source;
      const reads = jest.spyOn(source, 'paymentsOf').mockImplementation(async (account, asked, at) => {
        const isFirst = at.bankInstructionId === first;
        if (isFirst && unread === 'an instruction cannot be read')
          throw new BankUnreachable('ECONNREFUSED', false);
        const shown = await paymentsOf.call(source, account, asked, at);
        return isFirst ? shown.slice(1) : shown;
      });
      payroll.clock.offsetMs += 86_400_000;
      await follow();
      await eventually(() => isDone(`wake_at > now() + interval '1 hour'`), 20_000);
      expect(await payroll.attention()).toEqual([]);
      reads.mockRestore();
      for (let day = 0; day < 2; day += 1) await payroll.aDayLater();
      expect(await isTold()).toBe(true);
    },
  );

  it('is not suspected of a run that took what it should, and is looked for no longer than until all was read after a day', async () => {
    const id = await payroll.paid(payFile(payRows(6)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await payroll.restsForADay();
    const reads = [await accountReads()];
    for (let day = 0; day < 3; day += 1) {
      await payroll.aDayLater();
      reads.push(await accountReads());
    }
    // Both instructions are read at once: the last may be read, and the balance after it, before the other.
    const looks = reads.map((count) => count - reads[0]!);
    expect([
      [0, 1, 1, 1],
      [0, 1, 2, 2],
    ]).toContainEqual(looks);
    expect(await payroll.attention()).toEqual([]);
  });
});
