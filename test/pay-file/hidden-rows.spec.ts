import { newId } from '../../src/database/new-id';
import { readId, showId } from '../../src/http/prefixed-id';
import { Proposal } from '../../src/pay-run/amendment';
import { Random } from '../../prove/model/random';
import { germanIban } from '../support/pay-rows';
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
  await desk.set(employer, { faultPolicy: { policy: 'hold' } });
});
afterAll(() => desk.close());

const SAME_ROWS = 'ROWS_OF_ANOTHER_RUN';
const ALIKE = 'IBAN_AND_AMOUNT_TWICE';
const NEAR = { executionDate: '2026-11-30' };
const FAR = { executionDate: '2026-12-28' };

/** Rows of people, each with an account and an amount of their own, under ids that begin as is said. */
const people = (id: string, first: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => person(id, first + n));
const person = (id: string, n: number, amount = `${n}.00`): string =>
  row(`${id}${n}`, amount, `Ann ${String.fromCharCode(65 + (n % 26)).repeat(2 + n / 26)}`, germanIban(n));
/** As `people`, with an amount that is nobody's yet. */
const faulty = (id: string, first: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => person(id, first + n, `x${first + n}.00`));

const upload = async (rows: string[], fields: Record<string, string> = {}): Promise<string> =>
  readId('run', (await desk.upload(employer, csv(...rows), { ...NEAR, ...fields })).answer.id);

const amended = (runId: string, proposal: Partial<Proposal>): Promise<unknown> =>
  desk.amend(employer, runId, proposal);
const leftOut = (runId: string, lines: readonly number[]): Promise<unknown> =>
  desk.leaveOut(employer, runId, lines);

/** Sends rows back that were kept back, mended: the first ones of them, if it is said how many. */
const corrected = async (runId: string, count = Infinity): Promise<void> => {
  let left = count;
  const text = (await desk.corrections(employer, showId('run', runId))).toString();
  const mended = text.replace(/,x(\d)/g, (whole: string, digit: string) =>
    left-- > 0 ? `,${digit}` : whole,
  );
  await desk.correct(employer, showId('run', runId), Buffer.from(mended));
};

const decision = () => ({ personId: approver, reason: 'both are owed' });
/** Releases what holds the whole run, or the oldest hold of a row beside another. */
const release = async (runId: string, line?: number): Promise<void> => {
  if (line === undefined) return desk.releaseHold(employer, runId, { code: SAME_ROWS }, decision());
  const paymentId = await desk.paymentIn(employer, runId, line);
  const [oldest] = await desk.query<{ version: number }>(
    employer,
    'SELECT min(run_version) AS version FROM pay_hold WHERE payment_id = $1 AND code = $2 AND outcome IS NULL',
    [paymentId, ALIKE],
  );
  return desk.releaseHold(employer, runId, { code: ALIKE, paymentId, version: oldest?.version }, decision());
};

/** What is held of a run and not decided, as line, code and the run beside. */
const openHolds = async (runId: string): Promise<[number | null, string, string][]> => {
  const rows = await desk.query<{ line: number | null; code: string; beside: string }>(
    employer,
    `SELECT p.line, h.code, h.beside_run_id AS beside FROM pay_hold h LEFT JOIN payment p ON p.id = h.payment_id
     WHERE h.pay_run_id = $1 AND h.outcome IS NULL ORDER BY h.row_no, h.code, h.run_version`,
    [runId],
  );
  return rows.map(({ line, code, beside }) => [line, code, beside]);
};

const linesHeld = async (runId: string, beside: string): Promise<(number | null)[]> =>
  (await openHolds(runId)).flatMap(([line, code, other]) =>
    code === ALIKE && other === beside ? [line] : [],
  );

/** The runs beside which the rows of a line were held, by what asked in turn. */
const besidesOf = async (runId: string, line: number): Promise<string[][]> => {
  const rows = await desk.query<{ besides: string[] }>(
    employer,
    `SELECT array_remove(beside_run_id || also_beside_run_ids, NULL) AS besides FROM pay_hold
     WHERE payment_id = $1 AND code = $2 ORDER BY run_version`,
    [await desk.paymentIn(employer, runId, line), ALIKE],
  );
  return rows.map(({ besides }) => besides);
};

