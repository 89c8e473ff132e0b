import { HoldCode } from '../../src/domain/hold';
import { readId, showId } from '../../src/http/prefixed-id';
import { withdrawFurtherPay } from '../../src/pay-file/release';
import { listReleases, ReleaseRow } from '../../src/pay-run/release.reads';
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
});
afterAll(() => desk.close());

const NAMES = ['Ann', 'Ben', 'Cleo', 'Dan', 'Eve', 'Finn', 'Gia', 'Hal', 'Ida', 'Joe', 'Kim', 'Leo'];
/** A row whose account and amount go by a number. */
const pay = (employeeId: string, n: number): string =>
  row(employeeId, `${n}.00`, NAMES[n % NAMES.length], germanIban(n));
const people = (id: string, ...numbers: number[]): string[] => numbers.map((n) => pay(`${id}${n}`, n));

const upload = async (...rows: string[]): Promise<string> =>
  readId('run', (await desk.upload(employer, csv(...rows))).answer.id);

const release = async (runId: string, code: HoldCode, line: number): Promise<void> =>
  desk.releaseHold(
    employer,
    runId,
    { code, paymentId: await desk.paymentIn(employer, runId, line) },
    { personId: approver, reason: 'a bonus is owed' },
  );

const OF_E1 = { employeeId: 'E1', period: '2026-11', kindOfPay: 'SALARY', reason: 'a bonus' };
const allowBeforehand = () => desk.release(employer, approver, OF_E1);
const withdraw = () =>
  desk.database.inEmployer(employer.employerId, (tx) => withdrawFurtherPay(tx, approver, OF_E1));
const releases = (unused = false): Promise<ReleaseRow[]> =>
  desk.database.inEmployer(employer.employerId, (tx) => listReleases(tx, { unused }, 10));

/** What becomes of E1 in a run, by its line: the state and the place of the row, and its open holds. */
const e1In = async (runId: string): Promise<[string, number, string[]]> => {
  const [found] = await desk.query<{ status: string; place: number; held: string[] }>(
    employer,
    `SELECT p.status, p.release_sequence AS place, ARRAY(SELECT h.code FROM pay_hold h
       WHERE h.payment_id = p.id AND h.outcome IS NULL ORDER BY h.code) AS held
     FROM payment p WHERE p.pay_run_id = $1 AND p.employee_id = 'E1'`,
    [runId],
  );
  return [found?.status ?? '', found?.place ?? 0, found?.held ?? []];
};

/** How the further pay of E1 was allowed, before and after its row came. */
const WAYS = {
  'the release of its row': { after: (run: string) => release(run, 'EMPLOYEE_ALREADY_PAID', 7) },
  'a release given beforehand': { before: allowBeforehand },
  'a release given since, which that of its row used up': {
    after: async (run: string) => {
      await allowBeforehand();
      await release(run, 'EMPLOYEE_ALREADY_PAID', 7);
    },
  },
};
interface Way {
  before?: () => Promise<unknown>;
  after?: (run: string) => Promise<void>;
}

/** A run whose line 7 pays E1 once more, and that an amendment held again once it had joined. */
async function heldAgain({ before, after }: Way): Promise<string> {
  await desk.approve(employer, showId('run', await upload(pay('E1', 1), ...people('Y', 60))), approver);
  await upload(...people('F', 11, 12, 13, 14, 15, 16));
  await before?.();
  const again = await upload(...people('N', 11, 12, 13, 14, 15), pay('E1', 16), ...people('Z', 41, 42, 43));
  await after?.(again);
  expect(await e1In(again)).toEqual(['READY', 1, []]);
  await desk.leaveOut(employer, again, [2, 3, 4, 5, 6]);
  expect(await e1In(again)).toEqual(['HELD', 1, ['IBAN_AND_AMOUNT_TWICE']]);
  return again;
}

