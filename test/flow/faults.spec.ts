import { FLOW_BANK } from '../support/lawful-banks';
import { select } from '../support/database';
import { gatewayPage } from '../support/gateway-page';
import { payFile, payRows, Row } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

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

/** What a bank chose shows in what it echoes; that an initiate failed looks the same at every bank. */
const OPERATIONS = process.env[FLOW_BANK] === undefined ? ['initiate', 'add'] : ['add'];

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
  const once = (rows: readonly Row[]) => rows.map(() => 1);
  /** Also what closed by itself since, which may have been open for moments only. */
  const everTold = async (patient: Payroll): Promise<Record<string, string>[]> => {
    const params = { state: 'all' };
    return (await patient.as('operator').get(patient.path('/attention'), { params })).data.items;
  };

  describe.each(OPERATIONS)('%s', (operation) => {
    it.each(BUILD_FAULTS)(
      '%s: everybody is paid once, and nothing that was abandoned is submitted',
      async (kind) => {
        const rows = freshRows();
        // Doubled at once: later, a lawful bank may take it after the submit.
        const delayMs = kind === 'doubled' ? undefined : 400;
        await payroll.fault({ operation, kind, nth: 2, delayMs, retryAfterS: 1 });
        const id = await payroll.paid(payFile(rows));
        await payroll.until(id, ['SETTLED'], 25_000);
        expect(await payroll.timesPaid(rows)).toEqual(once(rows));
        const abandoned = (await payroll.run(id)).instructions.filter(
          (one: { status: string }) => one.status === 'ABANDONED',
        );
        const { unsubmitted } = await payroll.ledger();
        for (const one of abandoned) {
          if (one.bankInstructionId) expect(unsubmitted.map(String)).toContain(String(one.bankInstructionId));
        }
      },
    );
  });

  describe.each(['initiate', 'add'])('%s', (operation) => {
    it.each(['amount', 'iban', 'messageId'])(
      'an echo with another %s does not get anybody paid wrongly',
      async (field) => {
        const rows = freshRows();
        await payroll.fault({ operation, kind: 'echo-corrupted', field, nth: 1 });
        const id = await payroll.paid(payFile(rows));
        await payroll.until(id, ['SETTLED'], 25_000);
        expect(await payroll.timesPaid(rows)).toEqual(once(rows));
      },
    );
  });

  it('while the bank cannot be reached at all, waits and then pays everybody once', async () => {
    const rows = freshRows();
    await payroll.fault({ operation: '*', kind: '500-before', every: 1, times: 8 });
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['SETTLED'], 60_000);
    expect(await payroll.timesPaid(rows)).toEqual(once(rows));
  });

  it.each([
    ['500-after', 'was answered with status 500', 'answered with status 500'],
    ['409', 'was answered with status 409', 'answered with status 409'],
    ['answer-lost', 'stayed unanswered: ECONNRESET', 'not answered: ECONNRESET'],
  ])(
    'goes on initiating in doubt (%s), tells a person after some tries, and pays everybody once',
    async (kind, answer, asked) => {
      const patient = await Payroll.start({
        rowsPerInstruction: ROWS,
        settings: { REBUILD_LIMIT: '1' },
      });
      try {
        const initiates = async () => (await patient.calls()).initiate ?? 0;
        const before = await initiates();
        await patient.fault({ operation: 'initiate', kind, every: 1, times: 3 });
        const id = await patient.paid(payFile(payRows(ROWS)));
        await patient.until(id, ['SETTLED'], 30_000);
        const [told] = await everTold(patient);
        expect(told).toMatchObject({
          kind: 'REBUILD_LIMIT',
          payRunId: id,
          happened: expect.stringMatching(new RegExp(`The last of [23] initiations ${answer}\\.`)),
        });
        expect(`${told!.certain} ${told!.askBank}`).toMatch(
          new RegExp(`No instruction with these payments is known.* Why are initiations .* ${asked}\\?`),
        );
        expect(await patient.attention()).toEqual([]);
        expect((await initiates()) - before).toBe(4);
        expect((await patient.ledger()).payees.map(({ count }) => count)).toEqual(payRows(ROWS).map(() => 1));
      } finally {
        await patient.close();
      }
    },
  );

  it('writes down what a gateway answers in UTF-16 to an initiation, and tries again ever later', async () => {
    const patient = await Payroll.start({ settings: { REBUILD_LIMIT: '2' } });
    const gateway = gatewayPage('POST', /credit-transfers$/, 502);
    try {
      const id = await patient.paid(payFile(payRows(2)));
      await patient.askedAbout(id, 'REBUILD_LIMIT');
      const calls = await select<{ outcome: string; said: string; afterMs: number }>(
        patient.database.superuserUrl,
        `SELECT outcome, outcome_detail AS said,
           (extract(epoch FROM intended_at - lag(intended_at, 1, intended_at) OVER (ORDER BY attempt)) * 1000)::int AS "afterMs"
         FROM bank_call WHERE operation = 'initiate' AND outcome = 'IN_DOUBT' ORDER BY attempt LIMIT 3`,
      );
      expect(calls.map(({ outcome, said }) => `${outcome} ${said}`)).toEqual(
        Array(3).fill('IN_DOUBT status 502: <html><h1>Out of order</h1></html>'),
      );
      expect(calls[1]!.afterMs).toBeLessThan(calls[2]!.afterMs);
      expect(calls[2]!.afterMs).toBeGreaterThanOrEqual(1_000);
      gateway.mockRestore();
      await patient.until(id, ['SETTLED'], 20_000);
      expect(await patient.attention()).toEqual([]);
    } finally {
      gateway.mockRestore();
      await patient.close();
    }
  });

  it('asks nothing more about an initiation that was refused once two people have tried its rows again', async () => {
    const patient = await Payroll.start({ settings: { REBUILD_LIMIT: '1' } });
    try {
      await patient.fault({ operation: 'initiate', kind: '500-after', every: 1, times: 2 });
      await patient.fault({ operation: 'initiate', kind: '422', every: 1 });
      const id = await patient.paid(payFile(payRows(2)));
      const path = await patient.askedAbout(id, 'REBUILD_LIMIT');
      await patient.askedAbout(id, 'INITIATE_REFUSED');
      await patient.clearFaults();
      const again = { action: 'TRY_AGAIN', reason: 'the bank has mended it' };
      expect((await patient.decide(path, again)).status).toBe(200);
      expect((await patient.attention()).map(({ kind }) => kind)).toEqual([]);
      await patient.until(id, ['SETTLED'], 20_000);
      expect(await patient.attention()).toEqual([]);
    } finally {
      await patient.close();
    }
  });

  it('says what is wrong with the answers to an initiation that are none to what was sent', async () => {
    const patient = await Payroll.start({ settings: { REBUILD_LIMIT: '1' } });
    try {
      await patient.fault({
        operation: 'initiate',
        kind: 'echo-corrupted',
        field: 'iban',
        every: 1,
        times: 3,
      });
      const id = await patient.paid(payFile(payRows(2)));
      await patient.until(id, ['SETTLED'], 20_000);
      const [told] = await everTold(patient);
      expect(told).toMatchObject({
        kind: 'REBUILD_LIMIT',
        payRunId: id,
        happened: expect.stringMatching(/was answered, but .*debtorIban/),
      });
      expect(await patient.attention()).toEqual([]);
    } finally {
      await patient.close();
    }
  });

  it('builds an instruction that was gone at the gate again and submits it, though its run submits already', async () => {
    const other = await Payroll.start({
      rowsPerInstruction: PER_INSTRUCTION,
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    try {
      await other.fault({ operation: 'getAccount', kind: '500-before', every: 1 });
      const id = await other.paid(payFile(payRows(ROWS)));
      await other.until(id, ['VERIFIED'], 20_000);
      await other.deleteAtBank(String((await other.run(id)).instructions[0].bankInstructionId));
      await other.clearFaults();
      await other.until(id, ['SETTLED'], 20_000);
      const { instructions } = await other.run(id);
      const attempts = (instructions as { attempt: number }[]).map(({ attempt }) => attempt);
      expect(attempts.sort()).toEqual([1, 2]);
      expect((await other.ledger()).payees.map(({ count }) => count)).toEqual(payRows(ROWS).map(() => 1));
    } finally {
      await other.close();
    }
  });
});
