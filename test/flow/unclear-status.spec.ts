import { MAGIC_CREDITORS, type MagicCreditor } from '../../src/bank-sandbox/magic';
import { BankGateway } from '../../src/bank/gateway';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, PayrollOptions } from '../support/payroll';
import { passThrough } from '../support/payments-shown';

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const iban = (effect: MagicCreditor['effect']) => MAGIC_CREDITORS.find((one) => one.effect === effect)!.iban;
/** A bank that lets instructions be read, each with a list of its own, and lists all. */
const LINKED: PayrollOptions = { sandbox: { variants: { linkReads: 'allowed' } } };
const REVIEW = 'PRO_MANUAL_REVIEW';
const reason = 'the bank has answered';
const evidence = 'letter 4711 of the bank';

const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const propose = (path: string, body: Record<string, unknown>) =>
  payroll.as('operator').post(`${path}/actions`, { reason, evidence, ...body });
const decide = async (path: string, action: string, more: Record<string, unknown> = {}) => {
  const proposed = await propose(path, { action, ...more });
  expect([proposed.status, proposed.data.code]).toEqual([201, undefined]);
  return payroll.confirm(path);
};
const report = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;
const payments = async (id: string): Promise<{ id: string; status: string }[]> =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/payments`))).data.items;
const statuses = async (id: string) => (await payments(id)).map(({ status }) => status);
const lookAgain = () => payroll.wakeAll();
/** Holds once everything was looked at again, and so does not by chance. */
const eventuallyRead = (holds: () => Promise<boolean>) =>
  eventually(async () => {
    await lookAgain();
    return holds();
  }, 20_000);
/** Until what ended was read so often again. */
const readAgain = async (times = 3) => {
  const reads = jest.spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf');
  const before = reads.mock.calls.length;
  await eventuallyRead(() => Promise.resolve(reads.mock.calls.length >= before + times));
};

/** What the bank shows from now on of the payments it left in review, or of all. */
const shows = (status: string, of: 'in-review' | 'all' = 'in-review') => {
  const { app } = payroll.services[0]!;
  const instead = <T extends { status: string }>(seen: readonly T[]) =>
    seen.map((one) => (of === 'all' || one.status === REVIEW ? { ...one, status } : one));
  const source = app.get(PaymentSource);
  const reads = app.get(BankReads);
  const { paymentsOf } = source;
  jest
    .spyOn(source, 'paymentsOf')
    .mockImplementation(async (...asked) => instead(await paymentsOf.apply(source, asked)));
  passThrough(reads, instead);
};

/** A run of three payments, of which the bank leaves some in a status that nobody documents. */
async function inReview(
  left: readonly MagicCreditor['effect'][] = ['undocumentedStatus'],
  options: PayrollOptions = {},
): Promise<{ id: string; path: string }> {
  payroll = await Payroll.start({ ...options, settings: { RECONCILE_MS: '2000', ...options.settings } });
  const rows = payRows(3).map((row, n) => (left[n] === undefined ? row : { ...row, iban: iban(left[n]) }));
  const id = await payroll.paid(payFile(rows));
  await eventually(
    async () => (await statuses(id)).filter((status) => status === 'SETTLED').length === 3 - left.length,
    20_000,
  );
  return { id, path: await payroll.askedAbout(id, 'UNKNOWN_STATUS') };
}

describe('a payment that the bank leaves in a status that nobody documents', () => {
  it('is paid by the word of two people and the bank’s in writing, and the run ends', async () => {
    const { id, path } = await inReview();
    expect((await payroll.as('finance').get(path)).data).toMatchObject({
      payments: 1,
      actions: ['PAID', 'NOT_PAID'],
    });
    const acknowledged = await propose(path, { action: 'ACKNOWLEDGE' });
    expect([acknowledged.status, acknowledged.data.code]).toEqual([409, 'ACTION_NOT_OFFERED']);
    const unproven = await propose(path, { action: 'PAID', evidence: undefined });
    expect([unproven.status, unproven.data.code]).toEqual([422, 'EVIDENCE_REQUIRED']);
    const proposed = await propose(path, { action: 'PAID' });
    expect(proposed.data).toMatchObject({ action: 'PAID', payments: 1, evidence });
    const alone = await payroll.confirm(path, 'operator');
    expect([alone.status, alone.data.code]).toEqual([409, 'SECOND_PERSON_REQUIRED']);
    expect((await payroll.confirm(path)).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
    await readAgain();
    expect(await kinds()).toEqual([]);
    expect(await report(id)).toMatchObject({
      explained: true,
      byBankStatus: { [REVIEW]: { payments: 1 } },
      decisions: [{ action: 'PAID', bankStatus: REVIEW, payments: 1, reason, evidence }],
    });
    const rows = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation/rows`), {
      headers: { accept: 'text/csv' },
    });
    expect(rows.data).toMatch(new RegExp(`SETTLED,[^,]*,${REVIEW},.*,act_[0-9a-f]{32}`));
  });

  it.each(['403', '404'])('is decided though the bank shows its instruction to nobody (%s)', async (kind) => {
    const { id, path } = await inReview(undefined, LINKED);
    for (const operation of ['getInstruction', 'listInstructionPaymentTransactions'])
      await payroll.fault({ operation, kind, every: 1 });
    expect((await decide(path, 'PAID')).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
  });

  it.each(['403', '404'])(
    'is not decided against what the general list shows where the instruction is hidden (%s)',
    async (kind) => {
      const { path } = await inReview(undefined, LINKED);
      expect((await propose(path, { action: 'NOT_PAID' })).status).toBe(201);
      for (const operation of ['getInstruction', 'listInstructionPaymentTransactions'])
        await payroll.fault({ operation, kind, every: 1 });
      const reads = payroll.services[0]!.app.get(BankReads);
      jest
        .spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf')
        .mockImplementation(() => Promise.resolve([]));
      passThrough(reads, (found) => found.map((one) => ({ ...one, status: 'SETTLED' })));
      const refused = await payroll.confirm(path);
      expect([refused.status, refused.data.code]).toEqual([409, 'STATUS_IS_CLEAR']);
    },
  );

  it('agrees in silence with the bank that settles it later', async () => {
    const { id, path } = await inReview();
    expect((await decide(path, 'PAID')).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
    shows('SETTLED');
    await eventuallyRead(async () => (await report(id)).byBankStatus[REVIEW] === undefined);
    expect(await report(id)).toMatchObject({ explained: true, decisions: [{ payments: 1 }] });
    expect(await kinds()).toEqual([]);
  });

  it.each([
    ['counts all', {}],
    [
      'counts nothing that it has processed',
      { linkReads: 'allowed', submitRuns: 'later', groupsFill: 'progressively', groupsLeaveOut: 'ended' },
    ],
  ] as const)(
    'agrees in silence with the bank that goes on with it later and %s',
    async (_counts, variants) => {
      const { id, path } = await inReview(undefined, { sandbox: { variants } });
      expect((await decide(path, 'PAID')).status).toBe(200);
      await payroll.until(id, ['SETTLED']);
      shows('EXCHANGED');
      await readAgain();
      expect(await kinds()).toEqual([]);
      expect(await report(id)).toMatchObject({ explained: true });
    },
  );

  it('contradicts two people who said it is paid where the bank ends it unpaid', async () => {
    const { id, path } = await inReview();
    expect((await decide(path, 'PAID')).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
    shows('FAILED');
    await eventuallyRead(async () => (await kinds()).includes('CONTRADICTION'));
    const [told] = await payroll.attention();
    expect(told!.happened).toContain(`two people declared paid is shown otherwise: FAILED after ${REVIEW}`);
    expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['CONTRADICTION'] });
    expect(await statuses(id)).toEqual(['SETTLED', 'SETTLED', 'SETTLED']);
  });

  it('is not decided once the bank shows what became of it', async () => {
    const { id, path } = await inReview();
    expect((await propose(path, { action: 'NOT_PAID' })).status).toBe(201);
    const { app } = payroll.services[0]!;
    jest.spyOn(app.get(PaymentSource), 'paymentsOf').mockImplementation(() => Promise.resolve([]));
    const reads = app.get(BankReads);
    passThrough(reads, (found) => found.map((one) => ({ ...one, status: 'SETTLED' })));
    const refused = await payroll.confirm(path);
    expect([refused.status, refused.data.code]).toEqual([409, 'STATUS_IS_CLEAR']);
    jest.restoreAllMocks();
    shows('SETTLED');
    await payroll.until(id, ['SETTLED']);
    expect(await kinds()).toEqual([]);
  });

  it.each([
    ['the bank shows another that nobody documents', { status: 'PRO_OTHER_REVIEW' }],
    ['its history says that it was settled', { wasSettled: true }],
  ])('is not declared not paid once %s', async (_what, shown) => {
    const { id, path } = await inReview();
    expect((await propose(path, { action: 'NOT_PAID' })).status).toBe(201);
    const { app } = payroll.services[0]!;
    jest.spyOn(app.get(PaymentSource), 'paymentsOf').mockImplementation(() => Promise.resolve([]));
    passThrough(app.get(BankReads), (found) =>
      found.map((one) => (one.status === REVIEW ? { ...one, ...shown } : one)),
    );
    const refused = await payroll.confirm(path);
    expect([refused.status, refused.data.code]).toEqual([409, 'WAS_EXECUTED']);
    expect(await statuses(id)).not.toContain('VOID');
  });
});

