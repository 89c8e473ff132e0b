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
