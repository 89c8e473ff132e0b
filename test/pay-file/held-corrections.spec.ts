import { HoldCode } from '../../src/domain/hold';
import { readId, showId } from '../../src/http/prefixed-id';
import { Corrected } from '../../src/pay-file/corrections';
import { amend } from '../../src/pay-run/amendment';
import { germanIban } from '../support/pay-rows';
import { csv, Desk, PayDesk, row } from './pay-desk';

const SHARED = germanIban(77);
const SUPPLEMENT = { executionDate: '2026-11-27' };

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

const upload = async (rows: string[], fields: Record<string, string> = {}): Promise<string> =>
  (await desk.upload(employer, csv(...rows), fields)).answer.id;

/** Sends the corrections file of a run back with some of its text replaced. */
const correct = async (
  run: string,
  changes: [string, string][],
  fields: Record<string, string> = {},
): Promise<Corrected> => {
  const text = (await desk.corrections(employer, run)).toString();
  const mended = changes.reduce((left, [from, to]) => left.replace(from, to), text);
  return desk.correct(employer, run, Buffer.from(mended), fields);
};

/** What is held of a run, as line, code and the line beside; a decided hold by its outcome. */
const holds = async (run: string): Promise<unknown[][]> => {
  const rows = await desk.query<{ found: unknown[] }>(
    employer,
    `SELECT json_build_array(p.line, h.code, coalesce(h.outcome, h.beside_line::text)) AS found
     FROM pay_hold h LEFT JOIN payment p ON p.employer_id = h.employer_id AND p.id = h.payment_id
     WHERE h.pay_run_id = $1 ORDER BY h.row_no, h.code`,
    [readId('run', run)],
  );
  return rows.map(({ found }) => found);
};

const release = (run: string, code: HoldCode, paymentId?: string): Promise<void> =>
  desk.releaseHold(employer, readId('run', run), { code, paymentId }, { personId: approver, reason: 'owed' });

const paymentIn = (run: string, line: number): Promise<string> =>
  desk.paymentIn(employer, readId('run', run), line);