describe.each(Object.entries<Way>(WAYS))('further pay by %s, held again by an amendment', (name, way) => {
  let again: string;
  beforeEach(async () => {
    again = await heldAgain(way);
  });

  it('gives its release to no other row', async () => {
    const other = await upload(row('E1', '5000.00'), ...people('X', 70));
    expect(await e1In(other)).toEqual(['HELD', 0, ['EMPLOYEE_ALREADY_PAID']]);
    await expect(desk.approve(employer, showId('run', other), approver)).rejects.toMatchObject({
      code: 'HOLDS_OPEN',
    });
  });

  it('joins in its own place, and the other row is not paid by who did not see it', async () => {
    const other = await upload(row('E1', '5000.00'), ...people('X', 70));
    await release(again, 'IBAN_AND_AMOUNT_TWICE', 7);
    expect(await e1In(again)).toEqual(['READY', 1, []]);
    await expect(release(other, 'EMPLOYEE_ALREADY_PAID', 2)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
  });

  it('is not paid beside another row that was released meanwhile, by a release of its own', async () => {
    const other = await upload(row('E1', '5000.00'), ...people('X', 70));
    await release(other, 'EMPLOYEE_ALREADY_PAID', 2);
    expect(await e1In(other)).toEqual(['READY', 2, []]);
    await expect(release(again, 'IBAN_AND_AMOUNT_TWICE', 7)).rejects.toMatchObject({
      code: 'HELD_PAYMENT_OUTDATED',
    });
    await desk.leaveOut(employer, again, [7]);
    await desk.approve(employer, showId('run', other), approver);
    expect(await e1In(other)).toEqual(['APPROVED', 2, []]);
  });

  it('uses its release until it is left out, or its run cancelled', async () => {
    expect(await releases(true)).toEqual([]);
    expect(await releases()).toMatchObject([
      { sequence: 1, stands: true, payment_id: await desk.paymentIn(employer, again, 7), pay_run_id: again },
    ]);
    await expect(withdraw()).rejects.toMatchObject({ code: 'RELEASE_NOT_FOUND' });
    expect(await allowBeforehand()).toMatchObject({ sequence: 2 });
    expect(await withdraw()).toBe(1);
    await desk.leaveOut(employer, again, [7]);
    const lapses = name === 'the release of its row';
    expect(await releases(true)).toHaveLength(lapses ? 0 : 1);
    const other = await upload(row('E1', '5000.00'), ...people('X', 70));
    expect((await e1In(other))[2]).toContain('EMPLOYEE_ALREADY_PAID');
    await desk.cancel(employer, showId('run', again));
    expect(await releases(true)).toHaveLength(lapses ? 0 : 1);
  });
});

it('further pay that was held only as it came leaves its release to the next row', async () => {
  await upload(pay('E1', 1), ...people('Y', 60));
  await allowBeforehand();
  await desk.set(employer, { paymentLimitMinor: 10_000n });
  const high = await upload(row('E1', '5000.00'), ...people('X', 70));
  expect(await e1In(high)).toEqual(['HELD', 1, ['PAYMENT_ABOVE_LIMIT']]);
  const other = await upload(row('E1', '50.00'), ...people('W', 80));
  expect(await e1In(other)).toEqual(['READY', 1, []]);
  await expect(release(high, 'PAYMENT_ABOVE_LIMIT', 2)).rejects.toMatchObject({
    code: 'HELD_PAYMENT_OUTDATED',
  });
});

/** The places in which E1 is paid, with the amounts. */
const paysE1 = async (): Promise<string[]> =>
  (
    await desk.query<{ text: string }>(
      employer,
      `SELECT p.release_sequence || ': ' || p.amount_minor AS text FROM payment p
       WHERE p.employee_id = 'E1' AND p.live ORDER BY p.release_sequence`,
    )
  ).map(({ text }) => text);
const outdated = { code: 'HELD_PAYMENT_OUTDATED' };
const ALREADY: HoldCode = 'EMPLOYEE_ALREADY_PAID';
const ALIKE: HoldCode = 'IBAN_AND_AMOUNT_TWICE';

/** Five people under other ids than those of a run before, `n` of E1 as there, and more of E1 from line 8 on. */
async function bonusRun(id: string, n: number, ...more: string[]): Promise<string> {
  const numbers = [1, 2, 3, 4, 5].map((before) => n - before);
  await upload(...people(`F${id}`, ...numbers, n));
  const others = [1, 2, 3].map((after) => n + after + 20);
  return upload(...people(`N${id}`, ...numbers), pay('E1', n), ...more, ...people(`Z${id}`, ...others));
}
/** An amendment that ends what holds the run, so that its row of E1 is held. */
const holdAgain = (runId: string) => desk.leaveOut(employer, runId, [2, 3, 4, 5, 6]);

describe('further pay that was held again', () => {
  beforeEach(async () => {
    await desk.approve(employer, showId('run', await upload(pay('E1', 1), ...people('Y', 60))), approver);
  });

  it('is seen by who releases the same pay in another run, though its own run pays more in a later place', async () => {
    const again = await bonusRun('', 16, pay('E1', 80));
    await release(again, ALREADY, 7);
    for (const code of ['EMPLOYEE_TWICE', ALREADY] as const) await release(again, code, 8);
    await holdAgain(again);
    const other = await upload(row('E1', '16.00'), ...people('X', 70));
    await release(again, ALIKE, 7);
    await expect(release(other, ALREADY, 2)).rejects.toMatchObject(outdated);
    expect(await paysE1()).toEqual(['0: 100', '1: 1600', '2: 8000']);
  });

  it('is seen so, too, where the payment that the row was held beside was itself held again since', async () => {
    const again = await bonusRun('A', 16);
    await release(again, ALREADY, 7);
    const third = await bonusRun('B', 116);
    await release(third, ALREADY, 7);
    await holdAgain(again);
    const other = await upload(row('E1', '16.00'), ...people('X', 70));
    await holdAgain(third);
    await release(again, ALIKE, 7);
    await release(third, ALIKE, 7);
    await expect(release(other, ALREADY, 2)).rejects.toMatchObject(outdated);
    expect(await paysE1()).toEqual(['0: 100', '1: 1600', '2: 11600']);
  });

  it('is told from what an amendment holds for one thing more, before it ever joined', async () => {
    const again = await bonusRun('', 16);
    const other = await upload(row('E1', '16.00'), ...people('X', 70));
    await release(other, ALREADY, 2);
    await holdAgain(again);
    expect(await e1In(again)).toEqual(['HELD', 0, [ALREADY, ALIKE]]);
    await release(again, ALREADY, 7);
    await expect(release(again, ALIKE, 7)).rejects.toMatchObject(outdated);
    expect(await paysE1()).toEqual(['0: 100', '1: 1600']);
  });

  it('does not join beside other pay, of an earlier place, that it never stood beside', async () => {
    const again = await bonusRun('A', 16);
    await release(again, ALREADY, 7);
    await holdAgain(again);
    const third = await bonusRun('B', 116);
    await release(third, ALREADY, 7);
    await holdAgain(third);
    await release(again, ALIKE, 7);
    await expect(release(third, ALIKE, 7)).rejects.toMatchObject(outdated);
    expect(await paysE1()).toEqual(['0: 100', '1: 1600']);
  });

  it.each([
    ['the first one', true, true],
    ['the first one', true, false],
    ['the second one', false, true],
    ['the second one', false, false],
  ])(
    'joins beside other pay that it stood beside: %s is held first (%p), and joins first: %p',
    async (_, held, joins) => {
      const again = await bonusRun('A', 16);
      await release(again, ALREADY, 7);
      const third = await bonusRun('B', 116);
      await release(third, ALREADY, 7);
      for (const run of held ? [again, third] : [third, again]) await holdAgain(run);
      for (const run of joins ? [again, third] : [third, again]) await release(run, ALIKE, 7);
      expect(await paysE1()).toEqual(['0: 100', '1: 1600', '2: 11600']);
    },
  );
});

describe('a salary that was held again', () => {
  let salaries: string;
  beforeEach(async () => {
    salaries = await bonusRun('', 16);
    expect(await e1In(salaries)).toEqual(['READY', 0, []]);
    await allowBeforehand();
  });

  it('joins beside a bonus that was allowed beside it before', async () => {
    const bonus = await upload(row('E1', '50.00'), ...people('X', 70));
    await desk.approve(employer, showId('run', bonus), approver);
    await holdAgain(salaries);
    expect(await e1In(salaries)).toEqual(['HELD', 0, [ALIKE]]);
    await release(salaries, ALIKE, 7);
    expect(await paysE1()).toEqual(['0: 1600', '1: 5000']);
  });

  it('does not join beside pay that came since', async () => {
    const bonus = await upload(row('E1', '50.00'), ...people('X', 70));
    await holdAgain(salaries);
    const other = await upload(row('E1', '16.00'), ...people('W', 80));
    await release(other, ALREADY, 2);
    await expect(release(salaries, ALIKE, 7)).rejects.toMatchObject(outdated);
    expect(await e1In(bonus)).toEqual(['READY', 1, []]);
    expect(await paysE1()).toEqual(['1: 5000', '2: 1600']);
  });
});
