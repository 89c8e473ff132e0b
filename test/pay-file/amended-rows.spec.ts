import { newId } from '../../src/database/new-id';
import { readId, showId } from '../../src/http/prefixed-id';
import { amend, Proposal } from '../../src/pay-run/amendment';
import { eventually } from '../support/eventually';
import { csv, Desk, PayDesk, row } from './pay-desk';

let desk: PayDesk;
let employer: Desk;
let approver: string;

beforeAll(async () => {
  desk = await PayDesk.open();
  approver = await desk.person('Arno Approver');
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

const NOVEMBER = { period: '2026-11', executionDate: '2026-11-30' };
const FAR = '2026-12-21';
const NEAR = '2026-12-01';
const DECEMBER = { period: '2026-12', executionDate: FAR };

const three = csv(row('E1', '1.00'), row('E2', '2.00'), row('E3', '3.00'));

const upload = async (file: Buffer, terms: Record<string, string>): Promise<string> =>
  readId('run', (await desk.upload(employer, file, terms)).answer.id);

const amended = (runId: string, proposal: Partial<Proposal>): Promise<unknown> =>
  desk.amend(employer, runId, proposal);
const leftOut = (runId: string, ...lines: number[]): Promise<unknown> =>
  desk.leaveOut(employer, runId, lines);

const release = (runId: string): Promise<void> =>
  desk.releaseHold(
    employer,
    runId,
    { code: 'ROWS_OF_ANOTHER_RUN' },
    { personId: approver, reason: 'both are owed' },
  );

/** What a run is held for, the run beside which that was found, how many rows are in others, and what became of it. */
const holdsOf = async (runId: string): Promise<[string, string, number, string | null][]> => {
  const rows = await desk.query<{ code: string; beside: string; rows: number; outcome: string | null }>(
    employer,
    `SELECT code, beside_run_id AS beside, same_rows AS rows, outcome FROM pay_hold
     WHERE pay_run_id = $1 ORDER BY run_version, row_no, code`,
    [runId],
  );
  return rows.map(({ code, beside, rows, outcome }) => [code, beside, rows, outcome]);
};

const CODE = 'ROWS_OF_ANOTHER_RUN';

describe('the rows of another run, after an amendment', () => {
  it('hold a run whose date comes near to that of the other', async () => {
    const november = await upload(three, NOVEMBER);
    const december = await upload(three, DECEMBER);
    expect(await holdsOf(december)).toEqual([]);
    await amended(december, { executionDate: NEAR });
    expect(await holdsOf(december)).toEqual([[CODE, november, 3, null]]);
    await expect(desk.approve(employer, showId('run', december), approver)).rejects.toMatchObject({
      code: 'HOLDS_OPEN',
    });
  });

  it('hold a run that has few others left', async () => {
    const november = await upload(three, NOVEMBER);
    const more = ['E4', 'E5', 'E6', 'E7'].map((id) => row(id, '4.00'));
    const second = await upload(csv(row('E1', '1.00'), row('E2', '2.00'), row('E3', '3.00'), ...more), {
      ...DECEMBER,
      executionDate: NEAR,
    });
    expect(await holdsOf(second)).toEqual([]);
    await leftOut(second, 5, 6, 7, 8);
    expect(await holdsOf(second)).toEqual([[CODE, november, 3, null]]);
  });

  it('hold a supplement that has few others left, beside its parent too', async () => {
    const november = await upload(three, NOVEMBER);
    const more = ['E4', 'E5', 'E6', 'E7'].map((id) => row(id, '4.00'));
    await desk.approve(employer, showId('run', november), approver);
    const supplement = await upload(csv(row('E1', '1.00'), row('E2', '2.00'), row('E3', '3.00'), ...more), {
      ...NOVEMBER,
      supplementOf: showId('run', november),
    });
    const ofRun = async () => (await holdsOf(supplement)).filter(([code]) => code === CODE);
    expect(await ofRun()).toEqual([]);
    await leftOut(supplement, 5, 6, 7);
    expect(await ofRun()).toEqual([[CODE, november, 3, null]]);
  });

  it('hold it still where the other one was cancelled after a restore, and may have paid them', async () => {
    const restored = newId();
    const first = await upload(three, NOVEMBER);
    const bonus = await upload(three, { ...NOVEMBER, kindOfPay: 'BONUS' });
    const ofRun = async () => (await holdsOf(bonus)).filter(([code]) => code === CODE);
    expect(await ofRun()).toEqual([[CODE, first, 3, null]]);
    await desk.asSuperuser(
      `INSERT INTO database_restore (id, what, told_at) VALUES ('${restored}', 'another database', now())`,
    );
    try {
      await desk.cancel(employer, showId('run', first));
      await amended(bonus, { executionDate: NEAR });
      expect(await ofRun()).toEqual([[CODE, first, 3, null]]);
    } finally {
      await desk.asSuperuser(`DELETE FROM database_restore WHERE id = '${restored}'`);
    }
    await amended(bonus, { executionDate: NOVEMBER.executionDate });
    expect(await ofRun()).toEqual([[CODE, first, 3, 'AMENDED']]);
  });

  it('hold it no more once it is far again, or has other rows', async () => {
    const november = await upload(three, NOVEMBER);
    const december = await upload(three, { ...DECEMBER, executionDate: NEAR });
    await amended(december, { executionDate: FAR });
    expect(await holdsOf(december)).toEqual([[CODE, november, 3, 'AMENDED']]);
    await amended(december, { executionDate: NEAR });
    expect(await holdsOf(december)).toEqual([
      [CODE, november, 3, 'AMENDED'],
      [CODE, november, 3, null],
    ]);
  });

  it('are asked about anew where they are of another run than was released', async () => {
    const november = await upload(three, NOVEMBER);
    const bonus = await upload(three, { ...DECEMBER, kindOfPay: 'BONUS', executionDate: '2027-01-11' });
    const december = await upload(three, { ...DECEMBER, period: '2027-02', executionDate: NEAR });
    await release(december);
    await amended(december, { executionDate: '2026-12-02' });
    expect(await holdsOf(december)).toEqual([[CODE, november, 3, 'RELEASED']]);
    await amended(december, { executionDate: '2026-12-29' });
    expect(await holdsOf(december)).toEqual([
      [CODE, november, 3, 'RELEASED'],
      [CODE, bonus, 3, null],
    ]);
    await leftOut(december, 4);
    expect((await holdsOf(december)).slice(1)).toEqual([
      [CODE, bonus, 3, 'AMENDED'],
      [CODE, bonus, 2, null],
    ]);
    await release(december);
    await amended(december, { executionDate: NEAR });
    expect((await holdsOf(december)).map(([, , , outcome]) => outcome)).toEqual([
      'RELEASED',
      'AMENDED',
      'RELEASED',
    ]);
  });

  it('hold the first of two runs where the second asks about it no more, or about a third', async () => {
    const november = await upload(three, NOVEMBER);
    const december = await upload(three, { ...DECEMBER, executionDate: NEAR });
    await amended(december, { executionDate: FAR });
    await amended(november, { executionDate: '2026-12-08' });
    expect(await holdsOf(november)).toEqual([[CODE, december, 3, null]]);

    employer = await desk.employer();
    const first = await upload(three, NOVEMBER);
    const third = await upload(three, { period: '2027-01', executionDate: '2027-01-04' });
    const second = await upload(three, DECEMBER);
    expect(await holdsOf(second)).toEqual([[CODE, third, 3, null]]);
    await amended(first, { executionDate: '2026-12-08' });
    expect(await holdsOf(first)).toEqual([[CODE, second, 3, null]]);
  });

  it('hold the second of two runs that are amended to be near each other at once', async () => {
    const between = { excludePaymentIds: [], executionDate: '2026-12-28', reason: 'another day' };
    const november = await upload(three, NOVEMBER);
    const january = await upload(three, { period: '2027-01', executionDate: '2027-01-25' });
    let second: Promise<unknown> = Promise.resolve();
    await desk.inRun(employer, november, async (tx, run) => {
      await amend(tx, desk.personal, run, employer.personId, between);
      second = amended(january, between);
      await eventually(() => desk.isLockAwaited(), 5_000);
    });
    await second;
    expect((await holdsOf(november)).filter(([code]) => code === CODE)).toEqual([]);
    expect(await holdsOf(january)).toEqual([[CODE, november, 3, null]]);
  });

  it('do not hold the first of two runs, where the second asks about both', async () => {
    const november = await upload(three, NOVEMBER);
    const december = await upload(three, { ...DECEMBER, executionDate: NEAR });
    await leftOut(november, 4);
    expect(await holdsOf(november)).toEqual([]);
    await desk.cancel(employer, showId('run', december));
    await amended(november, { executionDate: '2026-11-27' });
    expect(await holdsOf(november)).toEqual([]);
  });
});
