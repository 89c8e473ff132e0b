import { addBankingDays, addDays, nextPeriod } from '../../src/domain/business-day';
import { execute, LEAVES_UNANSWERED } from '../support/database';
import { payFile, payRows, Row } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

interface Hold {
  code: string;
  version: number;
  message: string;
  payment: { id: string; line: number; name: string; iban: string; amount: string } | null;
  decision: { outcome: string; by: string; reason: string } | null;
}

describe('a payroll in which HR made mistakes', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start();
    await payroll.as('operator').patch(payroll.path(''), { limits: { payment: '5000.00' } });
  });
  afterAll(() => payroll.close());

  const holdsOf = async (runId: string, query = ''): Promise<Hold[]> =>
    (await payroll.as('approver').get(payroll.path(`/pay-runs/${runId}/holds${query}`))).data.items;
  const release = (runId: string, hold: Hold, who: 'approver' | 'preparer' | 'operator' = 'approver') =>
    payroll.as(who).post(payroll.path(`/pay-runs/${runId}/holds/release`), {
      code: hold.code,
      paymentId: hold.payment?.id,
      version: hold.version,
      reason: 'HR confirmed it in writing',
    });

  it('pays exactly what stands and what was released, and explains every row', async () => {
    const rows = payRows(5);
    const [first, second] = rows as [Row, Row];
    const typo: Row = { ...payRows(1, 50)[0]!, amount: '50000.00' };
    const further: Row = { ...first, amount: '12.34' };
    const file = payFile([...rows, further, typo, second]);
    const uploaded = await payroll.upload(file);
    expect(uploaded).toMatchObject({ status: 201, data: { payments: 5, held: { payments: 3 } } });
    const { id } = uploaded.data;

    const held = await holdsOf(id);
    expect(held.map(({ code, payment }) => [payment?.line, code])).toEqual([
      [7, 'EMPLOYEE_TWICE'],
      [8, 'PAYMENT_ABOVE_LIMIT'],
      [9, 'EMPLOYEE_TWICE'],
      [9, 'IBAN_AND_AMOUNT_TWICE'],
    ]);
    expect(held[0]).toMatchObject({
      message: 'The employee is already in line 2.',
      payment: { name: first.name, amount: '12.34', status: 'HELD' },
      beside: { line: 2, payRunId: null },
      decision: null,
    });
    expect(JSON.stringify(held)).not.toContain(first.iban);
    expect(await payroll.run(id)).toMatchObject({
      openHolds: 4,
      paymentsByStatus: { HELD: { payments: 3 }, READY: { payments: 5 } },
    });
    expect(await payroll.approve(uploaded.data)).toMatchObject({ status: 409, data: { code: 'HOLDS_OPEN' } });

    expect((await release(id, held[0]!, 'preparer')).status).toBe(403);
    expect((await release(id, { ...held[0]!, version: 2 })).status).toBe(404);
    const released = await release(id, held[0]!);
    expect(released).toMatchObject({ status: 200, data: { runVersion: 2, payments: 6, openHolds: 3 } });
    expect(released.headers['etag']).toBeDefined();
    expect((await release(id, held[0]!)).status).toBe(404);
    const left = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), {
      excludePaymentIds: [held[1]!.payment?.id, held[2]!.payment?.id],
      reason: 'sent by mistake',
    });
    expect(left).toMatchObject({ status: 200, data: { runVersion: 3, payments: 6, openHolds: 0 } });

    // What was looked at before is not what stands now.
    expect((await payroll.approve(released.data)).status).toBe(409);
    expect((await payroll.approve(left.data)).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
    const { payees } = await payroll.ledger();
    const paid = new Map(payees.map(({ iban, count, movedMinor }) => [iban, [count, movedMinor]]));
    const cents = (row: Row) => BigInt(row.amount.replace('.', ''));
    expect(paid.get(first.iban)).toEqual([2, (cents(first) + 1_234n).toString()]);
    for (const row of rows.slice(1)) expect(paid.get(row.iban)).toEqual([1, cents(row).toString()]);
    expect(paid.has(typo.iban)).toBe(false);

    const successor = payroll.path(`/pay-runs/${id}/successor`);
    const paymentIds = [held[1]!.payment!.id];
    const again = { executionDate: payroll.executionDate(), paymentIds };
    expect((await payroll.as('preparer').post(successor, again)).data).toMatchObject({
      code: 'SUCCESSOR_REFUSED',
      payments: [{ code: 'HOLD_NEEDS_RELEASE' }],
    });

    const report = (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;
    expect(report).toMatchObject({
      explained: true,
      table: { uploaded: { payments: 8 }, held: { payments: 0 }, excluded: { payments: 2 } },
    });
    expect((await holdsOf(id, '?open=true')).length).toBe(0);
    expect((await holdsOf(id, '?open=false')).map(({ decision }) => decision?.outcome)).toEqual([
      'RELEASED',
      'LEFT_OUT',
      'LEFT_OUT',
      'LEFT_OUT',
    ]);
    const { data: audit } = await payroll.as('operator').get(payroll.path('/audit?limit=500'));
    const actions = audit.items.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(expect.arrayContaining(['pay-run.hold-released', 'pay.released']));
    const { data: history } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/history`));
    expect(
      history.items
        .filter((one: { from: string }) => one.from === 'HELD')
        .map((one: { to: string; reason: string }) => [one.to, one.reason]),
    ).toEqual([
      ['READY', 'HR confirmed it in writing'],
      ['EXCLUDED', 'sent by mistake'],
      ['EXCLUDED', 'sent by mistake'],
    ]);
  });

  it('is told that a file came before, and waits where it pays again what another run pays', async () => {
    const file = payFile(payRows(3, 100));
    const first = await payroll.uploaded(file);
    const again = await payroll.upload(file, { kindOfPay: 'BONUS' });
    expect(again.data).toMatchObject({
      sameFile: [first.id],
      payments: 3,
      held: { payments: 0, holds: { ROWS_OF_ANOTHER_RUN: 1 } },
    });
    expect((await payroll.run(again.data.id)).sameFile).toEqual([first.id]);
    const [ofRun] = await holdsOf(again.data.id);
    expect(ofRun).toMatchObject({
      payment: null,
      message: `Of the rows, 3 are in other runs of the period or of about the same day already, as in ${first.id}. That run is READY now.`,
    });
    expect((await payroll.approve(again.data)).status).toBe(409);
    expect((await release(again.data.id, ofRun!)).data).toMatchObject({ runVersion: 1, openHolds: 0 });
    expect((await payroll.approve(again.data)).status).toBe(200);
  });

  it('is not released of one hold by the key of a request about another, whose answer was lost', async () => {
    const file = payFile(payRows(4, 300));
    const today = payroll.executionDate();
    const far = addBankingDays(addDays(today, 25), 1, new Set());
    await payroll.uploaded(file, { executionDate: today, ...payroll.later() });
    const bonus = await payroll.uploaded(file, {
      executionDate: today,
      kindOfPay: 'BONUS',
      ...payroll.later(),
    });
    const period = nextPeriod(today.slice(0, 7));
    const next = await payroll.uploaded(file, { executionDate: far, period, ...payroll.later() });
    const holds = payroll.path(`/pay-runs/${bonus.id}/holds`);
    const headers = { 'idempotency-key': 'both-are-owed' };
    const asked = { code: 'ROWS_OF_ANOTHER_RUN', reason: 'both are owed' };
    const release = () => payroll.as('approver').post(`${holds}/release`, asked, { headers });
    expect(await release()).toMatchObject({ status: 200, data: { openHolds: 0 } });
    await execute(payroll.database.superuserUrl, LEAVES_UNANSWERED);
    const amendment = { executionDate: far, reason: 'paid later' };
    const amendments = payroll.path(`/pay-runs/${bonus.id}/amendments`);
    expect((await payroll.as('preparer').post(amendments, amendment)).data).toMatchObject({ openHolds: 1 });
    expect(await release()).toMatchObject({ status: 409, data: { code: 'IDEMPOTENCY_UNFINISHED' } });
    expect((await payroll.as('approver').get(`${holds}?open=true`)).data.items).toMatchObject([
      { code: 'ROWS_OF_ANOTHER_RUN', beside: { payRunId: next.id } },
    ]);
  });

  it('lists its holds by pages, to those who may see salaries', async () => {
    const rows = payRows(4, 200).map((row) => ({ ...row, amount: '9000.00' }));
    const { data } = await payroll.upload(payFile(rows));
    expect(data).toMatchObject({ status: 'READY', payments: 0, total: '0.00' });
    const seen: number[] = [];
    let cursor = '';
    do {
      const path = payroll.path(`/pay-runs/${data.id}/holds?limit=3${cursor}`);
      const page = (await payroll.as('preparer').get(path)).data;
      seen.push(...page.items.map(({ payment }: Hold) => payment?.line));
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
    } while (cursor !== '');
    expect(seen).toEqual([2, 3, 4, 5]);
    const operator = await payroll.as('operator').get(payroll.path(`/pay-runs/${data.id}/holds`));
    expect(operator.status).toBe(403);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${data.id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true, table: { held: { payments: 4 } } });
  });
});
