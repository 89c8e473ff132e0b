import { BankError, BankUnreachable } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import type { BankPayment } from '../../src/bank/records';
import { MAGIC_CREDITORS, type MagicCreditor } from '../../src/bank-sandbox/magic';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { addDays } from '../../src/domain/calendar';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, PayrollOptions } from '../support/payroll';
import { passThrough, showsInstructions } from '../support/payments-shown';

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const LEAVES: PayrollOptions = {
  settings: { RECONCILE_MS: '2000' },
  sandbox: { variants: { failedChecks: 'leave-it', optionalFields: 'sent' } },
};
/** An account at the bank of the employer, which is paid by channel BOOK. */
const PAYEE_WITHIN = DEFAULT_SEED.users[0]!.account!.iban;
const left: readonly MagicCreditor['effect'][] = ['notProcessable', 'submissionControlFails'];
const iban = (effect: MagicCreditor['effect']) => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban;
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const statuses = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data.items.map(
    ({ status }: { status: string }) => status,
  );
const report = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;
/** Holds once everything was looked at again. */
const eventuallyRead = (holds: () => Promise<boolean>) =>
  eventually(async () => {
    await execute(payroll.database.superuserUrl, 'UPDATE lease SET wake_at = now() WHERE holder IS NULL');
    return holds();
  }, 20_000);
/** Until what is followed was read so often again. */
const readAgain = async (times = 3) => {
  const reads = jest.spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf');
  const before = reads.mock.calls.length;
  await eventuallyRead(() => Promise.resolve(reads.mock.calls.length >= before + times));
};
/** What the bank shows from now on of the payments it left where they stood. */
const showsLeft = (change: Partial<BankPayment>) => {
  const { app } = payroll.services[0]!;
  const instead = (seen: readonly BankPayment[]) =>
    seen.map((one) => (one.groupStatus === 'NOTPROCESSABLE' ? { ...one, ...change } : one));
  const [source, reads] = [app.get(PaymentSource), app.get(BankReads)];
  const { paymentsOf } = source;
  jest
    .spyOn(source, 'paymentsOf')
    .mockImplementation(async (...asked) => instead(await paymentsOf.apply(source, asked)));
  passThrough(reads, instead);
};
/** A run of payments, of which some fail the bank's own checks and are left at the last step they passed. */
const paid = (effects = left, count = 4) => {
  const rows = payRows(count).map((row, n) =>
    effects[n] === undefined ? row : { ...row, iban: iban(effects[n]) },
  );
  return payroll.paid(payFile(rows));
};

