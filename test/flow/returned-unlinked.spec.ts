import { BankReads } from '../../src/employer/bank-reads';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import type { BankPayment } from '../../src/bank/records';
import { eventually } from '../support/eventually';
import { germanIban, payFile, payRows } from '../support/pay-rows';
import { passThrough } from '../support/payments-shown';
import { FAILS, ReturnedPay, RETURNS } from '../support/returned-pay';

const REJECTED = MAGIC_CREDITORS.find(({ effect }) => effect === 'rejected')!.iban;
const BONUS = '50.00';
const LACKING_MINOR = 60_000n;

let pay: ReturnedPay;
beforeEach(async () => {
  pay = await ReturnedPay.start();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await pay.payroll.close();
});

const settled = (one: BankPayment): BankPayment => ({ ...one, status: 'SETTLED' });
const lessIsBack = (one: BankPayment): BankPayment => ({
  ...one,
  amountMinor: (one.amountMinor ?? 0n) - LACKING_MINOR,
});

/** From now on the bank shows otherwise what came back of the salary of one run. */
const shows = async (run: string, otherwise: (one: BankPayment) => BankPayment) => {
  const [{ bankInstructionId }] = (await pay.payroll.run(run)).instructions;
  passThrough(pay.payroll.services[0]!.app.get(BankReads), (found, asked) =>
    found.map((one) =>
      asked.bankInstructionId === bankInstructionId &&
      one.status === 'RETURNED' &&
      (one.amountMinor ?? 0n) > 5_000n
        ? otherwise(one)
        : one,
    ),
  );
};

const kinds = async () => (await pay.payroll.attention()).map(({ kind }) => kind);

/** Its time has come, and all that is to be done is done again and again for some seconds; without `follower`, but to follow. */
const itsTimeComes = async (follower: boolean) => {
  const { payroll } = pay;
  payroll.clock.offsetMs += 15 * 60_000;
  if (!follower) await payroll.letRest('FOLLOW');
  const endMs = Date.now() + 8_000;
  await eventually(async () => {
    await (follower ? payroll.wakeAll() : payroll.wakeAll('RUN', 'INSTRUCTION', 'ACCOUNT'));
    return Date.now() > endMs;
  }, 20_000);
};

describe.each([
  'a bonus of its file stands',
  'a bonus of another file stands',
  'the bonus of its file came back, too',
])('a row that pays again a salary that came back, unlinked as %s', (beside) => {
  it.each([
    ['it is shown as settled to whoever follows it', settled, true],
    ['it is shown as settled to nobody but a look before the submit', settled, false],
    ['600 euros of it are not back for whoever follows it', lessIsBack, true],
    ['600 euros of it are not back for nobody but a look before the submit', lessIsBack, false],
  ])('is not submitted once %s', async (_, otherwise, follower) => {
    const { payroll } = pay;
    const [she, other] = payRows(2);
    const isBack = beside.includes('came back');
    const bonus = { ...she!, amount: BONUS, iban: isBack ? RETURNS : she!.iban };
    const ofAnother = beside.includes('another file');
    const { id } = await payroll.uploaded(
      payFile([{ ...she!, iban: RETURNS }, ...(ofAnother ? [] : [bonus]), other!]),
    );
    await pay.release(id);
    await pay.isPaid(id);
    if (ofAnother) {
      const { id: another } = await payroll.uploaded(payFile([bonus]), { supplementOf: id });
      await pay.release(another);
      await pay.isPaid(another);
    }
    const submits = (await payroll.calls()).submit;
    await pay.aWeekLater();
    await pay.until(async () => (await payroll.run(id)).returned.payments === (isBack ? 2 : 1));
    const { id: again } = await payroll.uploaded(payFile([{ ...she!, iban: germanIban(7_777) }]), {
      supplementOf: id,
      ...payroll.later(),
    });
    await pay.release(again);
    expect((await payroll.approve(await payroll.run(again))).status).toBe(200);
    await shows(id, otherwise);
    const asked = otherwise === settled ? 'CONTRADICTION' : 'ECHO_MISMATCH';
    if (follower) await pay.until(async () => (await kinds()).includes(asked));
    await itsTimeComes(follower);
    expect((await payroll.calls()).submit).toBe(submits);
    const told =
      follower && otherwise === lessIsBack && !isBack ? 'POSSIBLE_DUPLICATE_PAY' : 'REPLACED_PAYMENT_MOVED';
    await payroll.askedAbout(again, told);
  });
});

