import type { Variants } from '../../src/bank-sandbox/variants';
import type { BankRead } from '../../src/employer/employer.entity';
import { execute } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll, PayrollOptions } from '../support/payroll';

let payroll: Payroll;
afterEach(() => payroll.close());

const start = async (options: PayrollOptions = {}, variants: Partial<Variants> = {}) => {
  payroll = await Payroll.start({
    ...options,
    sandbox: {
      variants: {
        linkReads: 'allowed',
        omitFromLists: [],
        optionalFields: 'sent',
        chargeMinor: 15,
        ...variants,
      },
    },
  });
};

/** Each way by which payments are read, and the operation of the bank that shows them so. */
const WAYS: [read: BankRead, operation: string][] = [
  ['PAYMENT_LIST', 'listPaymentTransactions'],
  ['INSTRUCTION_PAYMENTS', 'listInstructionPaymentTransactions'],
  ['PAYMENT', 'getPaymentTransaction'],
];

const shows = (field: 'charges' | 'chargeBearer', operation = '*') =>
  payroll.fault({ operation, kind: 'echo-corrupted', field });
const report = async (id: string) =>
  (await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`))).data;
const asked = async () => (await payroll.attention()).map(({ kind, happened }) => [kind, happened]);
const acknowledge = async (path: string) => {
  const answer = { action: 'ACKNOWLEDGE', reason: 'the bank has answered for it' };
  expect((await payroll.decide(path, answer)).status).toBe(200);
};
const settled = async (rows = 2) => {
  const id = await payroll.paid(payFile(payRows(rows)));
  await payroll.until(id, ['SETTLED'], 30_000);
  return id;
};
/** Has everything read once more, to its end. */
const readAgain = async () => {
  await execute(
    payroll.database.superuserUrl,
    `UPDATE lease SET wake_at = clock_timestamp(), woken_at = clock_timestamp() WHERE kind = 'FOLLOW' AND holder IS NULL`,
  );
  await payroll.restsForADay();
};

const UNREAD =
  'The bank shows charges that cannot be read: they are of another currency than EUR, or no whole amount of cents';
const otherBearer = (code: string) =>
  `The bank shows payments of this run with a charge bearer ${code}, and not SLEV, which they were sent with.`;

describe('a bank that charges in another currency', () => {
  it.each(WAYS)(
    'has a person asked, and the run not explained meanwhile, where it is read by %s',
    async (read, operation) => {
      await start();
      await payroll.letsRead(read, 'INSTRUCTION');
      await shows('charges', operation);
      const id = await settled();
      const path = await payroll.askedAbout(id, 'CONTRACT_DRIFT');
      expect(await asked()).toEqual([['CONTRACT_DRIFT', `${UNREAD} (rows 1, 2).`]]);
      const { table, ...reported } = await report(id);
      expect(reported).toMatchObject({ explained: false, openDoubts: ['CONTRACT_DRIFT'] });
      expect([table.settled.payments, table.charges.payments]).toEqual([2, 0]);
      const { certain, askBank, actions, payments } = (await payroll.as('finance').get(path)).data;
      expect(certain).toMatch(/^All else that is shown .* not known/);
      expect(askBank).toMatch(
        /^How much, .* charge for the payments "\d+", "\d+" of customer instruction \d+\?/,
      );
      expect([actions, payments]).toEqual([['ACKNOWLEDGE'], 2]);
    },
  );

  it('has a person asked where webhooks alone have it read', async () => {
    await start({ hooked: true, settings: { FOLLOW_DELAYS_MS: '600000' } }, { listingLagMs: 0 });
    await shows('charges');
    const id = await settled();
    await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['CONTRACT_DRIFT'] });
  });

  it('is asked once, and not again once two people have decided', async () => {
    await start();
    await shows('charges');
    const id = await settled();
    const path = await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    await readAgain();
    expect(await payroll.askedAbout(id, 'CONTRACT_DRIFT')).toBe(path);
    await acknowledge(path);
    await readAgain();
    expect(await asked()).toEqual([]);
    expect((await report(id)).explained).toBe(true);
  });

  it('is explained with what it charged once the charges of all payments are shown in euro', async () => {
    await start();
    await shows('charges');
    const id = await settled();
    await payroll.askedAbout(id, 'CONTRACT_DRIFT');
    await payroll.clearFaults();
    // One of two is still unread.
    await payroll.fault({ operation: '*', kind: 'list-wrong', what: 'changed', field: 'charges' });
    await readAgain();
    expect(await asked()).toHaveLength(1);
    expect((await report(id)).table.charges).toEqual({ payments: 1, amount: '0.15' });
    await payroll.clearFaults();
    await readAgain();
    expect(await asked()).toEqual([]);
    const { explained, table } = await report(id);
    expect([explained, table.charges]).toEqual([true, { payments: 2, amount: '0.30' }]);
  });
});

describe('a bank that shows another charge bearer than it was sent', () => {
  it.each(WAYS)(
    'has a person asked, and the run not explained before the answer, where it is read by %s',
    async (read, operation) => {
      await start();
      await payroll.letsRead(read, 'INSTRUCTION');
      await shows('chargeBearer', operation);
      const id = await settled();
      const path = await payroll.askedAbout(id, 'CHARGE_BEARER_DIFFERS');
      expect(await asked()).toEqual([['CHARGE_BEARER_DIFFERS', otherBearer('DEBT')]]);
      expect(await report(id)).toMatchObject({ explained: false, openDoubts: ['CHARGE_BEARER_DIFFERS'] });
      await acknowledge(path);
      await readAgain();
      expect(await asked()).toEqual([]);
      expect(await report(id)).toMatchObject({ explained: true, openDoubts: [] });
    },
  );

  it.each(['add', 'listPaymentTransactions'])(
    'is asked once of a run, before its submit, by what %s answers, and holds nothing back',
    async (operation) => {
      await start({ rowsPerInstruction: 1 });
      await payroll.letsRead('PAYMENT_LIST', 'INSTRUCTION');
      await payroll.stopPastTheGate();
      await shows('chargeBearer', operation);
      const id = await payroll.paid(payFile(payRows(3)));
      await payroll.until(id, ['SUBMITTING'], 20_000);
      const path = await payroll.askedAbout(id, 'CHARGE_BEARER_DIFFERS');
      expect((await payroll.calls()).submit ?? 0).toBe(0);
      const { certain, actions } = (await payroll.as('finance').get(path)).data;
      expect(certain).toMatch(/nothing is held back; .* Found first in row \d\.$/);
      expect(actions).toEqual(['ACKNOWLEDGE']);
      await payroll.letRunsGoOn();
      await payroll.until(id, ['SETTLED'], 30_000);
      expect(await asked()).toEqual([['CHARGE_BEARER_DIFFERS', otherBearer('DEBT')]]);
    },
  );

  it('has a person asked where webhooks alone have it read', async () => {
    await start({ hooked: true, settings: { FOLLOW_DELAYS_MS: '600000' } }, { listingLagMs: 0 });
    await shows('chargeBearer', 'listInstructionPaymentTransactions');
    const id = await settled();
    await payroll.askedAbout(id, 'CHARGE_BEARER_DIFFERS');
    expect((await report(id)).explained).toBe(false);
  });
});

it('a run is explained, and nobody asked, where the bank shows neither charges nor a bearer', async () => {
  await start({}, { chargeMinor: 0, optionalFields: 'left-out' });
  const id = await settled();
  expect(await asked()).toEqual([]);
  expect((await report(id)).explained).toBe(true);
});
