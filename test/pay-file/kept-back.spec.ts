import { Readable } from 'node:stream';
import { FaultPolicy } from '../../src/domain/fault-policy';
import { showId } from '../../src/http/prefixed-id';
import { forgetRefusedFiles } from '../../src/pay-file/faulty-file.store';
import { RefusedFile } from '../../src/pay-file/pay-file-fault';
import { UploadAnswer } from '../../src/pay-file/upload-answer';
import { csv, Desk, faultsOf, fileOf, HEADER, PayDesk, row, sample } from './pay-desk';

const HOLD: FaultPolicy = { policy: 'hold' };
const BAD = row('E2', '0.00');

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

const codes = ({ keptBack }: UploadAnswer) => keptBack.faults.map(({ line, code }) => [line, code]);
const told = (extra: Readonly<Record<string, unknown>>) => extra['corrections'] as RefusedFile;
const rowsOf = async (run: string): Promise<string[]> =>
  (await desk.corrections(employer, run)).toString().split('\n').slice(1, -1);

/** The bank said of every payment so far that it was not paid, and then that it was. */
const contradict = (): Promise<void> =>
  desk.asSuperuser(
    `SET session_replication_role = replica;
     UPDATE payment SET status = 'FAILED', live = false WHERE employer_id = '${employer.employerId}';
     INSERT INTO attention (employer_id, id, kind, pay_run_id, payment_id, subject_id, happened, certain, ask_bank)
     SELECT employer_id, gen_random_uuid(), 'CONTRADICTION', pay_run_id, id, id, 'this', 'that', 'whether' FROM payment
     WHERE employer_id = '${employer.employerId}'`,
  );

