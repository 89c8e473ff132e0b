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
    const { happened } = (await payroll.as('operator').get(path)).data;
    expect(happened).toMatch(new RegExp(`^The bank refused our access to submit.*${kind}`));
    const sent = async () => (await payroll.calls()).submit ?? 0;
    await eventually(
      async () => (await kinds()).filter((one) => one === asked).length === (await sent()),
      20_000,
    );
    expect(await sent()).toBeLessThanOrEqual(most);
    expect((await payroll.as('operator').get(payroll.path(''))).data.stopped.reason).toBe('CREDENTIALS');
    const refused = await sent();

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
