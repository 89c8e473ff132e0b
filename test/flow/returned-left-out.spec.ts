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
const isPaid = async (id: string) => {
  await payroll.approve(await payroll.run(id));
  await until(async () => (await payroll.run(id)).status === 'SETTLED');
};
const paymentsOf = async (id: string) =>
  (await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/payments?limit=10`))).data.items;
const successorOf = (id: string, paymentId: string) =>
  payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), {
    executionDate: payroll.executionDate(),
    submitAt: payroll.clock.now().toISOString(),
    paymentIds: [paymentId],
    reason: 'the account is open again',
  });

describe('pay to a new account that came back, beside the row of the old account that its run left out', () => {
  it.each(['a supplement', 'a successor of the row that was left out'])(
    'is paid once, by %s',
    async (how) => {
      const variants = {
        linkReads: 'allowed',
        omitFromLists: [],
        chargeMinor: 0,
        returnChargeMinor: 0,
      } as const;
      payroll = await Payroll.start({ clock: new MovedClock(), sandbox: { variants } });
      const [she, other] = payRows(2);
      // The file has her old account and her new one.
      const { id } = await payroll.uploaded(payFile([she!, { ...she!, iban: RETURNS }, other!]));
      expect(await release(id)).toEqual(['EMPLOYEE_TWICE']);
      const rows = await paymentsOf(id);
      const old = rows.find((one: { line: number }) => one.line === 2);
      const amended = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), {
        excludePaymentIds: [old.id],
        reason: 'she has a new account: only that is owed',
      });
      expect([amended.status, amended.data.detail]).toEqual([200, undefined]);
      await isPaid(id);
      const later = new Date(payroll.clock.now().getTime() + 7 * 86_400_000);
      await payroll.bankClock(later);
      payroll.clock.set(later);
      await until(async () => (await payroll.run(id)).returned.payments === 1);

      // The new account does not exist: she is paid to the old one.
      let again: string;
      if (how === 'a supplement') {
        again = (await payroll.uploaded(payFile([she!]), { supplementOf: id })).id;
        expect(await release(again)).toEqual(['EMPLOYEE_PAY_RETURNED']);
      } else {
        const made = await successorOf(id, old.id);
        expect(made.status).toBe(201);
        again = made.data.id;
      }
      await isPaid(again);
      const returned = (await paymentsOf(id)).find((one: { returnedAt?: string }) => one.returnedAt);
      // Somebody else acts on PAYMENT_RETURNED of the first run.
      const refused = await successorOf(id, returned.id);
      if (refused.status === 201) {
        await isPaid(refused.data.id);
        const paid = [...(await paymentsOf(again)), ...(await paymentsOf(refused.data.id))];
        console.log(
          JSON.stringify(paid.map((p: Record<string, unknown>) => [p.employeeId, p.amount, p.status])),
        );
      }
      expect([refused.status, refused.data.payments?.[0]?.code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
    },
  );
});
