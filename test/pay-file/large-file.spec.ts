import { Readable } from 'node:stream';
import { readUploadFields } from '../../src/pay-file/terms';
import { Taken } from '../../src/pay-file/intake';
import { csv, Desk, faultsOf, fileOf, PayDesk, row } from './pay-desk';

/** Some 400 bytes each on their way to the database, so that several COPYs are needed. */
const ROWS = 6_000;
const PIECE_BYTES = 16_384;
const NOTHING = { runs: 0, files: 0, payments: 0 };

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

const rows = Array.from({ length: ROWS }, (_, n) => row(`E${n + 1}`, `${n + 1}.00`));

/** Uploads bytes that come in pieces, as they do from the disk; `fail` ends them with an error. */
function upload(bytes: Buffer, fail?: Error): Promise<Taken> {
  function* pieces() {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
    if (fail) throw fail;
  }
  const file = { ...fileOf(bytes), read: () => Readable.from(pieces()) };
  const fields = readUploadFields(Object.entries({ period: '2026-11', executionDate: '2026-11-27' }));
  return desk.intake().take({ ...employer, file, fields });
}

describe('a file that is copied in several parts', () => {
  it('is stored whole, each row under its number', async () => {
    const { answer } = await upload(csv(...rows));
    expect(answer).toMatchObject({ payments: ROWS, total: `${(ROWS * (ROWS + 1)) / 2}.00` });
    const [numbers] = await desk.query(
      employer,
      `SELECT count(*)::int AS rows, count(*) FILTER (WHERE employee_id = 'E' || row_no AND line = row_no + 1
         AND amount_minor = row_no * 100)::int AS right FROM payment`,
    );
    expect(numbers).toEqual({ rows: ROWS, right: ROWS });
  });

  it('holds an employee who is in its first and its last row', async () => {
    const { answer } = await upload(csv(...rows, row('E1')));
    expect(answer).toMatchObject({
      payments: ROWS,
      held: { payments: 1, amount: '1000.00', holds: { EMPLOYEE_TWICE: 1 } },
    });
    expect(await desk.query(employer, 'SELECT row_no, beside_line FROM pay_hold')).toEqual([
      { row_no: ROWS + 1, beside_line: 2 },
    ]);
  });

  it('holds a row that was a payment before the rest was read', async () => {
    const [first = '', ...others] = rows;
    const { answer } = await upload(csv(first, first.replace('E1,', 'E0,'), ...others));
    expect(answer).toMatchObject({ payments: ROWS, held: { holds: { IBAN_AND_AMOUNT_TWICE: 1 } } });
    const held = `SELECT row_no, status, live FROM payment WHERE status <> 'READY'`;
    expect(await desk.query(employer, held)).toEqual([{ row_no: 2, status: 'HELD', live: false }]);
  });

  it('is refused for its last row, after the others were payments, with that one to correct', async () => {
    const thrown = await upload(csv(...rows, row('E0', '0.001'))).catch((error: unknown) => error);
    expect(faultsOf(thrown as never)).toEqual([[ROWS + 2, 'amount', 'AMOUNT_DECIMALS']]);
    expect(await desk.stored(employer)).toEqual(NOTHING);
    const kept = `SELECT f.read_rows, r.line, r.row_no FROM faulty_file f JOIN faulty_row r ON r.faulty_file_id = f.id`;
    expect(await desk.query(employer, kept)).toEqual([
      { read_rows: ROWS + 1, line: ROWS + 2, row_no: ROWS + 1 },
    ]);
    expect((await upload(csv(...rows))).answer.payments).toBe(ROWS);
  });

  it('is refused for its last row alone, which cannot be read', async () => {
    const thrown = await upload(csv(...rows, row('E1'), 'E0,"open')).catch((error: unknown) => error);
    expect(faultsOf(thrown as never)).toEqual([[ROWS + 3, null, 'QUOTE_NOT_CLOSED']]);
    expect(await desk.stored(employer)).toEqual(NOTHING);
  });

  it('leaves nothing behind when its bytes are lost on the way, and can come again', async () => {
    const bytes = csv(...rows);
    await expect(upload(bytes, new Error('the disk is gone'))).rejects.toThrow('the disk is gone');
    expect(await desk.stored(employer)).toEqual(NOTHING);
    expect((await upload(bytes)).answer.payments).toBe(ROWS);
  });

  // As a full disk would, in the middle of the file.
  it('is not stored when the database refuses to pay one of the parts', async () => {
    await desk.asSuperuser('ALTER TABLE payment ADD CONSTRAINT narrow CHECK (row_no < 5000) NOT VALID');
    try {
      await expect(upload(csv(...rows))).rejects.toMatchObject({ code: '23514' });
    } finally {
      await desk.asSuperuser('ALTER TABLE payment DROP CONSTRAINT narrow');
    }
    expect(await desk.stored(employer)).toEqual(NOTHING);
  });

  it('is not stored when the database refuses to look at one of the parts, with an employee twice', async () => {
    await desk.asSuperuser(
      `CREATE FUNCTION narrow_row_table() RETURNS event_trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF to_regclass('pg_temp.uploaded_row') IS NOT NULL THEN
           ALTER TABLE pg_temp.uploaded_row ADD CHECK (row_no < 5000);
         END IF;
       END $$;
       CREATE EVENT TRIGGER narrow_row_table ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
         EXECUTE FUNCTION narrow_row_table()`,
    );
    try {
      await expect(upload(csv(...rows, ...rows.slice(0, 1)))).rejects.toMatchObject({ code: '23514' });
    } finally {
      await desk.asSuperuser('DROP EVENT TRIGGER narrow_row_table; DROP FUNCTION narrow_row_table');
    }
    expect(await desk.stored(employer)).toEqual(NOTHING);
  });
});