describe('a payment that two people declare not paid', () => {
  it('is void, and paid again by a successor, also while the bank goes on to show that status', async () => {
    const { id, path } = await inReview();
    const early = await payroll.successorOf(id);
    expect([early.status, early.data.payments?.[0]?.code]).toEqual([409, 'PAYMENT_STATUS_UNCLEAR']);
    expect((await decide(path, 'NOT_PAID')).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED']);
    expect((await statuses(id)).sort()).toEqual(['SETTLED', 'SETTLED', 'VOID']);
    expect(await report(id)).toMatchObject({
      explained: true,
      table: { void: { payments: 1 } },
      decisions: [
        {
          action: 'NOT_PAID',
          bankStatus: REVIEW,
          payments: 1,
          evidence,
          proposedByName: 'operator',
          confirmedByName: 'second',
        },
      ],
    });
    const made = await payroll.successorOf(id);
    expect([made.status, made.data.rowCount ?? made.data.payments]).toEqual([201, expect.anything()]);
    expect((await payroll.approve(made.data)).status).toBeLessThan(300);
    await payroll.askedAbout(made.data.id, 'UNKNOWN_STATUS');
    await readAgain();
    expect(await kinds()).toEqual(['UNKNOWN_STATUS']);
  });

  it('stops its successor, and is told, when the bank shows that it moved', async () => {
    const { id, path } = await inReview();
    expect((await decide(path, 'NOT_PAID')).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED']);
    const made = await payroll.successorOf(id);
    expect(made.status).toBe(201);
    shows('EXCHANGED');
    await eventuallyRead(async () => (await kinds()).includes('CONTRADICTION'));
    expect((await kinds()).sort()).toEqual(['CONTRADICTION', 'REPLACED_PAYMENT_MOVED']);
    expect((await report(id)).explained).toBe(false);
    const again = await payroll.successorOf(id);
    expect(again.data.payments[0].code).toBe('PAYMENT_CONTRADICTED');
  });

  it('is watched on, however late that was', async () => {
    const { id, path } = await inReview();
    payroll.clock.offsetMs += 40 * 86_400_000;
    expect((await decide(path, 'NOT_PAID')).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED']);
    await readAgain();
    await payroll.restsForADay();
    const unwatched = await select(
      payroll.database.superuserUrl,
      `SELECT FROM lease WHERE kind = 'FOLLOW' AND wake_at = 'infinity'`,
    );
    expect(unwatched).toEqual([]);
  });

  it('agrees in silence with the bank that ends it unpaid later', async () => {
    const { id, path } = await inReview();
    expect((await decide(path, 'NOT_PAID')).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED']);
    shows('PRO_SETTLEMENT_FAILED');
    await eventuallyRead(async () => (await report(id)).byBankStatus[REVIEW] === undefined);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await payroll.reconcile();
    expect(await kinds()).toEqual([]);
    expect((await report(id)).explained).toBe(true);
  });
});

describe('payments whose statuses mean different things', () => {
  it('are decided one by one, and what is left is asked about anew', async () => {
    const { id } = await inReview(['undocumentedStatus', 'exchangeError']);
    const asked = async (words: RegExp) => {
      await eventually(async () => words.test((await payroll.attention())[0]?.happened ?? ''), 15_000);
      return payroll.askedAbout(id, 'UNKNOWN_STATUS');
    };
    const both = await asked(/EXCHANGE_ERROR.*PRO_MANUAL_REVIEW|PRO_MANUAL_REVIEW.*EXCHANGE_ERROR/);
    const [review, error, paid] = await payments(id);
    const strange = await propose(both, { action: 'PAID', paymentIds: [paid!.id] });
    expect([strange.status, strange.data.code]).toEqual([422, 'PAYMENT_NOT_WAITING']);
    expect((await decide(both, 'PAID', { paymentIds: [error!.id] })).status).toBe(200);
    const rest = await asked(/^(?!.*EXCHANGE_ERROR).*PRO_MANUAL_REVIEW \(rows 1\)/);
    expect(rest).not.toBe(both);
    expect((await decide(rest, 'NOT_PAID')).status).toBe(200);
    await payroll.until(id, ['PARTLY_SETTLED']);
    expect(await payments(id)).toEqual([
      expect.objectContaining({ id: review!.id, status: 'VOID' }),
      expect.objectContaining({ id: error!.id, status: 'SETTLED' }),
      expect.objectContaining({ id: paid!.id, status: 'SETTLED' }),
    ]);
    expect((await report(id)).explained).toBe(true);
    expect(await kinds()).toEqual([]);
  });
});

describe('an instruction that stays in a status that nobody documents, and its payments as before the submit', () => {
  it.each([
    ['NOT_PAID', 'FAILED', 'VOID'],
    ['PAID', 'SETTLED', 'SETTLED'],
  ])('ends by what two people say that it means: %s', async (action, ends, status) => {
    const variants = {
      submitWaitsFor: 'approval',
      linkReads: 'allowed',
      groupsFill: 'at-once',
    } as const;
    payroll = await Payroll.start({ sandbox: { variants }, settings: { RECONCILE_MS: '2000' } });
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { getInstruction } = gateway;
    jest.spyOn(gateway, 'getInstruction').mockImplementation(async (...asked) => {
      const shown = await getInstruction.apply(gateway, asked);
      return shown.status === 'C_INST_WAITING_FOR_APPROVAL' ? { ...shown, status: 'C_INST_LAPSED' } : shown;
    });
    const id = await payroll.paid(payFile(payRows(3)));
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const { data } = await payroll.as('finance').get(path);
    expect(data).toMatchObject({ payments: 3, actions: ['PAID', 'NOT_PAID'] });
    expect(data.happened).toContain('C_INST_LAPSED (the instruction itself)');
    expect((await decide(path, action)).status).toBe(200);
    await payroll.until(id, [ends]);
    expect(await statuses(id)).toEqual([status, status, status]);
    await readAgain();
    expect(await kinds()).toEqual([]);
    expect(await report(id)).toMatchObject({
      explained: true,
      decisions: [{ action, bankStatus: 'C_INST_LAPSED', payments: 3 }],
    });
    // Its payments come to show what was decided.
    jest.spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf').mockRestore();
    shows('C_INST_LAPSED', 'all');
    await readAgain();
    await payroll.reconcile();
    expect(await kinds()).toEqual([]);
    expect(await report(id)).toMatchObject({ explained: true });
  });
});
