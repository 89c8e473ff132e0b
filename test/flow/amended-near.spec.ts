import { addBankingDays, addDays, nextPeriod } from '../../src/domain/business-day';
import { payFile, payRows, Row } from '../support/pay-rows';
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

describe('people who are paid by a run already, uploaded once more under other employee ids', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start();
  });
  afterAll(() => payroll.close());

  const renamed = (rows: readonly Row[]): Row[] =>
    rows.map((row) => ({ ...row, employeeId: row.employeeId.replace('E', 'N') }));
  const openHolds = async (run: string): Promise<{ code: string; payment: { id: string } | null }[]> =>
    (await payroll.as('approver').get(payroll.path(`/pay-runs/${run}/holds?open=true`))).data.items;
  const amended = async (run: string, amendment: Record<string, unknown>) => {
    const reason = 'the rest is owed';
    return (
      await payroll.as('preparer').post(payroll.path(`/pay-runs/${run}/amendments`), { reason, ...amendment })
    ).data;
  };
  /** Leaves out what is held until nothing is, and has the rest paid. */
  const paidWithout = async (run: string): Promise<void> => {
    const excludePaymentIds = (await openHolds(run)).map(({ payment }) => payment?.id);
    const rest = await amended(run, { excludePaymentIds });
    expect(rest).toMatchObject({ openHolds: 0 });
    expect((await payroll.approve(rest)).status).toBe(200);
    await payroll.until(run, ['SETTLED']);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${run}/reconciliation`));
    expect(report.data).toMatchObject({
      explained: true,
      table: { held: { payments: 0 }, excluded: { payments: 11 } },
    });
  };

  it('are paid once where what is held is left out, and the whole run is held no more', async () => {
    const [first, second, others] = [payRows(6, 100), payRows(5, 120), payRows(9, 140)];
    for (const rows of [first, second]) await payroll.until(await payroll.paid(payFile(rows)), ['SETTLED']);
    const { id } = await payroll.uploaded(payFile([...renamed([...first, ...second]), ...others]));
    const held = (await openHolds(id)).flatMap(({ payment }) => payment?.id ?? []);
    const left = await amended(id, { excludePaymentIds: held });
    expect(left).toMatchObject({ openHolds: 6, payments: 9 });
    expect(await payroll.approve(left)).toMatchObject({ status: 409, data: { code: 'HOLDS_OPEN' } });
    await paidWithout(id);
    expect(await payroll.timesPaid([...first, ...second, ...others])).toEqual(Array(20).fill(1));
  }, 90_000);

  it('are paid once where the date is amended, and the whole run is held no more', async () => {
    const [first, near, others] = [payRows(6, 200), payRows(5, 220), payRows(9, 240)];
    const today = payroll.executionDate();
    const period = nextPeriod(today.slice(0, 7));
    const far = addBankingDays(addDays(today, DAYS_APART), 1, new Set());
    await payroll.uploaded(payFile(near), { executionDate: today });
    await payroll.until(await payroll.paid(payFile(first), { period }), ['SETTLED']);
    const again = payFile([...renamed(first), ...near, ...others]);
    const { id } = await payroll.uploaded(again, { period, executionDate: today, ...payroll.later() });
    expect(await openHolds(id)).toMatchObject([{ code: 'ROWS_OF_ANOTHER_RUN' }]);
    const moved = await amended(id, { executionDate: far });
    expect(moved).toMatchObject({ openHolds: 6, payments: 14 });
    expect(await payroll.approve(moved)).toMatchObject({ status: 409, data: { code: 'HOLDS_OPEN' } });
    expect((await openHolds(id)).map(({ code }) => code)).toEqual(Array(6).fill('IBAN_AND_AMOUNT_TWICE'));
    expect(await payroll.timesPaid(first)).toEqual(Array(6).fill(1));
  }, 90_000);
});