describe('a payment that failed the checks of the bank, and is left as not processable where it stood', () => {
  it('fails once the others have ended, and is paid again while it is shown so', async () => {
    payroll = await Payroll.start(LEAVES);
    const id = await paid();
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    expect((await statuses(id)).sort()).toEqual(['FAILED', 'FAILED', 'SETTLED', 'SETTLED']);
    await readAgain();
    expect(await kinds()).toEqual([]);
    expect(await report(id)).toMatchObject({
      explained: true,
      table: { notPaid: { payments: 2 } },
      byBankStatus: { 'GROUP:NOTPROCESSABLE': { payments: 2 } },
    });
    const made = await payroll.successorOf(id);
    expect(made.status).toBe(201);
    expect((await payroll.approve(made.data)).status).toBeLessThan(300);
    await payroll.until(made.data.id, ['FOLLOWING'], 20_000);
    expect((await payroll.calls()).submit).toBe(2);
  });

  it('is waited for until the cut-off of its execution date where no other payment shows that it was executed', async () => {
    const started = await Payroll.startOnPayday(LEAVES);
    payroll = started.payroll;
    const id = await paid(['notProcessable'], 1);
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await readAgain();
    expect(await statuses(id)).toEqual(['SUBMITTED']);
    payroll.clock.set(new Date(`${started.date}T17:00:00Z`));
    await eventuallyRead(async () => (await payroll.run(id)).status === 'FAILED');
  });

  it('is waited for until the cut-off of the date to which the bank has moved it on, though another is under way', async () => {
    const started = await Payroll.startOnPayday(LEAVES);
    payroll = started.payroll;
    const nextDay = addDays(started.date, 1);
    showsInstructions(payroll.services[0]!.app.get(BankReads), () => ({ executionDate: nextDay }));
    const id = await paid(['notProcessable', 'neverSettles'], 2);
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await readAgain();
    payroll.clock.set(new Date(`${started.date}T17:00:00Z`));
    await readAgain();
    expect(await statuses(id)).toEqual(['SUBMITTED', 'SUBMITTED']);
    payroll.clock.set(new Date(`${nextDay}T17:00:00Z`));
    await eventuallyRead(async () => (await statuses(id))[0] === 'FAILED');
  });

  it('is waited for past the approved cut-off while the instruction, whose date may have moved on, cannot be read', async () => {
    const started = await Payroll.startOnPayday(LEAVES);
    payroll = started.payroll;
    const reads = payroll.services[0]!.app.get(BankReads);
    const id = await paid(['notProcessable', 'neverSettles'], 2);
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await readAgain();
    const failing = jest
      .spyOn(reads, 'instruction')
      .mockRejectedValue(new BankUnreachable('ECONNRESET', true));
    payroll.clock.set(new Date(`${started.date}T17:00:00Z`));
    await readAgain();
    expect(failing).toHaveBeenCalled();
    expect(await statuses(id)).toEqual(['SUBMITTED', 'SUBMITTED']);
    expect(await kinds()).not.toContain('BANK_ACTION_REQUIRED');
    failing.mockRestore();
    await eventuallyRead(async () => (await statuses(id))[0] === 'FAILED');
  });

  it('is waited for as long where reading the instruction fails for good, until the latest date it may have been moved to', async () => {
    const started = await Payroll.startOnPayday(LEAVES);
    payroll = started.payroll;
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const id = await paid(['notProcessable', 'neverSettles'], 2);
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await readAgain();
    const failing = jest
      .spyOn(gateway, 'getInstruction')
      .mockImplementation(() => Promise.reject(new BankError(503, { raw: '' })));
    for (const time of ['17:00:00', '17:02:50', '17:05:40', '17:08:30', '17:11:20']) {
      payroll.clock.set(new Date(`${started.date}T${time}Z`));
      await readAgain();
    }
    await expect(failing.mock.results.at(-1)!.value).rejects.toMatchObject({ isForGood: true });
    expect(await statuses(id)).toEqual(['SUBMITTED', 'SUBMITTED']);
    payroll.clock.set(new Date(`${addDays(started.date, 3)}T17:00:00Z`));
    await eventuallyRead(async () => (await kinds()).includes('UNKNOWN_STATUS'));
    expect(await statuses(id)).toEqual(['SUBMITTED', 'SUBMITTED']);
    payroll.clock.set(new Date(`${addDays(started.date, 7)}T17:00:00Z`));
    await eventuallyRead(async () => (await statuses(id))[0] === 'FAILED');
  });

  it.each(['SETTLED', 'EXCHANGED'])(
    'is a contradiction, and never paid again, once it is shown at %s',
    async (status) => {
      payroll = await Payroll.start(LEAVES);
      const id = await paid();
      await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
      const made = await payroll.successorOf(id);
      expect(made.status).toBe(201);
      showsLeft({ status, groupStatus: undefined });
      await eventuallyRead(async () => (await kinds()).includes('CONTRADICTION'));
      expect([...new Set(await kinds())].sort()).toEqual(['CONTRADICTION', 'REPLACED_PAYMENT_MOVED']);
      const revived = (await payroll.attention()).find(({ kind }) => kind === 'CONTRADICTION')!;
      expect(revived.happened).toMatch(
        /group of what is not processable went on: \w+ after group NOTPROCESSABLE /,
      );
      const again = await payroll.successorOf(id);
      expect(again.data.payments.map(({ code }: { code: string }) => code)).toEqual([
        'PAYMENT_CONTRADICTED',
        'PAYMENT_CONTRADICTED',
      ]);
    },
  );

  it('is paid again on the word of the bank alone where that no longer says that it is not processable', async () => {
    payroll = await Payroll.start(LEAVES);
    const id = await paid();
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    showsLeft({ groupStatus: undefined });
    const refused = await payroll.successorOf(id);
    expect([refused.status, refused.data.code]).toEqual([503, 'BANK_UNREADABLE']);
    const path = await payroll.askedAbout(id, 'REPLACED_UNSEEN');
    const word = { action: 'NOT_PAID', reason: 'the bank wrote so', evidence: 'its letter of today' };
    expect((await payroll.decide(path, word)).status).toBe(200);
    expect((await payroll.successorOf(id)).status).toBe(201);
  });

  it('goes on where it is taken up after all while the others are under way', async () => {
    payroll = await Payroll.start(LEAVES);
    showsLeft({ status: 'PRO_DEBIT_HOLD' });
    const id = await paid();
    await eventuallyRead(
      async () => (await statuses(id)).filter((one: string) => one === 'SETTLED').length === 2,
    );
    expect((await statuses(id)).sort()).toEqual(['SETTLED', 'SETTLED', 'SUBMITTED', 'SUBMITTED']);
  });
});

