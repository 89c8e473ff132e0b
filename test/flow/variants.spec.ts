import { BankUnreachable } from '../../src/bank/errors';
import type { BankInstruction } from '../../src/bank/records';
import { BankReads } from '../../src/employer/bank-reads';
import type { BankRead } from '../../src/employer/employer.entity';
import { PaymentSource } from '../../src/settlement/payment-source';
import { MAGIC_CREDITORS, type MagicCreditor } from '../../src/bank-sandbox/magic';
import { Variants } from '../../src/bank-sandbox/variants';
import { execute } from '../support/database';
import { lateRepeat } from '../support/late-repeat';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, PayrollOptions } from '../support/payroll';

/** Links nothing, and counts in its list what a token may not see. */
const OTHERS = { linkReads: 'refused', countMeans: 'places', largePages: 'capped' } as const;

/** Banks that chose otherwise where the interface document leaves the choice. */
const BANKS: { bank: string; variants: Partial<Variants>; settings?: PayrollOptions['settings'] }[] = (
  [
    ['counts in euros, as numbers', { amountUnit: 'major' }, { BANK_AMOUNT_UNIT: 'major' }],
    [
      'counts in euros, as strings',
      { amountUnit: 'major', amountType: 'string' },
      { BANK_AMOUNT_UNIT: 'major' },
    ],
    ['counts in cents, as strings', { amountType: 'string' }],
    ['counts pages from 0, in pages of 5', { pageBase: 0, maxPageSize: 5 }],
    ['refuses pages of more than 20', { maxPageSize: 20, largePages: 'refused' }],
    [
      'refuses pages of more than 50, counts them from 0, and links nothing',
      { maxPageSize: 50, largePages: 'refused', pageBase: 0, linkReads: 'refused' },
    ],
    ['means the page by count, in pages of 5', { countMeans: 'page', maxPageSize: 5 }],
    ['ignores page and reads limit and offset', { ignorePageParams: true, maxPageSize: 5 }],
    [
      'gives all payments of an instruction in every answer, also where they fill a page',
      { instructionList: 'whole' },
    ],
    ['refuses every parameter of a list that the document does not show', { unshownParams: 'refused' }],
    [
      'lists the payments of an instruction without their statuses, and all there are as documented',
      { instructionRecords: 'without-status', linkReads: 'allowed', omitFromLists: [] },
    ],
    ['answers a list of nothing with 404', { emptyLists: '404' }],
    [
      'answers a list of nothing with 404, counts pages from 0, in pages of 5, and links nothing',
      { emptyLists: '404', pageBase: 0, maxPageSize: 5, linkReads: 'refused' },
    ],
    [
      'answers a list of nothing with 204, also past the last page',
      { emptyLists: '204', pageBase: 0, maxPageSize: 5, countMeans: 'page' },
    ],
    ['leaves the items out of a page that holds nothing', { emptyLists: 'without-items', maxPageSize: 5 }],
    ['shows the past by 300 ms', { listingLagMs: 300 }, { BANK_LAG_BOUND_MS: '400' }],
    ['counts what others hold in every list', { countMeans: 'everything', pageBase: 0, maxPageSize: 5 }],
    [
      'answers a page of the only list there is with 404 where others hold all of it',
      { ...OTHERS, recordsOfOthers: 60, othersAfter: 1, maxPageSize: 20, emptyLists: '404' },
    ],
    [
      'shows two of the first page of the only list there is',
      { ...OTHERS, recordsOfOthers: 110, othersAfter: 2, maxPageSize: 100 },
    ],
    ['takes one add of an instruction at a time', { addsOfOne: 'in-turn' }],
    [
      'takes adds of an instruction only 300 ms after it was initiated, and fails at page 0 where pages count from 1',
      { addableAfterMs: 300, pageBase: 1, pageZero: 'fails', maxPageSize: 5 },
      { BANK_LAG_BOUND_MS: '400' },
    ],
    ['refuses every read that is only a link', { linkReads: 'refused' }],
    ['answers every read that is only a link with 404', { linkReads: 'missing' }],
    [
      'answers so, and a list of nothing, and lists from a date on only what has settled since',
      { linkReads: 'missing', emptyLists: '404', fromDates: 'of-settlement' },
    ],
    [
      'shows what was not submitted in the list of its instruction alone, and links nothing else',
      { linkReads: 'list-alone', generalList: 'submitted' },
    ],
    [
      'shows it so, and a list of nothing with 404',
      { linkReads: 'list-alone', generalList: 'submitted', emptyLists: '404' },
    ],
    ['answers every read that is only a link with 401', { linkReads: 'unauthorised' }],
    [
      'answers so, and shows the past by 300 ms',
      { linkReads: 'unauthorised', listingLagMs: 300 },
      { BANK_LAG_BOUND_MS: '400' },
    ],
    [
      'answers so, lets its tokens end, and leaves parties and message ids out of lists',
      { linkReads: 'unauthorised', omitFromLists: ['parties', 'messageId'], tokenLifetimeS: 60 },
    ],
    ['ends a token with the next one', { tokensLive: 'until-the-next', tokenLifetimeS: 599 }],
    ['lists no payment before its submit', { listsShow: 'submitted' }],
    [
      'lists no payment before its submit, a list of nothing with 404, and neither once that was made',
      { listsShow: 'submitted', emptyLists: '404', onceSubmitted: 'gone-with-its-list' },
    ],
    ['leaves parties and message ids out of lists', { omitFromLists: ['parties', 'messageId'] }],
    [
      'refuses links, and leaves parties and message ids out',
      { linkReads: 'refused', omitFromLists: ['parties', 'messageId'], maxPageSize: 5 },
    ],
    ['writes IBANs in groups and names in capitals', { respaceIbans: true, upperCaseNames: true }],
    ['writes references and message ids in capitals', { upperCaseReferences: true }],
    ['enforces control totals and nests its errors', { enforceControlTotals: true, errorShape: 'nested' }],
    ['answers a submit with 202', { submitStatus: 202, subIsValidRepeats: 3 }],
    ['shows no instruction any more once it was submitted', { onceSubmitted: 'gone' }],
    [
      'shows neither an instruction nor its list any more once it was submitted',
      { onceSubmitted: 'gone-with-its-list', maxPageSize: 5 },
    ],
    [
      'refuses to list payments from a date on, and links nothing',
      { fromDates: 'none', linkReads: 'refused' },
    ],
    [
      'lists from a date on only what has settled since, and links nothing',
      { fromDates: 'of-settlement', linkReads: 'refused' },
    ],
    [
      'lists so, and a list of nothing with 404',
      { fromDates: 'of-settlement', linkReads: 'refused', emptyLists: '404' },
    ],
    [
      'executes a second submit and accepts an add after one',
      { secondSubmit: 'executed', addAfterSubmit: 'accepted' },
    ],
  ] as [string, Partial<Variants>, PayrollOptions['settings']?][]
).map(([bank, variants, settings]) => ({
  bank,
  variants,
  settings,
}));

