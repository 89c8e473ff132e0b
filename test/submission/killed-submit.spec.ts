import type { CrashPoint } from '../../src/config/crash-point';
import { buildWithCrashPoints } from '../support/crash-build';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

/**
 * What a kill at each kind of moment must end in. With several instructions being submitted side by side, a kill also
 * catches the others between their intent and their answer: then the bank says what must be unknown.
 */
type Expected = 'all settled' | 'one submit unknown' | 'unknown what the bank shows no trace of';
interface Moment {
  point: CrashPoint;
  hit: number;
  instructions: number;
  expected: Expected;
}

const TRACE: Expected = 'unknown what the bank shows no trace of';
/** Every crash point, with each answer the call in flight can have, is in the proof (`npm run prove`). */
const MOMENTS: Moment[] = [
  { point: 'submit.intended', hit: 1, instructions: 1, expected: 'one submit unknown' },
  { point: 'submit.intended', hit: 3, instructions: 3, expected: TRACE },
  { point: 'submit.sent', hit: 1, instructions: 1, expected: 'all settled' },
  { point: 'submit.sent', hit: 1, instructions: 3, expected: TRACE },
  { point: 'submit.recorded', hit: 2, instructions: 3, expected: TRACE },
];

const ROWS_PER_INSTRUCTION = 6;

describe('the service killed with -9 while it submits', () => {
  let payroll: Payroll;
  let next = 1;
  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start({
      rowsPerInstruction: ROWS_PER_INSTRUCTION,
      settings: { LEASE_MS: '1000', SUBMIT_DOUBT_MS: '700' },
    });
    await payroll.stopServices();
  });
  afterEach(() => payroll.endProcesses());
  afterAll(() => payroll.close());

  /** The bank's instructions for which a submit was intended and of which the bank shows no submit. */
  const withoutTrace = async (): Promise<string[]> => {
    const intended = await select<{ id: string }>(
      payroll.database.superuserUrl,
      `SELECT bank_instruction_id AS id FROM submit_attempt WHERE outcome IS NULL`,
    );
    const { instructions } = await payroll.ledger();
    const submitted = new Set(instructions.filter((one) => one.submits > 0).map((one) => String(one.id)));
    return intended.map((one) => one.id).filter((id) => !submitted.has(id));
  };

  it.each(MOMENTS)(
    'at $point, hit $hit of a run of $instructions instructions: $expected',
    async ({ point, hit, instructions, expected }) => {
      const rows = payRows(instructions * ROWS_PER_INSTRUCTION, next);
      next += rows.length;
      const file = payFile(rows);
      const terms = { submitAt: new Date().toISOString() };
      const first = await payroll.spawn({ PAYRUN_CRASH_AT: `${point}:${hit}` });
      const uploaded = await payroll.upload(file, terms).catch(() => undefined);
      if (uploaded) await payroll.approve(uploaded.data).catch(() => undefined);
      expect(await first.ended).toBe('SIGKILL');
      const unknown = await withoutTrace();
      if (expected === 'all settled') expect(unknown).toEqual([]);
      if (expected === 'one submit unknown') expect(unknown).toHaveLength(1);

      await payroll.spawn();
      const run = (await payroll.upload(file, terms)).data as { id: string; rootHash: string; total: string };
      if ((await payroll.run(run.id)).status === 'READY') await payroll.approve(run);
      const kindsOf = async () =>
        (await payroll.attention()).filter((one) => one.payRunId === run.id).map((one) => one.kind);
      if (unknown.length === 0) {
        await payroll.until(run.id, ['SETTLED'], 30_000);
        expect(await payroll.timesPaid(rows)).toEqual(rows.map(() => 1));
        expect(await kindsOf()).toEqual([]);
        return;
      }
      await payroll.until(run.id, ['FOLLOWING'], 30_000);
      const paid = rows.length - unknown.length * ROWS_PER_INSTRUCTION;
      await eventually(
        async () => (await payroll.timesPaid(rows)).filter((count) => count === 1).length === paid,
        30_000,
      );
      expect((await payroll.timesPaid(rows)).every((count) => count <= 1)).toBe(true);
      const parked = (await payroll.run(run.id)).instructions
        .filter((one: { status: string }) => one.status === 'SUBMIT_UNKNOWN')
        .map((one: { bankInstructionId: string }) => one.bankInstructionId);
      expect(parked.sort()).toEqual(unknown.sort());
      expect(await kindsOf()).toEqual(unknown.map(() => 'SUBMIT_UNKNOWN'));
    },
  );

  it('is decided on by what the bank says, and by no amount, where it starts again under another unit of amounts', async () => {
    const rows = payRows(ROWS_PER_INSTRUCTION, next);
    next += rows.length;
    const first = await payroll.spawn({ PAYRUN_CRASH_AT: 'submit.sent:1' });
    const { data: run } = await payroll.upload(payFile(rows));
    await payroll.approve(run).catch(() => undefined);
    expect(await first.ended).toBe('SIGKILL');

    const unit = payroll.settings.BANK_AMOUNT_UNIT;
    await payroll.spawn({ BANK_AMOUNT_UNIT: unit === 'minor' ? 'major' : 'minor' });
    const path = await payroll.askedAbout(run.id, 'SUBMIT_UNKNOWN');
    const reason = 'the bank was asked';
    const refused = await payroll.decide(path, { action: 'NOT_EXECUTED', reason, evidence: 'letter 4711' });
    expect(refused.data.code).toBe('WAS_EXECUTED');
    await payroll.until(run.id, ['FOLLOWING']);
    // What was asked of the runs before stays open.
    const asked = async () =>
      (await payroll.attention())
        .filter(({ payRunId }) => payRunId === null || payRunId === run.id)
        .map(({ kind }) => kind);
    await eventually(async () => (await asked()).length > 0, 15_000);
    expect(await asked()).toEqual(['ACCOUNT_UNUSABLE']);

    await payroll.endProcesses();
    await payroll.spawn();
    await payroll.untilSettled(run.id);
    expect(await payroll.timesPaid(rows)).toEqual(rows.map(() => 1));
    await eventually(async () => (await asked()).length === 0, 15_000);
  });
});