const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
const approve = (runId: string, by = approver): Promise<void> =>
  desk.approve(employer, showId('run', runId), by);

/**
 * Pairs of payments of two runs that pay one account the same, of which nobody is, or was, asked: as two people's, or by a
 * run near it beside which the whole run was held until an amendment.
 */
const unasked = (): Promise<unknown[]> =>
  desk.query(
    employer,
    `WITH hold AS (SELECT h.*, h.beside_run_id || h.also_beside_run_ids AS besides FROM pay_hold h),
     asked AS (SELECT * FROM hold WHERE outcome IS NULL OR outcome = 'RELEASED')
     SELECT u.line, p.line AS beside
     FROM payment u JOIN pay_run mine ON mine.id = u.pay_run_id
     JOIN payment p ON p.iban_hash = u.iban_hash AND p.amount_minor = u.amount_minor AND p.pay_run_id <> u.pay_run_id
     JOIN pay_run theirs ON theirs.id = p.pay_run_id,
       LATERAL (SELECT p.period = u.period AND p.employee_id <> u.employee_id AS of_another) AS pair
     WHERE u.live AND p.live
       AND (of_another OR (p.period, p.kind_of_pay) <> (u.period, u.kind_of_pay)
         AND (p.period = u.period OR abs(theirs.execution_date - mine.execution_date) <= 14)
         AND EXISTS (SELECT FROM hold h WHERE h.pay_run_id = u.pay_run_id AND h.row_no = 0 AND h.outcome = 'AMENDED'
           AND p.pay_run_id = ANY (h.besides)))
       AND NOT EXISTS (SELECT FROM asked h WHERE h.pay_run_id = u.pay_run_id AND coalesce(h.payment_id, u.id) = u.id
         AND p.pay_run_id = ANY (CASE WHEN of_another AND row_no = 0 THEN ARRAY[h.beside_run_id] ELSE h.besides END))
       AND NOT EXISTS (SELECT FROM asked h WHERE h.pay_run_id = p.pay_run_id AND coalesce(h.payment_id, p.id) = p.id
         AND u.pay_run_id = ANY (CASE WHEN of_another AND row_no = 0 THEN ARRAY[h.beside_run_id] ELSE h.besides END))`,
  );
afterEach(async () => expect(await unasked()).toEqual([]));

const paidAgain = async (runId: string): Promise<{ rows: number; total: string; held: number }> => {
  const [run] = await desk.query<{ rows: number; total: string; held: number }>(
    employer,
    `SELECT row_count AS rows, total_minor AS total,
       (SELECT count(*)::int FROM payment p WHERE p.pay_run_id = r.id AND p.status = 'HELD') AS held
     FROM pay_run r WHERE id = $1`,
    [runId],
  );
  return run!;
};

const MIXED = [...people('N', 1, 6), ...people('N', 21, 5), ...people('Z', 41, 9)];