const OMITTED: Variants['omitFromLists'] = ['parties', 'messageId'];

const NAMELESS: Partial<Variants> = {
  linkReads: 'refused',
  omitFromLists: ['customerInstructionId', 'messageId'],
};

describe('a bank that', () => {
  let payroll: Payroll | undefined;
  afterEach(async () => {
    await payroll?.close();
    payroll = undefined;
  });

  it.each(BANKS)('$bank: everybody is paid once', async ({ variants, settings }) => {
    payroll = await Payroll.start({ sandbox: { variants, stepMs: 10 }, settings, rowsPerInstruction: 20 });
    const rows = payRows(25);
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SETTLED'], 30_000);
    const { payees } = await payroll.ledger();
    const paid = payees.map((payee) => `${payee.iban} ${payee.count} ${payee.movedMinor}`).sort();
    expect(paid).toEqual(rows.map((row) => `${row.iban} 1 ${row.amount.replace('.', '')}`).sort());
    expect(await payroll.attention()).toEqual([]);
  });
});

describe('a bank that adds up in binary floats', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it.each(['minor', 'major'] as const)(
    'pays all, and explains every cent, in %s units',
    async (amountUnit) => {
      payroll = await Payroll.start({
        sandbox: { variants: { amountUnit, sums: 'float' }, stepMs: 10 },
        settings: { BANK_AMOUNT_UNIT: amountUnit },
      });
      const rows = payRows(2);
      // 0.1 and 0.2 are 0.30000000000000004.
      rows[0]!.amount = '0.10';
      rows[1]!.amount = '0.20';
      const id = await payroll.paid(payFile(rows));
      await payroll.until(id, ['SETTLED'], 30_000);
      expect((await payroll.ledger()).payees.map(({ movedMinor }) => movedMinor).sort()).toEqual([
        '10',
        '20',
      ]);
      expect(await payroll.attention()).toEqual([]);
      const report = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect(report.data).toMatchObject({
        explained: true,
        table: { settled: { payments: 2, amount: '0.30' } },
      });
    },
  );
});

