import { payFile, payRows } from '../support/pay-rows';
import { FAILS, ReturnedPay, RETURNS } from '../support/returned-pay';

let pay: ReturnedPay;
afterEach(() => pay.payroll.close());

it.each([
  ['alone', ['EMPLOYEE_PAY_RETURNED']],
  ['with the bonus', ['EMPLOYEE_PAY_RETURNED', 'EMPLOYEE_TWICE']],
] as const)(
  'a salary that came back, and whose bonus of the same file failed, is paid once, sent again %s',
  async (how, codes) => {
    pay = await ReturnedPay.start();
    const { payroll } = pay;
    const [she, other] = payRows(2);
    const bonus = { ...she!, amount: '50.00' };
    const { id } = await payroll.uploaded(
      payFile([{ ...she!, iban: RETURNS }, { ...bonus, iban: FAILS }, other!]),
    );
    expect(await pay.release(id)).toEqual(['EMPLOYEE_TWICE']);
    await pay.isPaid(id, 'PARTLY_SETTLED');
    await pay.aWeekLater(id);
    // She has a new account.
    const { id: again } = await payroll.uploaded(payFile(how === 'alone' ? [she!] : [she!, bonus]), {
      supplementOf: id,
    });
    expect((await pay.release(again)).sort()).toEqual(expect.arrayContaining([...codes]));
    await pay.isPaid(again);
    // Somebody else acts on PAYMENT_RETURNED of the first run.
    const refused = await pay.successorOf(id);
    expect([refused.status, refused.data.payments?.[0]?.code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
  },
);