describe('the rows of another run, once the whole run is not held for them any more', () => {
  it('are held by themselves where an amendment leaves out what is held', async () => {
    const first = await upload(people('E', 1, 6));
    await upload(people('E', 21, 5));
    const again = await upload(MIXED);
    await leftOut(again, [8, 9, 10, 11, 12]);
    expect(await openHolds(again)).toEqual([2, 3, 4, 5, 6, 7].map((line) => [line, ALIKE, first]));
    const others = [41, 42, 43, 44, 45, 46, 47, 48, 49].reduce((sum, euros) => sum + euros, 0);
    expect(await paidAgain(again)).toEqual({ rows: 9, total: `${others}00`, held: 6 });
    await expect(desk.approve(employer, showId('run', again), approver)).rejects.toMatchObject({
      code: 'HOLDS_OPEN',
    });
    const moved = await desk.query(
      employer,
      `SELECT payments, amount_minor FROM state_change WHERE pay_run_id = $1 AND to_status = 'HELD' ORDER BY seq DESC LIMIT 1`,
      [again],
    );
    expect(moved).toEqual([{ payments: 6, amount_minor: '2100' }]);
  });

  it('are held by themselves where an amendment changes the date only', async () => {
    const first = await upload(people('E', 1, 6));
    await upload(people('Z', 21, 5), { period: '2026-12' });
    const again = await upload([...people('N', 1, 6), ...people('Z', 21, 5), ...people('Z', 41, 9)]);
    expect(await openHolds(again)).toEqual([[null, SAME_ROWS, first]]);
    await amended(again, FAR);
    expect(await openHolds(again)).toEqual([2, 3, 4, 5, 6, 7].map((line) => [line, ALIKE, first]));
  });

  it('are held by themselves where the whole run is held beside a third one then', async () => {
    const first = await upload(people('E', 1, 6));
    const second = await upload(people('E', 21, 5));
    const again = await upload([...people('N', 1, 6), ...people('N', 21, 5), ...people('Z', 41, 4)]);
    await leftOut(again, [2, 3, 4]);
    expect(await openHolds(again)).toEqual([
      [null, SAME_ROWS, second],
      ...[5, 6, 7].map((line) => [line, ALIKE, first]),
      ...[8, 9, 10, 11, 12].map((line) => [line, ALIKE, second]),
    ]);
  });

  it('are held where the run holds them for something else, and once each', async () => {
    await desk.set(employer, { paymentLimitMinor: 500n });
    const first = await upload(people('E', 1, 6));
    const again = await upload([...people('N', 1, 6), person('Y', 3), ...people('Z', 41, 3)]);
    await leftOut(again, [2]);
    expect((await openHolds(again)).slice(0, 1)).toEqual([[null, SAME_ROWS, first]]);
    expect(await linesHeld(again, first)).toEqual([]);
    await leftOut(again, [3, 4, 5]);
    // Line 7 is above the limit; line 8 is held beside line 4, which is left out, and named the other run as it came.
    expect(await linesHeld(again, first)).toEqual([6, 7]);
    await amended(again, NEAR);
    expect(await linesHeld(again, first)).toEqual([6, 7]);
    expect(await besidesOf(again, 8)).toEqual([[first]]);
    await release(again, 8);
    await amended(again, NEAR);
    expect((await openHolds(again)).filter(([line]) => line === 8)).toEqual([]);
  });

  it('are not asked about once more where the whole run was released, nor those that were themselves', async () => {
    const first = await upload(people('E', 1, 6));
    const again = await upload([...people('N', 1, 6), ...people('Z', 41, 5)]);
    await release(again);
    await leftOut(again, [2, 3]);
    expect(await openHolds(again)).toEqual([]);
    expect(await paidAgain(again)).toMatchObject({ rows: 9, held: 0 });

    const third = await upload([...people('M', 1, 6), ...people('Y', 51, 5)]);
    await leftOut(third, [2]);
    expect(await openHolds(third)).toEqual([
      [3, ALIKE, first],
      ...[4, 5, 6, 7].map((line) => [line, ALIKE, again]),
    ]);
    for (const line of [3, 4, 5, 6, 7]) await release(third, line);
    await leftOut(third, [3]);
    expect(await openHolds(third)).toEqual([]);
    expect(await paidAgain(third)).toMatchObject({ rows: 9, held: 0 });
  });

  it('are not held where the other run was cancelled before', async () => {
    const first = await upload(people('E', 1, 6));
    const again = await upload([...people('N', 1, 6), ...people('Z', 41, 5)]);
    await desk.cancel(employer, showId('run', first));
    await amended(again, FAR);
    expect(await openHolds(again)).toEqual([]);
    expect(await paidAgain(again)).toMatchObject({ rows: 11, held: 0 });
  });

  it('are held where the other run was cancelled after a restore, and may have paid them', async () => {
    const restored = newId();
    const first = await upload(people('E', 1, 6));
    const again = await upload([...people('N', 1, 6), ...people('Z', 41, 5)]);
    await desk.asSuperuser(
      `INSERT INTO database_restore (id, what, told_at) VALUES ('${restored}', 'another database', now())`,
    );
    try {
      await desk.cancel(employer, showId('run', first));
      await leftOut(again, [2]);
      expect(await linesHeld(again, first)).toEqual([3, 4, 5, 6, 7]);
    } finally {
      await desk.asSuperuser(`DELETE FROM database_restore WHERE id = '${restored}'`);
    }
  });

  it('are not held where the other run asks about them', async () => {
    const first = await upload(people('E', 1, 6));
    const again = await upload([...people('N', 1, 6), ...people('Z', 41, 5)]);
    await leftOut(again, [2]);
    expect(await linesHeld(again, first)).toEqual([3, 4, 5, 6, 7]);
    await amended(first, NEAR);
    expect(await openHolds(first)).toEqual([[null, SAME_ROWS, again]]);
    await leftOut(first, [3, 4, 5, 6]);
    expect(await openHolds(first)).toEqual([]);
    expect(await paidAgain(first)).toMatchObject({ rows: 2, held: 0 });
  });

  it('are held when they join the run as corrections, whatever becomes of what holds the run', async () => {
    const first = await upload(people('E', 1, 8));
    const again = await upload([...people('N', 1, 3), ...faulty('N', 4, 5), ...people('Z', 41, 2)]);
    expect(await openHolds(again)).toEqual([[null, SAME_ROWS, first]]);
    await corrected(again);
    expect(await linesHeld(again, first)).toEqual([5, 6, 7, 8, 9]);
    await release(again);
    expect(await linesHeld(again, first)).toEqual([5, 6, 7, 8, 9]);
    await expect(desk.approve(employer, showId('run', again), approver)).rejects.toMatchObject({
      code: 'HOLDS_OPEN',
    });
  });

  it('are held when they join a run that is held beside another one than most of them are in', async () => {
    const first = await upload(people('E', 1, 4));
    const second = await upload(people('E', 11, 8));
    const again = await upload([...people('N', 1, 4), ...faulty('N', 11, 8)]);
    expect(await openHolds(again)).toEqual([[null, SAME_ROWS, first]]);
    await corrected(again);
    expect(await linesHeld(again, second)).toEqual([6, 7, 8, 9, 10, 11, 12, 13]);
  });
});

