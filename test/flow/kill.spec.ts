import type { CrashPoint } from '../../src/config/crash-point';
import { buildWithCrashPoints } from '../support/crash-build';
import { payFile, payRows, Row } from '../support/pay-rows';
import { eventually, Payroll } from '../support/payroll';

/** What a kill at each kind of moment must end in: everybody settled, or one instruction that nobody can vouch for. */
const MOMENTS: [CrashPoint, number, 'all settled' | 'one submit unknown'][] = [
  ['upload.stored', 1, 'all settled'],
  ['approval.recorded', 1, 'all settled'],
  ['build.initiate-intended', 1, 'all settled'],
  ['build.initiated', 2, 'all settled'],
  ['build.adds-intended', 1, 'all settled'],
  ['build.adds-sent', 2, 'all settled'],
  ['build.adds-recorded', 1, 'all settled'],
  ['build.verified', 2, 'all settled'],
  ['gate.passed', 1, 'all settled'],
  ['submit.intended', 1, 'one submit unknown'],
  ['submit.intended', 3, 'one submit unknown'],
  ['submit.sent', 1, 'all settled'],
  ['submit.sent', 3, 'all settled'],
  ['submit.recorded', 2, 'all settled'],
  ['follow.read', 1, 'all settled'],
  ['follow.recorded', 2, 'all settled'],
];

const ROWS_PER_INSTRUCTION = 6;
const ROWS = 18;

describe('the service killed with -9', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start({
      rowsPerInstruction: ROWS_PER_INSTRUCTION,
      settings: { LEASE_MS: '1000', SUBMIT_DOUBT_MS: '700' },
    });
    await payroll.stopServices();
  }, 120_000);
  afterAll(() => payroll.close());

  const movedTo = async (rows: readonly Row[]) => {
    const payees = new Map((await payroll.ledger()).payees.map((payee) => [payee.iban, payee]));
    return rows.map((row) => payees.get(row.iban)?.count ?? 0);
  };

  it.each(MOMENTS.map(([point, k, expected], n) => [point, k, expected, n] as const))(
    'at %s, the %i. time: %s',
    async (point, k, expected, n) => {
      const rows = payRows(ROWS, 1 + n * 100);
      const file = payFile(rows);
      const terms = { submitAt: new Date().toISOString() };
      const first = await payroll.spawn({ PAYRUN_CRASH_AT: `${point}:${k}` });
      const uploaded = await payroll.upload(file, terms).catch(() => undefined);
      if (uploaded) await payroll.approve(uploaded.data).catch(() => undefined);
      expect(await first.ended).toBe('SIGKILL');

      const second = await payroll.spawn();
      const run = (await payroll.upload(file, terms)).data as { id: string; rootHash: string; total: string };
      if ((await payroll.run(run.id)).status === 'READY') await payroll.approve(run);
      if (expected === 'all settled') {
        await payroll.until(run.id, ['SETTLED'], 20_000);
        expect(await movedTo(rows)).toEqual(rows.map(() => 1));
      } else {
        await eventually(
          async () =>
            (await movedTo(rows)).filter((count) => count === 1).length === ROWS - ROWS_PER_INSTRUCTION,
          20_000,
        );
        await payroll.until(run.id, ['FOLLOWING'], 20_000);
        const { instructions } = await payroll.run(run.id);
        const unknown = instructions.filter((one: { status: string }) => one.status === 'SUBMIT_UNKNOWN');
        expect(unknown).toHaveLength(1);
        expect((await movedTo(rows)).every((count) => count <= 1)).toBe(true);
        const attention = (await payroll.attention()).filter((one) => one.payRunId === run.id);
        expect(attention.map((one) => one.kind)).toEqual(['SUBMIT_UNKNOWN']);
      }
      second.process.kill('SIGTERM');
      expect(['0', 'SIGTERM']).toContain(await second.ended);
    },
    60_000,
  );
});
