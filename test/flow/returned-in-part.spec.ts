import type { BankPayment } from '../../src/bank/records';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
import { germanIban, payFile, payRows } from '../support/pay-rows';
import { passThrough } from '../support/payments-shown';
import type { Payroll } from '../support/payroll';
import { FAILS, ReturnedPay, RETURNS } from '../support/returned-pay';

const KEPT_MINOR = 500;

let pay: ReturnedPay;
let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const start = async (returnChargeMinor = KEPT_MINOR) => {
  pay = await ReturnedPay.start(returnChargeMinor);
  payroll = pay.payroll;
};
const until = (holds: () => Promise<boolean>) => pay.until(holds);
const cents = (amount: string) => Number(amount.replace('.', ''));
const euros = (minor: number) => (minor / 100).toFixed(2);
const report = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;
const reportOfMonth = async (id: string) => {
  const { period } = await payroll.run(id);
  return (await payroll.as('finance').get(payroll.path(`/reconciliation?period=${period}`))).data;
};
const asked = async (id: string) => {
  const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
  return { path, ...(await payroll.as('finance').get(path)).data };
};
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const returned = async (id: string) => (await payroll.run(id)).returned;
const successorOf = (id: string, due?: Record<string, string>) => pay.successorOf(id, undefined, due);
const decide = async (path: string, action: string) => {
  const answer = await payroll.decide(path, {
    action,
    reason: 'the bank was asked',
    evidence: 'letter 4711',
  });
  expect(answer.status).toBe(200);
};

/** Releases the only row of a run, which is held for that, and approves it. */
const released = async (id: string, code: string) => {
  const run = payroll.path(`/pay-runs/${id}`);
  const [held] = (await payroll.as('approver').get(`${run}/holds`)).data.items;
  expect(held.code).toBe(code);
  const release = { paymentId: held.payment.id, code, reason: 'what she is owed still' };
  const { data: ready } = await payroll.as('approver').post(`${run}/holds/release`, release);
  await payroll.approve(ready);
};

/** A run of two, of whom the first one's pay is sent back within the week. */
const paidAndSentBack = async () => {
  const rows = payRows(2);
  rows[0]!.iban = RETURNS;
  const id = await payroll.paid(payFile(rows));
  await payroll.until(id, ['SETTLED'], 20_000);
  await pay.aWeekLater();
  return { id, paid: cents(rows[0]!.amount), all: rows.reduce((sum, { amount }) => sum + cents(amount), 0) };
};

/** What whoever follows is shown of the payment that came back. */
const showing = (change: (shown: BankPayment) => Partial<BankPayment>) => {
  const source = payroll.services[0]!.app.get(PaymentSource);
  const { paymentsOf } = source;
  return jest.spyOn(source, 'paymentsOf').mockImplementation(async (...read) => {
    const shown = await paymentsOf.apply(source, read);
    return shown.map((one) => (one.status === 'RETURNED' ? { ...one, ...change(one) } : one));
  });
};

