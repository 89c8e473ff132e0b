import fc from 'fast-check';
import { PersonalData } from '../../src/database/personal-data';
import { HoldCode } from '../../src/domain/hold';
import { readId, showId } from '../../src/http/prefixed-id';
import { germanIban } from '../support/pay-rows';
import { csv, Desk, PayDesk, row } from './pay-desk';

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

type Found = [line: number | null, code: HoldCode, besideLine: number | null];

/** What is held of the newest run. */
const holds = async (of: Desk = employer): Promise<Found[]> => {
  const rows = await desk.query<{ line: number | null; code: HoldCode; beside_line: number | null }>(
    of,
    `SELECT p.line, h.code, h.beside_line FROM pay_hold h
     LEFT JOIN payment p ON p.employer_id = h.employer_id AND p.id = h.payment_id
     WHERE h.pay_run_id = (SELECT max(id::text)::uuid FROM pay_run) ORDER BY h.row_no, h.code`,
  );
  return rows.map((one) => [one.line, one.code, one.beside_line]);
};

const settle = (of: Desk, period: string): Promise<void> =>
  desk.asSuperuser(
    `SET session_replication_role = replica;
     UPDATE payment SET status = 'SETTLED' WHERE period = '${period}' AND employer_id = '${of.employerId}';
     UPDATE pay_run SET status = 'SETTLED' WHERE period = '${period}' AND employer_id = '${of.employerId}'`,
  );

const SHARED = germanIban(77);
/** The month after that of an upload which names none, with its own day. */
const DECEMBER = { period: '2026-12', executionDate: '2026-12-28' };
const NOT_AN_IBAN = 'DE00000000000000000000';