describe('a payment that the bank leaves before it took it, and does not say why', () => {
  it('is decided by two people once it is overdue, and paid again as long as it stands there', async () => {
    // A list of the instruction shows that nothing else is in it.
    const variants = { failedChecks: 'leave-it', optionalFields: 'left-out', linkReads: 'allowed' } as const;
    payroll = await Payroll.start({ ...LEAVES, sandbox: { variants } });
    const id = await paid();
    await eventuallyRead(
      async () => (await statuses(id)).filter((one: string) => one === 'SETTLED').length === 2,
    );
    payroll.clock.offsetMs += 7 * 86_400_000;
    await eventuallyRead(async () => (await kinds()).includes('UNKNOWN_STATUS'));
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const { data: asked } = await payroll.as('finance').get(path);
    expect(asked).toMatchObject({ payments: 2, actions: ['PAID', 'NOT_PAID'] });
    expect(asked.happened).toMatch(
      /only how far they got: SUB_STARTED \(rows \d\), SUB_IS_VALID \(rows \d\)\.$/,
    );
    const word = { action: 'NOT_PAID', reason: 'the bank has answered', evidence: 'letter 4712' };
    expect((await payroll.decide(path, word)).status).toBe(200);
    await eventuallyRead(async () => (await payroll.run(id)).status === 'PARTLY_SETTLED');
    expect((await statuses(id)).sort()).toEqual(['SETTLED', 'SETTLED', 'VOID', 'VOID']);
    await readAgain();
    expect(await kinds()).toEqual([]);
    expect((await report(id)).explained).toBe(true);
    await payroll.bankClock(payroll.clock.now());
    expect((await payroll.successorOf(id)).status).toBe(201);
  });

  it('is not decided once the bank went on with it', async () => {
    const variants = { failedChecks: 'leave-it', optionalFields: 'left-out' } as const;
    payroll = await Payroll.start({ ...LEAVES, sandbox: { variants } });
    const id = await paid();
    await eventuallyRead(
      async () => (await statuses(id)).filter((one: string) => one === 'SETTLED').length === 2,
    );
    payroll.clock.offsetMs += 7 * 86_400_000;
    await eventuallyRead(async () => (await kinds()).includes('UNKNOWN_STATUS'));
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const word = { action: 'NOT_PAID', reason: 'the bank has answered', evidence: 'letter 4712' };
    expect((await payroll.as('operator').post(`${path}/actions`, word)).status).toBe(201);
    await payroll.letRest('FOLLOW');
    const reads = payroll.services[0]!.app.get(BankReads);
    passThrough(reads, (found) => found.map((one) => ({ ...one, status: 'PRO_DEBIT_HOLD' })));
    const refused = await payroll.confirm(path);
    expect([refused.status, refused.data.code]).toEqual([409, 'WAS_EXECUTED']);
  });
});

