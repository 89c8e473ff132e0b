import axios from 'axios';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { execute } from '../support/database';
import { germanIban, payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { MovedClock, Payroll } from '../support/payroll';

const DAY_MS = 86_400_000;
const RETURNS = MAGIC_CREDITORS.find(({ effect }) => effect === 'returnedTwoDaysLater')!.iban;

let payroll: Payroll;
afterEach(() => payroll.close());

const aWeekLater = async () => {
  const later = new Date(payroll.clock.now().getTime() + 7 * DAY_MS);
  await payroll.bankClock(later);
  payroll.clock.set(later);
};
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const sent = async () => (await payroll.ledger()).instructions.flatMap(({ rows }) => rows);
/** Has a payment come in that bears the message id of one that went out, as its own or end to end. */
const comesIn = async (
  { messageId, amountMinor }: { messageId?: string; amountMinor: string },
  iban = DEFAULT_SEED.users[0]!.account!.iban,
  by: 'messageId' | 'endToEndId' = 'messageId',
) => {
  expect(messageId).toBeDefined();
  await axios.post(`${payroll.bank.url}/sandbox/incoming-payments`, { iban, amountMinor, [by]: messageId });
};
const followNow = () =>
  execute(
    payroll.database.superuserUrl,
    `UPDATE lease SET wake_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
  );
/** A week later, once the bank shows the one payment of a run that came back as returned. */
const shownAsReturned = async (id: string) => {
  await aWeekLater();
  await eventually(async () => {
    await followNow();
    return (await payroll.run(id)).returned.payments === 1;
  }, 20_000);
};

/** A run of two that settles, the first of it to this account. */
async function paidTo(iban: string): Promise<string> {
  payroll = await Payroll.start({
    clock: new MovedClock(),
    sandbox: { variants: { linkReads: 'refused', omitFromLists: [], optionalFields: 'sent' } },
  });
  const rows = payRows(2);
  rows[0]!.iban = iban;
  const id = await payroll.paid(payFile(rows));
  await payroll.until(id, ['SETTLED'], 20_000);
  return id;
}

describe('a payment that comes in and repeats the message id of one that was sent', () => {
  it('is no payment of its instruction, as the other side of a transfer within the bank', async () => {
    // More than are read by lists of their own.
    payroll = await Payroll.start({ rowsPerInstruction: 1, sandbox: { stepMs: 600_000 } });
    const id = await payroll.paid(payFile(payRows(8)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    for (const row of await sent()) await comesIn(row);
    const { listPaymentTransactions = 0 } = await payroll.calls();
    await eventually(async () => {
      await followNow();
      return ((await payroll.calls()).listPaymentTransactions ?? 0) > listPaymentTransactions + 8;
    }, 20_000);
    expect(await kinds()).toEqual([]);
    await axios.post(`${payroll.bank.url}/sandbox/clock`, { advanceMs: 6 * 3_600_000 });
    await payroll.until(id, ['SETTLED'], 20_000);
    expect(await kinds()).toEqual([]);
  });

  it('keeps nobody from being paid again, as money that came back', async () => {
    const id = await paidTo(RETURNS);
    await shownAsReturned(id);
    await comesIn((await sent()).find(({ creditorIban }) => creditorIban === RETURNS)!);
    const { data } = await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/payments?limit=100`));
    const made = await payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/successor`), {
      executionDate: payroll.executionDate(),
      submitAt: payroll.clock.now().toISOString(),
      paymentIds: [data.items[0].id],
      reason: 'her account is open again',
    });
    expect(made).toMatchObject({ status: 201, data: { payments: 1 } });
  });
});

describe('money that comes in to the account that salaries were paid from, and repeats their message ids', () => {
  /** A settled run whose returns the bank shows in the general list. */
  const settled = async () => {
    payroll = await Payroll.start({
      sandbox: { variants: { linkReads: 'refused', omitFromLists: [], optionalFields: 'sent' } },
    });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SETTLED'], 20_000);
    const account = DEFAULT_SEED.users[1]!.account!.iban;
    return { id, account };
  };
  const askedAbout = async (id: string) => {
    await eventually(async () => {
      await followNow();
      return (await kinds()).includes('POSSIBLE_RETURN');
    }, 20_000);
    return payroll.askedAbout(id, 'POSSIBLE_RETURN');
  };
  const readAgain = async () => {
    const { listPaymentTransactions: before = 0 } = await payroll.calls();
    await eventually(async () => {
      await followNow();
      return ((await payroll.calls()).listPaymentTransactions ?? 0) > before + 2;
    }, 20_000);
  };

  it('is asked about once for the instruction, moves nothing, and is asked about anew when more comes', async () => {
    const { id, account } = await settled();
    const rows = await sent();
    // No look sees the one without the other.
    await payroll.letRest('FOLLOW');
    for (const row of rows.slice(0, 2)) await comesIn(row, account);
    const path = await askedAbout(id);
    const [asked, ...others] = await payroll.attention();
    expect(others).toEqual([]);
    expect(asked).toMatchObject({ payments: 2, actions: ['ACKNOWLEDGE'] });
    expect(asked!.happened).toContain('2 in all');
    expect(asked!.happened).not.toMatch(/DE\d{2}|Employee/);
    expect(await payroll.run(id)).toMatchObject({ status: 'SETTLED', returned: { payments: 0 } });
    expect((await payroll.as('operator').get(payroll.path(''))).data.stopped).toBeNull();
    const reason = 'the bank looks into it';
    expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason })).status).toBe(200);
    await readAgain();
    expect(await kinds()).toEqual([]);
    await comesIn(rows[2]!, account);
    await askedAbout(id);
    expect((await payroll.attention())[0]).toMatchObject({ payments: 1 });
  });

  it('is asked about where it is repeated end to end', async () => {
    const { id, account } = await settled();
    const [row] = await sent();
    await comesIn(row!, account, 'endToEndId');
    await askedAbout(id);
    expect((await payroll.attention())[0]).toMatchObject({ payments: 1 });
  });

  it('is asked about no more once the bank shows the payment as returned', async () => {
    const id = await paidTo(RETURNS);
    const returning = (await sent()).find(({ creditorIban }) => creditorIban === RETURNS)!;
    await comesIn(returning, DEFAULT_SEED.users[1]!.account!.iban);
    await askedAbout(id);
    await aWeekLater();
    await eventually(async () => {
      await followNow();
      return !(await kinds()).includes('POSSIBLE_RETURN');
    }, 20_000);
    expect((await payroll.run(id)).returned.payments).toBe(1);
    expect(await kinds()).toEqual(['PAYMENT_RETURNED']);
  });

  it.each([1, 2])(
    'is in the report once where it was acknowledged %i times, and the payment is shown as returned then',
    async (times) => {
      const id = await paidTo(RETURNS);
      const returning = (await sent()).find(({ creditorIban }) => creditorIban === RETURNS)!;
      await payroll.letRest('FOLLOW');
      for (let n = 0; n < times; n += 1) await comesIn(returning, DEFAULT_SEED.users[1]!.account!.iban);
      const path = await askedAbout(id);
      expect((await payroll.attention())[0]).toMatchObject({ payments: times });
      const reason = 'the bank looks into it';
      expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason })).status).toBe(200);
      await shownAsReturned(id);
      await readAgain();
      const { data: report } = await payroll
        .as('finance')
        .get(payroll.path(`/pay-runs/${id}/reconciliation`));
      const { amount } = report.table.returned;
      expect(report).toMatchObject({ explained: true, table: { returned: { payments: 1 } } });
      expect(report.acknowledged).toMatchObject(times === 1 ? [] : [{ payments: 1, amount }]);
      expect(await kinds()).toEqual(['PAYMENT_RETURNED']);
    },
  );

  it('is paid again through a release, and nobody is told that its payee is unpaid once the bank shows the return', async () => {
    const id = await paidTo(RETURNS);
    const returning = (await sent()).find(({ creditorIban }) => creditorIban === RETURNS)!;
    await comesIn(returning, DEFAULT_SEED.users[1]!.account!.iban);
    const reason = 'it is a return: she is paid to her new account';
    expect((await payroll.decide(await askedAbout(id), { action: 'ACKNOWLEDGE', reason })).status).toBe(200);
    const moved = { ...payRows(2)[0]!, iban: germanIban(7_777) };
    const { data: made } = await payroll.upload(payFile([moved]), { supplementOf: id });
    expect(made.held.holds).toEqual({ EMPLOYEE_ALREADY_PAID: 1 });
    const run = payroll.path(`/pay-runs/${made.id}`);
    const [held] = (await payroll.as('approver').get(`${run}/holds`)).data.items;
    const release = { paymentId: held.payment.id, code: held.code, reason };
    const { data: ready } = await payroll.as('approver').post(`${run}/holds/release`, release);
    expect((await payroll.approve(ready)).status).toBe(200);
    await payroll.until(made.id, ['SETTLED'], 20_000);
    await shownAsReturned(id);
    const told = await payroll.as('finance').get(await payroll.askedAbout(id, 'PAYMENT_RETURNED'));
    expect(told.data.happened).toContain('Another payment of the period pays the person of row 1, or may.');
    expect(told.data.certain).not.toContain('not paid');
    expect(await payroll.timesPaid([moved])).toEqual([1]);
  });

  it('is told of as returned by a later read where that was never told, and not again once it was decided', async () => {
    const id = await paidTo(RETURNS);
    await shownAsReturned(id);
    // As an earlier version left it.
    await execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica; DELETE FROM attention WHERE kind = 'PAYMENT_RETURNED'`,
    );
    await eventually(async () => {
      await followNow();
      return (await kinds()).includes('PAYMENT_RETURNED');
    }, 20_000);
    const path = await payroll.askedAbout(id, 'PAYMENT_RETURNED');
    const reason = 'she has left, and is paid in cash';
    expect((await payroll.decide(path, { action: 'ACKNOWLEDGE', reason })).status).toBe(200);
    await readAgain();
    expect(await kinds()).toEqual([]);
  });

  it('is asked about on where the bank shows the payment as returned, and less came in than was paid', async () => {
    const id = await paidTo(RETURNS);
    const returning = (await sent()).find(({ creditorIban }) => creditorIban === RETURNS)!;
    const amountMinor = String(BigInt(returning.amountMinor) - 1n);
    await comesIn({ ...returning, amountMinor }, DEFAULT_SEED.users[1]!.account!.iban);
    await shownAsReturned(id);
    await readAgain();
    expect((await kinds()).sort()).toEqual(['PAYMENT_RETURNED', 'POSSIBLE_RETURN']);
    const asked = (await payroll.attention()).find(({ kind }) => kind === 'POSSIBLE_RETURN');
    expect(asked!.happened).toContain('Of another amount than the payment it names');
    const { data: report } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report).toMatchObject({ explained: false, openDoubts: ['POSSIBLE_RETURN'] });
  });

  it('is asked about where the bank sends the money of a salary back so', async () => {
    const id = await paidTo(MAGIC_CREDITORS.find(({ effect }) => effect === 'comesInTwoDaysLater')!.iban);
    await aWeekLater();
    await askedAbout(id);
    expect((await payroll.attention())[0]).toMatchObject({ payments: 1 });
    expect(await payroll.run(id)).toMatchObject({ status: 'SETTLED', returned: { payments: 0 } });
  });
});