describe('what other runs pay the same people, once the whole run is not held for it any more', () => {
  const BONUS = { kindOfPay: 'BONUS' };
  const own = [...people('E', 1, 6), ...people('Z', 41, 5)];

  it.each([
    ['as another kind of pay', BONUS],
    [
      'for another month, so few days later that it may be the same',
      { period: '2026-12', executionDate: '2026-12-14' },
    ],
  ])('is asked about by its rows %s', async (_, fields) => {
    const first = await upload(people('E', 1, 6));
    await approve(first);
    const again = await upload(own, fields);
    expect(await openHolds(again)).toEqual([[null, SAME_ROWS, first]]);
    await leftOut(again, [2]);
    expect(await openHolds(again)).toEqual([3, 4, 5, 6, 7].map((line) => [line, ALIKE, first]));
    expect(await refusalOf(approve(again))).toBe('HOLDS_OPEN');
    for (const line of [3, 4, 5, 6, 7]) await release(again, line);
    await leftOut(again, [3]);
    expect(await openHolds(again)).toEqual([]);
    await approve(again);
  });

  it('is asked about no more where the run is so many days later by then that it is another month', async () => {
    await upload(people('E', 1, 6));
    const again = await upload(own, { period: '2026-12', executionDate: '2026-12-14' });
    await desk.amend(employer, again, {
      executionDate: '2026-12-15',
      excludePaymentIds: [await desk.paymentIn(employer, again, 2)],
    });
    expect(await openHolds(again)).toEqual([]);
    await approve(again);
  });

  it('is asked about beside every run that pays it, not the first one alone', async () => {
    const [first, second] = [await upload(people('E', 1, 4)), await upload(people('E', 4, 3))];
    const third = await upload([person('E', 1), person('E', 2)], { kindOfPay: 'ADVANCE' });
    await desk.cancel(employer, showId('run', third));
    const again = await upload(own, BONUS);
    expect(await openHolds(again)).toEqual([[null, SAME_ROWS, first]]);
    await leftOut(again, [2]);
    expect(await openHolds(again)).toEqual([
      ...[3, 4, 5].map((line) => [line, ALIKE, first]),
      ...[6, 7].map((line) => [line, ALIKE, second]),
    ]);
    expect(await besidesOf(again, 5)).toEqual([[first, second]]);
  });

  it('is not asked about once more where the whole run was released beside those runs after an amendment', async () => {
    const [first] = [await upload(people('E', 1, 4)), await upload(people('E', 5, 2))];
    const again = await upload([...people('E', 1, 6), ...people('Z', 41, 4)], BONUS);
    await leftOut(again, [8]);
    expect(await openHolds(again)).toEqual([[null, SAME_ROWS, first]]);
    await amended(again, NEAR);
    await leftOut(again, [9]);
    await release(again);
    await leftOut(again, [2, 3]);
    expect(await openHolds(again)).toEqual([]);
    await approve(again);
  });

  it('is not asked about where the same kind of pay of the month finds it, or another run asks', async () => {
    const first = await upload(people('E', 1, 6));
    const again = await upload(own);
    const paid = [2, 3, 4, 5, 6, 7].map((line) => [line, 'EMPLOYEE_ALREADY_PAID', first]);
    expect(await openHolds(again)).toEqual([[null, SAME_ROWS, first], ...paid]);
    await leftOut(again, [2]);
    expect(await openHolds(again)).toEqual(paid.slice(1));
  });
});