describe('a payment that the bank shows as returned with less than was paid', () => {
  it('counts as come back, asks what became of the rest, and is paid again once two people say that nobody kept it', async () => {
    await start();
    const { id, paid, all } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    const backAmount = euros(paid - KEPT_MINOR);
    expect(await returned(id)).toEqual({ payments: 1, amount: backAmount });
    const { path, ...told } = await asked(id);
    expect(told).toMatchObject({
      happened: expect.stringMatching(
        /^Less came back of row 1 than was paid \(reading amount [0-9a-f]{8}\)\.$/,
      ),
      bankWords: `Paid: ${euros(paid)} EUR. Shown as returned: ${backAmount} EUR.`,
      lacking: euros(KEPT_MINOR),
      actions: ['RESUME', 'ACKNOWLEDGE'],
    });
    expect((await payroll.as('operator').get(path)).data.lacking).toBeNull();
    expect(await kinds()).toEqual(expect.arrayContaining(['ECHO_MISMATCH', 'PAYMENT_RETURNED']));
    expect(await kinds()).toHaveLength(2);
    expect((await payroll.run(id)).stopped).toBeNull();
    expect(await report(id)).toMatchObject({
      explained: false,
      openDoubts: ['ECHO_MISMATCH'],
      table: {
        settled: { payments: 2, amount: euros(all) },
        returned: { payments: 1, amount: backAmount },
        notBack: { payments: 1, amount: euros(KEPT_MINOR) },
      },
    });
    expect((await successorOf(id)).data.payments[0].code).toBe('PAYMENT_STATUS_UNCLEAR');

    await decide(path, 'RESUME');
    await until(async () => (await report(id)).explained === true);
    expect(await kinds()).toEqual(['PAYMENT_RETURNED']);
    const made = await successorOf(id);
    expect(made.status).toBe(201);
    expect(made.data.total).toBe(euros(paid));
    await payroll.approve(made.data);
    await until(async () => (await payroll.run(made.data.id)).status === 'SETTLED');
    expect(await reportOfMonth(id)).toMatchObject({
      explained: true,
      totals: {
        settled: { payments: 2, amount: euros(all) },
        returned: { payments: 0, amount: '0.00' },
        notBack: { payments: 1, amount: euros(KEPT_MINOR) },
      },
    });
    expect(await kinds()).toEqual([]);
  });

  it('is paid by no successor where two people say only that they know, and what is owed by a row that is released', async () => {
    await start();
    const { id, paid } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    // As an earlier difference left it, whose question is answered by now.
    await execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE pay_run SET stopped_at = now(), stopped_reason = 'ECHO_MISMATCH'`,
    );
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    expect((await payroll.run(id)).stopped).toBeNull();
    await until(async () => (await report(id)).explained === true);
    expect((await successorOf(id)).data.payments[0].code).toBe('RETURNED_IN_PART');
    const [row] = payRows(1);
    const owed = { ...row!, amount: euros(paid - KEPT_MINOR), iban: germanIban(7_777) };
    const supplement = await payroll.uploaded(payFile([owed]), { supplementOf: id });
    await released(supplement.id, 'EMPLOYEE_ALREADY_PAID');
    await until(async () => (await payroll.run(supplement.id)).status === 'SETTLED');
  });

  it.each([
    ['all of it', 0],
    ['what is owed of it', KEPT_MINOR],
  ])('is paid so, too, where a row that had paid again %s ended unpaid', async (_, less) => {
    await start(0);
    const { id, paid } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    const row = payRows(1)[0]!;
    const repaid = { ...row, amount: euros(paid - less), iban: FAILS };
    const again = await payroll.uploaded(payFile([repaid]), { supplementOf: id });
    await released(again.id, 'EMPLOYEE_PAY_RETURNED');
    await until(async () => (await payroll.run(again.id)).status === 'FAILED');
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor - BigInt(KEPT_MINOR) }));
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    const owed = { ...row, amount: euros(paid - KEPT_MINOR), iban: germanIban(7_777) };
    const supplement = await payroll.uploaded(payFile([owed]), { supplementOf: id });
    await released(supplement.id, 'EMPLOYEE_ALREADY_PAID');
    await until(async () => (await payroll.run(supplement.id)).status === 'SETTLED');
  });

  it('is asked about once more by a row with what was owed until less still came back', async () => {
    await start();
    const { id, paid } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    const owed = { ...payRows(1)[0]!, amount: euros(paid - KEPT_MINOR), iban: FAILS };
    const failed = await payroll.uploaded(payFile([owed]), { supplementOf: id });
    await released(failed.id, 'EMPLOYEE_ALREADY_PAID');
    await until(async () => (await payroll.run(failed.id)).status === 'FAILED');
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor - 100n }));
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    const again = { ...owed, iban: germanIban(7_777) };
    const supplement = await payroll.uploaded(payFile([again]), { supplementOf: id });
    await released(supplement.id, 'EMPLOYEE_ALREADY_PAID');
    await until(async () => (await payroll.run(supplement.id)).status === 'SETTLED');
  });

  it('is not paid by a successor that was made before less was shown, unless nobody kept the rest', async () => {
    await start(0);
    const { id } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    const made = await successorOf(id, payroll.later());
    await payroll.approve(made.data);
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor - BigInt(KEPT_MINOR) }));
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    jest.restoreAllMocks();
    payroll.clock.offsetMs += 15 * 60_000;
    await payroll.wakeAll();
    const { data: stopped } = await payroll
      .as('finance')
      .get(await payroll.askedAbout(made.data.id, 'REPLACED_PAYMENT_MOVED'));
    expect(stopped.happened).toContain('less as returned than was paid');
    expect((await payroll.calls()).submit).toBe(1);
  });

  it('is paid again by no successor where only the look before its submit shows less', async () => {
    await start(0);
    const { id } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    const made = await successorOf(id, payroll.later());
    expect(made.status).toBe(201);
    await payroll.approve(made.data);
    await payroll.letRest('FOLLOW');
    const [{ bankInstructionId: replaced }] = (await payroll.run(id)).instructions;
    let lacking = BigInt(KEPT_MINOR);
    passThrough(payroll.services[0]!.app.get(BankReads), (found, asked) =>
      found.map((one) =>
        asked.bankInstructionId === replaced && one.status === 'RETURNED'
          ? { ...one, amountMinor: (one.amountMinor ?? 0n) - lacking }
          : one,
      ),
    );
    // Nobody follows it meanwhile.
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor + lacking }));
    payroll.clock.offsetMs += 15 * 60_000;
    await payroll.wakeAll();
    const moved = await payroll.askedAbout(made.data.id, 'REPLACED_PAYMENT_MOVED');
    lacking = 0n;
    await decide(moved, 'RESUME');
    const hasLooked = async () =>
      (await select(payroll.database.superuserUrl, `SELECT FROM lease WHERE missing = 'REPLACED'`)).length >
      0;
    await eventually(async () => {
      await payroll.wakeAll();
      return hasLooked();
    }, 20_000);
    expect((await payroll.calls()).submit).toBe(1);
    expect((await successorOf(id)).status).not.toBe(201);
  });

  it('is not paid again on a word from before less was known, while the bank hides it', async () => {
    await start(0);
    const { id } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    await payroll.letRest('FOLLOW');
    const [{ bankInstructionId: replaced }] = (await payroll.run(id)).instructions;
    let isHidden = true;
    passThrough(payroll.services[0]!.app.get(BankReads), (found, asked) =>
      asked.bankInstructionId === replaced && isHidden ? [] : found,
    );
    expect((await successorOf(id)).data.code).toBe('BANK_UNREADABLE');
    await decide(await payroll.askedAbout(id, 'REPLACED_UNSEEN'), 'NOT_PAID');
    const made = await successorOf(id, payroll.later());
    expect(made.status).toBe(201);
    await payroll.approve(made.data);
    isHidden = false;
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor - BigInt(KEPT_MINOR) }));
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    await payroll.letRest('FOLLOW');
    isHidden = true;
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    await payroll.letRest('FOLLOW');
    payroll.clock.offsetMs += 15 * 60_000;
    await payroll.wakeAll();
    await payroll.askedAbout(made.data.id, 'REPLACED_PAYMENT_MOVED');
    expect((await payroll.calls()).submit).toBe(1);
  });

  it('is asked about anew where less still comes back', async () => {
    await start();
    const { id } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    const first = await asked(id);
    await decide(first.path, 'RESUME');
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor - 100n }));
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    expect(await asked(id)).toMatchObject({ lacking: euros(KEPT_MINOR + 100) });
    expect((await successorOf(id)).data.payments[0].code).toBe('PAYMENT_STATUS_UNCLEAR');
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    jest.restoreAllMocks();
    expect((await successorOf(id)).data.payments[0].code).toBe('RETURNED_IN_PART');
  });

  it.each([
    ['the rest', 0],
    ['more', 100],
  ])('is asked about anew where %s comes back later, and reported so', async (_, lacking) => {
    await start(0);
    const { id, paid } = await paidAndSentBack();
    let lackingMinor = KEPT_MINOR;
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor - BigInt(lackingMinor) }));
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    await payroll.letRest('FOLLOW');
    lackingMinor = lacking;
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    expect(await asked(id)).toMatchObject({ lacking: euros(lacking), actions: ['RESUME', 'ACKNOWLEDGE'] });
    expect(await returned(id)).toEqual({ payments: 1, amount: euros(paid - lacking) });
    const { table, explained } = await report(id);
    expect(explained).toBe(false);
    expect(table.notBack).toEqual({ payments: lacking > 0 ? 1 : 0, amount: euros(lacking) });
    expect((await successorOf(id)).data.payments[0].code).toBe('PAYMENT_STATUS_UNCLEAR');
    await decide((await asked(id)).path, 'RESUME');
    await until(async () => (await report(id)).explained === true);
    expect((await successorOf(id)).status).toBe(201);
    expect(await kinds()).toEqual(['PAYMENT_RETURNED']);
  });

  it('is asked about anew where something else was decided since as much was shown', async () => {
    await start(0);
    const { id } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    let lackingMinor = 0;
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor - BigInt(lackingMinor) }));
    const isAskedOf = async (minor: number) => {
      await payroll.letRest('FOLLOW');
      lackingMinor = minor;
      await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
      const { path, lacking } = await asked(id);
      expect(lacking).toBe(euros(minor));
      return path;
    };
    await decide(await isAskedOf(KEPT_MINOR), 'RESUME');
    await decide(await isAskedOf(KEPT_MINOR + 100), 'ACKNOWLEDGE');
    await until(async () => (await report(id)).explained === true);
    await decide(await isAskedOf(KEPT_MINOR), 'RESUME');
    expect((await successorOf(id)).status).toBe(201);
  });

  it.each(['RESUME', 'ACKNOWLEDGE'])(
    'is paid again once all is back and nobody kept it, where a look saw less before it was asked about (%s)',
    async (first) => {
      await start(0);
      const { id } = await paidAndSentBack();
      await until(async () => (await returned(id)).payments === 1);
      await payroll.letRest('FOLLOW');
      let lacking = BigInt(KEPT_MINOR);
      passThrough(payroll.services[0]!.app.get(BankReads), (found) =>
        found.map((one) =>
          one.status === 'RETURNED' ? { ...one, amountMinor: (one.amountMinor ?? 0n) - lacking } : one,
        ),
      );
      expect((await successorOf(id)).data.code).toBe('REPLACED_PAYMENT_MOVED');
      await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
      await decide((await asked(id)).path, first);
      await payroll.letRest('FOLLOW');
      lacking = 0n;
      const notBack = async () => (await reportOfMonth(id)).totals.notBack.payments;
      await until(async () => (await notBack()) === 0);
      if (first === 'ACKNOWLEDGE') await decide((await asked(id)).path, 'RESUME');
      await until(async () => (await report(id)).explained === true);
      await payroll.letRest('FOLLOW');
      // An older list may show it so once more: that is known by now where nobody kept it.
      if (first === 'RESUME') lacking = BigInt(KEPT_MINOR);
      expect((await successorOf(id)).status).toBe(201);
      expect(await kinds()).toEqual(['PAYMENT_RETURNED']);
    },
  );

  it('is asked about in other words where it was paid again before less was shown, and no more once all is back', async () => {
    await start(0);
    const { id } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    const made = await successorOf(id);
    await payroll.approve(made.data);
    await until(async () => (await payroll.run(made.data.id)).status === 'SETTLED');
    let lackingMinor = KEPT_MINOR;
    showing(({ amountMinor = 0n }) => ({ amountMinor: amountMinor - BigInt(lackingMinor) }));
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    const { happened, certain } = await asked(id);
    expect(happened).toContain(`; it was paid again since, or may have been, by ${made.data.id} (reading`);
    expect(certain).toContain('upload no row for it');
    expect(certain).not.toContain('It was paid once');
    lackingMinor = 0;
    await until(async () => (await kinds()).length === 0);
    expect((await report(id)).table.notBack.payments).toBe(0);
  });

  it('stays shown otherwise where one read shows it as failed, too, which is recorded with all else that is shown', async () => {
    await start(0);
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    jest.spyOn(source, 'paymentsOf').mockImplementation(async (...read) => {
      const shown = await paymentsOf.apply(source, read);
      return shown.flatMap((one) =>
        one.iban?.replaceAll(' ', '') === RETURNS && one.status === 'SETTLED'
          ? [
              { ...one, status: 'FAILED', wasSettled: false },
              { ...one, status: 'RETURNED', wasSettled: false, amountMinor: (one.amountMinor ?? 0n) - 500n },
            ]
          : one,
      );
    });
    const rows = payRows(2);
    rows[0]!.iban = RETURNS;
    const id = await payroll.paid(payFile(rows));
    await until(async () => (await payroll.run(id)).status === 'PARTLY_SETTLED');
    expect(await kinds()).toEqual(['ECHO_MISMATCH']);
    expect(await asked(id)).toMatchObject({
      happened: expect.stringMatching(/^After the submit, row 1 is shown with another amount/),
      actions: ['RESUME'],
    });
    expect((await successorOf(id)).data.payments[0].code).toBe('PAYMENT_STATUS_UNCLEAR');
    await decide((await asked(id)).path, 'RESUME');
    await until(async () => (await kinds()).length === 0);
  });

  it.each<[string, (shown: BankPayment) => Partial<BankPayment>]>([
    ['more', ({ amountMinor = 0n }) => ({ amountMinor: amountMinor + 2n * BigInt(KEPT_MINOR) })],
    ['nothing', () => ({ amountMinor: 0n })],
    ['another IBAN', () => ({ iban: germanIban(999_999) })],
    ['another payee', () => ({ name: 'Somebody Else' })],
    ['another message id', () => ({ messageId: 'another' })],
  ])('stays shown otherwise than it was sent where the bank shows %s', async (_, change) => {
    await start();
    showing(change);
    const { id } = await paidAndSentBack();
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    const { happened, actions } = await asked(id);
    expect(happened).toMatch(
      /^After the submit, row 1 is shown with another amount|^After the submit, row 1 is shown with another messageId|iban/,
    );
    expect(actions).toEqual(['RESUME']);
    expect(await returned(id)).toEqual({ payments: 0, amount: '0.00' });
  });
});

describe('a payment that failed, and that the bank shows as returned with less than was sent', () => {
  const WORD = { action: 'NOT_PAID', reason: 'the bank wrote so', evidence: 'letter 4711' };

  /** A run of which that is shown, and two people answered it. */
  const failedAndSentBack = async () => {
    await start();
    let isReturned = false;
    passThrough(payroll.services[0]!.app.get(BankReads), (found) =>
      found.map((one) =>
        isReturned && one.status === 'FAILED'
          ? { ...one, status: 'RETURNED', amountMinor: (one.amountMinor ?? 0n) - BigInt(KEPT_MINOR) }
          : one,
      ),
    );
    const rows = payRows(2);
    rows[0]!.iban = FAILS;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['PARTLY_SETTLED'], 20_000);
    isReturned = true;
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    await decide((await asked(id)).path, 'RESUME');
    return { id, owed: { ...rows[0]!, iban: germanIban(7_777) } };
  };

  it('is paid again by a successor once two people have the word of the bank, and asked for it', async () => {
    const { id } = await failedAndSentBack();
    const first = await payroll.successorOf(id);
    expect([first.status, first.data.code]).toEqual([409, 'REPLACED_PAYMENT_MOVED']);
    const second = await payroll.successorOf(id);
    expect([second.status, second.data.code]).toEqual([503, 'BANK_UNREADABLE']);
    expect(second.data.payments).toHaveLength(1);
    expect(second.data.detail).not.toContain('The others');
    const path = await payroll.askedAbout(id, 'REPLACED_UNSEEN');
    const question = (await payroll.as('finance').get(path)).data;
    expect(question.happened).toContain('Less came back of 1 of them than was paid');
    expect(question.certain).toContain('another kind of pay');
    expect(question.askBank).toContain('did its payee keep it?');
    expect((await payroll.decide(path, WORD)).status).toBe(200);
    const made = await payroll.successorOf(id);
    expect(made.status).toBe(201);
    await payroll.approve(made.data);
    await until(async () => (await payroll.calls()).submit === 2);
  });

  it('is paid by an uploaded row once they do, whose run is asked about once it was resumed', async () => {
    const { id, owed } = await failedAndSentBack();
    const run = await payroll.uploaded(payFile([owed]), { supplementOf: id });
    await payroll.approve(run);
    const moved = await payroll.askedAbout(run.id, 'REPLACED_PAYMENT_MOVED');
    await decide(moved, 'RESUME');
    await eventually(async () => {
      await payroll.wakeAll();
      await execute(
        payroll.database.superuserUrl,
        `UPDATE lease SET missing_since = missing_since - interval '11 minutes' WHERE missing = 'REPLACED'`,
      );
      return (await kinds()).includes('REPLACED_UNSEEN');
    }, 20_000);
    expect((await payroll.calls()).submit).toBe(1);
    const path = await payroll.askedAbout(run.id, 'REPLACED_UNSEEN');
    expect((await payroll.as('finance').get(path)).data.happened).toContain('Less came back of 1 of them');
    expect((await payroll.decide(path, WORD)).status).toBe(200);
    await payroll.untilSettled(run.id);
    expect(await kinds()).toEqual([]);
  });
});

describe('a payment that was paid again, of which less is shown as returned since, and whose successor came back', () => {
  /** The run of the first, and that of the successor. */
  const repaidAndSentBack = async () => {
    await start(0);
    const { id } = await paidAndSentBack();
    await until(async () => (await returned(id)).payments === 1);
    const made = await successorOf(id);
    await payroll.approve(made.data);
    await until(async () => (await payroll.run(made.data.id)).status === 'SETTLED');
    let first: string | undefined;
    showing((one) => {
      first ??= one.bankPaymentId;
      const amountMinor = (one.amountMinor ?? 0n) - BigInt(KEPT_MINOR);
      return one.bankPaymentId === first ? { amountMinor } : {};
    });
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    await pay.aWeekLater();
    await until(async () => (await returned(made.data.id)).payments === 1);
    return { id, successor: String(made.data.id) };
  };
  const stoppedAll = () =>
    select(payroll.database.superuserUrl, 'SELECT FROM service_switch WHERE submits_off');

  it('stops nothing by being asked for, and is paid again once two people say that nobody kept the rest', async () => {
    const { id, successor } = await repaidAndSentBack();
    expect((await successorOf(successor)).data.payments[0].code).toBe('RETURNED_IN_PART');
    expect(await kinds()).not.toContain('INVARIANT_BREACH');
    expect(await stoppedAll()).toEqual([]);
    await decide((await asked(id)).path, 'RESUME');
    expect((await successorOf(successor)).status).toBe(201);
  });

  it('is paid by no successor where they say only that they know, and what is owed by a row that is released', async () => {
    const { id, successor } = await repaidAndSentBack();
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    const refused = await successorOf(successor);
    expect(refused.data.code).toBe('SUCCESSOR_REFUSED');
    expect(refused.data.payments[0].code).toBe('RETURNED_IN_PART');
    expect(await kinds()).not.toContain('INVARIANT_BREACH');
    expect(await stoppedAll()).toEqual([]);
    const owed = { ...payRows(1)[0]!, iban: germanIban(7_777) };
    const supplement = await payroll.uploaded(payFile([owed]), { supplementOf: successor });
    await released(supplement.id, 'EMPLOYEE_ALREADY_PAID');
    await until(async () => (await payroll.run(supplement.id)).status === 'SETTLED');
  });
});

describe('a payment of which less came back than was paid, and what is owed of it was paid by a row', () => {
  /** Its run, that of the row, and what the bank goes on to lack of it. */
  const owedIsPaid = async () => {
    await start(0);
    const { id, paid } = await paidAndSentBack();
    const lacking = { minor: KEPT_MINOR };
    let first: string | undefined;
    showing((one) => {
      first ??= one.bankPaymentId;
      return one.bankPaymentId === first
        ? { amountMinor: (one.amountMinor ?? 0n) - BigInt(lacking.minor) }
        : {};
    });
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
    await decide((await asked(id)).path, 'ACKNOWLEDGE');
    const owed = { ...payRows(1)[0]!, iban: RETURNS, amount: euros(paid - KEPT_MINOR) };
    const row = await payroll.uploaded(payFile([owed]), { supplementOf: id });
    await released(row.id, 'EMPLOYEE_ALREADY_PAID');
    await until(async () => (await payroll.run(row.id)).status === 'SETTLED');
    return { id, row: row.id, lacking };
  };
  /** A bank on the way gives back a part of its charge. */
  const moreComesBack = async (lacking: { minor: number }) => {
    await payroll.letRest('FOLLOW');
    lacking.minor -= 200;
    await until(async () => (await kinds()).includes('ECHO_MISMATCH'));
  };

  it('is asked about with that row once more of it comes back', async () => {
    const { id, row, lacking } = await owedIsPaid();
    await moreComesBack(lacking);
    const { happened, certain } = await asked(id);
    expect(happened).toContain(`another payment of the period pays its payee, or may, by ${row}`);
    expect(certain).toContain('compare the two');
  });

  it('is paid by no successor once that row came back, too, and was paid by its own', async () => {
    const { id, row, lacking } = await owedIsPaid();
    await pay.aWeekLater();
    await until(async () => (await returned(row)).payments === 1);
    const again = await successorOf(row);
    await payroll.approve(again.data);
    await until(async () => (await payroll.run(again.data.id)).status === 'SETTLED');
    await moreComesBack(lacking);
    const { path, happened } = await asked(id);
    expect(happened).toContain(`by ${again.data.id}`);
    await decide(path, 'RESUME');
    const refused = await successorOf(id);
    expect([refused.status, refused.data.payments?.[0].code]).toEqual([409, 'EMPLOYEE_PAID_OTHERWISE']);
  });
});
