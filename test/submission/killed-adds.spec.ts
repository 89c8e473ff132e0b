import type { CrashPoint } from '../../src/config/crash-point';
import { buildWithCrashPoints } from '../support/crash-build';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const ROWS = 450;
/** Of the batches of one instruction the third is the first whose intents are committed with outcomes. */
const MOMENTS: [CrashPoint, hit: number][] = [
  ['build.adds-sent', 1],
  ['build.adds-recorded', 1],
  ['build.adds-intended', 3],
  ['build.adds-sent', 3],
];

describe('the service killed with -9 between two batches of adds', () => {
  let payroll: Payroll;
  let next = 1;
  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start({ rowsPerInstruction: ROWS, settings: { LEASE_MS: '4000' } });
    await payroll.stopServices();
  });
  afterEach(() => payroll.endProcesses());
  afterAll(() => payroll.close());

  it.each(MOMENTS)('at %s, hit %i: 200 rows in doubt at most, each paid once', async (point, hit) => {
    const rows = payRows(ROWS, next);
    next += ROWS;
    const killed = await payroll.spawn({ PAYRUN_CRASH_AT: `${point}:${hit}` });
    const { data: run } = await payroll.upload(payFile(rows), { submitAt: new Date().toISOString() });
    await payroll.approve(run);
    expect(await killed.ended).toBe('SIGKILL');
    const [open] = await select<{ rows: number }>(
      payroll.database.superuserUrl,
      'SELECT coalesce(sum(cardinality(row_nos)), 0)::int AS rows FROM add_intent WHERE finished_at IS NULL',
    );
    expect(open!.rows).toBeGreaterThan(0);
    expect(open!.rows).toBeLessThanOrEqual(200);

    await payroll.spawn();
    await payroll.until(run.id, ['SETTLED'], 40_000);
    const times = new Map((await payroll.ledger()).payees.map(({ iban, count }) => [iban, count]));
    expect(rows.map(({ iban }) => times.get(iban))).toEqual(rows.map(() => 1));
    expect(await payroll.attention()).toEqual([]);
  });
});