describe('faulty rows of a file', () => {
  it('refuse it unless the employer says otherwise', async () => {
    const problem = await desk.refusal(employer, csv(row('E1'), BAD));
    expect(faultsOf(problem)).toEqual([[3, 'amount', 'AMOUNT_TOO_SMALL']]);
    expect(await desk.stored(employer)).toEqual({ runs: 0, files: 0, payments: 0 });
  });

  it('are kept back and the others become the run', async () => {
    await desk.set(employer, { faultPolicy: HOLD });
    const { answer } = await desk.upload(employer, csv(row('E1'), BAD, row('E3'), 'E4,too,few', row('E5')));
    expect(answer).toMatchObject({ payments: 3, total: '3000.00', faultPolicy: HOLD, file: { rows: 3 } });
    expect(answer.keptBack).toMatchObject({ rows: 2, faultCount: 2 });
    expect(codes(answer)).toEqual([
      [3, 'AMOUNT_TOO_SMALL'],
      [5, 'FIELDS_TOO_FEW'],
    ]);
    const payments = await desk.query(
      employer,
      'SELECT row_no, line, employee_id FROM payment ORDER BY row_no',
    );
    expect(payments).toEqual([
      { row_no: 1, line: 2, employee_id: 'E1' },
      { row_no: 3, line: 4, employee_id: 'E3' },
      { row_no: 5, line: 6, employee_id: 'E5' },
    ]);
    const plan = await desk.query(employer, 'SELECT first_row, last_row, row_count FROM planned_instruction');
    expect(plan).toEqual([{ first_row: 1, last_row: 5, row_count: 3 }]);
    expect((await desk.audit(employer))[0]?.detail).toMatchObject({ rows: 3, keptBack: 2 });
  });

  it('are those whose earlier payment may have been paid after all as well, under the cells they have', async () => {
    await desk.upload(employer, csv(row('E9')));
    await contradict();
    await desk.set(employer, { faultPolicy: HOLD });
    const { answer } = await desk.upload(
      employer,
      csv(
        row('E1'),
        row('E9', '0.00'),
        row('E2'),
        row('E9', '5.00', '"Zoë, M"'),
        row('E1', '7.00'),
        row('E9', '6.00'),
      ),
    );
    expect(answer).toMatchObject({ payments: 2, keptBack: { rows: 3 } });
    expect(answer.held).toMatchObject({ payments: 1, holds: { EMPLOYEE_TWICE: 1 } });
    expect(codes(answer)).toEqual([
      [3, 'AMOUNT_TOO_SMALL'],
      [3, 'EMPLOYEE_NOT_REPAYABLE'],
      [5, 'EMPLOYEE_NOT_REPAYABLE'],
      [7, 'EMPLOYEE_NOT_REPAYABLE'],
    ]);
    const [, paid, twice] = await rowsOf(answer.id);
    expect(paid).toMatch(
      /^E9,"Zoë, M",DE\d{20},ELBKDEHHXXX,5\.00,EUR,Salary,"?line 5: employee_id: pay_\w+ of the employee cannot be replaced/,
    );
    expect(twice).toMatch(/^E9,Zoë Müller,.*,6\.00,EUR,Salary,"?line 7: employee_id: pay_/);
  });

  it('are stored sealed, and shown to their employer only', async () => {
    await desk.set(employer, { faultPolicy: HOLD });
    const { answer } = await desk.upload(employer, csv(row('E1'), BAD));
    const stored = 'SELECT line, row_no, employee_id, amount_minor, cells_sealed FROM faulty_row';
    expect(await desk.query(employer, stored)).toEqual([
      {
        line: 3,
        row_no: 2,
        employee_id: 'E2',
        amount_minor: null,
        cells_sealed: desk.personal.seal(JSON.stringify(BAD.split(','))),
      },
    ]);
    const other = await desk.employer();
    expect(await desk.query(other, stored)).toEqual([]);
    await expect(desk.corrections(other, answer.id)).rejects.toThrow('there are no corrections');
  });

  it('are told again with the same file, and are part of what is declared', async () => {
    await desk.set(employer, { faultPolicy: HOLD });
    const file = csv(row('E1', '10.00'), row('E2', '5.00').replace(/DE\d\d/, 'DE00'));
    const declared = { declaredRows: '2', declaredTotal: '15.00' };
    const first = await desk.upload(employer, file, declared);
    expect(await desk.upload(employer, file, declared)).toEqual({ answer: first.answer, replayed: true });
    const other = await desk.refusal(employer, file, { declaredRows: '1' });
    expect(faultsOf(other)).toEqual([[1, null, 'ROWS_NOT_AS_DECLARED']]);
  });

  it.each<[string, Buffer, Record<string, string>?]>([
    ['an unclosed quote', csv(row('E1'), BAD, 'E3,"open')],
    ['a row that was declared and is missing', csv(row('E1'), BAD), { declaredRows: '3' }],
    ['no good row', csv(BAD, row('E1', '-1'))],
    ['a header that is not known', Buffer.from('name,iban\nA,B\n')],
  ])('do not become a run with %s', async (_, file, fields = {}) => {
    await desk.set(employer, { faultPolicy: HOLD });
    expect(await desk.refusal(employer, file, fields)).toMatchObject({ code: 'PAY_FILE_REFUSED' });
    expect((await desk.stored(employer)).runs).toBe(0);
  });

  it('refuse it above the threshold, which the run keeps when the employer changes it', async () => {
    const policy: FaultPolicy = { policy: 'threshold', maxRows: 1 };
    await desk.set(employer, { faultPolicy: policy });
    const { answer } = await desk.upload(employer, csv(row('E1'), BAD));
    await desk.set(employer, { faultPolicy: { policy: 'strict' } });
    expect((await desk.upload(employer, csv(row('E1'), BAD))).answer).toEqual(answer);
    expect(answer.faultPolicy).toEqual(policy);
    await desk.set(employer, { faultPolicy: policy });
    const problem = await desk.refusal(employer, csv(row('E5'), BAD, row('E3', '0.00'), row('E6')));
    expect(problem.extra['faultCount']).toBe(2);
  });

  it('are in the corrections file as they were written, in the layout of the file', async () => {
    await desk.set(employer, { faultPolicy: HOLD });
    const text =
      '\ufeff"employee_id";"name";"iban";"amount";"currency"\r\n' +
      '"E1";"Zoë Müller";"DE42950800200355765512";"1.00";"EUR"\r\n' +
      '"E2";"=1+1 ""x"";y";"DE42950800200355765512";"2.00";"EUR"\r\n';
    const { answer } = await desk.upload(employer, Buffer.from(text));
    const corrections = (await desk.corrections(employer, answer.id)).toString();
    const [header, faulty, end] = corrections.split('\r\n');
    expect(header).toBe('\ufeff"employee_id";"name";"iban";"amount";"currency";"payrun_errors"');
    expect(faulty).toMatch(/^"E2";"=1\+1 ""x"";y";"DE42950800200355765512";"2\.00";"EUR";"line 3: name: /);
    expect(end).toBe('');
  });
});

describe('a refused file', () => {
  it('gives its faulty rows for a week, to its employer', async () => {
    const problem = await desk.refusal(employer, csv(row('E1'), BAD, row('E3', '-1')));
    const { id, rows, keptUntil } = told(problem.extra);
    expect([rows, keptUntil]).toEqual([2, '2026-11-09T09:00:00.000Z']);
    const corrections = (await desk.corrections(employer, id)).toString();
    expect(corrections.split('\n')).toEqual([
      `${HEADER},payrun_errors`,
      expect.stringMatching(/^E2,Zoë Müller,.*line 3: amount: /),
      expect.stringMatching(/^E3,Zoë Müller,.*line 4: amount: /),
      '',
    ]);
    await expect(desk.corrections(await desk.employer(), id)).rejects.toThrow('there are no corrections');
    const forget = (day: string) =>
      desk.database.inEmployer(employer.employerId, (tx) => forgetRefusedFiles(tx, new Date(day)));
    expect(await forget('2026-11-09T08:59:59Z')).toBe(0);
    expect(await forget('2026-11-09T09:00:00Z')).toBe(1);
    expect(await desk.query(employer, 'SELECT FROM faulty_row')).toEqual([]);
  });

  it('that has no faulty row gives none', async () => {
    expect((await desk.refusal(employer, sample('header-only.csv'))).extra['corrections']).toBeNull();
    expect(
      (await desk.refusal(employer, sample('header-missing-column.csv'))).extra['corrections'],
    ).toBeNull();
  });

  it('is kept once, under the id it was first told by, as it was read last', async () => {
    const file = csv(row('E1'), row('E2', '-2'));
    const { id } = told((await desk.refusal(employer, file)).extra);
    const again = told((await desk.refusal(employer, file)).extra);
    expect(again).toEqual({ id, rows: 1, keptUntil: expect.any(String) });
    const lines = (await desk.corrections(employer, id)).toString().split('\n');
    expect(lines[1]).toMatch(/^E2,.*line 3: amount: /);
    expect(await desk.query(employer, 'SELECT FROM faulty_file')).toHaveLength(1);
  });

  it('is one of the last twenty that are kept, counted from when they were sent last', async () => {
    const ids: string[] = [];
    for (const n of [0, 1, ...Array.from({ length: 18 }, (_, more) => more + 2), 0, 20, 21]) {
      const problem = await desk.refusal(employer, csv(row('E1', `-${n}`)));
      ids.push(told(problem.extra).id);
    }
    const kept = await desk.query<{ id: string }>(employer, 'SELECT id FROM faulty_file ORDER BY id');
    expect(kept.map(({ id }) => showId('rfl', id))).toEqual([ids[0], ...ids.slice(3, 20), ids[21], ids[22]]);
  });

  it('counts each of many faulty rows, shows the first thousand and gives the rest', async () => {
    const file = csv(...Array.from({ length: 2_500 }, (_, n) => row(`E${n}`, '0.00')));
    const pieces = { ...fileOf(file), read: () => Readable.from(chunks(file)) };
    const fields = { period: '2026-11', kindOfPay: 'SALARY', executionDate: '2026-11-27' };
    const thrown = await desk
      .intake()
      .take({ ...employer, file: pieces, fields })
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ extra: { faultCount: 2_500, corrections: { rows: 2_500 } } });
    const { extra } = thrown as { extra: Record<string, unknown> };
    expect(extra['faults']).toHaveLength(1_000);
    const lines = (await desk.corrections(employer, told(extra).id)).toString().split('\n');
    expect(lines).toHaveLength(2_502);
    expect(lines[2_500]).toMatch(/^E2499,.*line 2501: /);
  });

  it('gives rows that only the database found, however many', async () => {
    const rows = Array.from({ length: 2_100 }, (_, n) => row(`E${n}`));
    await desk.upload(employer, csv(...rows));
    await contradict();
    const problem = await desk.refusal(employer, csv(...rows, row('X')));
    expect(told(problem.extra).rows).toBe(2_100);
    const lines = (await desk.corrections(employer, told(problem.extra).id)).toString().split('\n');
    expect(lines[2_100]).toMatch(/^E2099,.*line 2101: employee_id: pay_\w+ of the employee cannot be /);
  });
});

function* chunks(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 16_384) yield bytes.subarray(at, at + 16_384);
}
