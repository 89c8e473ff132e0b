import { addBankingDays, addDays, nextPeriod } from '../../src/domain/business-day';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

/** So far ahead that the same rows are those of another month. */
const DAYS_APART = 20;

describe('the file of a month that was paid, uploaded for the next month', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start();
  });
  afterAll(() => payroll.close());

  it('is held once its date is amended to about the day on which the same rows were executed, and pays nobody', async () => {
    const rows = payRows(6);
    const paid = await payroll.paid(payFile(rows));
    await payroll.until(paid, ['SETTLED']);
    const today = payroll.executionDate();
    const next = await payroll.uploaded(payFile(rows), {
      period: nextPeriod(today.slice(0, 7)),
      executionDate: addBankingDays(addDays(today, DAYS_APART), 1, new Set()),
      ...payroll.later(),
    });
    expect(next).toMatchObject({ held: { holds: {} } });

    const amended = await payroll.as('preparer').post(payroll.path(`/pay-runs/${next.id}/amendments`), {
      executionDate: addBankingDays(today, 1, new Set()),
      reason: 'the people wait for it',
    });
    expect(amended).toMatchObject({ status: 200, data: { openHolds: 1 } });
    expect(await payroll.approve(amended.data)).toMatchObject({
      status: 409,
      data: { code: 'HOLDS_OPEN' },
    });
    const { data: held } = await payroll.as('approver').get(payroll.path(`/pay-runs/${next.id}/holds`));
    expect(held.items).toMatchObject([
      { code: 'ROWS_OF_ANOTHER_RUN', beside: { payRunId: paid }, payment: null, decision: null },
    ]);
    expect(await payroll.timesPaid(rows)).toEqual(rows.map(() => 1));
  }, 90_000);
});
