import { OverduePeriods } from '../../src/schedule/overdue-periods';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const PER_INSTRUCTION = 2;
const INSTRUCTIONS = 12;
/** Submits that are under way when the first is refused: as many as one process looks at side by side. */
const SIDE_BY_SIDE = 4;

describe('a run whose submits are refused for our access', () => {
  const rows = payRows(PER_INSTRUCTION * INSTRUCTIONS);
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({
      rowsPerInstruction: PER_INSTRUCTION,
      settings: { SUBMIT_DOUBT_MS: '500', BANK_LAG_BOUND_MS: '300' },
    });
  });
  afterEach(() => payroll.close());

  const kinds = async () => (await payroll.attention()).map(({ kind }) => kind);

  it.each([
    ['403', 'SUBMIT_REFUSED', SIDE_BY_SIDE],
    // Those whose answers are written down at one time do not see each other.
    ['401', 'SUBMIT_UNKNOWN', 2 * SIDE_BY_SIDE],
  ])('keeps what it has not sent, and submits it once people resume it (%s)', async (kind, asked, most) => {
    await payroll.fault({ operation: 'submit', kind, every: 1 });
    const id = await payroll.paid(payFile(rows));
    const path = await payroll.askedAbout(id, 'CREDENTIALS');
    const { happened, payments } = (await payroll.as('operator').get(path)).data;
    expect(happened).toMatch(new RegExp(`^The bank refused our access to submit.*${kind}`));
    const sent = async () => (await payroll.calls()).submit ?? 0;
    await eventually(
      async () => (await kinds()).filter((one) => one === asked).length === (await sent()),
      20_000,
    );
    expect(await sent()).toBeLessThanOrEqual(most);
    expect((await payroll.as('operator').get(payroll.path(''))).data.stopped.reason).toBe('CREDENTIALS');
    const refused = await sent();
    const unsent = rows.length - refused * PER_INSTRUCTION;
    expect(payments).toBe(unsent + PER_INSTRUCTION);
    await payroll.services[0]!.app.get(OverduePeriods).tick();
    const midRun = (await payroll.as('operator').get(await payroll.askedAbout(id, 'DUE_BUT_STOPPED', 5_000)))
      .data;
    expect(midRun).toMatchObject({
      payments: unsent,
      certain: expect.stringMatching(
        /^What of this run was submitted before the stop is followed, or asked about/,
      ),
    });

    await payroll.clearFaults();
    const reason = 'the bank gave our access its scope back';
    expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
    await payroll.until(id, ['FOLLOWING']);
    const unpaid = refused * PER_INSTRUCTION;
    await eventually(
      async () =>
        (await payroll.timesPaid(rows)).filter((times) => times === 1).length === rows.length - unpaid,
      20_000,
    );
    expect((await payroll.timesPaid(rows)).filter((times) => times === 0)).toHaveLength(unpaid);
    expect(await sent()).toBe(INSTRUCTIONS);
    await payroll.services[0]!.app.get(OverduePeriods).tick();
    expect((await kinds()).filter((one) => one !== asked)).toEqual([]);
  });

  it('is not stopped by one submit that met the end of its token', async () => {
    await payroll.fault({ operation: 'submit', kind: '401', nth: 1 });
    await payroll.fault({ operation: 'submit', kind: '401', nth: INSTRUCTIONS });
    const id = await payroll.paid(payFile(rows));
    await payroll.until(id, ['FOLLOWING']);
    expect(await kinds()).toEqual(['SUBMIT_UNKNOWN', 'SUBMIT_UNKNOWN']);
    await eventually(
      async () =>
        (await payroll.timesPaid(rows)).filter((times) => times === 1).length ===
        rows.length - 2 * PER_INSTRUCTION,
      20_000,
    );
    expect((await payroll.calls()).submit).toBe(INSTRUCTIONS);
  });

  it('is stopped with its instruction whole where the bank promises that a 401 executes nothing', async () => {
    await payroll.close();
    payroll = await Payroll.start({
      settings: { BANK_REJECTS_BEFORE_EXECUTING: 'true', BANK_LAG_BOUND_MS: '300' },
      sandbox: { variants: { linkReads: 'allowed' } },
    });
    await payroll.fault({ operation: 'submit', kind: '401', every: 1 });
    const id = await payroll.paid(payFile(rows));
    const path = await payroll.askedAbout(id, 'CREDENTIALS');
    expect((await payroll.calls()).submit).toBe(2);
    await payroll.clearFaults();
    const reason = 'the bank gave us another token';
    expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
    await payroll.untilSettled(id);
    expect(await payroll.timesPaid(rows)).toEqual(rows.map(() => 1));
    expect((await payroll.calls()).submit).toBe(3);
    expect(await kinds()).toEqual([]);
  });
});

describe('runs of one instruction each whose submits are answered with 401', () => {
  let payroll: Payroll;
  beforeEach(async () => {
    payroll = await Payroll.start({ settings: { SUBMIT_DOUBT_MS: '500', BANK_LAG_BOUND_MS: '300' } });
  });
  afterEach(() => payroll.close());

  const ROWS = 3;
  const begun = (n: number) => payroll.paid(payFile(payRows(ROWS, 1 + n * ROWS)));
  const stopped = async () => (await payroll.as('operator').get(payroll.path(''))).data.stopped;
  const turnedAway = () => payroll.fault({ operation: 'submit', kind: '401', every: 1 });

  it('have their employer stopped at the second: what is begun then is sent once people resume it', async () => {
    await turnedAway();
    await payroll.askedAbout(await begun(0), 'SUBMIT_UNKNOWN', 5_000);
    expect(await stopped()).toBeNull();
    const second = await begun(1);
    const path = await payroll.askedAbout(second, 'CREDENTIALS', 5_000);
    await payroll.askedAbout(second, 'SUBMIT_UNKNOWN', 5_000);
    const third = await begun(2);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await payroll.calls()).submit).toBe(2);

    await payroll.clearFaults();
    const reason = 'the bank gave us another token';
    expect((await payroll.decide(path, { action: 'RESUME', reason })).status).toBe(200);
    await payroll.untilSettled(third);
    expect((await payroll.calls()).submit).toBe(3);
  });

  it.each([
    ['by its answer', () => Promise.resolve()],
    ['as a read shows', () => payroll.fault({ operation: 'submit', kind: 'answer-lost', nth: 1 })],
  ])('have it go on where a submit was executed between them, %s', async (_by, fault) => {
    await turnedAway();
    await payroll.askedAbout(await begun(0), 'SUBMIT_UNKNOWN');
    await payroll.clearFaults();
    await fault();
    await payroll.until(await begun(1), ['SETTLED']);
    await payroll.clearFaults();
    await turnedAway();
    await payroll.askedAbout(await begun(2), 'SUBMIT_UNKNOWN');
    expect(await stopped()).toBeNull();
    expect((await payroll.attention()).map(({ kind }) => kind)).toEqual(['SUBMIT_UNKNOWN', 'SUBMIT_UNKNOWN']);
  });
});