describe('rows of one file that look like a mistake', () => {
  it('are held beside the first, and the others wait for approval', async () => {
    const file = csv(
      row('E1', '10.00', 'Ann Smith', SHARED),
      row('E1', '20.00', 'Ann Smith'),
      row('E2', '30.00', 'Bob Smith', SHARED),
      row('E3', '10.00', 'Ann Smith', SHARED),
      row('E4', '40.00'),
    );
    const { answer } = await desk.upload(employer, file);
    expect(answer).toMatchObject({ payments: 2, total: '50.00', file: { rows: 5 } });
    expect(answer.held).toEqual({
      payments: 3,
      amount: '60.00',
      holds: { EMPLOYEE_TWICE: 1, IBAN_UNDER_TWO_NAMES: 1, IBAN_AND_AMOUNT_TWICE: 1 },
    });
    expect(await holds()).toEqual([
      [3, 'EMPLOYEE_TWICE', 2],
      [4, 'IBAN_UNDER_TWO_NAMES', 2],
      [5, 'IBAN_AND_AMOUNT_TWICE', 2],
    ]);
    const stored = await desk.query(employer, 'SELECT line, status, live FROM payment ORDER BY line');
    expect(stored.slice(0, 2)).toEqual([
      { line: 2, status: 'READY', live: true },
      { line: 3, status: 'HELD', live: false },
    ]);
    const [moved] = await desk.query(
      employer,
      `SELECT from_status, payments, amount_minor FROM state_change WHERE to_status = 'HELD'`,
    );
    expect(moved).toEqual({ from_status: 'READY', payments: 3, amount_minor: '6000' });
  });

  it('are held for each thing that is wrong with them', async () => {
    const same = row('E1', '10.00', 'Ann Smith', SHARED);
    await desk.upload(employer, csv(same, same, row('E1', '10.00', 'Bob Smith', SHARED)));
    expect(await holds()).toEqual([
      [3, 'EMPLOYEE_TWICE', 2],
      [3, 'IBAN_AND_AMOUNT_TWICE', 2],
      [4, 'EMPLOYEE_TWICE', 2],
      [4, 'IBAN_AND_AMOUNT_TWICE', 2],
      [4, 'IBAN_UNDER_TWO_NAMES', 2],
    ]);
  });

  it('are not two accounts of one person, nor one account paid twice under one name with other amounts', async () => {
    await desk.upload(
      employer,
      csv(
        row('E1', '1.00', 'Zoë Müller'),
        row('E2', '2.00', 'zoe  MULLER', SHARED),
        row('E3', '3.00', 'Zoë Müller', SHARED),
      ),
    );
    expect(await holds()).toEqual([]);
  });

  it('are exactly those that a comparison of each with each finds', async () => {
    const one = fc.record({
      employee: fc.constantFrom('E1', 'E2', 'E3', 'E4'),
      name: fc.constantFrom('Ann', 'Bob', 'Cy'),
      account: fc.integer({ min: 1, max: 4 }),
      cents: fc.integer({ min: 1, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        async (made, distinct) => {
          const rows = made.map((r, n) => (distinct ? { ...r, employee: `E${n}` } : r));
          const mine = await desk.employer();
          await desk.upload(
            mine,
            csv(
              ...rows.map((r) => row(r.employee, `0.0${r.cents}`, `${r.name} Smith`, germanIban(r.account))),
            ),
          );
          const expected = rows.flatMap((r, n): Found[] => {
            const first = (same: (other: typeof r) => boolean) => rows.findIndex(same);
            const employee = first((other) => other.employee === r.employee);
            const account = first((other) => other.account === r.account);
            const alike = first((other) => other.account === r.account && other.cents === r.cents);
            return [
              ...(employee < n ? [[n + 2, 'EMPLOYEE_TWICE', employee + 2] as Found] : []),
              ...(alike < n ? [[n + 2, 'IBAN_AND_AMOUNT_TWICE', alike + 2] as Found] : []),
              ...(rows[account]?.name === r.name
                ? []
                : [[n + 2, 'IBAN_UNDER_TWO_NAMES', account + 2] as Found]),
            ];
          });
          expect(await holds(mine)).toEqual(expected);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('are found wherever they stand in a long file, among rows that are faulty', async () => {
    await desk.set(employer, { faultPolicy: { policy: 'hold' } });
    const rows = Array.from({ length: 12_000 }, (_, n) =>
      row(`E${n}`, `${n + 1}.00`, `Ann Smith ${n % 26}`, n % 1_000 === 7 ? NOT_AN_IBAN : germanIban(n + 1)),
    );
    rows[11_990] = row('E11990', '7.00', 'Bob Smith', germanIban(3));
    rows[5_000] = row('E5000', '3.00', 'Ann Smith 2', germanIban(3));
    const { answer } = await desk.upload(employer, csv(...rows));
    expect(answer).toMatchObject({ payments: 11_986, held: { payments: 2 }, file: { rows: 11_988 } });
    expect(await holds()).toEqual([
      [5_002, 'IBAN_AND_AMOUNT_TWICE', 4],
      [11_992, 'IBAN_UNDER_TWO_NAMES', 4],
    ]);
    const kept = await desk.query<{ row_no: number }>(
      employer,
      'SELECT row_no FROM faulty_row ORDER BY row_no',
    );
    expect(kept).toEqual(Array.from({ length: 12 }, (_, n) => ({ row_no: n * 1_000 + 8 })));
    const [paid] = await desk.query(
      employer,
      `SELECT count(*)::int AS rows, count(DISTINCT id)::int AS ids, sum(row_no)::int AS numbers,
         bool_and(line = row_no + 1 AND employee_id = 'E' || (row_no - 1)) AS in_place FROM payment`,
    );
    const numbers = (12_000 * 12_001) / 2 - kept.reduce((sum, { row_no }) => sum + row_no, 0);
    expect(paid).toEqual({ rows: 11_988, ids: 11_988, numbers, in_place: true });
  });

  it('are none of the rows of a long file that pays one account, each time under one name and another amount', async () => {
    const rows = Array.from({ length: 12_000 }, (_, n) => row(`E${n}`, `${n + 1}.00`, 'Ann Smith', SHARED));
    const { answer } = await desk.upload(employer, csv(...rows));
    expect(answer).toMatchObject({ payments: 12_000, total: '72006000.00', held: { payments: 0 } });
  });
});

describe('rows that another run pays', () => {
  it('are held beside it, and the rest of the file waits for approval', async () => {
    const first = await desk.upload(employer, csv(row('E1'), row('E2'), row('E3')));
    const { answer } = await desk.upload(employer, csv(row('E4'), row('E5'), row('E2', '9.00')));
    expect(answer).toMatchObject({ payments: 2, held: { payments: 1, holds: { EMPLOYEE_ALREADY_PAID: 1 } } });
    expect(await holds()).toEqual([[4, 'EMPLOYEE_ALREADY_PAID', 3]]);
    const [hold] = await desk.query<{ run: string }>(employer, 'SELECT beside_run_id AS run FROM pay_hold');
    expect(first.answer.id).toBe(`run_${hold?.run.replaceAll('-', '')}`);
  });

  it('hold the whole run too where they are most of it, in whatever order', async () => {
    await desk.upload(employer, csv(row('E1', '1.00'), row('E2', '2.00'), row('E3', '3.00')));
    const { answer } = await desk.upload(
      employer,
      csv(row('E3', '3.00'), row('E1', '1.00'), row('E2', '2.00')),
    );
    expect(answer).toMatchObject({ status: 'READY', payments: 0, total: '0.00', held: { payments: 3 } });
    expect(answer.held.holds).toEqual({ EMPLOYEE_ALREADY_PAID: 3, ROWS_OF_ANOTHER_RUN: 1 });
    const [ofRun] = await desk.query(employer, 'SELECT same_rows FROM pay_hold WHERE row_no = 0');
    expect(ofRun).toEqual({ same_rows: 3 });
  });

  it('hold the run under other employee ids, and as another kind of pay', async () => {
    const ibans = [1, 2, 3].map(germanIban);
    const file = (prefix: string) =>
      csv(...ibans.map((iban, n) => row(`${prefix}${n}`, `${n + 1}.00`, 'Ann', iban)));
    for (const [prefix, kindOfPay] of [
      ['N', 'SALARY'],
      ['E', 'BONUS'],
    ] as const) {
      const mine = await desk.employer();
      await desk.upload(mine, file('E'));
      const { answer } = await desk.upload(mine, file(prefix), { kindOfPay });
      expect(answer.held).toEqual({ payments: 0, amount: '0.00', holds: { ROWS_OF_ANOTHER_RUN: 1 } });
    }
  });

  it('hold the later of two files that come at once, as two kinds of pay', async () => {
    const file = csv(row('E1'), row('E2'), row('E3'));
    for (let n = 0; n < 5; n += 1) {
      const mine = await desk.employer();
      const taken = await Promise.all(
        ['SALARY', 'BONUS'].map((kindOfPay) => desk.upload(mine, file, { kindOfPay })),
      );
      const found = taken.map(({ answer }) => answer.held.holds.ROWS_OF_ANOTHER_RUN ?? 0).sort();
      expect(found).toEqual([0, 1]);
    }
  });

  it('hold the later of two files that come at once, for two months', async () => {
    const file = csv(row('E1'), row('E2'), row('E3'));
    for (let n = 0; n < 5; n += 1) {
      const mine = await desk.employer();
      const taken = await Promise.all(
        ['2026-11', '2026-12'].map((period) => desk.upload(mine, file, { period })),
      );
      const found = taken.map(({ answer }) => answer.held.holds.ROWS_OF_ANOTHER_RUN ?? 0).sort();
      expect(found).toEqual([0, 1]);
    }
  });

  it('do not hold a run of which half is new, nor one of another month', async () => {
    await desk.upload(employer, csv(row('E1'), row('E2')));
    await desk.upload(employer, csv(row('E1'), row('E3')), { kindOfPay: 'BONUS' });
    expect(await holds()).toEqual([]);
    await desk.upload(employer, csv(row('E1'), row('E2')), DECEMBER);
    expect(await holds()).toEqual([]);
  });

  it('hold the run of another month that is executed within a fortnight: the month may be a slip', async () => {
    const file = csv(row('E1'), row('E2'));
    const first = (await desk.upload(employer, file)).answer.id;
    await desk.upload(employer, csv(row('E1'), row('E2'), row('E3')), {
      ...DECEMBER,
      executionDate: '2026-12-11',
    });
    expect(await holds()).toEqual([[null, 'ROWS_OF_ANOTHER_RUN', null]]);
    const [beside] = await desk.query<{ run: string }>(employer, 'SELECT beside_run_id AS run FROM pay_hold');
    expect(showId('run', beside?.run ?? '')).toBe(first);
    await desk.upload(employer, csv(row('E1'), row('E2')), {
      period: '2026-10',
      executionDate: '2026-12-28',
    });
    expect(await holds()).toEqual([]);
  });

  it('are held as somebody else’s too, whatever they are paid for, and however few they are', async () => {
    const file = (id: string, ...others: string[]) => csv(row(id, '1.00', 'Ann', SHARED), ...others);
    const first = (await desk.upload(employer, file('E1', row('E2'), row('E3')))).answer.id;
    const held = [2, 'IBAN_AND_AMOUNT_TWICE', 2];
    for (const [n, kindOfPay] of ['SALARY', 'BONUS'].entries()) {
      await desk.upload(employer, file(`N${n}`, row(`P${n}`, '7.00'), row(`Q${n}`, '8.00')), { kindOfPay });
      expect(await holds()).toEqual([held]);
      const [beside] = await desk.query<{ run: string }>(
        employer,
        'SELECT beside_run_id AS run FROM pay_hold ORDER BY pay_run_id DESC LIMIT 1',
      );
      expect(showId('run', beside?.run ?? '')).toBe(first);
    }
    // The other pay of the same person is no duplicate, nor what is paid in another month.
    await desk.upload(employer, file('E1', row('E8'), row('E9')), { kindOfPay: 'THIRTEENTH' });
    expect((await holds()).map(([line]) => line)).toEqual([2]);
    await desk.upload(employer, file('N9', row('E8'), row('E9')), DECEMBER);
    expect(await holds()).toEqual([]);
  });

  it('are exactly those that a comparison of each with each finds, beside every run that pays them', async () => {
    type Beside = { row: number; run: string | null; line: number; also: string[] };
    const one = fc.record({
      employee: fc.integer({ min: 1, max: 6 }),
      account: fc.integer({ min: 1, max: 2 }),
    });
    const files = fc.array(fc.uniqueArray(one, { selector: (r) => r.employee, minLength: 1, maxLength: 6 }), {
      minLength: 2,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(files, async (made) => {
        const mine = await desk.employer();
        const runs: string[] = [];
        for (const [n, rows] of made.entries()) {
          // More rows of its own, so that no whole run is held.
          const own = Array.from({ length: 8 }, (_, k) => row(`Own${n}-${k}`, `${n + 1}${k}1.00`));
          const alike = rows.map((r) => row(`E${r.employee}`, '0.07', 'Ann', germanIban(r.account)));
          const kindOfPay = `KIND_${n}`;
          const { id } = (await desk.upload(mine, csv(...alike, ...own), { kindOfPay })).answer;
          runs.push(readId('run', id));
        }
        const found = await desk.query<Beside>(
          mine,
          `SELECT h.row_no AS row, h.beside_run_id AS run, h.beside_line AS line, h.also_beside_run_ids AS also
           FROM pay_hold h WHERE h.pay_run_id = $1 AND h.code = 'IBAN_AND_AMOUNT_TWICE' ORDER BY h.row_no`,
          [runs.at(-1)],
        );
        const paid = await desk.query<{ run: string; line: number }>(
          mine,
          `SELECT pay_run_id AS run, line FROM payment WHERE employee_id ~ '^E' AND pay_run_id <> $1 ORDER BY id`,
          [runs.at(-1)],
        );
        const last = made.at(-1) ?? [];
        const expected = last.flatMap((r, n): Beside[] => {
          const pairs = paid.filter(({ run, line }) => {
            const other = made[runs.indexOf(run)]?.[line - 2];
            return other?.account === r.account && other.employee !== r.employee;
          });
          const alike = pairs.filter(({ run }, at) => pairs.findIndex((one) => one.run === run) === at);
          const first = last.findIndex((o) => o.account === r.account);
          if (first < n)
            return [{ row: n + 1, run: null, line: first + 2, also: alike.map(({ run }) => run) }];
          const [beside, ...also] = alike;
          return beside ? [{ row: n + 1, ...beside, also: also.map(({ run }) => run) }] : [];
        });
        expect(found).toEqual(expected);
      }),
      { numRuns: 20 },
    );
  });

  it('are held where two other runs pay half of them each', async () => {
    const half = (first: number, id = 'E') =>
      [0, 1].map((n) => row(`${id}${first + n}`, `${first + n}.00`, 'Ann', germanIban(first + n)));
    await desk.upload(employer, csv(...half(1)));
    await desk.upload(employer, csv(...half(3)));
    const { answer } = await desk.upload(employer, csv(...half(1, 'N'), ...half(3, 'N')));
    expect(answer).toMatchObject({
      payments: 2,
      held: { holds: { ROWS_OF_ANOTHER_RUN: 1, IBAN_AND_AMOUNT_TWICE: 2 } },
    });
    const [ofRun] = await desk.query(employer, 'SELECT same_rows FROM pay_hold WHERE row_no = 0');
    expect(ofRun).toEqual({ same_rows: 4 });
  });

  it('are held as another kind of pay of the same people, wherever two runs have half of them each', async () => {
    await desk.upload(employer, csv(row('E1'), row('E2')));
    await desk.upload(employer, csv(row('E3'), row('E4')));
    const all = csv(row('E1'), row('E2'), row('E3'), row('E4'));
    const { answer } = await desk.upload(employer, all, { kindOfPay: 'BONUS' });
    expect(answer.held.holds).toEqual({ ROWS_OF_ANOTHER_RUN: 1 });
  });

  it('are held where the other run holds them itself', async () => {
    await desk.set(employer, { paymentLimitMinor: 1n });
    const file = csv(row('E1'), row('E2'), row('E3'));
    const first = (await desk.upload(employer, file)).answer;
    expect(first.held.holds).toEqual({ PAYMENT_ABOVE_LIMIT: 3 });
    await desk.set(employer, { paymentLimitMinor: null });
    const { answer } = await desk.upload(employer, file, { kindOfPay: 'BONUS' });
    expect(answer.held.holds).toEqual({ ROWS_OF_ANOTHER_RUN: 1 });
  });

  it('are held where one person comes under an id written otherwise, with another amount', async () => {
    const run = (await desk.upload(employer, csv(row('0017', '1.00', 'Ann', SHARED), row('E1')))).answer.id;
    for (const [n, id] of ['17', '00017', '0 017'].entries()) {
      await desk.upload(employer, csv(row(id, `${n + 2}.00`, 'Ann', SHARED), row(`N${n}`, `${n + 2}.50`)));
      expect(await holds()).toEqual([[2, 'EMPLOYEE_ID_ALIKE', 2]]);
    }
    const [hold] = await desk.query<{ run: string }>(
      employer,
      'SELECT beside_run_id AS run FROM pay_hold ORDER BY pay_run_id DESC LIMIT 1',
    );
    expect(showId('run', hold?.run ?? '')).toBe(run);
    // Another person of the account, and another pay of the same.
    await desk.upload(employer, csv(row('18', '13.00', 'Ann', SHARED)));
    expect(await holds()).toEqual([]);
    await desk.upload(employer, csv(row('17', '14.00', 'Ann', SHARED)), { kindOfPay: 'BONUS' });
    expect(await holds()).toEqual([]);
    await desk.upload(
      employer,
      csv(row('e5', '5.00', 'Bo', germanIban(78)), row('E5', '6.00', 'Bo', germanIban(78))),
      { kindOfPay: 'TIPS' },
    );
    expect(await holds()).toEqual([[3, 'EMPLOYEE_ID_ALIKE', 2]]);
    // Beside a row of its own file and one of another run: held once.
    await desk.upload(employer, csv(row('0017', '15.00', 'Ann', SHARED), row('17', '16.00', 'Ann', SHARED)));
    expect((await holds()).filter(([, code]) => code === 'EMPLOYEE_ID_ALIKE')).toEqual([
      [2, 'EMPLOYEE_ID_ALIKE', 2],
      [3, 'EMPLOYEE_ID_ALIKE', 2],
    ]);
  });

  it('are held where somebody of one name comes under an id written otherwise, with another account', async () => {
    await desk.upload(employer, csv(row('0017', '1.00', 'Ann Smith', SHARED), row('E1')));
    await desk.upload(employer, csv(row('17', '1.00', 'ann  SMITH', germanIban(78)), row('N1', '7.00')));
    expect(await holds()).toEqual([[2, 'EMPLOYEE_ID_ALIKE', 2]]);
    await desk.upload(employer, csv(row('017', '1.00', 'Bo', germanIban(79)), row('N2', '8.00')));
    expect(await holds()).toEqual([]);
    await desk.upload(
      employer,
      csv(
        row('0018', '1.00', 'Ann', germanIban(80)),
        row('18', '2.00', 'Bo', germanIban(81)),
        row('018', '3.00', 'Ann', germanIban(81)),
        row('1 8', '4.00', 'Cy', germanIban(82)),
        row('00018', '5.00', 'Ann', germanIban(83)),
      ),
      { kindOfPay: 'TIPS' },
    );
    expect(await holds()).toEqual([
      [4, 'EMPLOYEE_ID_ALIKE', 3],
      [4, 'IBAN_UNDER_TWO_NAMES', 3],
      [6, 'EMPLOYEE_ID_ALIKE', 2],
    ]);
  });

  it('are counted, not matched one by one, where all of them are alike', async () => {
    const alike = (prefix: string, count: number) =>
      csv(...Array.from({ length: count }, (_, n) => row(`${prefix}${n}`, '1.00', 'Ann', SHARED)));
    await desk.upload(employer, alike('E', 1));
    await desk.upload(employer, alike('N', 2));
    expect(await holds()).toEqual([
      [2, 'IBAN_AND_AMOUNT_TWICE', 2],
      [3, 'IBAN_AND_AMOUNT_TWICE', 2],
    ]);
  });

  it('are those of the same employer only', async () => {
    const other = await desk.employer();
    await desk.upload(employer, csv(row('E1'), row('E2')));
    const { answer } = await desk.upload(other, csv(row('E1'), row('E2')));
    expect(answer).toMatchObject({ sameFile: [], held: { payments: 0, holds: {} } });
  });
});

describe('the same bytes under other terms', () => {
  it('are told and not refused', async () => {
    const file = csv(row('E1'), row('E2'));
    const first = await desk.upload(employer, file);
    const second = await desk.upload(employer, file, DECEMBER);
    expect(first.answer.sameFile).toEqual([]);
    expect(second.answer).toMatchObject({ payments: 2, sameFile: [first.answer.id] });
    expect((await desk.upload(employer, file, DECEMBER)).answer).toEqual(second.answer);
  });
});

describe('a month that is far from the execution date', () => {
  it('holds the whole run, whose employees may be paid already for the month that was meant', async () => {
    const file = csv(row('E1'), row('E2'));
    await desk.upload(employer, file);
    const { answer } = await desk.upload(employer, file, { ...DECEMBER, period: '2027-11' });
    expect(answer.held).toMatchObject({ payments: 0, holds: { PERIOD_FAR_FROM_DATE: 1 } });
    expect(await holds()).toEqual([[null, 'PERIOD_FAR_FROM_DATE', null]]);
    await expect(desk.approve(employer, answer.id)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
  });
});

describe('the limits of an employer', () => {
  it('hold each payment above the most it may be', async () => {
    await desk.set(employer, { paymentLimitMinor: 100_000n });
    await desk.upload(employer, csv(row('E1', '1000.00'), row('E2', '1000.01')));
    expect(await holds()).toEqual([[3, 'PAYMENT_ABOVE_LIMIT', null]]);
  });

  it('hold the run above the most it may be, with what is held counted in', async () => {
    await desk.set(employer, { runLimitMinor: 200_000n });
    await desk.upload(employer, csv(row('E1', '1000.00'), row('E2', '1000.00')));
    expect(await holds()).toEqual([]);
    await desk.upload(employer, csv(row('E3', '1000.00'), row('E3', '1000.01')));
    expect(await holds()).toEqual([
      [null, 'RUN_ABOVE_LIMIT', null],
      [3, 'EMPLOYEE_TWICE', 2],
    ]);
  });

  it('are not there unless they are set, and are of one employer', async () => {
    await desk.set(employer, { paymentLimitMinor: 1n });
    const other = await desk.employer();
    await desk.upload(other, csv(row('E1', '999999999.99')));
    expect(await holds(other)).toEqual([]);
  });

  describe('for what an employee was last paid', () => {
    const month = (n: number) => ({ period: `2026-0${n}`, executionDate: '2026-11-27' });

    beforeEach(async () => {
      for (const [index, amount] of ['10.00', '300.00', '100.00', '90.00'].entries()) {
        await desk.upload(employer, csv(row('E1', amount)), month(index + 1));
        await settle(employer, month(index + 1).period);
      }
      // The median of the last three is 100.00; a fifth above it are 120.00.
      await desk.set(employer, { increaseLimitBp: 2_000 });
    });

    it('are the median of the last three, and the share above it', async () => {
      await desk.upload(employer, csv(row('E1', '120.00')));
      expect(await holds()).toEqual([]);
      await desk.upload(employer, csv(row('E1', '120.01')), { period: '2026-12' });
      expect(await holds()).toEqual([[2, 'PAY_ABOVE_HISTORY', null]]);
      const [hold] = await desk.query(employer, 'SELECT bound_minor FROM pay_hold');
      expect(hold).toEqual({ bound_minor: '12000' });
    });

    describe('by two rows each month', () => {
      const both = (first: string, second: string, period: string, executionDate = '2026-11-27') =>
        desk.upload(employer, csv(row('E5', first), row('E5', second)), { period, executionDate });
      const above = async () => (await holds()).filter(([, code]) => code === 'PAY_ABOVE_HISTORY');

      beforeEach(async () => {
        const approver = await desk.person('Ada Approver');
        await desk.set(employer, { increaseLimitBp: null });
        for (const period of ['2026-02', '2026-03', '2026-04']) {
          const runId = readId('run', (await both('2000.00', '1000.00', period)).answer.id);
          const paymentId = await desk.paymentIn(employer, runId, 3);
          await desk.releaseHold(
            employer,
            runId,
            { paymentId, code: 'EMPLOYEE_TWICE' },
            { personId: approver, reason: 'two contracts' },
          );
          await settle(employer, period);
        }
        await desk.set(employer, { increaseLimitBp: 2_000 });
      });

      it('are compared with both, as the employee is paid by all rows of the file', async () => {
        await both('2000.00', '1000.00', '2026-11');
        expect(await above()).toEqual([]);
        await both('2000.00', '1600.01', '2026-12', '2026-12-28');
        expect(await above()).toEqual([[3, 'PAY_ABOVE_HISTORY', null]]);
        const [hold] = await desk.query(
          employer,
          `SELECT bound_minor FROM pay_hold WHERE code = 'PAY_ABOVE_HISTORY'`,
        );
        expect(hold).toEqual({ bound_minor: '360000' });
      });

      it('and by what other runs of the month pay, where a further payment was released beforehand', async () => {
        const first = await desk.upload(employer, csv(row('E5', '3000.00'), row('E9')));
        await desk.approve(employer, first.answer.id);
        const supplement = (amount: string, id: string) =>
          desk.upload(employer, csv(row('E5', amount), row(id)), { supplementOf: first.answer.id });
        // A person looks at it in any case.
        await supplement('700.00', 'E8');
        expect(await holds()).toEqual([[2, 'EMPLOYEE_ALREADY_PAID', 2]]);
        const key = { employeeId: 'E5', period: '2026-11', kindOfPay: 'SALARY', reason: 'a bonus' };
        await desk.release(employer, await desk.person('Arno Approver'), key);
        await supplement('600.01', 'E7');
        expect(await holds()).toEqual([[2, 'PAY_ABOVE_HISTORY', null]]);
        await supplement('600.00', 'E6');
        expect(await holds()).toEqual([]);
      });

      it('but not by what another run did not pay: a supplement in its stead', async () => {
        const first = await desk.upload(employer, csv(row('E5', '3000.00'), row('E9')));
        await desk.approve(employer, first.answer.id);
        await desk.asSuperuser(
          `SET session_replication_role = replica;
           UPDATE payment SET status = 'FAILED', live = false WHERE pay_run_id = '${readId('run', first.answer.id)}'`,
        );
        await desk.upload(employer, csv(row('E5', '3600.00')), { supplementOf: first.answer.id });
        expect(await above()).toEqual([]);
      });
    });

    it('guess nothing of an employee or a kind of pay without a settled payment, nor of what came back', async () => {
      await desk.upload(employer, csv(row('E2', '9000.00')));
      expect(await holds()).toEqual([]);
      await desk.upload(employer, csv(row('E1', '9000.00')), { kindOfPay: 'BONUS' });
      expect(await holds()).toEqual([]);
      await desk.asSuperuser(
        `UPDATE payment SET returned_at = now() WHERE employer_id = $1 AND status = 'SETTLED'`,
        [employer.employerId],
      );
      await desk.upload(employer, csv(row('E1', '9000.00')), DECEMBER);
      expect(await holds()).toEqual([]);
    });
  });
});

describe('a service under another key than the hashes in its database', () => {
  const other = () =>
    desk.intake({
      personal: new PersonalData({ PAYRUN_HASH_KEY: 'another key of thirty-two letters or so' }),
    });
  const [once, again] = ['E1', 'other 1'].map((id) => csv(row(id, '10.00', 'Ann Smith', SHARED)));

  it('has a person compare by hand who is paid already, whom it does not find', async () => {
    await desk.upload(employer, once!);
    const { answer } = await desk.upload(employer, again!, {}, other());
    expect(answer.held).toMatchObject({ payments: 0, holds: { HASH_KEY_CHANGED: 1 } });
    await expect(desk.approve(employer, answer.id)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
    const third = await desk.upload(employer, csv(row('another 1', '10.00', 'Ann Smith', SHARED)));
    expect(third.answer.held.holds).toEqual({ HASH_KEY_CHANGED: 1, ROWS_OF_ANOTHER_RUN: 1 });
  });

  it('has so, too, once it has its own key again, while what was uploaded under the other one stands', async () => {
    const { answer } = await desk.upload(employer, once!, {}, other());
    const later = await desk.upload(employer, again!);
    expect(later.answer.held.holds).toEqual({ HASH_KEY_CHANGED: 1 });
    await desk.asSuperuser(
      `SET session_replication_role = replica; UPDATE pay_run SET status = 'CANCELLED' WHERE id = '${readId('run', answer.id)}'`,
    );
    const third = await desk.upload(employer, csv(row('another 1', '10.00', 'Ann Smith', SHARED)));
    expect(third.answer.held.holds).toEqual({ ROWS_OF_ANOTHER_RUN: 1 });
  });

  it('has so, too, where an account was attached under it since', async () => {
    await desk.asSuperuser(
      `INSERT INTO employer_account
       SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'bank_account_id', 'bank-since',
         'iban_hash', '\\x02'))).*
       FROM employer_account a WHERE id = $1`,
      [employer.accountId],
    );
    const accountId = showId('acc', employer.accountId);
    const { answer } = await desk.upload(employer, once!, { accountId });
    expect(answer.held.holds).toEqual({ HASH_KEY_CHANGED: 1 });
  });
});