it('a run that was to pay such a salary again goes on without its row', async () => {
  const { payroll } = pay;
  const [she, other, third] = payRows(3);
  const { id } = await payroll.uploaded(
    payFile([{ ...she!, iban: RETURNS }, { ...she!, amount: BONUS }, other!]),
  );
  await pay.release(id);
  await pay.isPaid(id);
  await pay.aWeekLater(id);
  const rows = [{ ...she!, iban: germanIban(7_777) }, third!];
  const { id: again } = await payroll.uploaded(payFile(rows), { supplementOf: id, ...payroll.later() });
  await pay.release(again);
  expect((await payroll.approve(await payroll.run(again))).status).toBe(200);
  await shows(id, settled);
  await itsTimeComes(false);
  const path = await payroll.askedAbout(again, 'REPLACED_PAYMENT_MOVED');
  const [hers] = await pay.paymentsOf(again);
  const amended = await payroll.as('preparer').post(payroll.path(`/pay-runs/${again}/amendments`), {
    excludePaymentIds: [hers!.id],
    reason: 'she has it, says the bank',
  });
  expect([amended.status, amended.data.detail]).toEqual([200, undefined]);
  await payroll.until(again, ['READY'], 20_000);
  expect((await payroll.approve(await payroll.run(again))).status).toBe(200);
  await payroll.decide(path, { action: 'RESUME', reason: 'she is left out', evidence: 'letter 4712' });
  await eventually(async () => {
    await payroll.wakeAll('RUN', 'INSTRUCTION', 'ACCOUNT');
    return (await payroll.calls()).submit === 2;
  }, 30_000);
  expect(await payroll.timesPaid(rows)).toEqual([0, 1]);
});

/** A salary came back whole, and so did the row that paid it again; two other people are not paid by either run. */
const paidTwiceAndBack = async (bonus: 'none' | 'stands' | 'came back') => {
  const { payroll } = pay;
  const [she, other, third, fourth] = payRows(4);
  const salary = { ...she!, iban: RETURNS };
  const unpaid = [
    { ...third!, iban: FAILS },
    { ...fourth!, iban: REJECTED },
  ];
  const hers = { ...she!, amount: BONUS, iban: bonus === 'stands' ? she!.iban : RETURNS };
  const { id } = await payroll.uploaded(
    payFile([salary, ...(bonus === 'none' ? [] : [hers]), other!, ...unpaid]),
  );
  await pay.release(id);
  await pay.isPaid(id, 'PARTLY_SETTLED');
  await pay.aWeekLater();
  const back = bonus === 'came back' ? 2 : 1;
  await pay.until(async () => (await payroll.run(id)).returned.payments === back);
  const { id: again } = await payroll.uploaded(payFile([salary, ...unpaid]), { supplementOf: id });
  await pay.release(again);
  await pay.isPaid(again, 'PARTLY_SETTLED');
  await pay.aWeekLater(again);
  return { id, again };
};

/** Asks for a successor of the salary of a run that came back, and of those that were never paid where they are named, too. */
const successorOfSalary = async (run: string, withUnpaid: boolean, due: Record<string, string> = {}) => {
  const named = (await pay.paymentsOf(run)).filter(
    ({ status, returnedAt, amount }) =>
      (returnedAt && amount !== BONUS) || (withUnpaid && ['FAILED', 'REJECTED'].includes(status)),
  );
  return pay.successorOf(run, undefined, { paymentIds: named.map(({ id }) => id), ...due });
};

describe.each(['is asked about', 'she kept, as two people know'])(
  'a row that paid a salary again, of which 600 euros turn out not to be back, which %s',
  (how) => {
    it.each([
      ['replaces it', 'none'],
      ['replaces none, as a bonus of the file came back, too', 'came back'],
    ] as const)('is paid by no successor, where it %s', async (_, bonus) => {
      const { id, again } = await paidTwiceAndBack(bonus);
      await shows(id, lessIsBack);
      await pay.until(async () => (await kinds()).includes('ECHO_MISMATCH'));
      const path = await pay.payroll.askedAbout(id, 'ECHO_MISMATCH');
      const isDecided = how !== 'is asked about';
      const kept = { action: 'ACKNOWLEDGE', reason: 'she kept it', evidence: 'letter 4711' };
      if (isDecided) await pay.payroll.decide(path, kept);
      // Named with two others, whom nobody else pays, nothing holds the run; while it is asked, these are refused by that.
      const made = await successorOfSalary(again, isDecided);
      expect([made.status, made.data.payments?.map(({ code }: { code: string }) => code)]).toEqual([
        409,
        [bonus === 'none' ? 'RETURNED_IN_PART' : 'EMPLOYEE_PAID_OTHERWISE'],
      ]);
    });
  },
);

it('a successor of a salary is not submitted once less turns out to be back of the row that paid it before', async () => {
  const { payroll } = pay;
  const { id, again } = await paidTwiceAndBack('stands');
  const made = await successorOfSalary(id, false, payroll.later());
  expect(made.status).toBe(201);
  await pay.release(made.data.id);
  expect((await payroll.approve(await payroll.run(made.data.id))).status).toBe(200);
  await shows(again, lessIsBack);
  await pay.until(async () => (await kinds()).includes('ECHO_MISMATCH'));
  await itsTimeComes(true);
  expect((await payroll.calls()).submit).toBe(2);
  await payroll.askedAbout(made.data.id, 'POSSIBLE_DUPLICATE_PAY');
});
