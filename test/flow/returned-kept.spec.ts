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
  expect((await payroll.approve(await payroll.run(id))).status).toBe(200);
  await until(async () => (await payroll.run(id)).status === 'SETTLED');
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

it('a salary that came back, with a bonus of its file that stands, is paid by no successor while it is asked what the payee kept of the row that paid it again', async () => {
  const variants = {
    linkReads: 'allowed',
    omitFromLists: [],
    chargeMinor: 0,
    returnChargeMinor: 500,
  } as const;
  payroll = await Payroll.start({ clock: new MovedClock(), sandbox: { variants } });
  const [she, other] = payRows(2);
  const salary = { ...she!, iban: RETURNS };
  const { id } = await payroll.uploaded(payFile([salary, { ...she!, amount: '50.00' }, other!]));
  expect(await release(id)).toEqual(['EMPLOYEE_TWICE']);
  await isPaid(id);
  await comesBack(id);
  const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
  await payroll.decide(path, {
    action: 'RESUME',
    reason: 'her bank has charged it',
    evidence: 'letter 4711',
  });
  const { id: again } = await payroll.uploaded(payFile([{ ...salary, amount: '996.02' }]), {
    supplementOf: id,
  });
  console.log(await release(again), (await paymentsOf(again))[0].replaces);
  await isPaid(again);
  await comesBack(again);
  await payroll.askedAbout(again, 'ECHO_MISMATCH');
  const own = await successorOf(again);
  expect([own.status, own.data.payments?.[0]?.code]).toEqual([409, 'PAYMENT_STATUS_UNCLEAR']);
  const refused = await successorOf(id);
  if (refused.status === 201) {
    await isPaid(refused.data.id);
    console.log(
      JSON.stringify(
        (await paymentsOf(refused.data.id)).map((p: Record<string, unknown>) => [p.amount, p.status]),
      ),
      (await payroll.attention()).map(({ kind }) => kind),
    );
  }
  expect(refused.status).toBe(409);
});