describe('a bank that shows what was not submitted in the list of its instruction alone, and an empty one with 404', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('pays everybody once also where a probe found the general list, which showed payments of others', async () => {
    payroll = await Payroll.start({
      sandbox: {
        variants: { linkReads: 'list-alone', generalList: 'submitted', emptyLists: '404' },
        stepMs: 10,
      },
    });
    await execute(
      payroll.database.superuserUrl,
      `UPDATE employer_account SET reads = '{PAYMENT_LIST,BALANCE}'`,
    );
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SETTLED'], 30_000);
    const { payees } = await payroll.ledger();
    expect(payees.map(({ count }) => count)).toEqual([1, 1, 1]);
    expect(await payroll.attention()).toEqual([]);
  });
});

describe('a bank that answers a list of nothing with 404', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it.each(['allowed', 'refused'] as const)(
    'and lost every payment that was added: built again, since none was seen (links are %s)',
    async (linkReads) => {
      payroll = await Payroll.start({ sandbox: { variants: { emptyLists: '404', linkReads }, stepMs: 10 } });
      await payroll.fault({ operation: 'add', kind: 'request-lost', nth: 1 });
      const id = await payroll.paid(payFile(payRows(1)));
      await payroll.until(id, ['SETTLED'], 30_000);
      const { payees, unsubmitted } = await payroll.ledger();
      expect(payees.map(({ count }) => count)).toEqual([1]);
      expect(unsubmitted).not.toEqual([]);
    },
  );
});

describe('a bank that writes an empty text where there is none', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is followed to the end, also where a payment fails and so has no settlement date', async () => {
    payroll = await Payroll.start({
      sandbox: { variants: { absentTexts: 'empty', optionalFields: 'sent' } },
    });
    const rows = payRows(3);
    rows[1]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['PARTLY_SETTLED'], 30_000);
    const { payees } = await payroll.ledger();
    expect(payees.filter(({ count }) => count > 0).map(({ count }) => count)).toEqual([1, 1]);
  });
});

describe('a bank that lists from a date on only what has settled since, and links nothing', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it.each([
    ['one of two payments fails', 'fails', 2, {}, 'PARTLY_SETTLED'],
    ['one of two payments failed at its add', 'initiationControlFails', 2, {}, 'PARTLY_SETTLED'],
    [
      'the only one fails, and a list of nothing is answered with 404',
      'fails',
      1,
      { emptyLists: '404' },
      'FAILED',
    ],
    [
      'the only one fails, and 404 is the answer to a list of nothing and to what is only a link',
      'fails',
      1,
      { emptyLists: '404', linkReads: 'missing' },
      'FAILED',
    ],
  ] as [string, MagicCreditor['effect'], number, Partial<Variants>, string][])(
    'is followed to the end, also where %s, and so is never listed from a date on',
    async (_what, failing, count, variants, end) => {
      payroll = await Payroll.start({
        sandbox: { variants: { fromDates: 'of-settlement', linkReads: 'refused', ...variants } },
        settings: { SUBMIT_DOUBT_MS: '2000' },
      });
      const rows = payRows(count);
      rows[0]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === failing)!.iban;
      const id = await payroll.paid(payFile(rows));
      await payroll.until(id, [end], 30_000);
    },
  );
});

