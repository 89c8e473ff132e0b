import { BankError, NotFound } from '../../src/bank/errors';
import { BankGateway } from '../../src/bank/gateway';
import type { BankInstruction, BankPayment } from '../../src/bank/records';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentSource } from '../../src/settlement/payment-source';
import { execute, select } from '../support/database';
import { gatewayPage } from '../support/gateway-page';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const DAY_MS = 86_400_000;
/** Every read of payments. */
const PAYMENTS = ['listInstructionPaymentTransactions', 'listPaymentTransactions', 'getPaymentTransaction'];

let payroll: Payroll;
afterEach(async () => {
  jest.restoreAllMocks();
  await payroll.close();
});

const findNone = async (operations: readonly string[]) => {
  for (const operation of operations) await payroll.fault({ operation, kind: '404', every: 1 });
};
const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);
const breaches = () => select(payroll.database.superuserUrl, 'SELECT invariant FROM invariant_breach');
const confirmed = async (path: string, action: string, evidence?: string) => {
  const body = { action, reason: 'the bank was asked', evidence };
  return payroll.decide(path, body);
};
/** Reads what is followed again until something holds. */
const reading = (holds: () => Promise<boolean>) =>
  eventually(async () => {
    await execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET wake_at = clock_timestamp() WHERE kind = 'FOLLOW' AND holder IS NULL`,
    );
    return holds();
  }, 10_000);
const readOn = async () => {
  const reads = async () => {
    const { getInstruction = 0, listInstructionPaymentTransactions: listed = 0 } = await payroll.calls();
    return getInstruction + listed;
  };
  const before = await reads();
  await reading(async () => (await reads()) > before + 4);
};

describe('a submitted instruction that the bank does not have any more', () => {
  /** A run whose submit was lost, which two people said was executed, and whose instruction the bank then deleted. */
  async function deleted(): Promise<string> {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '400' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    const { id, path } = await payroll.parked(payRows(3));
    expect((await confirmed(path, 'EXECUTED', 'letter of the bank, 4709')).status).toBe(200);
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    await payroll.deleteAtBank(String(bankInstructionId));
    return id;
  }

  it('is asked about past the patience, and ends on the word of the bank in writing', async () => {
    const id = await deleted();
    await readOn();
    expect(await kinds()).not.toContain('ENDED_BY_BANK');
    payroll.clock.offsetMs += 7 * DAY_MS;
    await reading(async () => (await kinds()).includes('ENDED_BY_BANK'));
    const path = await payroll.askedAbout(id, 'ENDED_BY_BANK');
    const { data } = await payroll.as('finance').get(path);
    expect(data).toMatchObject({ payments: 3, actions: ['NOT_EXECUTED'] });
    expect(data.happened).toMatch(/^The bank shows neither the submitted instruction any more nor/);
    expect(data.certain).toContain('proves nothing');
    const unproven = await confirmed(path, 'NOT_EXECUTED');
    expect([unproven.status, unproven.data.code]).toEqual([409, 'NOT_PROVEN_DEAD']);
    await payroll.as('operator').delete(`${path}/actions`);
    expect((await confirmed(path, 'NOT_EXECUTED', 'letter 4711 of the bank')).status).toBe(200);
    await reading(async () => (await payroll.run(id)).status === 'FAILED');
    await reading(async () => (await kinds()).length === 0);
    const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(report.data).toMatchObject({ explained: true });
    const successor = () => payroll.successorOf(id);
    expect((await successor()).data.code).toBe('BANK_UNREADABLE');
    const unseen = await payroll.askedAbout(id, 'REPLACED_UNSEEN');
    expect((await confirmed(unseen, 'NOT_PAID', 'letter 4712 of the bank')).status).toBe(200);
    const made = await successor();
    expect([made.status, made.data.payments]).toEqual([201, 3]);
    expect(await kinds()).toEqual([]);
  });

  it('is not asked about so while it is only hidden, and no more once anything of it is shown again', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '400' },
      sandbox: { variants: { linkReads: 'allowed', submitWaitsFor: 'approval' } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    payroll.clock.offsetMs += 7 * DAY_MS;
    await findNone(PAYMENTS);
    await reading(async () => (await kinds()).includes('UNKNOWN_STATUS'));
    await readOn();
    expect(await kinds()).not.toContain('ENDED_BY_BANK');
    await payroll.fault({ operation: 'getInstruction', kind: '404', every: 1 });
    await reading(async () => (await kinds()).includes('ENDED_BY_BANK'));
    const path = await payroll.askedAbout(id, 'ENDED_BY_BANK');
    await payroll.clearFaults();
    const shown = await confirmed(path, 'NOT_EXECUTED', 'letter 4711 of the bank');
    expect(shown.status).toBe(409);
    await reading(async () => !(await kinds()).includes('ENDED_BY_BANK'));
    expect((await payroll.run(id)).status).toBe('FOLLOWING');
  });

  it.each<[string, string, () => Promise<BankPayment[]>, string[]]>([
    ['resting at SUBMITTED', 'SUBMITTED', () => Promise.resolve([]), []],
    [
      'not taken up',
      'INITIATED',
      () => Promise.reject(new NotFound(404, { raw: '' })),
      ['BANK_ACTION_REQUIRED', 'ENDED_BY_BANK'],
    ],
  ])(
    'is ended by what two people say of its payments, asked about before and after it went: %s',
    async (_where, status, goneAs, beside) => {
      payroll = await Payroll.start({
        settings: { SUBMIT_DOUBT_MS: '400' },
        sandbox: { variants: { linkReads: 'allowed', submitWaitsFor: 'approval' } },
      });
      const source = payroll.services[0]!.app.get(PaymentSource);
      const { paymentsOf } = source;
      const reads = jest
        .spyOn(source, 'paymentsOf')
        .mockImplementation(async (...asked) =>
          (await paymentsOf.apply(source, asked)).map((one) => ({ ...one, status })),
        );
      const id = await payroll.paid(payFile(payRows(2)));
      await payroll.until(id, ['FOLLOWING'], 20_000);
      payroll.clock.offsetMs += 7 * DAY_MS;
      await reading(async () => (await kinds()).includes('UNKNOWN_STATUS'));
      const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
      const body = { action: 'PAID', reason: 'the bank was asked', evidence: 'letter 4711 of the bank' };
      expect((await payroll.as('operator').post(`${path}/actions`, body)).status).toBe(201);
      reads.mockImplementation(goneAs);
      await findNone([...PAYMENTS, 'getInstruction']);
      await readOn();
      expect((await kinds()).sort()).toEqual([...beside, 'UNKNOWN_STATUS']);
      expect((await payroll.confirm(path)).status).toBe(200);
      await reading(async () => (await payroll.run(id)).status === 'SETTLED');
      expect(await kinds()).toEqual([]);
    },
  );
});

it('nothing is asked any more of what people said was not paid while it could not be read past its cut-off', async () => {
  payroll = await Payroll.start({
    settings: { SUBMIT_DOUBT_MS: '400' },
    sandbox: { stepMs: 600_000, variants: { linkReads: 'allowed', submitRuns: 'at-once' } },
  });
  const source = payroll.services[0]!.app.get(PaymentSource);
  jest.spyOn(source, 'paymentsOf').mockRejectedValue(new BankError(500, { raw: '' }));
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['FOLLOWING'], 20_000);
  payroll.clock.offsetMs += 7 * DAY_MS;
  await reading(async () => (await kinds()).length === 2);
  expect((await kinds()).sort()).toEqual(['BANK_ACTION_REQUIRED', 'UNKNOWN_STATUS']);
  const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
  expect((await confirmed(path, 'NOT_PAID', 'letter 4711 of the bank')).status).toBe(200);
  await reading(async () => (await payroll.run(id)).status === 'FAILED');
  expect(await kinds()).toEqual([]);
});

describe('a submitted instruction that is gone, of which a payment was refused before the submit and one never shown', () => {
  /** It ends by the word of the bank, of a row that was asked about apart and of the rest. @returns its run */
  const ended = async (row: number, action: string, end: string): Promise<string> => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '400' },
      sandbox: { variants: { linkReads: 'allowed', submitWaitsFor: 'approval' } },
    });
    const source = payroll.services[0]!.app.get(PaymentSource);
    jest.spyOn(source, 'paymentsOf').mockRejectedValue(new NotFound(404, { raw: '' }));
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await execute(
      payroll.database.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE bank_payment SET bank_rank = 0,
         bank_status = CASE row_no WHEN 1 THEN 'INI_INT_CTRL_FAILED' WHEN 3 THEN 'INITIATED' END`,
    );
    payroll.clock.offsetMs += 7 * DAY_MS;
    await findNone([...PAYMENTS, 'getInstruction']);
    await reading(async () => (await kinds()).includes('ENDED_BY_BANK'));
    await payroll.reconcile();
    expect(await breaches()).toEqual([]);
    const meaning = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    expect((await payroll.as('finance').get(meaning)).data).toMatchObject({
      payments: 3,
      happened: expect.stringContaining(': NONE:NEVER_SHOWN (rows 1, 2, 3).'),
    });
    const path = payroll.path(`/pay-runs/${id}/payments`);
    const items = (await payroll.as('finance').get(path)).data.items as { id: string }[];
    const word = { reason: 'the bank was asked', evidence: 'letter 4711 of the bank' };
    const paymentIds = [items[row - 1]!.id];
    const decided = await payroll.decide(meaning, { ...word, action, paymentIds });
    expect([decided.status, decided.data.code]).toEqual([200, undefined]);
    // Told anew of the rest.
    await reading(async () => {
      const asked = await payroll.as('finance').get(await payroll.askedAbout(id, 'ENDED_BY_BANK'));
      return asked.data.payments === 2;
    });
    // Of what was paid in part nobody says as a whole that it was not executed.
    const [kind, rest] =
      action === 'PAID'
        ? (['UNKNOWN_STATUS', 'NOT_PAID'] as const)
        : (['ENDED_BY_BANK', 'NOT_EXECUTED'] as const);
    const asked = await payroll.askedAbout(id, kind);
    const said = await payroll.decide(asked, { ...word, action: rest });
    expect([said.status, said.data.code]).toEqual([200, undefined]);
    await reading(async () => (await payroll.run(id)).status === end);
    await reading(async () => (await kinds()).length === 0);
    return id;
  };
  const reportOf = async (id: string) =>
    (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;

  it.each([
    [1, 'refused', 'NOT_PAID', 'FAILED', { void: { payments: 3 } }],
    [2, 'never shown', 'NOT_PAID', 'FAILED', { void: { payments: 3 } }],
    [1, 'refused', 'PAID', 'PARTLY_SETTLED', { void: { payments: 2 }, settled: { payments: 1 } }],
  ])(
    'ends by the word of the bank, of one that was asked about apart and of the rest: row %i, %s, is %s',
    async (row, _which, action, end, table) => {
      const id = await ended(row, action, end);
      expect(await reportOf(id)).toMatchObject({ explained: true, differences: [], table });
      await payroll.reconcile();
      expect(await breaches()).toEqual([]);
    },
  );

  it('is paid as people said, whatever its add was answered with, where the bank shows a status that no document names', async () => {
    const id = await ended(1, 'PAID', 'PARTLY_SETTLED');
    const [stored] = await select<{ id: string }>(
      payroll.database.superuserUrl,
      'SELECT bank_payment_id AS id FROM bank_payment WHERE row_no = 1',
    );
    const odd = { bankPaymentId: stored!.id, ids: [stored!.id], status: 'PRO_ODD', wasSettled: false };
    const source = payroll.services[0]!.app.get(PaymentSource);
    jest.spyOn(source, 'paymentsOf').mockResolvedValue([odd] as unknown as BankPayment[]);
    await reading(async () => (await kinds()).includes('UNKNOWN_STATUS'));
    await payroll.reconcile();
    expect(await breaches()).toEqual([]);
    expect(await reportOf(id)).toMatchObject({ difference: '0.00', differences: [] });
  });
});

