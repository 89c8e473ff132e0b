import { encodeCursor } from '../../src/http/cursor';
import { readId } from '../../src/http/prefixed-id';
import { execute } from '../support/database';
import { payFile, payRows, Row } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

let payroll: Payroll;

beforeAll(async () => {
  payroll = await Payroll.start();
});
afterAll(() => payroll.close());

const CSV = { headers: { 'content-type': 'text/csv' } };
const at = (run: string, rest: string) => payroll.path(`/pay-runs/${run}/${rest}`);
const reportOf = async (run: string) => (await payroll.as('finance').get(at(run, 'reconciliation'))).data;
const setPolicy = (faultPolicy: unknown, role: 'operator' | 'preparer' = 'operator') =>
  payroll.as(role).patch(`/v1/employers/${payroll.employer}`, { faultPolicy });
const correctionsOf = async (run: string): Promise<string> =>
  (await payroll.as('preparer').get(at(run, 'corrections.csv'))).data;

describe('rows that are kept back for their faults', () => {
  it('are paid once they are corrected: in the run before its approval, and after it by a supplement', async () => {
    expect((await setPolicy({ policy: 'hold' }, 'preparer')).status).toBe(403);
    expect((await setPolicy({ policy: 'hold' })).data.faultPolicy).toEqual({ policy: 'hold' });
    const rows = payRows(6);
    const faulty = rows.map((row, n) => ({
      ...row,
      ...(n === 1 && { amount: '0.00' }),
      ...(n === 4 && { iban: row.iban.slice(0, -1) }),
    }));
    const { data: uploaded } = await payroll.upload(payFile(faulty));
    expect(uploaded).toMatchObject({ status: 'READY', payments: 4, keptBack: { rows: 2, faultCount: 2 } });
    const { id } = uploaded;
    expect(await payroll.run(id)).toMatchObject({ keptBack: { rows: 2, faults: 2, corrected: 0 } });
    expect(await reportOf(id)).toMatchObject({ explained: true });

    const listed = await payroll.as('approver').get(at(id, 'faulty-rows?limit=1'));
    expect(listed.data.items).toMatchObject([{ line: 3, faults: [{ line: 3, code: 'AMOUNT_TOO_SMALL' }] }]);
    const cursor = encodeURIComponent(listed.data.nextCursor);
    const rest = await payroll.as('approver').get(at(id, `faulty-rows?cursor=${cursor}`));
    const beyond = encodeCursor({ line: 2 ** 31 });
    const forged = await payroll.as('approver').get(at(id, `faulty-rows?cursor=${beyond}`));
    expect([forged.status, forged.data.code]).toEqual([422, 'CURSOR_INVALID']);
    expect(rest.data.items.map((one: { line: number }) => one.line)).toEqual([6]);
    expect((await payroll.as('operator').get(at(id, 'corrections.csv'))).status).toBe(403);
    const got = await payroll.as('preparer').get(at(id, 'corrections.csv'));
    expect(got.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(got.headers['cache-control']).toBe('no-store');

    const preparer = payroll.as('preparer');
    const first = await preparer.post(
      at(id, 'corrections'),
      (got.data as string).replace(',0.00,', `,${rows[1]!.amount},`),
      CSV,
    );
    expect(first).toMatchObject({ status: 200, data: { corrected: 1, stillFaulty: 1, keptBack: 1 } });
    expect(first.data.run).toMatchObject({ id, runVersion: 2, payments: 5, status: 'READY' });
    expect((await payroll.approve(uploaded)).data.code).toBe('APPROVAL_OF_ANOTHER_VERSION');
    expect((await payroll.approve(first.data.run)).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1, 1, 0, 1]);

    const mended = (await correctionsOf(id)).replace(faulty[4]!.iban, rows[4]!.iban);
    const dates = {
      executionDate: payroll.executionDate(),
      submitAt: payroll.clock.now().toISOString(),
    };
    const send = () => preparer.post(at(id, 'corrections'), mended, { ...CSV, params: dates });
    const second = await send();
    expect(second).toMatchObject({
      status: 200,
      data: { corrected: 1, keptBack: 0, run: { parentRunId: id, payments: 1, status: 'READY' } },
    });
    const supplement = second.data.run.id;
    expect((await send()).data).toMatchObject({ corrected: 0, unchanged: 1, run: { id } });
    expect((await payroll.approve(second.data.run)).status).toBe(200);
    await payroll.until(supplement, ['SETTLED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await payroll.run(id)).toMatchObject({ keptBack: { rows: 0, faults: 0, corrected: 2 } });
    const shown = await payroll.as('finance').get(at(id, 'faulty-rows'));
    expect(
      shown.data.items.map((one: { correctedBy: { payRunId: string } }) => one.correctedBy.payRunId),
    ).toEqual([id, supplement]);
    expect(await reportOf(id)).toMatchObject({ explained: true });
    expect(await reportOf(supplement)).toMatchObject({ explained: true });
    const period = payroll.executionDate().slice(0, 7);
    const month = await payroll.as('finance').get(payroll.path(`/reconciliation?period=${period}`));
    const [six, none] = [6, 0].map((payments) => ({ payments }));
    expect(month.data).toMatchObject({
      explained: true,
      totals: { uploaded: six, refused: none, settled: six },
    });

    const { data: audit } = await payroll.as('finance').get(payroll.path('/audit'));
    const actions = audit.items.map((entry: { action: string }) => entry.action);
    expect(actions).toEqual(expect.arrayContaining(['employer.changed', 'pay-run.corrected']));
  });

  it('are held when they are corrected to what looks like a mistake, and paid once that is released', async () => {
    const rows = payRows(3, 80);
    const [first, second] = rows as [Row, Row];
    const faulty = rows.map((row) => (row === second ? { ...row, amount: '0.00' } : row));
    const { data: uploaded } = await payroll.upload(payFile(faulty));
    expect(uploaded).toMatchObject({ payments: 2, keptBack: { rows: 1 }, held: { payments: 0 } });
    const { id } = uploaded;
    const mended = (await correctionsOf(id))
      .replace(second.employeeId, first.employeeId)
      .replace(',0.00,', `,${second.amount},`);
    const corrected = await payroll.as('preparer').post(at(id, 'corrections'), mended, CSV);
    expect(corrected.data).toMatchObject({ corrected: 1, held: 1, keptBack: 0, run: { payments: 2 } });
    expect((await payroll.approve(corrected.data.run)).data.code).toBe('HOLDS_OPEN');
    expect(await reportOf(id)).toMatchObject({ explained: true, table: { held: { payments: 1 } } });
    const [hold] = (await payroll.as('approver').get(at(id, 'holds'))).data.items;
    expect(hold).toMatchObject({ code: 'EMPLOYEE_TWICE', message: 'The employee is already in line 2.' });
    const released = await payroll.as('approver').post(at(id, 'holds/release'), {
      code: hold.code,
      paymentId: hold.payment.id,
      reason: 'a second contract',
    });
    expect(released.data).toMatchObject({ runVersion: 3, payments: 3, openHolds: 0 });
    expect((await payroll.approve(released.data)).status).toBe(200);
    await payroll.until(id, ['SETTLED']);
    expect(await payroll.timesPaid(rows)).toEqual([1, 1, 1]);
    expect(await reportOf(id)).toMatchObject({ explained: true });
  });

  it('are missing in the report once the record has lost one of them', async () => {
    await setPolicy({ policy: 'hold' });
    const rows = payRows(4, 120).map((row, n) => ({ ...row, ...(n > 1 && { iban: row.iban.slice(0, -1) }) }));
    const { id } = (await payroll.upload(payFile(rows))).data;
    expect(await reportOf(id)).toMatchObject({ explained: true, table: { refused: { payments: 2 } } });
    await execute(
      payroll.database.superuserUrl,
      `DELETE FROM faulty_row WHERE row_no = 3 AND faulty_file_id = (
         SELECT id FROM faulty_file WHERE pay_run_id = $1)`,
      [readId('run', id)],
    );
    expect(await reportOf(id)).toMatchObject({
      explained: false,
      table: { uploaded: { payments: 4 }, refused: { payments: 1 } },
      differences: [{ row: 3, line: null, code: 'PAYMENT_MISSING' }],
    });
  });

  it('of a file that is refused are fetched for some days', async () => {
    await setPolicy({ policy: 'threshold', maxRows: 1, maxBasisPoints: 5_000 });
    const rows = payRows(4, 50).map((row, n) => ({ ...row, ...(n < 2 && { amount: '-1' }) }));
    const { status, data } = await payroll.upload(payFile(rows));
    expect([status, data.code, data.corrections.rows]).toEqual([422, 'PAY_FILE_REFUSED', 2]);
    expect(data.corrections.id).toMatch(/^rfl_[0-9a-f]{32}$/);
    const path = payroll.path(`/refused-files/${data.corrections.id}/corrections.csv`);
    const got = await payroll.as('preparer').get(path);
    expect(got.data.split('\n')).toHaveLength(4);
    const unknown = path.replace(/rfl_.{4}/, 'rfl_0000');
    expect((await payroll.as('preparer').get(unknown)).data.code).toBe('REFUSED_FILE_NOT_FOUND');
  });

  it.each([
    [{ policy: 'threshold' }],
    [{ policy: 'threshold', maxBasisPoints: 10_001 }],
    [{ policy: 'threshold', maxRows: 1.5 }],
    [{ policy: 'strict', maxRows: 1 }],
    [{ policy: 'guess' }],
  ])('are not dealt with by %j', async (policy) => {
    expect(await setPolicy(policy)).toMatchObject({ status: 422, data: { code: 'VALIDATION_FAILED' } });
  });
});