describe('a payment that the bank shows no further', () => {
  const word = (action: 'PAID' | 'NOT_PAID') => ({
    action,
    reason: 'the bank has answered',
    evidence: 'letter 4713',
  });
  /** Long after its execution date, by our clock alone. */
  const overdue = async (id: string) => {
    payroll.clock.offsetMs += 7 * 86_400_000;
    await eventuallyRead(async () => (await kinds()).includes('UNKNOWN_STATUS'));
    return payroll.askedAbout(id, 'UNKNOWN_STATUS');
  };

  it('is paid by the word of two people where a transfer within the bank rests at SUBMITTED', async () => {
    payroll = await Payroll.start({
      settings: { RECONCILE_MS: '2000' },
      sandbox: { variants: { bookEnds: 'SUBMITTED' } },
    });
    const rows = payRows(3);
    rows[1]!.iban = PAYEE_WITHIN;
    const id = await payroll.paid(payFile(rows));
    await eventuallyRead(async () => (await statuses(id)).join() === 'SETTLED,SUBMITTED,SETTLED');
    const path = await overdue(id);
    const { data: asked } = await payroll.as('finance').get(path);
    expect(asked).toMatchObject({ payments: 1, actions: ['PAID', 'NOT_PAID'] });
    expect(asked.happened).toMatch(/only how far they got: SUBMITTED \(rows 2\)\.$/);
    expect((await payroll.decide(path, word('PAID'))).status).toBe(200);
    await eventuallyRead(async () => (await payroll.run(id)).status === 'SETTLED');
    await readAgain();
    expect(await kinds()).toEqual([]);
    expect(await report(id)).toMatchObject({ explained: true, difference: '0.00' });
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1]);
  });

  it('can be decided where nobody of its instruction was paid, and is paid again', async () => {
    const variants = { failedChecks: 'leave-it', optionalFields: 'left-out' } as const;
    payroll = await Payroll.start({ ...LEAVES, sandbox: { variants } });
    const id = await paid(left, 2);
    await payroll.until(id, ['FOLLOWING'], 20_000);
    const path = await overdue(id);
    expect((await payroll.decide(path, word('NOT_PAID'))).status).toBe(200);
    await eventuallyRead(async () => (await payroll.run(id)).status === 'FAILED');
    expect(await statuses(id)).toEqual(['VOID', 'VOID']);
    await payroll.bankClock(payroll.clock.now());
    expect((await payroll.successorOf(id)).status).toBe(201);
  });

  it.each([
    ['PAID', 'SETTLED', []],
    ['NOT_PAID', 'FAILED', ['CONTRADICTION', 'REPLACED_PAYMENT_MOVED']],
  ] as const)(
    'can be decided where all stand as before the submit, and is followed on (%s)',
    async (action, end, told) => {
      payroll = await Payroll.start({ sandbox: { stepMs: 600_000, variants: { submitRuns: 'at-once' } } });
      const id = await payroll.paid(payFile(payRows(2)));
      await payroll.until(id, ['FOLLOWING'], 20_000);
      const path = await overdue(id);
      expect((await payroll.decide(path, word(action))).status).toBe(200);
      await eventuallyRead(async () => (await payroll.run(id)).status === end);
      if (action === 'NOT_PAID') expect((await payroll.successorOf(id)).status).toBe(201);
      await payroll.bankClock(payroll.clock.now());
      const shown = `SELECT FROM bank_payment WHERE bank_status = 'SETTLED'`;
      await eventuallyRead(async () =>
        told.length > 0
          ? (await kinds()).includes('CONTRADICTION')
          : (await select(payroll.database.superuserUrl, shown)).length === 2,
      );
      expect([...new Set(await kinds())].sort()).toEqual(told);
    },
  );

  it.each([
    ['EXCHANGED', 'PRO_DEBIT_HOLD', 'PAID', 200, undefined],
    ['EXCHANGED', 'PRO_DEBIT_HOLD', 'NOT_PAID', 200, undefined],
    ['PRO_DEBIT_HOLD', 'EXCHANGED', 'PAID', 200, undefined],
    ['PRO_DEBIT_HOLD', 'EXCHANGED', 'NOT_PAID', 409, 'WAS_EXECUTED'],
    ['INITIATED', 'WAREHOUSED', 'NOT_PAID', 409, 'WAS_EXECUTED'],
    ['SUBMITTED', 'PRO_ODD', 'NOT_PAID', 409, 'WAS_EXECUTED'],
    ['PRO_ODD', 'PRO_ODDER', 'NOT_PAID', 409, 'WAS_EXECUTED'],
    ['PRO_ODD', 'PRO_ODD', 'NOT_PAID', 200, undefined],
    ['PRO_ODD', 'PRO_ODDER', 'PAID', 200, undefined],
    ['PRO_DEBIT_HOLD', 'SETTLED', 'PAID', 409, 'STATUS_IS_CLEAR'],
  ] as const)(
    'is decided where lists show it at several steps, and as not paid only where none shows more: asked about at %s, read at %s (%s: %i)',
    async (asked, shown, action, status, code) => {
      payroll = await Payroll.start({ sandbox: { stepMs: 600_000, variants: { submitRuns: 'at-once' } } });
      const { app } = payroll.services[0]!;
      const [source, reads] = [app.get(PaymentSource), app.get(BankReads)];
      const { paymentsOf } = source;
      const at = (step: string, seen: readonly BankPayment[]) =>
        seen.map((one) => ({ ...one, status: step }));
      jest
        .spyOn(source, 'paymentsOf')
        .mockImplementation(async (...of) => at(asked, await paymentsOf.apply(source, of)));
      const id = await payroll.paid(payFile(payRows(2)));
      await payroll.until(id, ['FOLLOWING'], 20_000);
      const path = await overdue(id);
      passThrough(reads, (found) => at(shown, found));
      const answer = await payroll.decide(path, word(action));
      expect([answer.status, answer.data.code]).toEqual([status, code]);
    },
  );

  it('is not declared unpaid once it has gone on to a step that another was asked about', async () => {
    payroll = await Payroll.start({ sandbox: { stepMs: 600_000, variants: { submitRuns: 'at-once' } } });
    const source = payroll.services[0]!.app.get(PaymentSource);
    const { paymentsOf } = source;
    let first = 'PRO_DEBIT_HOLD';
    jest.spyOn(source, 'paymentsOf').mockImplementation(async (...of) => {
      const seen = await paymentsOf.apply(source, of);
      const ids = seen.map(({ bankPaymentId }) => bankPaymentId).sort();
      return seen.map((one) => ({ ...one, status: one.bankPaymentId === ids[0] ? first : 'EXCHANGED' }));
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    const path = await overdue(id);
    expect((await payroll.as('operator').post(`${path}/actions`, word('NOT_PAID'))).status).toBe(201);
    first = 'EXCHANGED';
    const { superuserUrl } = payroll.database;
    const both = `SELECT FROM bank_payment WHERE bank_status = 'EXCHANGED'`;
    await eventuallyRead(async () => (await select(superuserUrl, both)).length === 2);
    const reads = payroll.services[0]!.app.get(BankReads);
    passThrough(reads, (found) => found.map((one) => ({ ...one, status: 'EXCHANGED' })));
    for (const _pressed of ['once', 'once more']) {
      const refused = await payroll.confirm(path);
      expect([refused.status, refused.data.code]).toEqual([409, 'WAS_EXECUTED']);
    }
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await payroll.decide(path, word('NOT_PAID'))).status).toBe(200);
  });
});