describe('a bank that numbers the two ids of a payment by sequences that overlap', () => {
  let payroll: Payroll | undefined;
  afterEach(async () => {
    await payroll?.close();
    payroll = undefined;
  });

  it.each([
    ['lists each instruction by itself', { linkReads: 'allowed' }],
    ['shows the general list alone', { linkReads: 'refused' }],
    ['shows of a payment little more than its ids', { linkReads: 'refused', omitFromLists: OMITTED }],
  ] as [string, Partial<Variants>][])(
    'and %s: no payment is taken for another, nor that of somebody else for ours',
    async (_what, variants) => {
      payroll = await Payroll.start({ sandbox: { variants: { paymentIds: 'two-sequences', ...variants } } });
      const foreign = await payroll.initiateAtBank();
      for (let n = 0; n < 60; n += 1) await payroll.addAtBank(foreign);
      const rows = payRows(100);
      const id = await payroll.paid(payFile(rows));
      await payroll.until(id, ['SETTLED'], 30_000);
      const { payees } = await payroll.ledger();
      const ours = payees.filter(({ count }) => count > 0).map(({ iban, count }) => `${iban} ${count}`);
      expect(ours.sort()).toEqual(rows.map(({ iban }) => `${iban} 1`).sort());
      expect(await payroll.attention()).toEqual([]);
    },
  );
});

describe('a bank that shows neither totals nor to which instruction a payment belongs', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is asked how many payments it executed, since what joined them after the submit would show nowhere', async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 4,
      sandbox: {
        variants: {
          linkReads: 'refused',
          omitFromLists: ['customerInstructionId', 'messageId'],
          submitRuns: 'later',
        },
      },
    });
    const id = await payroll.paid(payFile(payRows(8)));
    await payroll.until(id, ['SETTLED'], 30_000);
    const open = await payroll.attention();
    expect(open.map(({ kind }) => kind)).toEqual(['TOTALS_UNSEEN', 'TOTALS_UNSEEN']);
    expect(open[0]!.happened).toBe(
      'The instruction ended, of 4 payments, without the bank ever showing its totals.',
    );
    const report = () => payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect((await report()).data).toMatchObject({
      explained: false,
      openDoubts: ['TOTALS_UNSEEN'],
      difference: '0.00',
    });
    for (const one of open) {
      const word = { action: 'ACKNOWLEDGE', reason: 'the bank executed 4 and told so' };
      expect((await payroll.decide(payroll.path(`/attention/${one.id}`), word)).status).toBe(200);
    }
    expect((await report()).data).toMatchObject({ explained: true, openDoubts: [] });
  });

  it.each([
    ['shows each payment by itself alone', { submitRuns: 'later' }, ['PAYMENT']],
    ['shows so, and the totals in the answer to the submit alone', {}, ['PAYMENT']],
    ['shows them in that answer, and lists whose a payment is nowhere', NAMELESS, ['PAYMENT_LIST']],
    [
      'shows them so, and lists the message id alone, which what somebody else adds has not',
      { linkReads: 'refused', omitFromLists: ['customerInstructionId'] },
      ['PAYMENT_LIST'],
    ],
    [
      'shows an instruction and its list no more after that answer',
      { onceSubmitted: 'gone-with-its-list', ...NAMELESS, linkReads: 'allowed' },
      ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'],
    ],
  ] as [string, Partial<Variants>, BankRead[]][])(
    'is asked so too where it %s',
    async (_what, variants, reads) => {
      payroll = await Payroll.start({
        settings: { SUBMIT_DOUBT_MS: '500' },
        sandbox: { variants: { addAfterSubmit: 'accepted', ...variants } },
      });
      await payroll.letsRead(...reads);
      const id = await payroll.paid(payFile(payRows(2)));
      await payroll.until(id, ['SETTLED'], 30_000);
      const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
      await payroll.addAtBank(bankInstructionId);
      const path = await payroll.askedAbout(id, 'TOTALS_UNSEEN');
      const report = () => payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
      expect((await report()).data).toMatchObject({ explained: false, openDoubts: ['TOTALS_UNSEEN'] });
      const word = { action: 'ACKNOWLEDGE', reason: 'the bank executed 2 and told so' };
      expect((await payroll.decide(path, word)).status).toBe(200);
      await payroll.aDayLater();
      expect((await payroll.attention()).map(({ kind }) => kind)).not.toContain('TOTALS_UNSEEN');
    },
  );

  it('is asked so too where it shows the totals in that answer, and an instruction without any later', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '5000' },
      sandbox: { variants: { ...NAMELESS, linkReads: 'allowed', addAfterSubmit: 'accepted' } },
    });
    await payroll.letsRead('INSTRUCTION', 'PAYMENT_LIST');
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['FOLLOWING', 'SETTLED'], 30_000);
    showing(payroll, ({ bankInstructionId, status }) => ({ bankInstructionId, status }));
    await payroll.until(id, ['SETTLED'], 30_000);
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    await payroll.addAtBank(bankInstructionId);
    await payroll.askedAbout(id, 'TOTALS_UNSEEN');
  });

  it('is asked no more once an instruction that ended shows its totals', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '4000' },
      sandbox: { variants: { ...NAMELESS, linkReads: 'allowed', submitRuns: 'later' } },
    });
    await payroll.letsRead('INSTRUCTION', 'PAYMENT_LIST');
    const spy = showing(payroll, (shown) => ({ ...shown, groups: undefined }));
    const id = await payroll.paid(payFile(payRows(2)));
    const path = await payroll.askedAbout(id, 'TOTALS_UNSEEN');
    spy.mockRestore();
    await eventually(async () => (await payroll.attention()).length === 0, 20_000);
    const { data } = await payroll.as('operator').get(path);
    expect(data.resolution).toBe('the bank shows count and sum');
  });

  it('is asked so too where nothing can be read of what people have ended', async () => {
    payroll = await Payroll.start({
      sandbox: {
        stepMs: 600_000,
        variants: {
          linkReads: 'refused',
          omitFromLists: ['customerInstructionId', 'messageId'],
          submitRuns: 'later',
        },
      },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    payroll.clock.offsetMs += 7 * 86_400_000;
    const path = await payroll.askedAbout(id, 'UNKNOWN_STATUS');
    const word = { action: 'NOT_PAID', reason: 'the bank wrote so', evidence: 'letter 4711' };
    expect((await payroll.as('operator').post(`${path}/actions`, word)).status).toBe(201);
    jest
      .spyOn(payroll.services[0]!.app.get(PaymentSource), 'paymentsOf')
      .mockRejectedValue(new BankUnreachable('total-timeout', true));
    expect((await payroll.confirm(path)).status).toBe(200);
    await payroll.askedAbout(id, 'TOTALS_UNSEEN');
    await payroll.until(id, ['FAILED'], 20_000);
  });
});

