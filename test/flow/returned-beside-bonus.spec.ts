import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { execute } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { MovedClock, Payroll } from '../support/payroll';

const of = (wanted: string) => MAGIC_CREDITORS.find(({ effect }) => effect === wanted)!.iban;

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
  await payroll.approve(await payroll.run(id));
  await until(async () => (await payroll.run(id)).status === status);
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

it('a bonus that failed is paid once more beside the successor of a salary that came back', async () => {
  const variants = { linkReads: 'allowed', omitFromLists: [], chargeMinor: 0, returnChargeMinor: 0 } as const;
  payroll = await Payroll.start({ clock: new MovedClock(), sandbox: { variants } });
  const [she, other] = payRows(2);
  const salaries = (await payroll.uploaded(payFile([{ ...she!, iban: of('returnedTwoDaysLater') }, other!])))
    .id;
  await isPaid(salaries);
  const later = new Date(payroll.clock.now().getTime() + 7 * 86_400_000);
  await payroll.bankClock(later);
  payroll.clock.set(later);
  await until(async () => (await payroll.run(salaries)).returned.payments === 1);
  const repaid = (await successorOf(salaries)).data.id;
  await isPaid(repaid);
  const { id: bonus } = await payroll.uploaded(payFile([{ ...she!, iban: of('fails'), amount: '50.00' }]), {
    supplementOf: salaries,
  });
  await release(bonus);
  await isPaid(bonus, 'FAILED');
  const refused = await successorOf(bonus);
  expect([refused.status, refused.data.payments?.[0].code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
  const { id: again } = await payroll.uploaded(payFile([{ ...she!, amount: '50.00' }]), {
    supplementOf: bonus,
  });
  console.log(await release(again));
  await isPaid(again);
  expect((await payroll.attention()).filter(({ kind }) => kind === 'POSSIBLE_DUPLICATE_PAY')).toEqual([]);
});
