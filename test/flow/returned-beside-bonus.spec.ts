import { payFile, payRows } from '../support/pay-rows';
import { FAILS, ReturnedPay, RETURNS } from '../support/returned-pay';

let pay: ReturnedPay;
afterEach(() => pay.payroll.close());

it('a bonus that failed is paid once more beside the successor of a salary that came back', async () => {
  pay = await ReturnedPay.start();
  const { payroll } = pay;
  const [she, other] = payRows(2);
  const { id: salaries } = await payroll.uploaded(payFile([{ ...she!, iban: RETURNS }, other!]));
  await pay.isPaid(salaries);
  await pay.aWeekLater(salaries);
  await pay.isPaid((await pay.successorOf(salaries)).data.id);
  const { id: bonus } = await payroll.uploaded(payFile([{ ...she!, iban: FAILS, amount: '50.00' }]), {
    supplementOf: salaries,
  });
  await pay.release(bonus);
  await pay.isPaid(bonus, 'FAILED');
  const refused = await pay.successorOf(bonus);
  expect([refused.status, refused.data.payments?.[0].code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
  const { id: again } = await payroll.uploaded(payFile([{ ...she!, amount: '50.00' }]), {
    supplementOf: bonus,
  });
  await pay.release(again);
  await pay.isPaid(again);
  expect((await payroll.attention()).filter(({ kind }) => kind === 'POSSIBLE_DUPLICATE_PAY')).toEqual([]);
});
