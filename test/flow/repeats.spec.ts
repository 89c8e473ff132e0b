import { nextPeriod } from '../../src/domain/business-day';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

describe('the same file again', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start();
  });
  afterAll(() => payroll.close());

  const paidTimes = async (iban: string) =>
    (await payroll.ledger()).payees.find((payee) => payee.iban === iban)?.count ?? 0;

  it('sent twice at once makes one run and pays once; for the next month it waits, and pays everybody again', async () => {
    const rows = payRows(12);
    const file = payFile(rows);
    const submitAt = { submitAt: payroll.clock.now().toISOString() };
    const answers = await Promise.all(Array.from({ length: 4 }, () => payroll.upload(file, submitAt)));
    expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map((answer) => answer.data.id)).size).toBe(1);
    await payroll.approve(answers[0]!.data);
    await payroll.until(answers[0]!.data.id, ['SETTLED']);
    const again = await payroll.upload(file, submitAt);
    expect(again.data).toEqual({
      ...answers[0]!.data,
      replayed: true,
      status: 'SETTLED',
      advice: expect.stringContaining('It has paid, and pays nothing more'),
    });
    for (const row of rows) expect(await paidTimes(row.iban)).toBe(1);

    const period = nextPeriod(payroll.executionDate().slice(0, 7));
    const { data: next } = await payroll.upload(file, { ...submitAt, period });
    expect(next.held.holds).toEqual({ ROWS_OF_ANOTHER_RUN: 1 });
    const release = payroll.path(`/pay-runs/${next.id}/holds/release`);
    const reason = { code: 'ROWS_OF_ANOTHER_RUN', reason: 'paid before the holidays' };
    expect((await payroll.as('approver').post(release, reason)).status).toBe(200);
    expect((await payroll.approve(next)).status).toBe(200);
    await payroll.until(next.id, ['SETTLED']);
    for (const row of rows) expect(await paidTimes(row.iban)).toBe(2);
  });

  it('is a new run after the first was cancelled, and nothing of the first was paid', async () => {
    const rows = payRows(5, 500);
    const first = await payroll.uploaded(payFile(rows));
    const cancelled = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${first.id}/cancellation`), { reason: 'wrong month' });
    expect(cancelled.status).toBeLessThan(300);
    expect((await payroll.run(first.id)).status).toBe('CANCELLED');
    const second = await payroll.paid(payFile(rows));
    expect(second).not.toBe(first.id);
    await payroll.until(second, ['SETTLED']);
    for (const row of rows) expect(await paidTimes(row.iban)).toBe(1);
  });

  it('with one more row does not pay those already paid, unless each is released with a reason', async () => {
    const rows = payRows(3, 700);
    await payroll.until(await payroll.paid(payFile(rows)), ['SETTLED']);
    const more = payFile([...rows.slice(0, 1), ...payRows(1, 790)]);
    const held = await payroll.uploaded(more);
    expect(held).toMatchObject({ payments: 1, held: { holds: { EMPLOYEE_ALREADY_PAID: 1 } } });
    expect(await payroll.approve(held)).toMatchObject({ status: 409, data: { code: 'HOLDS_OPEN' } });
    const cancellation = payroll.path(`/pay-runs/${held.id}/cancellation`);
    await payroll.as('preparer').post(cancellation, { reason: 'to be released first' });
    const released = await payroll.as('approver').post(payroll.path('/releases'), {
      employeeId: rows[0]!.employeeId,
      period: payroll.executionDate().slice(0, 7),
      reason: 'second half of the bonus',
    });
    expect(released.status).toBe(201);
    await payroll.until(await payroll.paid(more), ['SETTLED']);
    expect(await paidTimes(rows[0]!.iban)).toBe(2);
    expect(await paidTimes(rows[1]!.iban)).toBe(1);
  });
});
