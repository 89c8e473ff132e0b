import { payFile, payRows } from '../support/pay-rows';
import { ReturnedPay, RETURNS } from '../support/returned-pay';

let pay: ReturnedPay;
afterEach(() => pay.payroll.close());

/** A row pays the first one of a run an amount, which is sent back within the week. */
const paidBeside = async (run: string, amount: string) => {
  const { id } = await pay.payroll.uploaded(payFile([{ ...payRows(1)[0]!, iban: RETURNS, amount }]), {
    supplementOf: run,
  });
  await pay.release(id);
  await pay.isPaid(id);
  return id;
};

describe('a salary that came back with a bonus, and was paid again by a row that replaces neither', () => {
  it('is paid by no successor once that came back, too, and was paid by its own', async () => {
    pay = await ReturnedPay.start();
    const { payroll } = pay;
    const [she, other] = payRows(2);
    const salaries = await payroll.paid(payFile([{ ...she!, iban: RETURNS }, other!]));
    await payroll.until(salaries, ['SETTLED'], 20_000);
    const bonus = await paidBeside(salaries, '50.00');
    await pay.aWeekLater(salaries, bonus);
    const again = await paidBeside(salaries, she!.amount);
    await pay.aWeekLater(again);
    const repaid = await pay.successorOf(again);
    expect(repaid.status).toBe(201);
    await pay.release(repaid.data.id);
    await pay.isPaid(repaid.data.id);
    const refused = await pay.successorOf(salaries);
    expect([refused.status, refused.data.payments?.[0].code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
    const told = (await payroll.attention()).filter(
      ({ kind, payRunId }) => kind === 'PAYMENT_RETURNED' && payRunId === salaries,
    );
    expect(told).toHaveLength(1);
    expect(told[0]!.certain).toContain('a successor is refused');
  });
});
