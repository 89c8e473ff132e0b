import { payFile, payRows } from '../support/pay-rows';
import { ReturnedPay, RETURNS } from '../support/returned-pay';

let pay: ReturnedPay;
afterEach(() => pay.payroll.close());

describe('pay to a new account that came back, beside the row of the old account that its run left out', () => {
  /** The file has her old account, whose row is left out, and her new one. */
  const oldLeftOut = async () => {
    pay = await ReturnedPay.start();
    const { payroll } = pay;
    const [she, other] = payRows(2);
    const { id } = await payroll.uploaded(payFile([she!, { ...she!, iban: RETURNS }, other!]));
    expect(await pay.release(id)).toEqual(['EMPLOYEE_TWICE']);
    const old = (await pay.paymentsOf(id)).find(({ line }) => line === 2)!;
    const amended = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), {
      excludePaymentIds: [old.id],
      reason: 'she has a new account: only that is owed',
    });
    expect([amended.status, amended.data.detail]).toEqual([200, undefined]);
    await pay.isPaid(id);
    await pay.aWeekLater(id);
    return { id, old, she: she! };
  };

  it.each(['a supplement', 'a successor of the row that was left out'])(
    'is paid once, by %s',
    async (how) => {
      const { id, old, she } = await oldLeftOut();
      // The new account does not exist: she is paid to the old one.
      let again: string;
      if (how === 'a supplement') {
        again = (await pay.payroll.uploaded(payFile([she]), { supplementOf: id })).id;
        expect(await pay.release(again)).toEqual(['EMPLOYEE_PAY_RETURNED']);
      } else {
        const made = await pay.successorOf(id, old.id);
        expect(made.status).toBe(201);
        again = made.data.id;
      }
      await pay.isPaid(again);
      // Somebody else acts on PAYMENT_RETURNED of the first run.
      const refused = await pay.successorOf(id);
      expect([refused.status, refused.data.payments?.[0]?.code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
    },
  );

  it('is not paid by one successor of both', async () => {
    const { id, old } = await oldLeftOut();
    const back = (await pay.paymentsOf(id)).find(({ returnedAt }) => returnedAt)!;
    const refused = await pay.successorOf(id, undefined, { paymentIds: [old.id, back.id] });
    expect([refused.status, refused.data.code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
  });
});
