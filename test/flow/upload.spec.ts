import { readFileSync } from 'node:fs';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const sample = (name: string): Buffer => readFileSync(`${__dirname}/../../samples/${name}`);

describe('uploading a pay file', () => {
  let payroll: Payroll;
  let next = 1;
  beforeAll(async () => {
    payroll = await Payroll.start({ settings: { MAX_PAY_FILE_BYTES: '100000', MAX_PAY_FILE_ROWS: '600' } });
  });
  afterAll(() => payroll.close());

  /** A file with employees no other test pays. */
  const file = (count = 3): string => {
    const rows = payRows(count, next);
    next += count;
    return payFile(rows);
  };
  const form = (content: string, fields: Record<string, string>): FormData => {
    const data = new FormData();
    for (const [name, value] of Object.entries(fields)) data.append(name, value);
    data.append('file', new Blob([content]), 'Löhne November.csv');
    return data;
  };
  const post = (data: unknown, headers: Record<string, string> = {}, query = '') =>
    payroll.as('preparer').post(payroll.path(`/pay-files${query}`), data, { headers });

  it('answers 201 with a run that awaits approval, and again with that run, marked as a replay', async () => {
    const content = file();
    const first = await payroll.upload(content);
    expect(first.status).toBe(201);
    expect(first.data).toMatchObject({
      status: 'READY',
      replayed: false,
      advice: null,
      payments: 3,
      currency: 'EUR',
    });
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    const again = await payroll.upload(content);
    expect(again.status).toBe(201);
    expect(again.data).toEqual({ ...first.data, replayed: true });
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await payroll.run(first.data.id)).toMatchObject({ status: 'READY' });
  });

  it('makes one run of the same file uploaded twice at once', async () => {
    const content = file();
    const both = await Promise.all([payroll.upload(content), payroll.upload(content)]);
    expect(both.map(({ status }) => status)).toEqual([201, 201]);
    expect(both[0]?.data.id).toBe(both[1]?.data.id);
    expect(both.map(({ headers }) => headers['idempotent-replayed']).filter(Boolean)).toEqual(['true']);
    expect(both.map(({ data }) => data.replayed).sort()).toEqual([false, true]);
  });

  it('takes a form with its fields', async () => {
    const fields = { period: payroll.executionDate().slice(0, 7), executionDate: payroll.executionDate() };
    const { status, data } = await post(form(file(), fields));
    expect(status).toBe(201);
    const shown = await payroll.as('finance').get(payroll.path(`/pay-files/${data.file.id}`));
    expect(shown.data).toMatchObject({
      id: data.file.id,
      fileName: 'Löhne November.csv',
      payRunId: data.id,
      rows: 3,
      total: data.total,
      period: fields.period,
    });
    const twice = await post(form(file(), fields), {}, '?period=2026-11');
    expect(twice).toMatchObject({ status: 422, data: { code: 'FIELD_TWICE' } });
  });

  it('gives the bytes back as they were uploaded, as a file', async () => {
    const content = `\ufeff${file().replaceAll('\n', '\r\n')}`;
    const { data } = await payroll.upload(content, { fileName: 'Płace "Nov".csv' });
    const answer = await payroll
      .as('approver')
      .get(payroll.path(`/pay-files/${data.file.id}/content`), { responseType: 'arraybuffer' });
    expect(answer.status).toBe(200);
    expect(Buffer.from(answer.data).toString()).toBe(content);
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(answer.headers['content-disposition']).toMatch(
      /^attachment; filename="P\?ace \\"Nov\\".csv"; filename\*=UTF-8''P%C5%82ace/,
    );
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it('is refused with every fault as a problem', async () => {
    const answer = await payroll.upload(sample('many-defects.csv'));
    expect(answer.status).toBe(422);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(answer.data).toMatchObject({ code: 'PAY_FILE_REFUSED', faultCount: 6 });
    expect(answer.data.faults[3]).toMatchObject({ line: 13, column: 'name', code: 'NAME_MISSING' });
  });

  it('names every faulty field', async () => {
    const { status, data } = await post(
      file(),
      { 'content-type': 'text/csv' },
      '?period=May&kindOfPay=x&x=1',
    );
    expect(status).toBe(422);
    expect(data.code).toBe('VALIDATION_FAILED');
    expect(data.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual([
      '#/kindOfPay',
      '#/period',
      '#/x',
    ]);
  });

  it('ends at the bytes and rows a file may have', async () => {
    expect(await payroll.upload('x'.repeat(100_001))).toMatchObject({
      status: 413,
      data: { code: 'PAY_FILE_TOO_LARGE' },
    });
    const rows = await payroll.upload(file(601));
    expect(rows.data).toMatchObject({
      code: 'PAY_FILE_REFUSED',
      faults: [{ line: 602, code: 'TOO_MANY_ROWS' }],
    });
  });

  it('is for preparers; the file is not for operators', async () => {
    const { data } = await payroll.upload(file());
    for (const role of ['approver', 'finance', 'operator'] as const) {
      const answer = await payroll.as(role).post(payroll.path('/pay-files'), file(), {
        headers: { 'content-type': 'text/csv' },
      });
      expect([role, answer.status]).toEqual([role, 403]);
    }
    for (const rest of ['', '/content']) {
      const read = await payroll.as('operator').get(payroll.path(`/pay-files/${data.file.id}${rest}`));
      expect(read.status).toBe(403);
    }
    const unknown = await payroll
      .as('finance')
      .get(payroll.path('/pay-files/file_00000000000070008000000000000000'));
    expect(unknown).toMatchObject({ status: 404, data: { code: 'PAY_FILE_NOT_FOUND' } });
  });

  it('is possible again once the run of the same file was cancelled', async () => {
    const content = file();
    const first = await payroll.uploaded(content);
    const cancelled = await payroll
      .as('preparer')
      .post(payroll.path(`/pay-runs/${first.id}/cancellation`), { reason: 'wrong month' });
    expect(cancelled.status).toBeLessThan(300);
    const again = await payroll.upload(content);
    expect(again.status).toBe(201);
    expect(again.data.id).not.toBe(first.id);
  });

  it('pays an employee once more only after an approver released it', async () => {
    const [row] = payRows(1, (next += 1));
    const first = payFile([row!]);
    const further = payFile([{ ...row!, amount: '12.00' }]);
    await payroll.uploaded(first);
    const held = await payroll.uploaded(further);
    expect(held).toMatchObject({ payments: 0, held: { holds: { EMPLOYEE_ALREADY_PAID: 1 } } });
    const cancellation = payroll.path(`/pay-runs/${held.id}/cancellation`);
    await payroll.as('preparer').post(cancellation, { reason: 'to be released first' });
    const body = {
      employeeId: row!.employeeId,
      period: payroll.executionDate().slice(0, 7),
      reason: 'a correction',
    };
    const release = (role: 'preparer' | 'approver') => payroll.as(role).post(payroll.path('/releases'), body);
    expect((await release('preparer')).status).toBe(403);
    expect(await release('approver')).toMatchObject({
      status: 201,
      data: { sequence: 1, kindOfPay: 'SALARY' },
    });
    expect(await release('approver')).toMatchObject({ status: 409, data: { code: 'RELEASE_UNUSED' } });
    expect((await payroll.upload(further)).data).toMatchObject({ payments: 1, held: { payments: 0 } });
    const third = await payroll.upload(payFile([{ ...row!, amount: '13.00' }]));
    expect(third.data).toMatchObject({ payments: 0, held: { payments: 1 } });
  });

  it('takes back a release that was a mistake, by any approver', async () => {
    const [row] = payRows(1, (next += 1));
    await payroll.uploaded(payFile([row!]));
    const period = payroll.executionDate().slice(0, 7);
    const body = { employeeId: row!.employeeId, period, reason: 'of another employee' };
    await payroll.as('approver').post(payroll.path('/releases'), body);
    const withdraw = (by: 'preparer' | 'second') =>
      payroll.as(by).post(payroll.path('/releases/withdrawal'), body);
    expect((await withdraw('preparer')).status).toBe(403);
    expect(await withdraw('second')).toMatchObject({
      status: 200,
      data: { ...body, kindOfPay: 'SALARY', withdrawn: 1 },
    });
    expect(await withdraw('second')).toMatchObject({ status: 404, data: { code: 'RELEASE_NOT_FOUND' } });
    const again = await payroll.upload(payFile([{ ...row!, amount: '12.00' }]));
    expect(again.data).toMatchObject({ payments: 0, held: { holds: { EMPLOYEE_ALREADY_PAID: 1 } } });
  });
});
