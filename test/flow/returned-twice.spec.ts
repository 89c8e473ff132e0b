import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { execute } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { MovedClock, Payroll } from '../support/payroll';

const RETURNS = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!.iban;

let payroll: Payroll;
afterEach(() => payroll.close());

const until = (holds: () => Promise<boolean>) =>
  eventually(async () => {
    await execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
    );
    return holds();
  }, 20_000);
const aWeekLater = async (...ids: string[]) => {
  const later = new Date(payroll.clock.now().getTime() + 7 * 86_400_000);
  await payroll.bankClock(later);
  payroll.clock.set(later);
  for (const id of ids) await until(async () => (await payroll.run(id)).returned.payments === 1);
};
/** Has a run paid, once an approver has released what is held of it. */
const isPaid = async (id: string) => {
  const path = payroll.path(`/pay-runs/${id}`);
  for (const { payment, code } of (await payroll.as('approver').get(`${path}/holds?open=true`)).data.items) {
    const release = { paymentId: payment?.id, code, reason: 'she is owed it' };
    expect((await payroll.as('approver').post(`${path}/holds/release`, release)).status).toBe(200);
  }
  await payroll.approve(await payroll.run(id));
  await until(async () => (await payroll.run(id)).status === 'SETTLED');
};

/** A row pays the first one of a run an amount, which is sent back within the week. */
const paidBeside = async (run: string, amount: string) => {
  const { id } = await payroll.uploaded(payFile([{ ...payRows(1)[0]!, iban: RETURNS, amount }]), {
    supplementOf: run,
  });
  await isPaid(id);
  return id;
};
const successorOf = async (id: string) => {
  const { data } = await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/payments?limit=10`));
  return payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), {
    executionDate: payroll.executionDate(),
    submitAt: payroll.clock.now().toISOString(),
    paymentIds: [data.items[0].id],
    reason: 'the account is open again',
  });
};

describe('a salary that came back with a bonus, and was paid again by a row that replaces neither', () => {
  it('is paid by no successor once that came back, too, and was paid by its own', async () => {
    const variants = {
      linkReads: 'allowed',
      omitFromLists: [],
      chargeMinor: 0,
      returnChargeMinor: 0,
    } as const;
    payroll = await Payroll.start({ clock: new MovedClock(), sandbox: { variants } });
    const [she, other] = payRows(2);
    const salaries = await payroll.paid(payFile([{ ...she!, iban: RETURNS }, other!]));
    await payroll.until(salaries, ['SETTLED'], 20_000);
    const bonus = await paidBeside(salaries, '50.00');
    await aWeekLater(salaries, bonus);
    const again = await paidBeside(salaries, she!.amount);
    await aWeekLater(again);
    const repaid = await successorOf(again);
    expect(repaid.status).toBe(201);
    await isPaid(repaid.data.id);
    const refused = await successorOf(salaries);
    expect([refused.status, refused.data.payments?.[0].code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
    const told = (await payroll.attention()).filter(
      ({ kind, payRunId }) => kind === 'PAYMENT_RETURNED' && payRunId === salaries,
    );
    expect(told).toHaveLength(1);
    expect(told[0]!.certain).toContain('a successor is refused');
  });
});