describe('a lost submit that two people declare not executed', () => {
  it.each([404, 405])(
    'is so by the written word where a gateway answers the delete with a page in UTF-16: %i',
    async (status) => {
      payroll = await Payroll.start({
        settings: { SUBMIT_DOUBT_MS: '400' },
        sandbox: { variants: { linkReads: 'allowed' } },
      });
      const { id, path } = await payroll.parked(payRows(2));
      gatewayPage('DELETE', /./, status);
      expect(await confirmed(path, 'NOT_EXECUTED', 'letter 4711 of the bank')).toMatchObject({ status: 200 });
      const deletes = `SELECT outcome FROM bank_call WHERE operation = 'delete' ORDER BY intended_at DESC LIMIT 1`;
      expect(await select(payroll.database.superuserUrl, deletes)).toEqual([{ outcome: 'IN_DOUBT' }]);
      await payroll.until(id, ['FAILED'], 20_000);
    },
  );

  it('is proven by the delete, also where a read right after it still shows the instruction', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '400', BANK_LAG_BOUND_MS: '1000' },
      sandbox: { variants: { linkReads: 'allowed', listingLagMs: 0 } },
    });
    const { path } = await payroll.parked(payRows(2));
    await payroll.letRest('INSTRUCTION');
    const { app } = payroll.services[0]!;
    const [reads, gateway] = [app.get(BankReads), app.get(BankGateway)];
    const { instruction } = reads;
    const { deleteInstruction } = gateway;
    let deletedMs = Infinity;
    let before: BankInstruction | undefined;
    jest.spyOn(gateway, 'deleteInstruction').mockImplementation((...asked) => {
      deletedMs = Date.now();
      return deleteInstruction.apply(gateway, asked);
    });
    jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
      if (Date.now() < deletedMs) before = await instruction.apply(reads, asked);
      return Date.now() < deletedMs + 500 ? before : instruction.apply(reads, asked);
    });
    expect((await confirmed(path, 'NOT_EXECUTED')).status).toBe(200);
    expect((await payroll.ledger()).payees).toEqual([]);
  });
});