/** Has reads of instructions show what is made of them. */
function showing(payroll: Payroll, made: (shown: BankInstruction) => BankInstruction): jest.SpyInstance {
  const reads = payroll.services[0]!.app.get(BankReads);
  const { instruction } = reads;
  return jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
    const shown = await instruction.apply(reads, asked);
    return shown && made(shown);
  });
}

describe('a bank that executes one add twice', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it.each([
    { shown: 'the message id alone', variants: { omitFromLists: ['customerInstructionId'] } },
    { shown: 'the instruction alone', variants: { omitFromLists: ['messageId'] } },
  ] as { shown: string; variants: Partial<Variants> }[])(
    'and lists $shown pays nobody twice: the gate sees the payment too many',
    async ({ variants }) => {
      payroll = await Payroll.start({ sandbox: { variants: { linkReads: 'refused', ...variants } } });
      await payroll.fault({ operation: 'add', kind: 'doubled', nth: 2 });
      const id = await payroll.paid(payFile(payRows(4)));
      await payroll.until(id, ['SETTLED'], 20_000);
      const { payees } = await payroll.ledger();
      expect(payees.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
    },
  );
});

describe('a bank that lists its own fee in an instruction before the submit', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('pays everybody once, and is asked about the fee', async () => {
    payroll = await Payroll.start({
      sandbox: { variants: { linkReads: 'allowed', optionalFields: 'sent' }, stepMs: 10 },
    });
    for (const operation of ['listInstructionPaymentTransactions', 'listPaymentTransactions'])
      await payroll.fault({ operation, kind: 'list-wrong', what: 'fee', every: 1 });
    const id = await payroll.paid(payFile(payRows(3)));
    await payroll.until(id, ['SETTLED'], 8_000);
    expect((await payroll.ledger()).payees.map(({ count }) => count)).toEqual([1, 1, 1]);
    expect((await payroll.run(id)).instructions).toHaveLength(1);
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual(['ENTRY_OF_THE_BANK']);
  });
});