describe('corrected rows that look like a mistake', () => {
  it('are held by themselves where another run pays them, and not the run that they join', async () => {
    await upload([row('N1', '7.00', 'Ann', SHARED)]);
    const id = await upload([row('E1', '1.00'), row('E2', '2.00'), row('E3', '0.00', 'Ann', SHARED)]);
    await correct(id, [['0.00', '7.00']]);
    expect(await holds(id)).toEqual([[4, 'IBAN_AND_AMOUNT_TWICE', '2']]);
  });

  it('are held beside the rows of their run, whichever line comes first', async () => {
    const id = await upload([
      row('E2', '0.00'),
      row('E3', '0.00', 'Otto Ott', SHARED),
      row('E4', '0.00', 'Zoë Müller', SHARED),
      row('E5', '0.00'),
      row('E1', '10.00', 'Zoë Müller', SHARED),
    ]);
    const done = await correct(id, [
      ['E2,', 'E1,'],
      [',0.00,', ',20.00,'],
      [',0.00,', ',30.00,'],
      [',0.00,', ',10.00,'],
      [',0.00,', ',40.00,'],
    ]);
    expect(done).toMatchObject({ corrected: 4, held: 3, keptBack: 0 });
    expect(done.run).toMatchObject({ runVersion: 2, rowCount: 2, totalMinor: 5_000n });
    expect(await holds(id)).toEqual([
      [2, 'EMPLOYEE_TWICE', '6'],
      [3, 'IBAN_UNDER_TWO_NAMES', '6'],
      [4, 'IBAN_AND_AMOUNT_TWICE', '6'],
    ]);
    await expect(desk.approve(employer, id)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
    const held = await desk.query(
      employer,
      `SELECT payments, amount_minor FROM state_change WHERE to_status = 'HELD'`,
    );
    expect(held).toEqual([{ payments: 3, amount_minor: '6000' }]);
    await release(id, 'EMPLOYEE_TWICE', await paymentIn(id, 2));
    const sql = 'SELECT status, release_sequence FROM payment WHERE pay_run_id = $1 AND line = 2';
    expect(await desk.query(employer, sql, [readId('run', id)])).toEqual([
      { status: 'READY', release_sequence: 1 },
    ]);
  });

  it('are held beside one another, and beside rows that are held themselves', async () => {
    await desk.set(employer, { paymentLimitMinor: 5_000n });
    const id = await upload([row('E1', '60.00'), row('E2', '0.00'), row('E3', '0.00'), row('E4', '70.00')]);
    const done = await correct(id, [
      ['E2,', 'E1,'],
      ['E3,', 'E1,'],
      [',0.00,', ',20.00,'],
      [',0.00,', ',51.00,'],
    ]);
    expect(done).toMatchObject({ corrected: 2, held: 2, run: { rowCount: 0 } });
    expect(await holds(id)).toEqual([
      [2, 'PAYMENT_ABOVE_LIMIT', null],
      [3, 'EMPLOYEE_TWICE', '2'],
      [4, 'EMPLOYEE_TWICE', '2'],
      [4, 'PAYMENT_ABOVE_LIMIT', null],
      [5, 'PAYMENT_ABOVE_LIMIT', null],
    ]);
  });

  it('are held where another run pays them, unless that was released before', async () => {
    await upload([row('E2', '1.00'), row('E3', '1.00')], { executionDate: '2026-11-30' });
    await desk.release(employer, approver, {
      employeeId: 'E3',
      period: '2026-11',
      kindOfPay: 'SALARY',
      reason: 'a second contract',
    });
    const id = await upload([row('E1'), row('E2', '0.00'), row('E3', '0.00')]);
    const changes: [string, string][] = [
      [',0.00,', ',20.00,'],
      [',0.00,', ',30.00,'],
    ];
    expect(await correct(id, changes)).toMatchObject({ corrected: 2, held: 1, run: { rowCount: 2 } });
    expect(await holds(id)).toEqual([[3, 'EMPLOYEE_ALREADY_PAID', '2']]);
    const again = csv(row('E2', '20.00'), row('E3', '30.00'));
    expect(await desk.correct(employer, id, again)).toMatchObject({ corrected: 0, unchanged: 2, held: 0 });
  });

  it('hold the run above whose limit they bring it, and once that was released themselves', async () => {
    await desk.set(employer, { runLimitMinor: 150_000n });
    const id = await upload([row('E1'), row('E2', '0.00'), row('E3', '0.00'), row('E4', '0.00')]);
    expect(await holds(id)).toEqual([]);
    const first = await correct(id, [[',0.00,', ',600.00,']]);
    expect(first).toMatchObject({ corrected: 1, held: 0, run: { rowCount: 2 } });
    expect(await holds(id)).toEqual([[null, 'RUN_ABOVE_LIMIT', null]]);
    expect(await correct(id, [[',0.00,', ',1.00,']])).toMatchObject({ corrected: 1, held: 0 });
    expect(await holds(id)).toHaveLength(1);
    await release(id, 'RUN_ABOVE_LIMIT');
    expect(await correct(id, [[',0.00,', ',2.00,']])).toMatchObject({ corrected: 1, held: 1 });
    expect(await holds(id)).toEqual([
      [null, 'RUN_ABOVE_LIMIT', 'RELEASED'],
      [5, 'RUN_ABOVE_LIMIT', null],
    ]);
    await release(id, 'RUN_ABOVE_LIMIT', await paymentIn(id, 5));
    await desk.approve(employer, id);
  });

  it('are held themselves, too, where an amendment had brought the run below its limit', async () => {
    await desk.set(employer, { runLimitMinor: 150_000n });
    const id = await upload([row('E1'), row('E2', '600.00'), row('E3', '0.00')]);
    await desk.inRun(employer, readId('run', id), async (tx, run) => {
      const excludePaymentIds = [await paymentIn(id, 3)];
      await amend(tx, desk.personal, run, employer.personId, { excludePaymentIds, reason: 'she left' });
    });
    expect(await correct(id, [[',0.00,', ',500.01,']])).toMatchObject({ corrected: 1, held: 1 });
    expect(await holds(id)).toEqual([
      [null, 'RUN_ABOVE_LIMIT', 'AMENDED'],
      [4, 'RUN_ABOVE_LIMIT', null],
    ]);
  });

  it('are not held against their own run as against another one', async () => {
    const id = await upload([row('E1', '10.00', 'Ann', SHARED), row('E2', '0.00', 'Ann', SHARED)]);
    expect(await correct(id, [[',0.00,', ',10.00,']])).toMatchObject({ corrected: 1, held: 1 });
    expect(await holds(id)).toEqual([[3, 'IBAN_AND_AMOUNT_TWICE', '2']]);
  });

  it('are counted without a row that is still faulty, whose line in the corrections file is theirs in the run', async () => {
    const id = await upload([row('E1', '1.00'), row('E2', '0.00'), row('E3', '0.00')]);
    const done = await correct(id, [
      ['E2,', 'E1,'],
      [',0.00,', ',20.00,'],
    ]);
    expect(done).toMatchObject({ corrected: 1, held: 1, stillFaulty: 1, keptBack: 1 });
    expect(await holds(id)).toEqual([[3, 'EMPLOYEE_TWICE', '2']]);
    const held = await desk.query(
      employer,
      `SELECT payments, amount_minor FROM state_change WHERE to_status = 'HELD'`,
    );
    expect(held).toEqual([{ payments: 1, amount_minor: '2000' }]);
  });

  it('are held in the answer to the same file again, and not kept back', async () => {
    const file = csv(row('E1', '1.00'), row('E1', '2.00'), row('E2', '0.00'), row('E3', '3.00', 'Ann'));
    const first = await desk.upload(employer, file);
    await correct(first.answer.id, [
      ['E2,Zoë', 'E1,Jörg'],
      [',0.00,', ',20.00,'],
    ]);
    expect(first.answer).toMatchObject({ held: { payments: 1 }, keptBack: { rows: 1, faultCount: 1 } });
    const { answer, replayed } = await desk.upload(employer, file);
    expect([replayed, answer.id]).toEqual([true, first.answer.id]);
    expect(answer).toMatchObject({
      runVersion: 2,
      held: { payments: 2, amount: '22.00', holds: { EMPLOYEE_TWICE: 2 } },
      keptBack: { rows: 0, faultCount: 0, faults: [] },
    });
    expect(answer.namesChanged).toEqual(first.answer.namesChanged);
  });

  it('come while holds of their run are released, and neither waits for the other for ever', async () => {
    for (let n = 0; n < 5; n += 1) {
      employer = await desk.employer();
      await desk.set(employer, { faultPolicy: { policy: 'hold' } });
      const id = await upload([row('E1'), row('E1', '2.00'), row('E1', '3.00'), row('E2', '0.00')]);
      const lines = await Promise.all([3, 4].map((line) => paymentIn(id, line)));
      await Promise.all([
        ...lines.map((paymentId) => release(id, 'EMPLOYEE_TWICE', paymentId)),
        correct(id, [[',0.00,', ',4.00,']]),
      ]);
      const run = await desk.query(employer, 'SELECT run_version, row_count, total_minor FROM pay_run');
      expect(run).toEqual([{ run_version: 4, row_count: 4, total_minor: '100900' }]);
    }
  });

  it('are held in a supplement as in any upload', async () => {
    const id = await upload([row('E1'), row('E2', '0.00'), row('E3', '0.00')]);
    await desk.approve(employer, id);
    const done = await correct(
      id,
      [
        ['E2,', 'E1,'],
        [',0.00,', ',20.00,'],
        [',0.00,', ',30.00,'],
      ],
      SUPPLEMENT,
    );
    expect(done).toMatchObject({ corrected: 2, held: 1, run: { rowCount: 1, sequence: 1 } });
    const supplement = showId('run', done.run.id);
    expect(await holds(supplement)).toEqual([[3, 'EMPLOYEE_ALREADY_PAID', '2']]);
    await expect(desk.approve(employer, supplement)).rejects.toMatchObject({ code: 'HOLDS_OPEN' });
  });

  it('are held when they come, not when they are kept back', async () => {
    const { answer } = await desk.upload(
      employer,
      csv(row('E1', '0.00'), row('E1', '5.00', 'Ann', SHARED), row('E2', '-5', 'Bob', SHARED)),
    );
    expect(answer).toMatchObject({ payments: 1, keptBack: { rows: 2 }, held: { payments: 0, holds: {} } });
    expect(await correct(answer.id, [[',0.00,', ',5.00,']])).toMatchObject({ corrected: 1, held: 1 });
    expect(await holds(answer.id)).toEqual([[2, 'EMPLOYEE_TWICE', '3']]);
  });
});
