import type { BankPayment } from '../../src/bank/records';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute } from '../support/database';
import { germanIban, payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';
import { passThrough } from '../support/payments-shown';

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const submits = async () => (await payroll.calls()).submit ?? 0;
const report = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;

const start = async (stepMs: number) => {
  payroll = await Payroll.start({
    rowsPerInstruction: 2,
    settings: { SUBMIT_DOUBT_MS: '2000' },
    sandbox: { stepMs },
  });
};
/** Has whoever follows a submit, and nobody else, shown one payment with the IBAN of somebody else. */
const changesIbans = (statusNow: () => string | undefined = () => undefined) => {
  const source = payroll.services[0]!.app.get(PaymentSource);
  const { paymentsOf } = source;
  return jest.spyOn(source, 'paymentsOf').mockImplementation(async (...asked) => {
    const [first, ...others] = await paymentsOf.apply(source, asked);
    if (!first) return [];
    return [{ ...first, iban: germanIban(999_999), status: statusNow() ?? first.status }, ...others];
  });
};

/** The same for whoever asks before what two people decided is carried out. */
const changesIbansOfReads = () => {
  const reads = payroll.services[0]!.app.get(BankReads);
  passThrough(reads, ([first, ...others]) =>
    first ? [{ ...first, iban: germanIban(999_999) }, ...others] : [],
  );
};

/** Has what is followed read at once. */
const readAgain = () =>
  execute(
    payroll.database.superuserUrl,
    `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW'`,
  );

/** Has one instruction alone submitted. */
const submitOne = () =>
  execute(
    payroll.database.superuserUrl,
    `CREATE FUNCTION only_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       PERFORM pg_advisory_xact_lock(1);
       IF EXISTS (SELECT FROM instruction WHERE status IN ('SUBMIT_INTENT', 'SUBMITTED')) THEN
         RAISE EXCEPTION 'one is enough';
       END IF;
       RETURN NEW; END $$;
     CREATE TRIGGER only_one BEFORE UPDATE ON instruction FOR EACH ROW
       WHEN (OLD.status <> NEW.status AND NEW.status = 'SUBMIT_INTENT') EXECUTE FUNCTION only_one()`,
  );
const submitTheOther = () =>
  execute(
    payroll.database.superuserUrl,
    `DROP TRIGGER only_one ON instruction;
     UPDATE lease SET wake_at = clock_timestamp() WHERE holder IS NULL`,
  );
const decide = async (path: string, action: string) => {
  expect((await payroll.decide(path, { action, reason: 'the bank was asked' })).status).toBe(200);
};

describe('a submitted payment that the bank shows with another IBAN', () => {
  it('ends by the word of the bank where it goes on to show it so, and never by the opposite of what is shown', async () => {
    await start(10);
    changesIbans();
    const id = await payroll.paid(payFile(payRows(2)));
    await decide(await payroll.askedAbout(id, 'ECHO_MISMATCH'), 'RESUME');
    changesIbansOfReads();
    const settled = async () => (await report(id)).table.settled.payments as number;
    await eventually(async () => (await settled()) === 1, 20_000);
    payroll.clock.offsetMs += 7 * 86_400_000;
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const word = { reason: 'the bank was asked', evidence: 'letter of the bank, 4711' };
    const unpaid = await payroll.decide(path, { ...word, action: 'NOT_PAID' });
    expect([unpaid.status, unpaid.data.code]).toEqual([409, 'SHOWN_OTHERWISE']);
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await payroll.decide(path, { ...word, action: 'PAID' })).status).toBe(200);
    await payroll.until(id, ['SETTLED'], 20_000);
  });

  it('contradicts two people who declared it not paid when it settles all the same, shown so', async () => {
    await start(600_000);
    let step: string | undefined = 'EXCHANGED';
    const reads = changesIbans(() => step);
    const id = await payroll.paid(payFile(payRows(2)));
    await decide(await payroll.askedAbout(id, 'ECHO_MISMATCH'), 'RESUME');
    changesIbansOfReads();
    payroll.clock.offsetMs += 7 * 86_400_000;
    let path = '';
    const isOfBoth = async () => {
      path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
      return (await payroll.as('finance').get(path)).data.payments === 2;
    };
    await eventually(isOfBoth, 20_000);
    const word = { reason: 'the bank was asked', evidence: 'letter of the bank, 4711' };
    expect((await payroll.decide(path, { ...word, action: 'NOT_PAID' })).status).toBe(200);
    await eventually(async () => (await report(id)).table.void.payments === 2, 20_000);
    reads.mockClear();
    await eventually(async () => {
      await readAgain();
      return reads.mock.calls.length > 2;
    }, 20_000);
    expect(await kinds()).not.toContain('CONTRADICTION');
    step = undefined;
    await payroll.bankClock(new Date(Date.now() + 10 * 86_400_000));
    await eventually(async () => {
      await readAgain();
      return (await kinds()).filter((kind) => kind === 'CONTRADICTION').length === 2;
    }, 30_000);
    expect(await report(id)).toMatchObject({ explained: false });
  });

  it('is told as it is, and holds back what of its run was not submitted until two people resume it', async () => {
    await start(600_000);
    await submitOne();
    const id = await payroll.paid(payFile(payRows(4)));
    await eventually(async () => (await submits()) === 1, 20_000);
    changesIbans();
    const path = await payroll.askedAbout(id, 'ECHO_MISMATCH');
    jest.restoreAllMocks();
    const { data } = await payroll.as('operator').get(path);
    expect(data.certain).toMatch(/submitted once.*not certain/);
    expect(data.actions).toEqual(['RESUME']);
    expect(data.askBank).toMatch(
      /to which IBAN, does the bank pay for payment \S+ of customer instruction \S+\?/,
    );
    expect((await payroll.run(id)).stopped?.reason).toBe('ECHO_MISMATCH');
    await submitTheOther();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect([await submits(), (await payroll.run(id)).status]).toEqual([1, 'SUBMITTING']);
    await decide(path, 'RESUME');
    await eventually(async () => (await submits()) === 2, 20_000);
    await payroll.bankClock(new Date(Date.now() + 10 * 86_400_000));
    await payroll.until(id, ['SETTLED'], 30_000);
    expect((await payroll.run(id)).stopped).toBeNull();
    expect(await kinds()).toEqual([]);
  });

  it('is asked once while it lasts, and does not stop again what two people let go on', async () => {
    await start(600_000);
    await submitOne();
    const id = await payroll.paid(payFile(payRows(4)));
    await eventually(async () => (await submits()) === 1, 20_000);
    const reads = changesIbans();
    await decide(await payroll.askedAbout(id, 'ECHO_MISMATCH'), 'RESUME');
    reads.mockClear();
    await eventually(() => Promise.resolve(reads.mock.calls.length > 3), 20_000);
    expect([await kinds(), (await payroll.run(id)).stopped]).toEqual([[], null]);
  });

  it('goes on by itself once the bank shows it as it was sent, also while nobody has answered', async () => {
    await start(600_000);
    await payroll.stopPastTheGate();
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SUBMITTING'], 20_000);
    changesIbans();
    await payroll.letRunsGoOn();
    await payroll.askedAbout(id, 'ECHO_MISMATCH');
    await payroll.bankClock(new Date(Date.now() + 10 * 86_400_000));
    await eventually(async () => (await payroll.run(id)).paymentsByStatus.SETTLED?.payments === 1, 20_000);
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
    jest.restoreAllMocks();
    await payroll.until(id, ['SETTLED'], 30_000);
    expect(await kinds()).toEqual(['ECHO_MISMATCH']);
  });

  it('leaves the run unexplained while nobody has answered for it, also when it is seen after the end', async () => {
    await start(0);
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    expect((await report(id)).explained).toBe(true);
    changesIbans();
    await execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW'`,
    );
    await payroll.askedAbout(id, 'ECHO_MISMATCH');
    expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['ECHO_MISMATCH'] });
    expect((await payroll.run(id)).stopped).toBeNull();
  });

  it('is asked anew where it differs otherwise, and stays unexplained by what people decide until it is shown as sent', async () => {
    await start(0);
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    let [shown, more]: [bigint | undefined, Partial<BankPayment>] = [1n, {}];
    const reading = jest.spyOn(source, 'paymentsOf').mockImplementation(async (...asked) => {
      const [first, ...others] = await paymentsOf.apply(source, asked);
      if (!first) return [];
      const amountMinor = shown === undefined ? undefined : (first.amountMinor ?? 0n) + shown;
      const iban = first.iban && `${first.iban.slice(0, -3)} ${first.iban.slice(-3)}`;
      return [{ ...first, iban, ...more, amountMinor }, ...others];
    });
    const reads = async (times: number) => {
      reading.mockClear();
      await eventually(async () => {
        await readAgain();
        return reading.mock.calls.length > times;
      }, 20_000);
    };
    await readAgain();
    const first = await payroll.askedAbout(id, 'ECHO_MISMATCH');
    const told = (await payroll.as('finance').get(first)).data;
    expect(told.bankWords).toMatch(/^Shown: \d+\.\d\d EUR, to (DE…\d{4}|no IBAN)\.$/);
    expect(told.happened).toMatch(/with another amount \(reading amount [0-9a-f]{8}\)\.$/);
    more = { messageId: undefined, iban: undefined };
    await reads(2);
    expect(await payroll.askedAbout(id, 'ECHO_MISMATCH')).toBe(first);
    await decide(first, 'RESUME');
    more = {};
    shown = undefined;
    await reads(2);
    expect(await kinds()).toEqual([]);
    expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['ECHO_MISMATCH'] });
    shown = 2n;
    await readAgain();
    await eventually(async () => (await kinds()).includes('ECHO_MISMATCH'), 20_000);
    await decide(await payroll.askedAbout(id, 'ECHO_MISMATCH'), 'RESUME');
    shown = 0n;
    await readAgain();
    await eventually(async () => (await report(id)).explained === true, 20_000);
  });
});