describe('a row that several other runs pay', () => {
  it('is asked about beside all of them at once, and approved once that was released', async () => {
    const oldest = await upload([person('E', 13), person('Y', 60)]);
    const first = await upload([...people('F', 1, 6), person('F', 13)]);
    await release(first, 8);
    const again = await upload([...people('N', 1, 6), ...faulty('N', 13, 1), ...people('Z', 41, 3)]);
    await leftOut(again, [2, 3, 4, 5, 6, 7]);
    await corrected(again);
    expect(await openHolds(again)).toEqual([[8, ALIKE, oldest]]);
    expect(await besidesOf(again, 8)).toEqual([[oldest, first]]);
    await release(again, 8);
    await amended(again, NEAR);
    expect(await openHolds(again)).toEqual([]);
    await approve(again);
  });

  it('is asked about beside a run, too, for whose rows the whole run is held, and not once more after that', async () => {
    const oldest = await upload([person('E', 13), person('Y', 60)]);
    const first = await upload([person('F', 13), ...people('F', 1, 6)]);
    await release(first, 2);
    const again = await upload([...people('N', 1, 6), person('N', 13), ...people('Z', 41, 5)]);
    expect(await openHolds(again)).toEqual([
      [null, SAME_ROWS, first],
      [8, ALIKE, oldest],
    ]);
    expect(await besidesOf(again, 8)).toEqual([[oldest, first]]);
    await release(again, 8);
    await leftOut(again, [2, 3, 4, 5, 6, 7]);
    expect(await openHolds(again)).toEqual([]);
    await approve(again);
  });

  it('is asked about once more beside a run that its hold did not name, and each hold is released by itself', async () => {
    const oldest = await upload([person('E', 13), person('Y', 60)]);
    const first = await upload([person('F', 13), ...people('F', 1, 6)]);
    const again = await upload([...people('N', 1, 6), person('N', 13), ...people('Z', 41, 5)]);
    const paymentId = await desk.paymentIn(employer, again, 8);
    // As holds of before named one run only.
    await desk.asSuperuser(`SET session_replication_role = replica;
      UPDATE pay_hold SET also_beside_run_ids = '{}' WHERE payment_id = '${paymentId}'`);
    await leftOut(again, [2, 3, 4, 5, 6, 7]);
    expect(await openHolds(again)).toEqual([
      [8, ALIKE, oldest],
      [8, ALIKE, first],
    ]);
    const unnamed = desk.releaseHold(employer, again, { code: ALIKE, paymentId }, decision());
    expect(await refusalOf(unnamed)).toBe('SEVERAL_HOLDS');
    await release(again, 8);
    expect(await openHolds(again)).toEqual([[8, ALIKE, first]]);
    expect(await refusalOf(approve(again))).toBe('HOLDS_OPEN');
    const another = desk.releaseHold(employer, again, { code: ALIKE, paymentId, version: 1 }, decision());
    expect(await refusalOf(another)).toBe('HOLD_NOT_FOUND');
    await desk.releaseHold(employer, again, { code: ALIKE, paymentId }, decision());
    await approve(again);
  });

  it('is asked about beside all of them at once, too, where amendments ended what hid it from each', async () => {
    const first = await upload([...people('E', 1, 6), person('E', 13)]);
    const second = await upload([...people('F', 21, 5), person('F', 13)]);
    const mine = [...people('N', 1, 6), ...people('N', 21, 5), person('N', 13), ...people('Z', 41, 4)];
    const again = await upload(mine);
    await leftOut(again, [2, 3, 4]);
    await leftOut(again, [8, 9, 10, 11, 12]);
    const paymentId = await desk.paymentIn(employer, again, 13);
    await desk.asSuperuser(
      `SET session_replication_role = replica; DELETE FROM pay_hold WHERE payment_id = '${paymentId}'`,
    );
    await amended(again, NEAR);
    expect(await besidesOf(again, 13)).toEqual([[first, second]]);
  });

  it('is asked about where it comes to be paid by one more, whatever was released before', async () => {
    const oldest = await upload([person('E', 13), person('Y', 60)]);
    const second = await upload([person('F', 13), person('Y', 61), person('Y', 62)]);
    await release(second, 2);
    const third = await upload([person('N', 13), person('Y', 63), person('Y', 64)]);
    expect(await besidesOf(third, 2)).toEqual([[oldest, second]]);
    expect(await openHolds(third)).toEqual([[2, ALIKE, oldest]]);
  });

  it('is asked about beside them, too, where it is held beside a line of its own run', async () => {
    const oldest = await upload([person('E', 13), person('Y', 60)]);
    const second = await upload([person('F', 13), person('Y', 61), person('Y', 62)]);
    const both = [person('N', 13), person('M', 13), ...people('Y', 63, 3)];
    const third = await upload(both);
    expect(await besidesOf(third, 2)).toEqual([[oldest, second]]);
    expect(await besidesOf(third, 3)).toEqual([[oldest, second]]);
    expect(await openHolds(third)).toEqual([
      [2, ALIKE, oldest],
      [3, ALIKE, null],
    ]);
  });
});

