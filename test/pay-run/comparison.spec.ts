import fc from 'fast-check';
import { DIFFERENCE_KINDS, DifferenceKind } from '../../src/domain/difference';
import { showId } from '../../src/http/prefixed-id';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { germanIban } from '../support/pay-rows';
import { Company, pathOf, PayOffice, Row } from './pay-office';
import { Fate, RunAtBank } from './run-at-bank';

/** A run of one kind of pay in a period; the file's line says who. */
const terms = (period: string, more: Partial<PayRun> = {}) => ({ period, kindOfPay: 'SALARY', ...more });

/** Pays an employee, 100.00 to their own IBAN under their own name unless said otherwise. */
const pay = (n: number, change: Partial<Row> = {}): Row => ({
  employeeId: `E-${n}`,
  name: `Employee ${n}`,
  iban: germanIban(n),
  amountMinor: 10_000n,
  ...change,
});

describe('a run compared with the pay before it', () => {
  let office: PayOffice;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office?.close());

  const settled = async (company: Company, rows: Row[], of = terms('2026-10'), fates: Fate[] = []) =>
    RunAtBank.ended(office, company, await office.run(company, rows, of), fates);

  const comparisonOf = async (company: Company, run: PayRun) =>
    (await office.as(company, 'approver').get(pathOf(run)).expect(200)).body.comparison;

  const differencesOf = async (company: Company, run: PayRun, kind: DifferenceKind) =>
    (
      await office
        .as(company, 'approver')
        .get(pathOf(run, `/differences?kind=${kind}`))
        .expect(200)
    ).body.items;

  it('tells who joined, who left, whose pay, IBAN or name changed, with counts and sums', async () => {
    const company = await office.company();
    const before = await settled(
      company,
      [1, 2, 3, 4, 5].map((n) => pay(n)),
    );
    const run = await office.run(
      company,
      [
        pay(1),
        pay(2, { amountMinor: 12_001n }),
        pay(3, { iban: germanIban(33) }),
        pay(4, { name: 'Somebody Else' }),
        pay(6, { amountMinor: 5_000n }),
      ],
      terms('2026-11'),
    );
    expect(await comparisonOf(company, run)).toEqual({
      before: { period: '2026-10', payRunIds: [showId('run', before.id)], payments: 5, total: '500.00' },
      netChangeBasisPoints: 2_000,
      joined: { payments: 1, amount: '50.00', before: '0.00' },
      left: { payments: 1, amount: '0.00', before: '100.00' },
      netChanged: { payments: 1, amount: '120.01', before: '100.00' },
      ibanChanged: { payments: 1, amount: '100.00', before: '100.00' },
      nameChanged: { payments: 1, amount: '100.00', before: '100.00' },
      ibans: { required: false, toTick: 2, ticked: 0, decision: null },
    });
    const [joined] = await differencesOf(company, run, 'JOINED');
    expect(joined).toMatchObject({ now: { employeeId: 'E-6', row: 5, name: 'Employee 6' }, before: null });
    const [left] = await differencesOf(company, run, 'LEFT');
    expect(left).toMatchObject({
      now: null,
      before: { employeeId: 'E-5', payRunId: showId('run', before.id) },
    });
    const [moved] = await differencesOf(company, run, 'IBAN_CHANGED');
    expect(moved).toEqual({
      kind: 'IBAN_CHANGED',
      now: {
        paymentId: expect.stringMatching(/^pay_/),
        employeeId: 'E-3',
        name: 'Employee 3',
        iban: germanIban(33),
        amount: '100.00',
        row: 3,
      },
      before: {
        paymentId: expect.stringMatching(/^pay_/),
        employeeId: 'E-3',
        name: 'Employee 3',
        iban: `DE…${germanIban(3).slice(-4)}`,
        amount: '100.00',
        payRunId: showId('run', before.id),
      },
      ticked: null,
    });
    const [renamed] = await differencesOf(company, run, 'NAME_CHANGED');
    expect([renamed.now.name, renamed.before.name]).toEqual(['Somebody Else', 'Employee 4']);
  });

  it('takes the latest earlier period of the same kind of pay that settled, its supplements with it', async () => {
    const company = await office.company();
    await settled(company, [pay(1), pay(9)], terms('2026-08'));
    const first = await settled(company, [pay(1), pay(2)], terms('2026-09'));
    const supplement = await settled(
      company,
      [pay(3)],
      terms('2026-09', { sequence: 1, parentRunId: first.id }),
    );
    await settled(company, [pay(1)], terms('2026-10', { kindOfPay: 'BONUS' }));
    await office.run(company, [pay(1)], terms('2026-10'));
    await settled(company, [pay(7)], terms('2026-12'));
    await settled(company, [pay(8)], terms('2026-11'));
    const run = await office.run(company, [pay(1), pay(2), pay(3)], terms('2026-11'));
    const compared = await comparisonOf(company, run);
    expect(compared.before).toEqual({
      period: '2026-09',
      payRunIds: [first, supplement].map(({ id }) => showId('run', id)),
      payments: 3,
      total: '300.00',
    });
    expect([compared.joined.payments, compared.left.payments]).toEqual([0, 0]);
  });

  it('holds pay against all that an employee got before, and their IBAN against each they got it on', async () => {
    const company = await office.company();
    const first = await settled(company, [pay(1)]);
    await office.query(
      company,
      `INSERT INTO pay_release (employer_id, id, period, kind_of_pay, employee_id, sequence, reason, released_by)
       VALUES ($1, $1, '2026-10', 'SALARY', 'E-1', 1, 'overtime', $2)`,
      [company.employerId, company.approver.personId],
    );
    const second = pay(1, { iban: germanIban(11), amountMinor: 5_000n, releaseSequence: 1 });
    await settled(company, [second], terms('2026-10', { sequence: 1, parentRunId: first.id }));
    const run = await office.run(company, [pay(1, { amountMinor: 15_000n })], terms('2026-11'));
    expect(await comparisonOf(company, run)).toMatchObject({
      before: { payments: 2, total: '150.00' },
      netChanged: { payments: 0 },
      ibanChanged: { payments: 0 },
    });
    await office.as(company, 'preparer').post(pathOf(run, '/cancellation'), { reason: 'again' }).expect(200);
    const next = await office.run(
      company,
      [pay(1, { iban: germanIban(11), amountMinor: 10_000n })],
      terms('2026-11'),
    );
    expect(await comparisonOf(company, next)).toMatchObject({
      netChanged: { payments: 1, amount: '100.00', before: '150.00' },
      ibanChanged: { payments: 0 },
    });
    expect((await differencesOf(company, next, 'NET_CHANGED'))[0].before.amount).toBe('150.00');
  });

  it('holds only what was settled against it, and tells nobody of a supplement’s who left', async () => {
    const company = await office.company();
    await settled(company, [pay(1), pay(2)], terms('2026-10'), ['SETTLED', 'EXT_REFUSED']);
    const run = await office.run(company, [pay(1), pay(2)], terms('2026-11'));
    expect(
      (await differencesOf(company, run, 'JOINED')).map((one: { now: object }) => one.now),
    ).toMatchObject([{ employeeId: 'E-2' }]);
    const supplement = await office.run(
      company,
      [pay(3)],
      terms('2026-11', { sequence: 1, parentRunId: run.id }),
    );
    const compared = await comparisonOf(company, supplement);
    expect([compared.left.payments, compared.joined.payments]).toEqual([0, 1]);
  });

  it('holds pay against what has settled of a run that a stuck payment keeps from its end', async () => {
    const company = await office.company();
    await settled(company, [pay(1), pay(9)], terms('2026-08'));
    const stuck = await office.run(company, [pay(1), pay(2), pay(3)], terms('2026-09'));
    await RunAtBank.followed(office, company, stuck, ['SETTLED', 'SETTLED', 'EXCHANGED']);
    const underWay = await office.run(company, [pay(1)], terms('2026-10'));
    await RunAtBank.followed(office, company, underWay, ['EXCHANGED']);
    const run = await office.run(company, [pay(1), pay(2)], terms('2026-11'));
    expect(await comparisonOf(company, run)).toMatchObject({
      before: { period: '2026-09', payRunIds: [showId('run', stuck.id)], payments: 2, total: '200.00' },
      joined: { payments: 0 },
      left: { payments: 0 },
    });
  });

  it('holds nothing against pay that came back', async () => {
    const company = await office.company();
    await settled(company, [pay(1)], terms('2026-08'));
    await settled(company, [pay(1), pay(2)], terms('2026-09'), ['SETTLED', 'RETURNED']);
    await settled(company, [pay(1)], terms('2026-10'), ['RETURNED']);
    const run = await office.run(company, [pay(1), pay(2)], terms('2026-11'));
    expect(await comparisonOf(company, run)).toMatchObject({
      before: { period: '2026-09', payments: 1, total: '100.00' },
      joined: { payments: 1, amount: '100.00' },
    });
    const [joined] = await differencesOf(company, run, 'JOINED');
    expect(joined.now.employeeId).toBe('E-2');
  });

  it('compares each version anew by what the employer has set, and keeps what was said of earlier ones', async () => {
    const company = await office.company();
    await settled(company, [pay(1), pay(2)]);
    const rows = [pay(1, { amountMinor: 10_500n }), pay(2), pay(3)];
    const run = await office.run(company, rows, terms('2026-11'));
    expect((await comparisonOf(company, run)).netChanged.payments).toBe(0);
    await office.query(company, 'UPDATE employer SET net_change_basis_points = 499 WHERE id = $1', [
      company.employerId,
    ]);
    const [joined] = await differencesOf(company, run, 'JOINED');
    const amended = await office
      .as(company, 'preparer')
      .post(pathOf(run, '/amendments'), { excludePaymentIds: [joined.now.paymentId], reason: 'not yet here' })
      .expect(200);
    expect(amended.body.comparison).toMatchObject({
      netChangeBasisPoints: 499,
      netChanged: { payments: 1, amount: '105.00', before: '100.00' },
      joined: { payments: 0 },
      ibans: { toTick: 0 },
    });
    const versions = await office.query(
      company,
      'SELECT run_version, count(*)::int AS n FROM run_difference WHERE pay_run_id = $1 GROUP BY 1 ORDER BY 1',
      [run.id],
    );
    expect(versions).toEqual([
      { run_version: 1, n: 1 },
      { run_version: 2, n: 1 },
    ]);
  });

  it('is listed by page, to those who may know salaries, and not to another employer', async () => {
    const [company, other] = [await office.company(), await office.company()];
    await settled(company, [pay(1)]);
    const run = await office.run(
      company,
      [1, 2, 3, 4].map((n) => pay(n)),
      terms('2026-11'),
    );
    const page = async (cursor = '') => {
      const path = pathOf(run, `/differences?kind=JOINED&limit=2${cursor && `&cursor=${cursor}`}`);
      return (await office.as(company, 'finance').get(path).expect(200)).body;
    };
    const first = await page();
    const second = await page(first.nextCursor);
    const employees = [...first.items, ...second.items].map((one) => one.now.employeeId);
    expect([employees, second.nextCursor]).toEqual([['E-2', 'E-3', 'E-4'], null]);
    const path = pathOf(run, '/differences?kind=JOINED');
    await office.as(company, 'operator').get(path).expect(403);
    await office.as(other, 'approver').get(path).expect(404);
    await office.as(company, 'approver').get(pathOf(run, '/differences')).expect(422);
    expect(
      (await comparisonOf(other, await office.run(other, [pay(1)], terms('2026-11')))).before,
    ).toBeNull();
  });

  it('is one file for a controller, with nothing that a spreadsheet would run', async () => {
    const company = await office.company();
    const first = await settled(company, [pay(1), pay(2), pay(3, { name: '+Ann, "A"' })]);
    const run = await office.run(
      company,
      [pay(1, { iban: germanIban(9) }), pay(2, { amountMinor: 20_000n }), pay(4, { name: '=2+3' })],
      terms('2026-11'),
    );
    const got = await office.as(company, 'finance').get(pathOf(run, '/differences.csv')).expect(200);
    expect(got.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="differences-${showId('run', run.id)}.csv"`,
    });
    const lines = got.text.split('\r\n').map((line) => line.replace(/pay_\w+/g, 'pay'));
    const of = showId('run', first.id);
    expect(lines.slice(1)).toEqual([
      `JOINED,3,E-4,'=2+3,${germanIban(4)},100.00,pay,,,,,,,,`,
      `LEFT,,,,,,,E-3,"'+Ann, ""A""",DE…0003,100.00,pay,${of},,`,
      `NET_CHANGED,2,E-2,Employee 2,DE…0002,200.00,pay,E-2,Employee 2,DE…0002,100.00,pay,${of},,`,
      `IBAN_CHANGED,1,E-1,Employee 1,${germanIban(9)},100.00,pay,E-1,Employee 1,DE…0001,100.00,pay,${of},,`,
      '',
    ]);
    expect(lines[0]?.split(',')).toHaveLength(15);
    await office.as(company, 'operator').get(pathOf(run, '/differences.csv')).expect(403);
  });

  it('is no file of one kind: a filter of it is refused, and not passed over', async () => {
    const company = await office.company();
    const run = await office.run(company, [pay(1)], terms('2026-11'));
    const path = pathOf(run, '/differences.csv?kind=JOINED');
    const refused = await office.as(company, 'finance').get(path).expect(422);
    expect(refused.body).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ pointer: '#/kind' }] });
  });

  it('tells nobody as gone whom another run of the period pays', async () => {
    const company = await office.company();
    await settled(company, [pay(1), pay(2)]);
    await settled(company, [pay(3), pay(4)]);
    const north = await office.run(company, [pay(1), pay(2)], terms('2026-11'));
    const south = await office.run(company, [pay(3)], terms('2026-11'));
    const left = async (run: PayRun) =>
      (await differencesOf(company, run, 'LEFT')).map(
        (one: { before: { employeeId: string } }) => one.before.employeeId,
      );
    // The first of the runs cannot know yet whom the second one will pay.
    expect([await left(north), await left(south)]).toEqual([['E-3', 'E-4'], ['E-4']]);
  });

  it('finds exactly the differences that a comparison row by row finds', async () => {
    const person = fc.record({
      employee: fc.integer({ min: 1, max: 5 }),
      iban: fc.integer({ min: 1, max: 4 }),
      name: fc.constantFrom('Ada', 'Ben', 'Cem'),
      cents: fc.constantFrom(100, 119, 120, 121, 80, 79, 1),
    });
    const people = fc.uniqueArray(person, {
      selector: ({ employee }) => employee,
      minLength: 1,
      maxLength: 5,
    });
    type Person = typeof person extends fc.Arbitrary<infer P> ? P : never;
    const rowsOf = (these: Person[]): Row[] =>
      these.map(({ employee, iban, name, cents }) =>
        pay(employee, { iban: germanIban(iban), name, amountMinor: BigInt(cents) }),
      );
    const company = await office.company();
    let month = 0;
    const round = async (earlier: Person[], now: Person[]) => {
      const kindOfPay = `PROPERTY-${(month += 1)}`;
      await settled(company, rowsOf(earlier), terms('2026-10', { kindOfPay }));
      const run = await office.run(company, rowsOf(now), terms('2026-11', { kindOfPay }));
      const found: Record<string, string[]> = {};
      for (const kind of DIFFERENCE_KINDS) {
        const items: { now?: Side; before?: Side }[] = await differencesOf(company, run, kind);
        found[kind] = items.map((one) => (one.now ?? one.before)?.employeeId ?? '').sort();
      }
      expect(found).toEqual(expected(earlier, now));
    };
    await fc.assert(fc.asyncProperty(people, people, round), { numRuns: 25 });

    function expected(earlier: Person[], now: Person[]): Record<DifferenceKind, string[]> {
      const was = (one: Person) => earlier.find(({ employee }) => employee === one.employee);
      const ids = (these: Person[]) => these.map(({ employee }) => `E-${employee}`).sort();
      const held = (one: Person) => earlier.filter(({ iban }) => iban === one.iban);
      return {
        JOINED: ids(now.filter((one) => !was(one))),
        LEFT: ids(earlier.filter((one) => !now.some(({ employee }) => employee === one.employee))),
        NET_CHANGED: ids(
          now.filter((one) => {
            const cents = was(one)?.cents;
            return cents !== undefined && Math.abs(one.cents - cents) * 10_000 > cents * 2_000;
          }),
        ),
        IBAN_CHANGED: ids(now.filter((one) => was(one) && was(one)?.iban !== one.iban)),
        NAME_CHANGED: ids(
          now.filter((one) => held(one).length > 0 && !held(one).some(({ name }) => name === one.name)),
        ),
      };
    }
  });
});

interface Side {
  employeeId: string;
}
