import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import type { BankPayment } from '../../src/bank/records';
import { Database } from '../../src/database/database';
import { nextBankingDay, nextPeriod } from '../../src/domain/business-day';
import { BankReads } from '../../src/employer/bank-reads';
import { readId } from '../../src/http/prefixed-id';
import { tellOfPaidAlready } from '../../src/pay-run/paid-already';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, LEAVES_UNANSWERED, select } from '../support/database';
import { germanIban, payFile, payRows, Row } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { MovedClock, Payroll, PayrollOptions } from '../support/payroll';
import { passThrough } from '../support/payments-shown';

const magic = (effect: string) => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban;

interface PaymentView {
  id: string;
  employeeId: string;
  status: string;
  replacesPaymentId: string | null;
  replacedByPaymentId: string | null;
  replaces: Record<string, unknown> | null;
}

let payroll: Payroll;

const successorOf = (id: string, body: Record<string, unknown> = {}, url?: string) => {
  const preparer = payroll.as('preparer');
  if (url !== undefined) preparer.defaults.baseURL = url;
  return preparer.post(payroll.path(`/pay-runs/${id}/successor`), {
    executionDate: payroll.executionDate(),
    submitAt: payroll.clock.now().toISOString(),
    ...body,
  });
};
const paymentsOf = async (id: string): Promise<PaymentView[]> =>
  (await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/payments?limit=100`))).data.items;
const reportOf = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;

/** Has what is followed read at once. */
const followNow = () =>
  execute(
    payroll.database.superuserUrl,
    `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
  );

/** The same, of what is followed of one run alone. */
const readNow = (runId: string) =>
  execute(
    payroll.database.superuserUrl,
    `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL
       AND subject_id IN (SELECT id FROM instruction WHERE pay_run_id = $1)`,
    [readId('run', runId)],
  );

/** Whether what is followed was read for the last time today: no read comes between what a test does by hand. */
const nobodyReads = async () => {
  const due = `SELECT FROM lease WHERE kind = 'FOLLOW' AND (holder IS NOT NULL OR wake_at < now() + interval '1 hour')`;
  return (await select(payroll.database.superuserUrl, due)).length === 0;
};

async function decide(path: string, action: string, evidence?: string) {
  const reason = 'the bank said so on the telephone';
  return payroll.decide(path, { action, reason, evidence });
}

/** A run of which nothing was executed: its payments are VOID. */
async function voided(rows: readonly Row[], query: Record<string, string> = {}): Promise<string> {
  const { id, path } = await payroll.parked(rows, query);
  expect((await decide(path, 'NOT_EXECUTED')).status).toBe(200);
  await payroll.until(id, ['FAILED'], 15_000);
  return id;
}

const open = (options: PayrollOptions = {}) =>
  Payroll.start({
    ...options,
    settings: { SUBMIT_DOUBT_MS: '400', ...options.settings },
    sandbox: { variants: { linkReads: 'allowed' }, ...options.sandbox },
  });

