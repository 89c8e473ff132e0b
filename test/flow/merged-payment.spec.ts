import type { BankPayment } from '../../src/bank/records';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { passThrough } from '../support/payments-shown';

const CANCELLED = MAGIC_CREDITORS.find(({ effect }) => effect === 'cancelled')!.iban;

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const cancelled = async (id: string) => (await payroll.run(id)).paymentsByStatus.CANCELLED?.payments;
const readAgain = () =>
  execute(
    payroll.database.superuserUrl,
    `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW'`,
  );

/** From now on the bank shows one payment with the amount of the other too, once that is cancelled, as `merged` says. */
const merges = (status: 'SETTLED' | 'CANCELLED') => {
  const source = payroll.services[0]!.app.get(PaymentSource);
  const reads = payroll.services[0]!.app.get(BankReads);
  const merged = (seen: readonly BankPayment[]): BankPayment[] => {
    if (!seen.some((one) => one.status === 'CANCELLED')) return [...seen];
    return seen.map((one) =>
      one.amountMinor === 100_000n ? { ...one, amountMinor: 150_000n, status } : one,
    );
  };
  const { paymentsOf } = source;
  jest
    .spyOn(source, 'paymentsOf')
    .mockImplementation(async (...asked) => merged(await paymentsOf.apply(source, asked)));
  passThrough(reads, merged);
};
/** A run that pays one account twice, both of which the bank cancels. */
const paidTwo = async () => {
  const [first, second] = payRows(2).map((row) => ({ ...row, iban: CANCELLED }));
  const rows = [
    { ...first!, amount: '1000.00' },
    { ...second!, name: first!.name, amount: '500.00' },
  ];
  return payroll.paid(payFile(rows));
};

describe('a payment that the bank executes with the amount of another one, which it cancels', () => {
  it('keeps the other from being paid again until people have answered for it and it has ended', async () => {
    payroll = await Payroll.start();
    merges('SETTLED');
    const id = await paidTwo();
    const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
    await eventually(async () => (await cancelled(id)) === 1, 20_000);
    const { certain, askBank } = (await payroll.as('operator').get(path)).data;
    expect(certain).toContain('nobody of the instruction is paid again until then');
    expect(askBank).toContain('Which other payments of the instruction does it hold, if any?');
    const refused = await payroll.successorOf(id);
    expect([refused.status, refused.data.code]).toEqual([409, 'NOTHING_TO_REPLACE']);
    expect(refused.data).toMatchObject({ payments: Array(2).fill({ code: 'PAYMENT_STATUS_UNCLEAR' }) });
    await payroll.decide(path, { action: 'RESUME', reason: 'the bank was asked' });
    expect((await payroll.successorOf(id)).status).toBe(409);
    payroll.clock.offsetMs += 7 * 86_400_000;
    const unclear = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const word = { reason: 'the bank was asked', evidence: 'letter of the bank, 4711' };
    expect((await payroll.decide(unclear, { ...word, action: 'PAID' })).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
    expect((await payroll.successorOf(id)).status).toBe(201);
  });

  it('stops the run that pays the other again, where it is shown before that is submitted', async () => {
    payroll = await Payroll.start();
    const id = await paidTwo();
    await payroll.until(id, ['FAILED'], 20_000);
    const { data: made } = await payroll.successorOf(id);
    merges('CANCELLED');
    await eventually(async () => {
      await readAgain();
      return (await kinds()).includes('ECHO_MISMATCH');
    }, 20_000);
    await payroll.approve(made);
    await payroll.askedAbout(made.id, 'REPLACED_PAYMENT_MOVED');
    expect((await payroll.calls()).submit).toBe(1);
    const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
    await payroll.decide(path, { action: 'RESUME', reason: 'the bank was asked' });
    const stop = await payroll.askedAbout(made.id, 'REPLACED_PAYMENT_MOVED');
    await payroll.decide(stop, { action: 'RESUME', reason: 'the bank was asked' });
    await eventually(async () => {
      await payroll.wakeAll();
      return (await payroll.calls()).submit === 2;
    }, 20_000);
  });
});
