import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const ROWS = 8;
const PER_INSTRUCTION = 4;

/** After a submit without a clear answer the bank is read: a trace settles it, no trace parks it. */
const SUBMIT_FAULTS: [string, 'SETTLED' | 'SUBMIT_UNKNOWN' | 'SUBMIT_REFUSED'][] = [
  ['answer-lost', 'SETTLED'],
  ['500-after', 'SETTLED'],
  ['hang', 'SETTLED'],
  ['garbage', 'SETTLED'],
  ['truncated', 'SETTLED'],
  ['late-commit', 'SETTLED'],
  ['request-lost', 'SUBMIT_UNKNOWN'],
  ['500-before', 'SUBMIT_UNKNOWN'],
  ['hang-before', 'SUBMIT_UNKNOWN'],
  ['redirect', 'SUBMIT_UNKNOWN'],
  ['409', 'SUBMIT_UNKNOWN'],
  ['401', 'SUBMIT_UNKNOWN'],
  ['429', 'SUBMIT_UNKNOWN'],
  ['422', 'SUBMIT_REFUSED'],
  ['403', 'SUBMIT_REFUSED'],
];

describe('under faults of a submit', () => {
  const rows = payRows(ROWS);
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: PER_INSTRUCTION,
      settings: { BANK_TIMEOUT_MS: '500', SUBMIT_DOUBT_MS: '1500', BANK_LAG_BOUND_MS: '300' },
    });
  });
  afterEach(() => payroll.close());

  it.each(SUBMIT_FAULTS)('submit %s: %s, paid at most once, and never sent again', async (kind, expected) => {
    await payroll.fault({ operation: 'submit', kind, nth: 1, delayMs: 400, retryAfterS: 1 });
    const id = await payroll.paid(payFile(rows));
    if (expected === 'SETTLED') {
      await payroll.until(id, ['SETTLED'], 25_000);
      expect(await payroll.timesPaid(rows)).toEqual(rows.map(() => 1));
    } else {
      await eventually(
        async () => (await payroll.attention()).some((one) => one.payRunId === id && one.kind === expected),
        25_000,
      );
      if (kind === '403') {
        const reason = 'it refuses this one, and takes the other';
        const path = await payroll.askedAbout(id, 'CREDENTIALS');
        expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
      }
      await eventually(
        async () =>
          (await payroll.timesPaid(rows)).filter((count) => count === 1).length === ROWS - PER_INSTRUCTION,
        25_000,
      );
      expect((await payroll.timesPaid(rows)).every((count) => count <= 1)).toBe(true);
      await payroll.until(id, ['FOLLOWING'], 10_000);
    }
    expect((await payroll.calls()).submit).toBe(ROWS / PER_INSTRUCTION);
  });

  it('submit 429: people are told of the doubt in time, however long the bank asks to wait', async () => {
    await payroll.fault({ operation: 'submit', kind: '429', nth: 1, retryAfterS: 600 });
    const id = await payroll.paid(payFile(payRows(PER_INSTRUCTION)));
    await payroll.askedAbout(id, 'SUBMIT_UNKNOWN', 40_000);
  });
});