describe('a bank that takes an add after the submit, and pays it', () => {
  let payroll: Payroll;
  afterEach(() => payroll.close());

  it('is found out soon after the instruction ended, and everything stops', async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 4,
      // Until the second look, longer than the test takes to see the end.
      settings: { SUBMIT_DOUBT_MS: '5000' },
      sandbox: { variants: { addAfterSubmit: 'accepted', linkReads: 'allowed' } },
    });
    const repeatAdd = lateRepeat();
    const id = await payroll.paid(payFile(payRows(4)));
    await payroll.until(id, ['SETTLED'], 20_000);
    await repeatAdd();
    await eventually(async () => (await payroll.attention()).length > 0, 20_000);
    // By its totals, or by the list.
    for (const { kind } of await payroll.attention())
      expect(['TOTAL_MISMATCH_AFTER_SUBMIT', 'FOREIGN_RECORD']).toContain(kind);
    const { data } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(data.explained).toBe(false);
    expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(true);
  });

  /** A run that settled at such a bank, which shows what `reads` name, and is looked at again in a day. */
  async function settledWith(...reads: BankRead[]): Promise<{ id: string; bankInstructionId: string }> {
    payroll = await Payroll.start({
      sandbox: {
        variants: { addAfterSubmit: 'accepted', linkReads: 'allowed', instructionEnds: 'SUB_REQUIRED' },
      },
    });
    await payroll.letsRead(...reads);
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['SETTLED'], 20_000);
    await payroll.restsForADay();
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    return { id, bankInstructionId };
  }

  it('is found out by the totals on a later day, where no read shows whose the payment is', async () => {
    const { id, bankInstructionId } = await settledWith('INSTRUCTION', 'PAYMENT');
    await payroll.addAtBank(bankInstructionId);
    await payroll.aDayLater();
    const path = await payroll.askedAbout(id, 'TOTAL_MISMATCH_AFTER_SUBMIT');
    expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(true);

    await payroll
      .as('operator')
      .post(`${path}/actions`, { action: 'RESUME', reason: 'the bank took it back' });
    expect((await payroll.confirm(path)).status).toBe(200);
    await payroll.aDayLater();
    expect(await payroll.attention()).toEqual([]);
    const { data } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(data).toMatchObject({
      explained: true,
      acknowledged: [
        {
          kind: 'TOTAL_MISMATCH_AFTER_SUBMIT',
          payments: 1,
          amount: '123.45',
          reason: 'the bank took it back',
        },
      ],
    });
  });

  it('is asked about once where the list shows it before the end and the totals after it', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '2000' },
      sandbox: { stepMs: 600_000, variants: { addAfterSubmit: 'accepted', linkReads: 'allowed' } },
    });
    const id = await payroll.paid(payFile(payRows(2)));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    await payroll.addAtBank((await payroll.run(id)).instructions[0].bankInstructionId);
    const path = await payroll.askedAbout(id, 'FOREIGN_RECORD');
    const isOff = async () =>
      (await payroll.as('administrator').get('/v1/service')).data.submitsOff as boolean;
    expect(await isOff()).toBe(true);
    expect((await payroll.decide(path, { action: 'RESUME', reason: 'the bank was asked' })).status).toBe(200);
    await payroll.bankClock(new Date(Date.now() + 10 * 86_400_000));
    await payroll.until(id, ['SETTLED'], 20_000);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await payroll.aDayLater();
    expect([await payroll.attention(), await isOff()]).toEqual([[], false]);
    const { data } = await payroll.as('finance').get(payroll.path(`/pay-runs/${id}/reconciliation`));
    expect(data).toMatchObject({
      explained: true,
      acknowledged: [{ kind: 'FOREIGN_RECORD', payments: 1, amount: '123.45' }],
    });
  });

  it('is found out by the totals also where the bank says of its list that there is none', async () => {
    const { id, bankInstructionId } = await settledWith('INSTRUCTION', 'INSTRUCTION_PAYMENTS');
    await payroll.addAtBank(bankInstructionId);
    await payroll.fault({ operation: 'listInstructionPaymentTransactions', kind: '404', every: 1 });
    await payroll.aDayLater();
    await payroll.askedAbout(id, 'TOTAL_MISMATCH_AFTER_SUBMIT');
    expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(true);
  });

  it('is found out by the list of the instruction where the general one names nobody, however many are read', async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: 1,
      sandbox: { variants: { ...NAMELESS, linkReads: 'allowed', addAfterSubmit: 'accepted' } },
    });
    await payroll.letsRead('INSTRUCTION_PAYMENTS', 'PAYMENT_LIST');
    const id = await payroll.paid(payFile(payRows(8)));
    await payroll.until(id, ['SETTLED'], 30_000);
    await payroll.restsForADay();
    const { instructions } = await payroll.run(id);
    for (const { bankInstructionId } of instructions) await payroll.addAtBank(bankInstructionId);
    await payroll.aDayLater();
    const kinds = (await payroll.attention()).map(({ kind }) => kind);
    expect(kinds).toEqual(instructions.map(() => 'FOREIGN_RECORD'));
  });

  /** A run one of whose payments never settles, at a bank that takes adds after the submit. */
  async function stillFollowed(): Promise<{ id: string; bankInstructionId: string }> {
    payroll = await Payroll.start({
      sandbox: { variants: { addAfterSubmit: 'accepted', linkReads: 'allowed' } },
    });
    const rows = payRows(2);
    rows[1]!.iban = MAGIC_CREDITORS.find(({ effect }) => effect === 'neverSettles')!.iban;
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['FOLLOWING'], 20_000);
    const [{ bankInstructionId }] = (await payroll.run(id)).instructions;
    return { id, bankInstructionId };
  }

  it('is let go on by two people once and for all, though the payment is there at every read', async () => {
    const { id, bankInstructionId } = await stillFollowed();
    await payroll.addAtBank(bankInstructionId);
    const path = await payroll.askedAbout(id, 'FOREIGN_RECORD');
    expect((await payroll.decide(path, { action: 'RESUME', reason: 'the bank stopped it' })).status).toBe(
      200,
    );
    const reads = async () => (await payroll.calls()).listInstructionPaymentTransactions ?? 0;
    const before = await reads();
    await eventually(async () => (await reads()) > before + 2, 20_000);
    expect(await payroll.attention()).toEqual([]);
    expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(false);
    await payroll.addAtBank(bankInstructionId);
    await payroll.askedAbout(id, 'FOREIGN_RECORD');
  });

  it.each(['FEE', 'REFUND'])(
    'is only asked about where it is a %s, which pays nobody',
    async (transactionType) => {
      const { id } = await stillFollowed();
      const source = payroll.services[0]!.app.get(PaymentSource);
      const { paymentsOf } = source;
      let entries = ['entry-1'];
      jest.spyOn(source, 'paymentsOf').mockImplementation(async (...asked) => {
        const seen = await paymentsOf.apply(source, asked);
        const entry = { ...seen[0]!, messageId: undefined, direction: 'OUTWARD', transactionType };
        return [...seen, ...entries.map((one) => ({ ...entry, bankPaymentId: one, ids: [one] as const }))];
      });
      const path = await payroll.askedAbout(id, 'ENTRY_OF_THE_BANK');
      expect((await payroll.as('administrator').get('/v1/service')).data.submitsOff).toBe(false);
      const told = { action: 'ACKNOWLEDGE', reason: 'the bank has explained it' };
      expect((await payroll.decide(path, told)).status).toBe(200);
      const reads = async () => (await payroll.calls()).listInstructionPaymentTransactions ?? 0;
      const before = await reads();
      await eventually(async () => (await reads()) > before + 2, 20_000);
      expect(await payroll.attention()).toEqual([]);
      entries = ['entry-1', 'entry-2'];
      await payroll.askedAbout(id, 'ENTRY_OF_THE_BANK');
      jest.restoreAllMocks();
    },
  );

  it('is asked about whole where there are several, and decided once for all of them', async () => {
    const { id, bankInstructionId } = await stillFollowed();
    for (let n = 0; n < 2; n += 1) await payroll.addAtBank(bankInstructionId);
    const told = async () => (await payroll.attention()).map(({ happened }) => happened).join();
    await eventually(async () => /never sent: payment "[^"]+", "[^"]+"\./.test(await told()), 20_000);
    const path = await payroll.askedAbout(id, 'FOREIGN_RECORD');
    expect((await payroll.decide(path, { action: 'RESUME', reason: 'the bank stopped it' })).status).toBe(
      200,
    );
    const reads = async () => (await payroll.calls()).listInstructionPaymentTransactions ?? 0;
    const before = await reads();
    await eventually(async () => (await reads()) > before + 2, 20_000);
    expect(await payroll.attention()).toEqual([]);
  });
});
