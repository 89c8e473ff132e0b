import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { execute } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { MovedClock, Payroll } from '../support/payroll';

const RETURNS = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!.iban;
const FAILS = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;

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
const release = async (id: string) => {
  const path = payroll.path(`/pay-runs/${id}`);
  const codes: string[] = [];
  for (const { payment, code } of (await payroll.as('approver').get(`${path}/holds?open=true`)).data.items) {
    codes.push(code);
    const body = { paymentId: payment?.id, code, reason: 'she is owed it' };
    const answer = await payroll.as('approver').post(`${path}/holds/release`, body);
    expect([answer.status, answer.data.detail]).toEqual([200, undefined]);
  }
  return codes;
};
const isPaid = async (id: string, status = 'SETTLED') => {
  expect((await payroll.approve(await payroll.run(id))).status).toBe(200);
  await until(async () => (await payroll.run(id)).status === status);
};
const paymentsOf = async (id: string) =>
  (await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/payments?limit=10`))).data.items;
const comesBack = async (id: string) => {
  const later = new Date(payroll.clock.now().getTime() + 7 * 86_400_000);
  await payroll.bankClock(later);
  payroll.clock.set(later);
  await until(async () => (await payroll.run(id)).returned.payments === 1);
};
const successorOf = async (id: string) => {
  const returned = (await paymentsOf(id)).find((one: { returnedAt?: string }) => one.returnedAt);
  return payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), {
    executionDate: payroll.executionDate(),
    submitAt: payroll.clock.now().toISOString(),
    paymentIds: [returned.id],
    reason: 'the account is open again',
  });
};

it.each([
  ['alone', ['EMPLOYEE_PAY_RETURNED']],
  ['with the bonus', ['EMPLOYEE_PAY_RETURNED', 'EMPLOYEE_TWICE']],
] as const)(
  'a salary that came back, and whose bonus of the same file failed, is paid once, sent again %s',
  async (how, codes) => {
    const variants = {
      linkReads: 'allowed',
      omitFromLists: [],
      chargeMinor: 0,
      returnChargeMinor: 0,
    } as const;
    payroll = await Payroll.start({ clock: new MovedClock(), sandbox: { variants } });
    const [she, other] = payRows(2);
    const bonus = { ...she!, amount: '50.00' };
    const { id } = await payroll.uploaded(
      payFile([{ ...she!, iban: RETURNS }, { ...bonus, iban: FAILS }, other!]),
    );
    expect(await release(id)).toEqual(['EMPLOYEE_TWICE']);
    await isPaid(id, 'PARTLY_SETTLED');
    await comesBack(id);
    // She has a new account.
    const { id: again } = await payroll.uploaded(payFile(how === 'alone' ? [she!] : [she!, bonus]), {
      supplementOf: id,
    });
    expect((await release(again)).sort()).toEqual(expect.arrayContaining([...codes]));
    await isPaid(again);
    console.log(
      JSON.stringify(
        (await paymentsOf(again)).map((p: Record<string, unknown>) => [p.amount, p.status, p.replaces]),
      ),
    );
    console.log(
      JSON.stringify((await paymentsOf(id)).map((p: Record<string, unknown>) => [p.id, p.amount, p.status])),
    );
    // Somebody else acts on PAYMENT_RETURNED of the first run.
    const refused = await successorOf(id);
    if (refused.status === 201) {
      await isPaid(refused.data.id);
      console.log(
        JSON.stringify(
          (await paymentsOf(refused.data.id)).map((p: Record<string, unknown>) => [
            p.employeeId,
            p.amount,
            p.status,
          ]),
        ),
      );
    }
    expect([refused.status, refused.data.payments?.[0]?.code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
  },
);