describe('a run that came to lack approvals while it was submitted', () => {
  const submitting = async (rows: string[], lines: readonly number[]): Promise<string> => {
    const run = await upload(rows);
    await leftOut(run, [2, 3, 4, 5, 6, 7]);
    for (const line of lines) await release(run, line);
    await approve(run);
    await desk.set(employer, { approvalsRequired: 2 });
    await desk.asSuperuser(
      `SET session_replication_role = replica; UPDATE pay_run SET status = 'SUBMITTING' WHERE id = '${run}'`,
    );
    return run;
  };

  it('is approved, though others have come to pay a row of it: they are asked beside all that pay it', async () => {
    const oldest = await upload([person('E', 13), person('Y', 60)]);
    const first = await upload([...people('F', 1, 6), ...faulty('F', 13, 1)]);
    const rows = [...people('N', 1, 6), person('N', 13), ...people('Z', 41, 5)];
    const again = await submitting(rows, [8]);
    await corrected(first);
    expect(await openHolds(first)).toEqual([[8, ALIKE, oldest]]);
    expect(await besidesOf(first, 8)).toEqual([[oldest, again]]);
    await approve(again, await desk.person('Bea Approver'));
  });

  it('is approved, whoever came to pay its rows: it can be amended no more', async () => {
    const first = await upload([...people('F', 1, 6), ...faulty('F', 41, 1)]);
    const again = await submitting([...people('N', 1, 6), ...people('Z', 41, 5)], []);
    await corrected(first);
    expect(await besidesOf(first, 8)).toEqual([[again]]);
    const bea = await desk.person('Bea Approver');
    const unasked = (status: string) => `UPDATE pay_run SET status = '${status}' WHERE id = '${again}'`;
    await desk.asSuperuser(`SET session_replication_role = replica; DELETE FROM pay_hold WHERE payment_id IS NOT NULL;
      ${unasked('READY')}`);
    expect(await refusalOf(approve(again, bea))).toBe('23514');
    await desk.asSuperuser(`SET session_replication_role = replica; ${unasked('SUBMITTING')}`);
    await approve(again, bea);
    await desk.cancel(employer, showId('run', first));
  });
});

