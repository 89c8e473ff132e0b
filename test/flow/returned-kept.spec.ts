import { payFile, payRows } from '../support/pay-rows';
import { ReturnedPay, RETURNS } from '../support/returned-pay';

let pay: ReturnedPay;
afterEach(() => pay.payroll.close());

it('a salary that came back, with a bonus of its file that stands, is paid by no successor while it is asked what the payee kept of the row that paid it again', async () => {
  pay = await ReturnedPay.start(500);
  const { payroll } = pay;
  const [she, other] = payRows(2);
  const salary = { ...she!, iban: RETURNS };
  const { id } = await payroll.uploaded(payFile([salary, { ...she!, amount: '50.00' }, other!]));
  expect(await pay.release(id)).toEqual(['EMPLOYEE_TWICE']);
  await pay.isPaid(id);
  await pay.aWeekLater(id);
  const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
  await payroll.decide(path, {
    action: 'RESUME',
    reason: 'her bank has charged it',
    evidence: 'letter 4711',
  });
  const { id: again } = await payroll.uploaded(payFile([{ ...salary, amount: '996.02' }]), {
    supplementOf: id,
  });
  await pay.release(again);
  await pay.isPaid(again);
  await pay.aWeekLater(again);
  await payroll.askedAbout(again, 'ECHO_MISMATCH');
  const own = await pay.successorOf(again);
  expect([own.status, own.data.payments?.[0]?.code]).toEqual([409, 'PAYMENT_STATUS_UNCLEAR']);
  expect((await pay.successorOf(id)).status).toBe(409);
});