describe('what a run did not pay', () => {
  beforeAll(async () => {
    payroll = await open();
    await payroll.addReplica();
  });
  afterAll(() => payroll.close());
  afterEach(() => payroll.clearFaults());

  it('is paid by a successor that says of each payment which it replaces and why, once and no more', async () => {
    const rows = payRows(4);
    const parent = await voided(rows, { kindOfPay: 'FIRST' });
    const made = await successorOf(parent);
    expect(made).toMatchObject({
      status: 201,
      data: { status: 'READY', parentRunId: parent, sequence: 1, payments: 4, leftOut: [] },
    });
    expect(made.data.replaces).toEqual({
      payments: 4,
      amount: made.data.total,
      before: made.data.total,
      differing: 0,
    });
    const old = await paymentsOf(parent);
    const successors = await paymentsOf(made.data.id);
    expect(successors.map((one) => one.replacesPaymentId)).toEqual(old.map((one) => one.id));
    expect(old.map((one) => one.replacedByPaymentId)).toEqual(successors.map((one) => one.id));
    expect(successors[0]!.replaces).toEqual({
      paymentId: old[0]!.id,
      payRunId: parent,
      status: 'VOID',
      why: 'the bank said so on the telephone',
      amount: rows[0]!.amount,
      sameAmount: true,
      sameIban: true,
      reason: null,
    });
    await payroll.approve(made.data);
    await payroll.until(made.data.id, ['SETTLED'], 20_000);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1, 1]);
    expect(await successorOf(parent)).toMatchObject({ status: 409, data: { code: 'NOTHING_TO_REPLACE' } });
    const again = await payroll.upload(payFile(rows), { kindOfPay: 'FIRST' });
    expect(again.data).toMatchObject({
      payments: 0,
      held: { payments: 4, holds: { EMPLOYEE_ALREADY_PAID: 4, ROWS_OF_ANOTHER_RUN: 1 } },
    });
    const cancellation = payroll.path(`/pay-runs/${again.data.id}/cancellation`);
    await payroll.as('preparer').post(cancellation, { reason: 'paid already' });

    const [report, mine] = [await reportOf(parent), await reportOf(made.data.id)];
    const four = { payments: 4, amount: made.data.total };
    expect(report).toMatchObject({
      explained: true,
      replacedBy: [{ payRunId: made.data.id, ...four }],
      replaces: [],
    });
    expect(mine).toMatchObject({
      explained: true,
      parentRunId: parent,
      replaces: [{ payRunId: parent, ...four }],
      table: { uploaded: four, settled: four },
    });
    const month = (
      await payroll
        .as('finance')
        .get(payroll.path(`/reconciliation?period=${payroll.executionDate().slice(0, 7)}`))
    ).data;
    expect(month).toMatchObject({
      explained: true,
      replaced: four,
      totals: { uploaded: four, approved: four, settled: four, void: { payments: 0, amount: '0.00' } },
    });
    const export_ = await payroll
      .as('finance')
      .get(payroll.path(`/pay-runs/${made.data.id}/reconciliation/rows?format=csv`));
    expect(export_.data).toContain(`${successors[0]!.id},${old[0]!.id},`);
  });

  it('is told to whoever uploads its file again, in words that can be followed', async () => {
    const terms = { kindOfPay: 'AGAIN' };
    const [good, failing] = payRows(2);
    const file = payFile([good!, { ...failing!, iban: magic('fails') }]);
    const parent = await payroll.paid(file, terms);
    await payroll.until(parent, ['PARTLY_SETTLED'], 20_000);
    const again = await payroll.upload(file, terms);
    expect(again).toMatchObject({
      status: 201,
      data: { id: parent, replayed: true, status: 'PARTLY_SETTLED', payments: 2 },
    });
    expect(again.data.advice).toContain(`POST pay-runs/${parent}/successor with {"executionDate":`);
    expect(again.data.advice).toContain(`supplementOf=${parent}`);
    expect(await successorOf(parent)).toMatchObject({ status: 201, data: { payments: 1 } });
    const supplement = await payroll.upload(payFile(payRows(1, 3)), { ...terms, supplementOf: parent });
    expect(supplement).toMatchObject({ status: 201, data: { parentRunId: parent, advice: null } });
  });

  it('is approved by another person than who made the successor, over a hash that names what is replaced', async () => {
    const rows = payRows(1, 20);
    const parent = await voided(rows, { kindOfPay: 'HASHED' });
    const first = (await successorOf(parent)).data;
    const seen = { rootHash: first.rootHash, total: first.total };
    await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${first.id}/cancellation`), { reason: 'another day' });
    const second = (await successorOf(parent)).data;
    expect(second.sequence).toBe(2);
    expect(
      (await payroll.as('approver').post(payroll.path(`/pay-runs/${second.id}/approvals`), seen)).data.code,
    ).toBe('APPROVAL_OF_ANOTHER_VERSION');
    await expect(
      execute(
        payroll.database.superuserUrl,
        `UPDATE payment SET replaces_payment_id = NULL WHERE pay_run_id = $1`,
        [readId('run', second.id)],
      ),
    ).resolves.toBeUndefined();
    expect((await payroll.approve(second)).status).toBeLessThan(300);
    await eventually(
      async () => (await payroll.attention()).some((one) => one.kind === 'INVARIANT_BREACH'),
      15_000,
    );
    expect(await payroll.timesPaid(rows)).toEqual([0]);
    const breach = (await payroll.attention()).find((one) => one.kind === 'INVARIANT_BREACH')!;
    await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${second.id}/cancellation`), { reason: 'tampered with' });
    await decide(payroll.path(`/attention/${breach.id}`), 'RESUME');
    await payroll.until(second.id, ['CANCELLED'], 15_000);
  });

  it.each(['one replica', 'two replicas'])('makes one run of requests at once, at %s', async (where) => {
    const rows = payRows(3, where === 'one replica' ? 30 : 40);
    const parent = await voided(rows, { kindOfPay: where === 'one replica' ? 'ONE' : 'TWO' });
    const urls = payroll.services.map(({ url }) => url);
    const answers = await Promise.all([
      successorOf(parent, {}, urls[0]),
      successorOf(parent, {}, where === 'one replica' ? urls[0] : urls[1]),
      successorOf(parent, {}, urls[0]),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const codes = answers.flatMap(({ status, data }) => (status === 409 ? [data.code] : []));
    expect(codes).toEqual(['NOTHING_TO_REPLACE', 'NOTHING_TO_REPLACE']);
  });

  it('is in one run only, whichever of two requests for some of it and for all of it is first', async () => {
    const parent = await voided(payRows(3, 45), { kindOfPay: 'SOME' });
    const urls = payroll.services.map(({ url }) => url);
    const [first = ''] = (await paymentsOf(parent)).map(({ id }) => id);
    const answers = await Promise.all([
      successorOf(parent, { paymentIds: [first] }, urls[0]),
      successorOf(parent, {}, urls[1]),
    ]);
    const made = answers.filter(({ status }) => status === 201);
    expect(made.reduce((sum, { data }) => sum + Number(data.payments), 0)).toBe(3);
    for (const { status, data } of answers) if (status !== 201) expect(data.code).toBe('SUCCESSOR_REFUSED');
    const later = await successorOf(parent, { paymentIds: [first] });
    expect(later.data.payments[0].code).toBe('PAYMENT_ALREADY_REPLACED');
  });

  it('is answered again under the same Idempotency-Key, and makes nothing twice', async () => {
    const parent = await voided(payRows(2, 50), { kindOfPay: 'KEYED' });
    const headers = { 'idempotency-key': `successor-${parent}` };
    const body = { executionDate: payroll.executionDate() };
    const path = payroll.path(`/pay-runs/${parent}/successor`);
    const first = await payroll.as('preparer').post(path, body, { headers });
    const again = await payroll.as('preparer').post(path, body, { headers });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.data.id).toBe(first.data.id);
  });

  it('is not made again by a repetition once it was cancelled, where the answer was lost', async () => {
    const parent = await voided(payRows(2, 55), { kindOfPay: 'LOST' });
    const headers = { 'idempotency-key': `successor-${parent}` };
    const body = { executionDate: payroll.executionDate() };
    const path = payroll.path(`/pay-runs/${parent}/successor`);
    const make = () => payroll.as('preparer').post(path, body, { headers });
    const { id } = (await make()).data;
    await execute(payroll.database.superuserUrl, LEAVES_UNANSWERED);
    const cancel = payroll.path(`/pay-runs/${id}/cancellation`);
    expect((await payroll.as('approver').post(cancel, { reason: 'they are paid in cash' })).status).toBe(200);
    expect(await make()).toMatchObject({ status: 409, data: { code: 'IDEMPOTENCY_UNFINISHED' } });
  });

  it('is refused for what was or may still be paid, each with its code, and nothing is stored', async () => {
    const rows = payRows(5, 60);
    rows[1]!.iban = magic('routingFails');
    rows[2]!.iban = magic('neverSettles');
    rows[3]!.iban = magic('exchangeError');
    const parent = await payroll.paid(payFile(rows), { kindOfPay: 'MIXED' });
    await eventually(async () => {
      const statuses = (await paymentsOf(parent)).map(({ status }) => status);
      return statuses.join() === 'SETTLED,FAILED,SUBMITTED,SUBMITTED,SETTLED';
    }, 20_000);
    const ids = (await paymentsOf(parent)).map(({ id }) => id);
    const foreign = `pay_${'0'.repeat(12)}7000${'8'.padEnd(16, '0')}`;
    const refused = await successorOf(parent, { paymentIds: [...ids, foreign], reason: 'to try it' });
    expect(refused).toMatchObject({ status: 409, data: { code: 'SUCCESSOR_REFUSED' } });
    const codes = Object.fromEntries(
      refused.data.payments.map((one: { id: string; code: string }) => [one.id, one.code]),
    );
    expect(codes).toEqual({
      [foreign]: 'PAYMENT_NOT_IN_RUN',
      [ids[0]!]: 'PAYMENT_SETTLED',
      [ids[2]!]: 'PAYMENT_NOT_FINISHED',
      [ids[3]!]: 'PAYMENT_STATUS_UNCLEAR',
      [ids[4]!]: 'PAYMENT_SETTLED',
    });
    const made = await successorOf(parent);
    expect(made).toMatchObject({ status: 201, data: { payments: 1 } });
    expect(
      made.data.leftOut.map((one: { code: string; payments: number }) => [one.code, one.payments]),
    ).toEqual([
      ['PAYMENT_NOT_FINISHED', 1],
      ['PAYMENT_STATUS_UNCLEAR', 1],
    ]);
  });

  it('with a wrong IBAN is paid by a supplement that says what differs; plain uploads say where to go', async () => {
    const rows = payRows(3, 70);
    rows[1]!.iban = magic('routingFails');
    const parent = await payroll.paid(payFile(rows), { kindOfPay: 'CORRECTED' });
    await payroll.until(parent, ['PARTLY_SETTLED'], 20_000);
    const corrected: Row = { ...rows[1]!, iban: germanIban(7_001), amount: '2000.00' };
    const further = payRows(1, 75)[0]!;
    const query = { kindOfPay: 'CORRECTED', supplementOf: parent };
    const wrong = await payroll.upload(payFile([corrected]), { ...query, kindOfPay: 'OTHER' });
    expect(wrong.data.code).toBe('SUPPLEMENT_OF_ANOTHER_PAY');
    const paid = await payroll.upload(payFile([rows[0]!]), query);
    expect(paid.data.held.holds).toMatchObject({ EMPLOYEE_ALREADY_PAID: 1 });
    const cancellation = payroll.path(`/pay-runs/${paid.data.id}/cancellation`);
    await payroll.as('preparer').post(cancellation, { reason: 'paid already' });
    const answer = await payroll.upload(payFile([corrected, further]), query);
    expect(answer).toMatchObject({ status: 201, data: { parentRunId: parent, sequence: 2, replaces: 1 } });
    const run = await payroll.run(answer.data.id);
    expect(run.replaces).toMatchObject({ payments: 1, differing: 1 });
    const [first, second] = await paymentsOf(run.id);
    expect(first!.replaces).toMatchObject({
      payRunId: parent,
      status: 'FAILED',
      why: 'PRO_ROUTING_FAILED',
      sameAmount: false,
      sameIban: false,
    });
    expect(second!.replaces).toBeNull();
    const other = await successorOf(parent);
    expect(other.data.payments[0].code).toBe('PAYMENT_ALREADY_REPLACED');
    await payroll.approve(run);
    await payroll.until(run.id, ['SETTLED'], 20_000);
    expect(await payroll.timesPaid([rows[0]!, corrected, rows[2]!, further])).toEqual([1, 1, 1, 1]);
    expect(await reportOf(run.id)).toMatchObject({ explained: true });
    expect(await reportOf(parent)).toMatchObject({ explained: true });
  });

  let accounts = 0;
  it.each([
    ['under other employee ids', (row: Row) => ({ ...row, employeeId: `${row.employeeId}-B` }), {}],
    ['as another kind of pay', (row: Row) => row, { kindOfPay: 'BONUS' }],
    [
      'other amounts, under the same ids written otherwise',
      (row: Row) => ({ ...row, employeeId: row.employeeId.toLowerCase(), amount: '99.00' }),
      {},
    ],
  ])('is not paid once more where another run paid the same accounts %s', async (_as, written, terms) => {
    const rows = payRows(3, 400 + accounts);
    accounts += 10;
    const parent = await voided(rows);
    const other = await payroll.paid(payFile(rows.map(written)), terms);
    await payroll.until(other, ['SETTLED'], 15_000);
    const { status, data } = await successorOf(parent);
    const codes = data.payments.map(({ code }: { code: string }) => code);
    expect([status, data.code, codes]).toEqual([409, 'NOTHING_TO_REPLACE', Array(3).fill('PAID_AS_ANOTHER')]);
  });

  it('is not paid once more where a few were paid as another kind of pay since, or are held', async () => {
    const rows = payRows(5, 480);
    const parent = await voided(rows);
    const urgent = await payroll.paid(payFile(rows.slice(0, 1)), { kindOfPay: 'ADVANCE' });
    await payroll.until(urgent, ['SETTLED'], 15_000);
    const { superuserUrl } = payroll.database;
    await execute(superuserUrl, 'UPDATE employer SET payment_limit_minor = 1');
    const otherIds = rows.slice(1, 2).map((row) => ({ ...row, employeeId: `${row.employeeId}-B` }));
    const held = await payroll.uploaded(payFile(otherIds));
    await execute(superuserUrl, 'UPDATE employer SET payment_limit_minor = NULL');
    expect((await paymentsOf(held.id)).map(({ status }) => status)).toEqual(['HELD']);
    const { status, data } = await successorOf(parent);
    expect([status, data.payments]).toEqual([201, 3]);
    expect(data.leftOut).toMatchObject([{ code: 'PAID_AS_ANOTHER', payments: 2 }]);
  });

  it('is not paid without a question once another run has paid it, as where the month it came for was a slip', async () => {
    const rows = payRows(4, 760);
    const slip = await voided(rows, { period: nextPeriod(payroll.executionDate().slice(0, 7)) });
    const paid = await payroll.uploaded(payFile(rows));
    expect(paid).toMatchObject({ held: { holds: {} } });
    expect((await payroll.approve(paid)).status).toBe(200);
    await payroll.until(paid.id, ['SETTLED']);

    const made = await successorOf(slip);
    expect(made).toMatchObject({ status: 201, data: { payments: 4, openHolds: 1 } });
    const holds = payroll.path(`/pay-runs/${made.data.id}/holds`);
    expect((await payroll.as('approver').get(holds)).data.items).toMatchObject([
      { code: 'ROWS_OF_ANOTHER_RUN', payment: null, beside: { payRunId: paid.id } },
    ]);
    expect(await payroll.approve(made.data)).toMatchObject({ status: 409, data: { code: 'HOLDS_OPEN' } });
    const released = { code: 'ROWS_OF_ANOTHER_RUN', reason: 'both months are owed' };
    expect((await payroll.as('approver').post(`${holds}/release`, released)).data.openHolds).toBe(0);
    const amendment = { submitAt: payroll.later().submitAt, reason: 'paid later' };
    const amendments = payroll.path(`/pay-runs/${made.data.id}/amendments`);
    expect((await payroll.as('preparer').post(amendments, amendment)).data.openHolds).toBe(0);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1, 1]);
  });

  it('is paid by the last of a chain only', async () => {
    const rows = payRows(1, 80);
    rows[0]!.iban = magic('fails');
    const parent = await payroll.paid(payFile(rows), { kindOfPay: 'CHAIN' });
    await payroll.until(parent, ['FAILED'], 20_000);
    const first = (await successorOf(parent)).data;
    await payroll.approve(first);
    await payroll.until(first.id, ['FAILED'], 20_000);
    expect((await successorOf(parent)).data.payments[0].code).toBe('SUCCESSOR_ENDED');
    const second = await successorOf(first.id);
    expect(second).toMatchObject({ status: 201, data: { parentRunId: first.id, sequence: 2 } });
  });

  it('is not paid around what was sent last in its stead, by a sibling that was left out', async () => {
    const rows = payRows(2, 480).map((row, n) => ({ ...row, iban: magic(n === 0 ? 'fails' : 'rejected') }));
    const parent = await payroll.paid(payFile(rows), { kindOfPay: 'SIBLING' });
    await payroll.until(parent, ['FAILED'], 20_000);
    const [first] = await paymentsOf(parent);
    const both = (await successorOf(parent)).data;
    const [leftOut] = await paymentsOf(both.id);
    expect(leftOut!.replacesPaymentId).toBe(first!.id);
    const amendment = { excludePaymentIds: [leftOut!.id], reason: 'to be paid with another run' };
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${both.id}/amendments`), amendment);
    await payroll.approve(await payroll.run(both.id));
    const alone = (await successorOf(parent, { paymentIds: [first!.id] })).data;
    await payroll.approve(alone);
    for (const id of [both.id, alone.id]) await payroll.until(id, ['FAILED'], 20_000);
    const { data } = await successorOf(both.id, { paymentIds: [leftOut!.id] });
    expect([data.code, data.payments?.[0].code]).toEqual(['SUCCESSOR_REFUSED', 'SUCCESSOR_ENDED']);
    expect((await successorOf(alone.id)).status).toBe(201);
  });

  it('is not paid around what was sent in the stead of a sibling that was left out', async () => {
    const rows = payRows(2, 490).map((row, n) => ({ ...row, iban: magic(n === 0 ? 'fails' : 'rejected') }));
    const parent = await payroll.paid(payFile(rows), { kindOfPay: 'COUSIN' });
    await payroll.until(parent, ['FAILED'], 20_000);
    const both = (await successorOf(parent)).data;
    const [leftOut] = await paymentsOf(both.id);
    const amendment = { excludePaymentIds: [leftOut!.id], reason: 'to be paid with another run' };
    await payroll.as('preparer').post(payroll.path(`/pay-runs/${both.id}/amendments`), amendment);
    await payroll.approve(await payroll.run(both.id));
    await payroll.until(both.id, ['FAILED'], 20_000);
    const last = (await successorOf(both.id, { paymentIds: [leftOut!.id] })).data;
    await payroll.approve(last);
    await payroll.until(last.id, ['FAILED'], 20_000);
    const { data } = await successorOf(parent);
    const codes = data.payments.map(({ code }: { code: string }) => code);
    expect([data.code, codes]).toEqual(['NOTHING_TO_REPLACE', ['SUCCESSOR_ENDED', 'SUCCESSOR_ENDED']]);
    expect((await successorOf(last.id)).status).toBe(201);
  });

  it('is not paid beside its further pay unless that is chosen, whichever of the two is asked for first', async () => {
    const terms = { kindOfPay: 'FURTHER_FIRST' };
    const rows = payRows(2, 450);
    const { id: parent, path } = await payroll.parked(rows, terms);
    const further = { ...rows[0]!, amount: '77.00', iban: magic('fails') };
    const { id } = await payroll.uploaded(payFile([further]), terms);
    const run = payroll.path(`/pay-runs/${id}`);
    const [held] = (await payroll.as('approver').get(`${run}/holds`)).data.items;
    const release = { paymentId: held.payment.id, code: held.code, reason: 'her salary did not arrive' };
    await payroll.approve((await payroll.as('approver').post(`${run}/holds/release`, release)).data);
    await payroll.until(id, ['FAILED'], 20_000);
    await decide(path, 'NOT_EXECUTED');
    await payroll.until(parent, ['FAILED'], 15_000);
    expect(await successorOf(parent)).toMatchObject({ status: 201, data: { payments: 2, leftOut: [] } });
    expect((await successorOf(id)).data.payments[0].code).toBe('FURTHER_PAY_NEEDS_CHOICE');
  });

  it('is paid once chosen by its id where further pay of the employee was released while it was in doubt', async () => {
    const terms = { kindOfPay: 'FURTHER' };
    const rows = payRows(2, 440);
    const { id: parent, path } = await payroll.parked(rows, terms);
    const { id } = await payroll.uploaded(payFile([{ ...rows[0]!, amount: '77.00' }]), terms);
    const run = payroll.path(`/pay-runs/${id}`);
    const [held] = (await payroll.as('approver').get(`${run}/holds`)).data.items;
    expect(held.code).toBe('EMPLOYEE_ALREADY_PAID');
    const release = { paymentId: held.payment.id, code: held.code, reason: 'her salary did not arrive' };
    await payroll.approve((await payroll.as('approver').post(`${run}/holds/release`, release)).data);
    await payroll.until(id, ['SETTLED'], 20_000);
    await decide(path, 'NOT_EXECUTED');
    await payroll.until(parent, ['FAILED'], 15_000);
    const made = await successorOf(parent);
    expect(made).toMatchObject({ status: 201, data: { payments: 1 } });
    expect(made.data.leftOut).toMatchObject([{ code: 'FURTHER_PAY_NEEDS_CHOICE', payments: 1 }]);
    const [first] = await paymentsOf(parent);
    expect((await successorOf(parent, { paymentIds: [first!.id] })).data).toMatchObject({ payments: 1 });
  });

  it('is neither replaced by a run before it was submitted nor by a cancelled one', async () => {
    const run = await payroll.uploaded(payFile(payRows(1, 85)), { kindOfPay: 'EARLY' });
    expect((await successorOf(run.id)).data.code).toBe('RUN_NOT_SUBMITTED');
    expect(
      (
        await payroll.upload(payFile(payRows(1, 86)), {
          kindOfPay: 'EARLY',
          supplementOf: run.id,
        })
      ).data.code,
    ).toBe('PARENT_NOT_APPROVED');
    expect(
      (await payroll.as('approver').post(payroll.path(`/pay-runs/${run.id}/successor`), {})).status,
    ).toBe(403);
  });

  it('is not asked of a bank that cannot be read', async () => {
    const parent = await voided(payRows(1, 90), { kindOfPay: 'UNREAD' });
    await payroll.fault({ operation: 'getInstruction', kind: '500-before', every: 1 });
    expect(await successorOf(parent)).toMatchObject({ status: 503, data: { code: 'BANK_UNREADABLE' } });
    await payroll.clearFaults();
    expect((await successorOf(parent)).status).toBe(201);
  });

  it('is not paid by a successor from an account that the bank has closed', async () => {
    const parent = await voided(payRows(2, 90), { kindOfPay: 'CLOSED' });
    const say = (status: string) =>
      execute(payroll.database.superuserUrl, `UPDATE employer_account SET bank_status = '${status}'`);
    await say('CLOSED');
    const refused = await successorOf(parent);
    await say('OPENED');
    expect(refused).toMatchObject({ status: 409, data: { code: 'ACCOUNT_IS_CLOSED' } });
    expect(refused.data.detail).toContain('upload the rows with supplementOf and another account');
    expect((await successorOf(parent)).status).toBe(201);
  });

  it('breaks no invariant that the standing reconciler asserts, but for the run that was tampered with', async () => {
    const stored = <R>(sql: string) => select<R>(payroll.database.superuserUrl, sql);
    await payroll.addReplica({ RECONCILE_MS: '2000' });
    await eventually(async () => (await stored('SELECT FROM reconciler_pass')).length > 0, 10_000);
    const broken = () =>
      stored(
        `SELECT b.invariant, r.kind_of_pay FROM invariant_breach b LEFT JOIN pay_run r ON r.id = b.pay_run_id`,
      );
    await eventually(async () => (await broken()).length > 0, 10_000);
    expect(await broken()).toEqual([{ invariant: 'conservation', kind_of_pay: 'HASHED' }]);
  });
});

describe('a payment that was paid and came back', () => {
  beforeAll(async () => {
    payroll = await open({ clock: new MovedClock() });
  });
  afterAll(() => payroll.close());

  /** A further payment of the same employee, by a release, has failed and waits for a successor of its own. */
  const owesFurtherPay = (paymentId: string) =>
    execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       INSERT INTO pay_release (employer_id, id, period, kind_of_pay, employee_id, sequence, reason, released_by)
       SELECT p.employer_id, gen_random_uuid(), p.period, p.kind_of_pay, p.employee_id, 1, 'a bonus', r.created_by
       FROM payment p JOIN pay_run r ON r.id = p.pay_run_id WHERE p.id = '${paymentId}';
       INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'row_no', 99,
         'line', 99, 'release_sequence', 1, 'status', 'FAILED', 'live', false, 'returned_at', NULL))).*
       FROM payment p WHERE p.id = '${paymentId}'`,
    );

  it('is paid again when it is chosen, with a reason', async () => {
    const rows = payRows(2);
    rows[0]!.iban = magic('returnedTwoDaysLater');
    const parent = await payroll.paid(payFile(rows));
    await payroll.until(parent, ['SETTLED'], 20_000);
    const later = new Date(payroll.clock.now().getTime() + 7 * 86_400_000);
    await payroll.bankClock(later);
    payroll.clock.set(later);
    await eventually(async () => {
      await followNow();
      return (await payroll.run(parent)).returned.payments === 1;
    }, 20_000);
    const [returned] = await paymentsOf(parent);
    const paymentIds = [returned!.id];
    expect((await successorOf(parent)).data.payments[0].code).toBe('RETURN_NEEDS_CHOICE');
    expect((await successorOf(parent, { paymentIds })).data.payments[0].code).toBe('RETURN_NEEDS_REASON');
    await owesFurtherPay(readId('pay', returned!.id));
    const made = await successorOf(parent, { paymentIds, reason: 'her account is open again' });
    expect(made).toMatchObject({ status: 201, data: { payments: 1 } });
    const { superuserUrl } = payroll.database;
    const place = 'SELECT release_sequence AS place FROM payment WHERE pay_run_id = $1';
    expect(await select(superuserUrl, place, [readId('run', made.data.id)])).toEqual([{ place: 2 }]);
    expect((await paymentsOf(made.data.id))[0]!.replaces).toMatchObject({
      why: 'RETURNED',
      reason: 'her account is open again',
    });
    expect((await successorOf(parent, { paymentIds, reason: 'once more' })).data.payments[0].code).toBe(
      'PAYMENT_ALREADY_REPLACED',
    );
  });
});

