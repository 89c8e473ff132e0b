import { Client } from 'pg';
import type { BankPayment } from '../../src/bank/records';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { BankReads } from '../../src/employer/bank-reads';
import { readId } from '../../src/http/prefixed-id';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, isLockAwaited, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { passThrough } from '../support/payments-shown';

let payroll: Payroll;
beforeEach(async () => {
  payroll = await Payroll.start({ settings: { RECONCILE_MS: '200' } });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const FAILS = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;
const reason = 'the bank has answered';
const evidence = 'letter 4711 of the bank';

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const propose = (path: string, action: string) =>
  payroll.as('operator').post(`${path}/actions`, { action, reason, evidence });
const decide = async (path: string, action: string) => {
  expect((await propose(path, action)).status).toBe(201);
  expect((await payroll.confirm(path)).status).toBe(200);
};
const eventuallyRead = (holds: () => Promise<boolean>) =>
  eventually(async () => {
    await execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
    return holds();
  }, 20_000);
/** What the bank shows from now on of payments it has shown so; until that was read some times. */
const shows = async (before: string | readonly string[], status: string) => {
  jest.restoreAllMocks();
  const { app } = payroll.services[0]!;
  const [source, reads] = [app.get(PaymentSource), app.get(BankReads)];
  const { paymentsOf } = source;
  const instead = (seen: readonly BankPayment[]) =>
    seen.map((one) => ([before].flat().includes(one.status) ? { ...one, status } : one));
  passThrough(reads, instead);
  const followed = jest
    .spyOn(source, 'paymentsOf')
    .mockImplementation(async (...asked) => instead(await paymentsOf.apply(source, asked)));
  await eventuallyRead(() => Promise.resolve(followed.mock.calls.length > 3));
};

it('a read that stops a successor and everything waits for its run with the switch still free', async () => {
  const rows = payRows(2).map((row, n) => (n === 0 ? { ...row, iban: FAILS } : row));
  const id = await payroll.paid(payFile(rows));
  await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
  const { data: successor } = await payroll.successorOf(id);
  const submitting = new Client({ connectionString: payroll.database.superuserUrl });
  await submitting.connect();
  try {
    await submitting.query(
      `BEGIN; SELECT FROM pay_run WHERE id = '${readId('run', successor.id)}' FOR NO KEY UPDATE`,
    );
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    jest.spyOn(source, 'paymentsOf').mockImplementation(async (...asked) => {
      const seen = await paymentsOf.apply(source, asked);
      const foreign = { ...seen[0]!, bankPaymentId: 'never-sent', messageId: 'of another' };
      return [...seen.map((one) => ({ ...one, status: 'SETTLED' })), foreign];
    });
    await eventuallyRead(() => isLockAwaited(payroll.database.superuserUrl, '%FROM pay_run%'));
    // As the call does that holds the run.
    await submitting.query('SELECT FROM service_switch FOR SHARE NOWAIT; COMMIT');
  } finally {
    await submitting.end();
  }
  await eventuallyRead(async () => (await kinds()).length === 3);
  expect((await kinds()).sort()).toEqual(['CONTRADICTION', 'FOREIGN_RECORD', 'REPLACED_PAYMENT_MOVED']);
});

describe('payments that are shown, after their end, as they were before it', () => {
  it('are contradicted once no read can be so old, and a successor is stopped', async () => {
    const rows = payRows(4).map((row, n) => (n === 0 ? { ...row, iban: FAILS } : row));
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
    const made = await payroll.successorOf(id);
    expect(made.status).toBe(201);
    await shows('FAILED', 'EXCHANGED');
    await eventuallyRead(async () => (await kinds()).includes('REPLACED_PAYMENT_MOVED'));
    expect((await kinds()).sort()).toEqual(['CONTRADICTION', 'REPLACED_PAYMENT_MOVED']);
    const told = (await payroll.attention()).find(({ kind }) => kind === 'CONTRADICTION');
    expect(told?.happened).toMatch(/as if it had not: EXCHANGED after FAILED \(row 1, payment \d+\)\.$/);
    expect((await payroll.run(made.data.id)).stopped).not.toBeNull();
    expect((await payroll.successorOf(id)).data.payments[0].code).toBe('PAYMENT_CONTRADICTED');
  });
});

it('that the money of a refused payment came back contradicts nothing, and whom it was for is paid by a successor', async () => {
  const { iban } = MAGIC_CREDITORS.find(({ effect }) => effect === 'refusedAfterExchange')!;
  const rows = payRows(3).map((row, n) => (n === 0 ? { ...row, iban } : row));
  const id = await payroll.paid(payFile(rows));
  await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
  await shows('EXT_REFUSED', 'RETURNED');
  const made = await payroll.successorOf(id);
  expect(made.status).toBe(201);
  jest.restoreAllMocks();
  await payroll.approve(made.data);
  await payroll.until(made.data.id, ['FAILED'], 20_000);
  await shows('EXT_REFUSED', 'RETURNED');
  expect(await kinds()).toEqual([]);
});

it('that a payment was settled before it failed is found in its history, and it is never paid again', async () => {
  const source = payroll.services[0]!.app.get(PaymentSource);
  const { paymentsOf } = source;
  jest.spyOn(source, 'paymentsOf').mockImplementation(async (...asked) => {
    const [first, ...others] = await paymentsOf.apply(source, asked);
    return first ? [{ ...first, ...(first.status === 'SETTLED' && { status: 'FAILED' }) }, ...others] : [];
  });
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SETTLED'], 20_000);
  const { happened } = (await payroll.attention()).find(({ kind }) => kind === 'CONTRADICTION')!;
  expect(happened).toMatch(/: FAILED after SETTLED \(row 1, payment \d+\)\.$/);
  expect((await payroll.successorOf(id)).data.code).toBe('NOTHING_TO_REPLACE');
  const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
  expect(report.data).toMatchObject({ explained: false, openDoubts: ['CONTRADICTION'] });
});

it('a date of settlement that the bank shows only after the end is written down', async () => {
  const source = payroll.services[0]!.app.get(PaymentSource);
  const { paymentsOf } = source;
  const dates: { settlementDate: string | undefined } = { settlementDate: undefined };
  jest
    .spyOn(source, 'paymentsOf')
    .mockImplementation(async (...asked) =>
      (await paymentsOf.apply(source, asked)).map((one) => ({ ...one, ...dates })),
    );
  const id = await payroll.paid(payFile(payRows(3)));
  await payroll.until(id, ['SETTLED'], 20_000);
  const dated = async () =>
    (await select(payroll.database.superuserUrl, 'SELECT FROM payment WHERE settled_on IS NOT NULL')).length;
  expect(await dated()).toBe(0);
  dates.settlementDate = payroll.executionDate();
  await eventuallyRead(async () => (await dated()) === 3);
});

describe('payments that are shown, after their end, in a status that nobody documents', () => {
  it('are asked about once for all of an instruction that were paid, and not again once that was read', async () => {
    const id = await payroll.paid(payFile(payRows(12)));
    await payroll.until(id, ['SETTLED'], 20_000);
    await shows('SETTLED', 'ARCHIVED');
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const [asked, ...others] = await payroll.attention();
    expect(others).toEqual([]);
    expect(asked!.happened).toContain(
      'ended as SETTLED: ARCHIVED (rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more)',
    );
    expect((await payroll.as('finance').get(path)).data.actions).toEqual(['ACKNOWLEDGE']);
    await decide(path, 'ACKNOWLEDGE');
    await shows('SETTLED', 'ARCHIVED');
    expect(await kinds()).toEqual([]);
    expect((await payroll.run(id)).status).toBe('SETTLED');
  });

  it('are asked about no more once the bank shows their end again', async () => {
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SETTLED'], 20_000);
    await shows('SETTLED', 'ARCHIVED');
    await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    await shows('SETTLED', 'SETTLED');
    await eventuallyRead(async () => (await kinds()).length === 0);
  });

  describe('where they ended unpaid', () => {
    const failed = async () => {
      const rows = payRows(4).map((row, n) => (n === 0 ? { ...row, iban: FAILS } : row));
      const id = await payroll.paid(payFile(rows));
      await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
      await shows('FAILED', 'ARCHIVED');
      return { id, path: await payroll.askedAbout(id, 'UNKNOWN_STATUS') };
    };

    it('are paid again once two people decide, on the word of the bank, that they never will be', async () => {
      const { id, path } = await failed();
      expect((await payroll.as('finance').get(path)).data).toMatchObject({
        payments: 1,
        actions: ['NOT_PAID'],
      });
      const unexplained = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect(unexplained.data).toMatchObject({ explained: false, openDoubts: ['UNKNOWN_STATUS'] });
      const early = await payroll.successorOf(id);
      expect([early.status, early.data.payments.map(({ code }: { code: string }) => code)]).toEqual([
        409,
        ['PAYMENT_STATUS_UNCLEAR'],
      ]);
      await decide(path, 'NOT_PAID');
      await shows('FAILED', 'ARCHIVED');
      expect(await kinds()).toEqual([]);
      const { data: report } = await payroll
        .as('finance')
        .get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect(report).toMatchObject({
        explained: true,
        table: { notPaid: { payments: 1 } },
        decisions: [{ action: 'NOT_PAID', bankStatus: 'ARCHIVED', payments: 1, evidence }],
      });
      const made = await payroll.successorOf(id);
      expect(made.status).toBe(201);
      expect((await payroll.approve(made.data)).status).toBeLessThan(300);
      await payroll.until(made.data.id, ['FOLLOWING'], 20_000);
      await shows('FAILED', 'SHREDDED');
      const { data: other } = await payroll.as('finance').get(await payroll.askedAbout(id, 'UNKNOWN_STATUS'));
      expect(other.happened).toContain(
        `1 of them were paid again since, or may have been, by ${made.data.id}.`,
      );
      expect(other.certain).toContain('was paid twice if');
      await shows('FAILED', 'SETTLED');
      await eventuallyRead(async () => (await kinds()).includes('INVARIANT_BREACH'));
      expect(await kinds()).toContain('CONTRADICTION');
    });

    it('are asked about, and decided, by each end that they had', async () => {
      const ends = ['fails', 'rejected'] as const;
      const rows = payRows(4).map((row, n) => {
        const magic = MAGIC_CREDITORS.find(({ effect }) => effect === ends[n]);
        return magic ? { ...row, iban: magic.iban } : row;
      });
      const id = await payroll.paid(payFile(rows));
      await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
      await shows(['FAILED', 'REJECTED'], 'ARCHIVED');
      await eventuallyRead(async () => (await kinds()).length === 2);
      const asked = (await payroll.attention()).map((one) => payroll.path(`/attention/${one.id}`));
      for (const path of asked) {
        expect((await payroll.as('finance').get(path)).data).toMatchObject({ payments: 1, resolvedAt: null });
        await decide(path, 'NOT_PAID');
      }
      expect(await kinds()).toEqual([]);
      expect((await payroll.successorOf(id)).data).toMatchObject({ payments: 2 });
    });

    it('are not decided once the bank shows what became of them, and never paid again where they were paid', async () => {
      const { id, path } = await failed();
      expect((await propose(path, 'PAID')).data.code).toBe('ACTION_NOT_OFFERED');
      expect((await propose(path, 'NOT_PAID')).status).toBe(201);
      const { app } = payroll.services[0]!;
      jest.restoreAllMocks();
      const reads = app.get(BankReads);
      jest.spyOn(app.get(PaymentSource), 'paymentsOf').mockImplementation(() => Promise.resolve([]));
      passThrough(reads, (found) => found.map((one) => ({ ...one, status: 'SETTLED' })));
      const refused = await payroll.confirm(path);
      expect([refused.status, refused.data.code]).toEqual([409, 'STATUS_IS_CLEAR']);
      await shows('FAILED', 'SETTLED');
      await eventuallyRead(async () => (await kinds()).includes('CONTRADICTION'));
      const never = await payroll.successorOf(id);
      expect(never.data.payments[0].code).toBe('PAYMENT_CONTRADICTED');
    });

    it('are not paid again in another such status than was decided', async () => {
      const { id, path } = await failed();
      await decide(path, 'NOT_PAID');
      const made = await payroll.successorOf(id);
      expect(made.status).toBe(201);
      await shows('FAILED', 'SHREDDED');
      const again = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
      expect(again).not.toBe(path);
      await payroll.approve(made.data);
      await eventuallyRead(async () => (await kinds()).includes('REPLACED_PAYMENT_MOVED'));
      expect((await payroll.calls()).submit).toBe(1);
    });
  });
});
