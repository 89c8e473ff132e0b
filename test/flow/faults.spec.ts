import { payFile, payRows, Row } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

const ROWS = 8;
const PER_INSTRUCTION = 4;

/** A fault that leaves the instruction without money moved can always be built around: everybody is paid once. */
const BUILD_FAULTS = [
  'request-lost',
  'late-commit',
  'answer-lost',
  '500-before',
  '500-after',
  'hang',
  'hang-before',
  'garbage',
  'truncated',
  'slow-drip',
  'redirect',
  '409',
  '429',
  'doubled',
];

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

describe('under faults of the bank and the network', () => {
  let payroll: Payroll;
  let next = 1;
  beforeAll(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: PER_INSTRUCTION,
      settings: { BANK_TIMEOUT_MS: '500', SUBMIT_DOUBT_MS: '1500', BANK_LAG_BOUND_MS: '300' },
    });
  });
  afterAll(() => payroll.close());
  afterEach(() => payroll.clearFaults());

  const freshRows = (): Row[] => {
    const rows = payRows(ROWS, next);
    next += ROWS;
    return rows;
  };
  const timesPaid = async (rows: readonly Row[]) => {
    const payees = new Map((await payroll.ledger()).payees.map((payee) => [payee.iban, payee]));
    return rows.map((row) => payees.get(row.iban)?.count ?? 0);
  };
  const once = (rows: readonly Row[]) => rows.map(() => 1);

  describe.each(['initiate', 'add'])('%s', (operation) => {
    it.each(BUILD_FAULTS)(
      '%s: everybody is paid once, and nothing that was abandoned is submitted',
      async (kind) => {
        const rows = freshRows();
        await payroll.fault({ operation, kind, nth: 2, delayMs: 400, retryAfterS: 1 });
        const id = await payroll.paid(payFile(rows));
        await payroll.until(id, ['SETTLED'], 25_000);
        expect(await timesPaid(rows)).toEqual(once(rows));
        const abandoned = (await payroll.run(id)).instructions.filter(
          (one: { status: string }) => one.status === 'ABANDONED',
        );
        const { unsubmitted } = await payroll.ledger();
        for (const one of abandoned) {
          if (one.bankInstructionId) expect(unsubmitted.map(String)).toContain(String(one.bankInstructionId));
        }
      },
      40_000,
    );

    it.each(['amount', 'iban', 'messageId'])(
      'an echo with another %s does not get anybody paid wrongly',
      async (field) => {
        const rows = freshRows();
        await payroll.fault({ operation, kind: 'echo-corrupted', field, nth: 1 });
        const id = await payroll.paid(payFile(rows));
        await payroll.until(id, ['SETTLED'], 25_000);
        expect(await timesPaid(rows)).toEqual(once(rows));
      },
    );
  });

  it.each(SUBMIT_FAULTS)(
    'submit %s: %s, paid at most once, and never sent again',
    async (kind, expected) => {
      const rows = freshRows();
      const before = (await payroll.calls()).submit ?? 0;
      await payroll.fault({ operation: 'submit', kind, nth: 1, delayMs: 400, retryAfterS: 1 });
      const id = await payroll.paid(payFile(rows));
      if (expected === 'SETTLED') {
        await payroll.until(id, ['SETTLED'], 25_000);
        expect(await timesPaid(rows)).toEqual(once(rows));
      } else {
        await eventually(
          async () => (await payroll.attention()).some((one) => one.payRunId === id && one.kind === expected),
          25_000,
        );
        await eventually(
          async () =>
            (await timesPaid(rows)).filter((count) => count === 1).length === ROWS - PER_INSTRUCTION,
          25_000,
        );
        expect((await timesPaid(rows)).every((count) => count <= 1)).toBe(true);
        await payroll.until(id, ['FOLLOWING'], 10_000);
      }
      const submits = ((await payroll.calls()).submit ?? 0) - before;
      expect(submits).toBe(ROWS / PER_INSTRUCTION);
    },
    60_000,
  );

  it('while the bank cannot be reached at all, waits and then pays everybody once', async () => {
    const rows = freshRows();
    await payroll.fault({ operation: '*', kind: '500-before', every: 1, times: 12 });
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SETTLED'], 60_000);
    expect(await timesPaid(rows)).toEqual(once(rows));
  }, 70_000);
});