describe('a salary that came back and is paid to another account', () => {
  beforeAll(async () => {
    payroll = await open({ clock: new MovedClock() });
  });
  afterAll(() => payroll.close());

  it('is booked once: the supplement replaces it, for holds, the approver and the month alike', async () => {
    const rows = payRows(2);
    const period = payroll.executionDate().slice(0, 7);
    const moved = { ...rows[0]!, iban: germanIban(7_777) };
    rows[0]!.iban = magic('returnedTwoDaysLater');
    const parent = await payroll.paid(payFile(rows), { period });
    await payroll.until(parent, ['SETTLED'], 20_000);
    const week = new Date(payroll.clock.now().getTime() + 7 * 86_400_000).toISOString().slice(0, 10);
    const later = new Date(`${nextBankingDay(week, new Set())}T10:00:00Z`);
    await payroll.bankClock(later);
    payroll.clock.set(later);
    await eventually(async () => {
      await followNow();
      return (await payroll.run(parent)).returned.payments === 1;
    }, 20_000);
    const [returned] = await paymentsOf(parent);
    const told = await payroll.askedAbout(parent, 'PAYMENT_RETURNED');
    expect((await payroll.as('finance').get(told)).data).toMatchObject({
      happened: 'What had been paid by a submitted instruction came back: row 1.',
      payments: 1,
      amount: rows[0]!.amount,
    });
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${parent}/reconciliation`));
    expect(report.data.explained).toBe(true);

    const { data: made } = await payroll.upload(payFile([moved]), { period, supplementOf: parent });
    expect(made).toMatchObject({ payments: 0, held: { payments: 1, holds: { EMPLOYEE_PAY_RETURNED: 1 } } });
    const run = payroll.path(`/pay-runs/${made.id}`);
    const [held] = (await payroll.as('approver').get(`${run}/holds`)).data.items;
    expect(held.message).toBe(
      `What line 2 of ${parent} paid the employee came back. That run is SETTLED now.`,
    );
    const release = { paymentId: held.payment.id, code: held.code, reason: 'her new account, in writing' };
    const { data: ready } = await payroll.as('approver').post(`${run}/holds/release`, release);
    expect(ready).toMatchObject({ payments: 1, furtherPayments: 0, replaces: { payments: 1, differing: 1 } });
    expect((await paymentsOf(made.id))[0]!.replaces).toMatchObject({
      paymentId: returned!.id,
      why: 'RETURNED',
      sameIban: false,
    });
    expect((await payroll.approve(ready)).status).toBe(200);
    await payroll.until(made.id, ['SETTLED'], 20_000);
    expect(await payroll.timesPaid([moved, rows[1]!])).toEqual([1, 1]);
    expect((await payroll.as('finance').get(told)).data.resolvedAt).not.toBeNull();

    const month = (await payroll.as('finance').get(payroll.path(`/reconciliation?period=${period}`))).data;
    const owed = rows.reduce((sum, { amount }) => sum + Number(amount.replace('.', '')), 0);
    const twoPaid = { payments: 2, amount: (owed / 100).toFixed(2) };
    expect(month).toMatchObject({
      explained: true,
      replaced: { payments: 1 },
      totals: { uploaded: twoPaid, settled: twoPaid, returned: { payments: 0, amount: '0.00' } },
    });
    const refused = await successorOf(parent, { paymentIds: [returned!.id], reason: 'once more' });
    expect(refused.data.payments[0].code).toBe('PAYMENT_ALREADY_REPLACED');
  });
});

describe('a run released at the cut-off', () => {
  let date: string;
  beforeAll(async () => {
    ({ payroll, date } = await Payroll.startOnPayday({
      rowsPerInstruction: 2,
      settings: { BANK_TIMEOUT_MS: '3000' },
    }));
  });
  afterAll(() => payroll.close());

  it('has its rows paid by a successor on another day, everybody once', async () => {
    const rows = payRows(24);
    await payroll.fault({ operation: 'submit', kind: 'slow-drip', every: 1, delayMs: 30 });
    const run = await payroll.uploaded(payFile(rows), { executionDate: date, submitAt: `${date}T10:00:00Z` });
    await payroll.approve(run);
    await eventually(async () => ((await payroll.calls()).submit ?? 0) > 0, 20_000);
    payroll.clock.set(new Date(`${date}T16:00:01Z`));
    await payroll.until(run.id, ['PARTLY_SETTLED'], 30_000);
    await payroll.clearFaults();
    const released = (await paymentsOf(run.id)).filter(({ status }) => status === 'VOID').length;
    expect(released).toBeGreaterThan(0);
    const day = nextBankingDay(date, new Set());
    payroll.clock.set(new Date(`${day}T10:00:00Z`));
    await payroll.bankClock(payroll.clock.now());
    const made = await successorOf(run.id, { executionDate: day });
    expect(made).toMatchObject({ status: 201, data: { payments: released } });
    expect((await paymentsOf(made.data.id))[0]!.replaces).toMatchObject({
      why: 'the cut-off passed before its submit',
    });
    await payroll.approve(made.data);
    await payroll.until(made.data.id, ['SETTLED'], 30_000);
    expect(await payroll.timesPaid(rows)).toEqual(rows.map(() => 1));
  });
});

describe('a payment that moves at the bank after all', () => {
  beforeEach(async () => {
    payroll = await open({ settings: { FOLLOW_DELAYS_MS: '600000' } });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await payroll.close();
  });

  /** VOID by the bank's letter only: the instruction is still there and could be submitted. */
  async function voidByLetter(rows: readonly Row[]) {
    const { id, path } = await payroll.parked(rows);
    await payroll.fault({ operation: 'deleteInstruction', kind: '500-before', every: 1 });
    expect((await decide(path, 'NOT_EXECUTED', 'letter B-7')).status).toBe(200);
    await payroll.until(id, ['FAILED'], 15_000);
    await eventually(nobodyReads, 10_000);
    const [instruction] = (await payroll.run(id)).instructions;
    return { id, bankInstructionId: String(instruction.bankInstructionId) };
  }
  /** One that is void so, with a successor that is approved. */
  async function paidInstead(rows: readonly Row[]) {
    const voided = await voidByLetter(rows);
    const made = await successorOf(voided.id);
    await payroll.approve(made.data);
    return { ...voided, made };
  }
  const kinds = async () => [...new Set((await payroll.attention()).map(({ kind }) => kind))].sort();

  /** What failed and is shown so, or what else moves, is shown otherwise from now on. */
  const showFailuresAs = (status: string, moves = (one: BankPayment) => one.status === 'FAILED') => {
    const { app } = payroll.services[0]!;
    const otherwise = (seen: readonly BankPayment[]) =>
      seen.map((one) => (moves(one) ? { ...one, status } : one));
    const [source, reads] = [app.get(PaymentSource), app.get(BankReads)];
    const { paymentsOf } = source;
    jest
      .spyOn(source, 'paymentsOf')
      .mockImplementation(async (...asked) => otherwise(await paymentsOf.apply(source, asked)));
    passThrough(reads, otherwise);
  };

  it('before a successor is made: none is, and everything stops', async () => {
    const rows = payRows(2);
    const { id, bankInstructionId } = await voidByLetter(rows);
    await payroll.submitAtBank(bankInstructionId);
    expect(await successorOf(id)).toMatchObject({ status: 409, data: { code: 'REPLACED_PAYMENT_MOVED' } });
    await eventually(async () => (await kinds()).includes('INVARIANT_BREACH'), 15_000);
    expect((await payroll.as('operator').get('/v1/service')).data).toMatchObject({ submitsOff: true });
    expect(await payroll.timesPaid(rows)).toEqual([1, 1]);
    for (const { id: asked, kind } of await payroll.attention())
      if (kind === 'INVARIANT_BREACH') await decide(payroll.path(`/attention/${asked}`), 'RESUME');
    const { getInstruction = 0 } = await payroll.calls();
    await eventually(async () => {
      await followNow();
      return ((await payroll.calls()).getInstruction ?? 0) > getInstruction + 2;
    }, 20_000);
    expect(await kinds()).not.toContain('INVARIANT_BREACH');
    expect((await payroll.as('operator').get('/v1/service')).data).toMatchObject({ submitsOff: false });
  });

  it('before the successor is submitted: the gate stops it, and nobody is paid twice', async () => {
    const rows = payRows(2);
    const { id, bankInstructionId } = await voidByLetter(rows);
    const made = await successorOf(id);
    expect(made.status).toBe(201);
    await payroll.submitAtBank(bankInstructionId);
    await payroll.approve(made.data);
    await eventually(async () => (await kinds()).includes('REPLACED_PAYMENT_MOVED'), 15_000);
    expect((await payroll.run(made.data.id)).stopped).toMatchObject({ reason: 'REPLACED_PAYMENT_MOVED' });
    expect(await payroll.timesPaid(rows)).toEqual([1, 1]);
  });

  /** Has what a successor pays again move after its run gate, before its submit. @returns the successor's id */
  const movesPastTheGate = async (rows: Row[]): Promise<string> => {
    const { id, bankInstructionId } = await voidByLetter(rows);
    const made = await successorOf(id);
    await payroll.stopPastTheGate();
    await payroll.approve(made.data);
    await payroll.until(made.data.id, ['SUBMITTING'], 15_000);
    await payroll.submitAtBank(bankInstructionId);
    await payroll.letRunsGoOn();
    return made.data.id;
  };

  it('after the run gate: its instruction is not submitted, and nobody is paid twice', async () => {
    const rows = payRows(2);
    const made = await movesPastTheGate(rows);
    await eventually(async () => (await kinds()).includes('REPLACED_PAYMENT_MOVED'), 15_000);
    expect((await payroll.run(made)).stopped).toMatchObject({ reason: 'REPLACED_PAYMENT_MOVED' });
    expect(await payroll.timesPaid(rows)).toEqual([1, 1]);
  });

  it('after the run gate, and its cut-off passes: nobody is asked any more to let it go on', async () => {
    const rows = payRows(2);
    const made = await movesPastTheGate(rows);
    await payroll.askedAbout(made, 'REPLACED_PAYMENT_MOVED');
    payroll.clock.set(new Date(`${payroll.executionDate()}T23:59:30Z`));
    await eventually(async () => {
      await payroll.wakeAll();
      return (await payroll.run(made)).status === 'FAILED';
    }, 30_000);
    const asked = (await payroll.attention()).filter(({ payRunId }) => payRunId === made);
    expect(asked.map(({ kind }) => kind)).toEqual(['STALE_DATE']);
    expect(await reportOf(made)).toMatchObject({ explained: true, openDoubts: [] });
    expect(await payroll.timesPaid(rows)).toEqual([1, 1]);
  });

  it('after the successor was submitted: everything stops, and not again once that was decided', async () => {
    const rows = payRows(2);
    const { id, bankInstructionId, made } = await paidInstead(rows);
    await payroll.until(made.data.id, ['FOLLOWING', 'SETTLED'], 20_000);
    await payroll.submitAtBank(bankInstructionId);
    const breaches = async () =>
      (await payroll.attention()).filter(({ kind }) => kind === 'INVARIANT_BREACH');
    await eventually(async () => {
      await followNow();
      return (await breaches()).length === 2;
    }, 15_000);
    expect((await breaches()).map(({ payRunId }) => payRunId).sort()).toEqual([id, made.data.id].sort());
    for (const { id: asked } of await breaches())
      expect((await decide(payroll.path(`/attention/${asked}`), 'RESUME')).status).toBe(200);
    const { getInstruction = 0 } = await payroll.calls();
    await eventually(async () => {
      await followNow();
      return ((await payroll.calls()).getInstruction ?? 0) > getInstruction + 3;
    }, 20_000);
    const asked = `SELECT FROM attention WHERE kind = 'INVARIANT_BREACH'`;
    expect(await select(payroll.database.superuserUrl, asked)).toHaveLength(2);
    // What its account lost may be asked about besides.
    const stops = `SELECT FROM service_stop WHERE kind = 'INVARIANT_BREACH' AND lifted_at IS NULL`;
    expect(await select(payroll.database.superuserUrl, stops)).toEqual([]);
    expect(await payroll.timesPaid(rows)).toEqual([2, 2]);
  });

  it('after the successor was submitted: it is seen when that is seen to end, not a day later', async () => {
    const rows = payRows(2);
    const { bankInstructionId, made } = await paidInstead(rows);
    await payroll.until(made.data.id, ['FOLLOWING'], 20_000);
    await payroll.submitAtBank(bankInstructionId);
    expect(await payroll.attention()).toEqual([]);
    await eventually(async () => {
      await readNow(made.data.id);
      return (await payroll.run(made.data.id)).status === 'SETTLED';
    }, 20_000);
    await eventually(async () => (await kinds()).includes('INVARIANT_BREACH'), 15_000);
    expect((await payroll.as('operator').get('/v1/service')).data).toMatchObject({ submitsOff: true });
  });

  it('as a second final status: it is never replaced, and a successor that waits is stopped', async () => {
    const rows = payRows(2);
    const parent = await payroll.paid(payFile(rows));
    await eventually(async () => {
      await followNow();
      return (await payroll.run(parent)).status === 'SETTLED';
    }, 20_000);
    await eventually(nobodyReads, 10_000);
    // As if the bank had shown a failure first: what it shows now contradicts it.
    await execute(
      payroll.database.superuserUrl,
      `ALTER TABLE payment DISABLE TRIGGER refuse_illegal_payment_move;
       UPDATE payment SET status = 'FAILED', live = false, settled_on = NULL;
       ALTER TABLE payment ENABLE TRIGGER refuse_illegal_payment_move`,
    );
    expect(await successorOf(parent)).toMatchObject({
      status: 409,
      data: { code: 'REPLACED_PAYMENT_MOVED' },
    });
    await eventually(async () => (await kinds()).includes('CONTRADICTION'), 15_000);
    const refused = await successorOf(parent);
    expect(refused.data.payments.map((one: { code: string }) => one.code)).toEqual([
      'PAYMENT_CONTRADICTED',
      'PAYMENT_CONTRADICTED',
    ]);
    const upload = await payroll.upload(payFile(rows), { executionDate: payroll.executionDate() });
    expect(upload.data.code === 'PAY_FILE_REFUSED' || upload.headers['idempotent-replayed'] === 'true').toBe(
      true,
    );
    const supplement = await payroll.upload(payFile([...rows].reverse()), { supplementOf: parent });
    expect(supplement.data.faults.map((one: { code: string }) => one.code)).toEqual([
      'EMPLOYEE_NOT_REPAYABLE',
      'EMPLOYEE_NOT_REPAYABLE',
    ]);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1]);
  });

  it.each(['CANCELLED', 'EXT_REFUSED'])(
    'to another end without payment (%s): nobody is asked, and it is paid again',
    async (status) => {
      const rows = payRows(2);
      rows[0]!.iban = magic('fails');
      const parent = await payroll.paid(payFile(rows));
      await eventually(async () => {
        await followNow();
        return (await payroll.run(parent)).status === 'PARTLY_SETTLED';
      }, 20_000);
      showFailuresAs(status);
      const shown = `SELECT FROM bank_payment WHERE bank_status = '${status}'`;
      await eventually(async () => {
        await followNow();
        return (await select(payroll.database.superuserUrl, shown)).length === 1;
      }, 15_000);
      expect(await kinds()).toEqual([]);
      expect((await paymentsOf(parent)).map((payment) => payment.status).sort()).toEqual([
        'FAILED',
        'SETTLED',
      ]);
      const made = await successorOf(parent);
      expect(made.status).toBe(201);
      await payroll.approve(made.data);
      await payroll.until(made.data.id, ['FOLLOWING', 'FAILED'], 20_000);
      expect((await payroll.calls()).submit).toBe(2);
    },
  );

  it('while the submit of its successor is parked: somebody may be paid twice, and everything stops', async () => {
    const rows = payRows(1);
    rows[0]!.iban = magic('fails');
    const parent = await payroll.paid(payFile(rows));
    await eventually(async () => {
      await followNow();
      return (await payroll.run(parent)).status === 'FAILED';
    }, 20_000);
    const made = await successorOf(parent);
    await payroll.fault({ operation: 'submit', kind: 'request-lost', every: 1 });
    await payroll.approve(made.data);
    await payroll.askedAbout(made.data.id, 'SUBMIT_UNKNOWN');
    showFailuresAs('SETTLED');
    await eventually(async () => {
      await followNow();
      return (await kinds()).includes('CONTRADICTION');
    }, 15_000);
    expect(await kinds()).toEqual(['CONTRADICTION', 'INVARIANT_BREACH', 'SUBMIT_UNKNOWN']);
    expect((await payroll.as('operator').get('/v1/service')).data).toMatchObject({ submitsOff: true });
    // It may have been submitted: it is not asked about as if it could be taken out.
    const [employerId, runId] = [readId('emp', payroll.employer), readId('run', made.data.id)];
    const database = payroll.services[0]!.app.get(Database);
    expect(await database.inEmployer(employerId, (tx) => tellOfPaidAlready(tx, runId))).toBe(false);
  });

  it('while another one is asked about: it is told of once that is decided, and neither again', async () => {
    const { superuserUrl } = payroll.database;
    await execute(superuserUrl, 'UPDATE employer SET rows_per_instruction = 1');
    const rows = payRows(2);
    const failing = rows.map((row, n) => ({ ...row, iban: magic(n === 0 ? 'fails' : 'routingFails') }));
    const parent = await payroll.paid(payFile(failing));
    await eventually(async () => {
      await followNow();
      return (await payroll.run(parent)).status === 'FAILED';
    }, 20_000);
    const made = await payroll.paid(payFile(rows), { supplementOf: parent });
    await payroll.until(made, ['FOLLOWING'], 20_000);
    const asked = async (kind: string) => (await payroll.attention()).filter((one) => one.kind === kind);
    const untilAsked = (kind: string, times: number) =>
      eventually(async () => {
        await followNow();
        return (await asked(kind)).length === times;
      }, 15_000);
    const resumed = async () => {
      const [breach] = await asked('INVARIANT_BREACH');
      expect(breach?.payRunId).toBe(made);
      expect((await decide(payroll.path(`/attention/${breach?.id}`), 'RESUME')).status).toBe(200);
      return breach?.happened;
    };

    const moved = [failing[0]!.iban];
    showFailuresAs('SETTLED', ({ iban = '' }) => moved.includes(iban));
    await untilAsked('INVARIANT_BREACH', 1);
    moved.push(failing[1]!.iban);
    await untilAsked('CONTRADICTION', 2);
    await eventually(nobodyReads, 20_000);
    const [first, second] = (await payroll.run(parent)).instructions.map(
      (one: { bankInstructionId: string }) => `customer instruction "${one.bankInstructionId}"`,
    );
    const before = await resumed();
    expect(before).toContain(first);
    expect(before).not.toContain(second);
    // It is read at once, though nothing else is due.
    await eventually(async () => (await asked('INVARIANT_BREACH')).length === 1, 15_000);
    expect(await resumed()).toContain(`${(await paymentsOf(parent))[1]!.id} (paid) in ${second}`);

    const [{ now } = { now: '' }] = await select<{ now: string }>(superuserUrl, 'SELECT now()::text AS now');
    const unread = `SELECT FROM bank_payment WHERE bank_status LIKE '%FAILED' AND last_seen_at < '${now}'`;
    await eventually(async () => {
      await followNow();
      return (await select(superuserUrl, unread)).length === 0;
    }, 15_000);
    expect(await asked('INVARIANT_BREACH')).toEqual([]);
    expect((await payroll.as('operator').get('/v1/service')).data).toMatchObject({ submitsOff: false });
    expect(await payroll.timesPaid(rows)).toEqual([1, 1]);
  });

  it('as on its way after the successor was submitted, and then as paid: everything stops for each, once', async () => {
    const rows = payRows(1);
    const failing = rows.map((row) => ({ ...row, iban: magic('fails') }));
    const parent = await payroll.paid(payFile(failing));
    const untilRead = (holds: () => Promise<boolean>) =>
      eventually(async () => {
        await followNow();
        return holds();
      }, 20_000);
    await untilRead(async () => (await payroll.run(parent)).status === 'FAILED');
    const made = await payroll.paid(payFile(rows), { supplementOf: parent });
    await untilRead(async () => (await payroll.run(made)).status === 'SETTLED');
    const [{ id: replaced }] = (await paymentsOf(parent)) as [PaymentView];
    const shownAs = async (status: string, asked: readonly string[]) => {
      jest.restoreAllMocks();
      showFailuresAs(status);
      const read = jest.mocked(payroll.services[0]!.app.get(PaymentSource).paymentsOf);
      await untilRead(() => Promise.resolve(read.mock.calls.length > 3));
      await untilRead(async () => (await kinds()).join() === asked.join());
      const breach = (await payroll.attention()).find(({ kind }) => kind === 'INVARIANT_BREACH');
      for (const { id, kind } of await payroll.attention()) {
        const action = kind === 'INVARIANT_BREACH' ? 'RESUME' : 'ACKNOWLEDGE';
        expect((await decide(payroll.path(`/attention/${id}`), action)).status).toBe(200);
      }
      return breach?.happened;
    };

    expect(await shownAs('EXCHANGED', ['CONTRADICTION', 'INVARIANT_BREACH'])).toContain(
      `${replaced} (on its way) in customer instruction`,
    );
    expect(await shownAs('READY_FOR_EXCHANGE', ['CONTRADICTION'])).toBeUndefined();
    expect(await shownAs('SETTLED', ['CONTRADICTION', 'INVARIANT_BREACH'])).toContain(
      `${replaced} (paid) in customer instruction`,
    );
    expect(await shownAs('SETTLED', [])).toBeUndefined();
    expect((await payroll.as('operator').get('/v1/service')).data).toMatchObject({ submitsOff: false });
  });

  describe('as a second final status, which two people are asked about', () => {
    /** A run of two payments that failed, and one that pays them again. */
    const failedAndMade = async () => {
      const rows = payRows(2);
      rows[0]!.iban = magic('fails');
      rows[1]!.iban = magic('routingFails');
      const parent = await payroll.paid(payFile(rows));
      await eventually(async () => {
        await followNow();
        return (await payroll.run(parent)).status === 'FAILED';
      }, 20_000);
      return (await successorOf(parent)).data;
    };
    /** The first payment turns out to be paid, and its successor is stopped. @returns the path of the question */
    const movedAfterAll = async (made: string) => {
      showFailuresAs('SETTLED');
      await eventually(async () => {
        await followNow();
        return (await kinds()).includes('REPLACED_PAYMENT_MOVED');
      }, 15_000);
      return payroll.askedAbout(made, 'REPLACED_PAYMENT_MOVED');
    };
    /** The first payment ends in another way, and then as before; two people let its successor go on. */
    const correctedItself = async (made: string) => {
      const asked = await movedAfterAll(made);
      jest.restoreAllMocks();
      expect((await decide(asked, 'RESUME')).status).toBe(200);
    };
    const namedIn = async (run: string) => {
      await payroll.askedAbout(run, 'POSSIBLE_DUPLICATE_PAY');
      return (await payroll.attention()).find(({ kind }) => kind === 'POSSIBLE_DUPLICATE_PAY')!.happened;
    };

    it('and then as the first again, before the run gate: people are told what is not submitted, and the rest is paid without it', async () => {
      const made = await failedAndMade();
      await correctedItself(made.id);
      await payroll.approve(made);
      const [doubted, other] = await paymentsOf(made.id);
      const told = await namedIn(made.id);
      expect(told).toContain('has 1 payments that may have been paid already');
      expect(told).toContain(doubted!.id);
      expect(told).not.toContain(other!.id);
      expect((await payroll.run(made.id)).status).toBe('VERIFIED');
      const reason = 'the bank does not say which is right';
      await payroll
        .as('preparer')
        .post(payroll.path(`/pay-runs/${made.id}/amendments`), { excludePaymentIds: [doubted!.id], reason });
      await payroll.until(made.id, ['READY'], 20_000);
      expect(await kinds()).toEqual(['CONTRADICTION']);
      await payroll.approve(await payroll.run(made.id));
      await eventually(async () => {
        await followNow();
        return (await payroll.run(made.id)).status === 'FAILED';
      }, 20_000);
      expect((await payroll.calls()).submit).toBe(2);
    });

    it('and its successor is cancelled, as people are told: nothing is asked of that any more', async () => {
      const { id } = await failedAndMade();
      const { data } = await payroll.as('operator').get(await movedAfterAll(id));
      expect(data.certain).toMatch(/take them out by an amendment and then RESUME, or cancel the run/);
      const reason = 'they were paid';
      await payroll.as('approver').post(payroll.path(`/pay-runs/${id}/cancellation`), { reason });
      await payroll.until(id, ['CANCELLED'], 15_000);
      expect(await kinds()).toEqual(['CONTRADICTION']);
      expect(await reportOf(id)).toMatchObject({ explained: true, openDoubts: [] });
    });

    it('and it is taken out of its successor, as people are told: the rest is paid once they resume', async () => {
      const { id } = await failedAndMade();
      const asked = await movedAfterAll(id);
      const [moved] = await paymentsOf(id);
      await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/amendments`), {
        excludePaymentIds: [moved!.id],
        reason: 'it was paid',
      });
      expect((await decide(asked, 'RESUME')).status).toBe(200);
      await payroll.approve(await payroll.run(id));
      await eventually(async () => {
        await followNow();
        return (await payroll.run(id)).status === 'FAILED';
      }, 20_000);
      expect(await kinds()).toEqual(['CONTRADICTION']);
      expect((await payroll.calls()).submit).toBe(2);
    });

    it('and then as the first again, after the run gate: people are told why nothing is sent, until the cut-off', async () => {
      const made = await failedAndMade();
      await payroll.stopPastTheGate();
      await payroll.approve(made);
      await payroll.until(made.id, ['SUBMITTING'], 15_000);
      await correctedItself(made.id);
      expect(await namedIn(made.id)).toContain((await paymentsOf(made.id))[0]!.id);
      expect((await payroll.calls()).submit).toBe(1);
      expect((await payroll.run(made.id)).status).toBe('SUBMITTING');
    });
  });

  it('while its successor waits for approval: that run is stopped, with attention', async () => {
    const rows = payRows(1);
    rows[0]!.iban = magic('fails');
    const parent = await payroll.paid(payFile(rows));
    await eventually(async () => {
      await followNow();
      return (await payroll.run(parent)).status === 'FAILED';
    }, 20_000);
    const made = await successorOf(parent);
    expect(made.status).toBe(201);
    showFailuresAs('SETTLED');
    await eventually(async () => {
      await followNow();
      return (await kinds()).includes('REPLACED_PAYMENT_MOVED');
    }, 15_000);
    expect(await kinds()).toEqual(['CONTRADICTION', 'REPLACED_PAYMENT_MOVED']);
    const told = (await payroll.attention()).find(({ kind }) => kind === 'CONTRADICTION');
    expect(told?.happened).toMatch(/: SETTLED after FAILED \(row 1, payment \d+\)\.$/);
    expect((await payroll.run(made.data.id)).stopped).not.toBeNull();
  });
});