/** Something that somebody does with the runs; what is refused changes nothing. */
type Deed = (runs: Runs, random: Random) => Promise<unknown>;
interface Runs {
  first: string;
  second: string;
  again: string;
}

const linesOf = async (runId: string): Promise<number[]> =>
  (
    await desk.query<{ line: number }>(
      employer,
      `SELECT line FROM payment WHERE pay_run_id = $1 AND status IN ('READY', 'HELD') ORDER BY line`,
      [runId],
    )
  ).map(({ line }) => line);
const some = (lines: readonly number[], random: Random): number[] => {
  const share = random.between(0, 100);
  return lines.filter(() => random.between(0, 99) < share);
};

const DEEDS: Record<string, Deed> = {
  'leaves some out': async ({ again }, random) => leftOut(again, some(await linesOf(again), random)),
  'leaves out what is held': async ({ again }) =>
    leftOut(
      again,
      (await openHolds(again)).flatMap(([line]) => line ?? []),
    ),
  'leaves some of another run out': async ({ first }, random) =>
    leftOut(first, some(await linesOf(first), random)),
  'makes it far': ({ again }) => amended(again, FAR),
  'makes it near': ({ again }) => amended(again, NEAR),
  'makes another one near': ({ second }) => amended(second, NEAR),
  'mends some': ({ again }, random) => corrected(again, random.between(1, 4)),
  'cancels another one': ({ second }) => desk.cancel(employer, showId('run', second)),
  'releases the run': ({ again }) => release(again),
  'releases another run': ({ second }) => release(second),
  'releases a row': async ({ again }, random) => {
    const held = (await openHolds(again)).flatMap(([line]) => line ?? []);
    return release(again, held[random.between(0, held.length - 1)]);
  },
};

/** What ends what is held of the whole run is drawn most often. */
const DRAWN = Object.keys(DEEDS).flatMap((name) =>
  /leaves|makes it/.test(name) ? [name, name, name] : [name],
);

describe('an amendment, a correction, a cancellation and a release, in any order', () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'leave no alike row unasked (seed %i)',
    async (seed) => {
      const random = new Random(seed);
      const first = await upload([...people('E', 1, 8), ...people('F', 71, random.between(0, 5))]);
      const second = await upload([...people('E', 21, 6), ...people('F', 81, random.between(0, 5))]);
      await upload(people('Z', 31, random.between(1, 6)), { period: '2026-12' });
      const again = await upload([
        ...people('N', 1, random.between(3, 6)),
        ...faulty('N', 7, 2),
        ...people('N', 21, random.between(1, 4)),
        ...faulty('N', 25, 2),
        ...people('Z', 31, random.between(0, 5)),
        ...people('Y', 51, random.between(3, 8)),
      ]);
      const done: string[] = [];
      for (let n = 0; n < 8; n += 1) {
        const name = DRAWN[random.between(0, DRAWN.length - 1)]!;
        const refused = await DEEDS[name]!({ first, second, again }, random).then(
          () => '',
          (error: Error) => ` (${error.message})`,
        );
        done.push(name + refused);
        expect([done, await unasked()]).toEqual([done, []]);
      }
    },
  );
});
