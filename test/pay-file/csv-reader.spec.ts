import { readFileSync } from 'node:fs';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { CsvRecord, MAX_BLANK_LINES, readCsv } from '../../src/pay-file/csv-reader';
import { CsvUnreadable } from '../../src/pay-file/csv-unreadable';
import { MAX_RECORD_BYTES } from '../../src/pay-file/dialect';

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string | Buffer, size = 65_536): Promise<CsvRecord[]> {
  const records: CsvRecord[] = [];
  for await (const batch of readCsv(pieces(Buffer.from(text), size))) records.push(...batch);
  return records;
}

async function faultOf(text: string | Buffer, size?: number) {
  const error = await read(text, size).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CsvUnreadable);
  const { line, code, message } = (error as CsvUnreadable).fault;
  return { line, code, message };
}

/** A header that says nothing of the other dialects. */
const HEADER = ['employee_id', 'name'];

const cells = (records: CsvRecord[]): string[][] => records.map((record) => record.cells);
const lines = (records: CsvRecord[]): number[] => records.map((record) => record.line);

describe('reading CSV', () => {
  it('reads back what was written, cell for cell and with its line, however the bytes are cut', async () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.constantFrom(
        '',
        'a,b',
        'say "hi"',
        'two\nlines',
        'two\r\nlines',
        '\n\n',
        '"',
        ' ',
        'Zoë',
        '\u0000',
        '\r',
      ),
    );
    // A record of one empty cell is a blank line, which is passed over.
    const record = fc.array(cell, { minLength: 2, maxLength: 7 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 12 }),
        fc.constantFrom<'\n' | '\r\n'>('\n', '\r\n'),
        fc.integer({ min: 1, max: 40 }),
        async (written, ending, size) => {
          const parts = [HEADER, ...written].map((row) =>
            stringify([row], { record_delimiter: ending, quoted_match: /[\r\n\ufeff]/ }),
          );
          const expected = parts.map((_, index) => parts.slice(0, index).join('').split('\n').length);
          const records = await read(parts.join(''), size);
          expect(cells(records)).toEqual([HEADER, ...written]);
          expect(lines(records)).toEqual(expected);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keeps spaces, zeros and exponents as they were written', async () => {
    expect(cells(await read('a,b\n 007 ,1e5\n'))).toEqual([
      ['a', 'b'],
      [' 007 ', '1e5'],
    ]);
  });

  it('takes a byte order mark, and a last line without an ending', async () => {
    const records = await read('\ufeffa,b\r\n1,2', 1);
    expect(cells(records)).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  it('passes over blank lines and counts them', async () => {
    expect(lines(await read('a,b\n\n1,2\n\n\n3,4\n\n'))).toEqual([1, 3, 6]);
  });

  it('hands over rows of any width', async () => {
    expect(cells(await read('a,b\n1\n1,2,3\n'))).toEqual([['a', 'b'], ['1'], ['1', '2', '3']]);
  });

  it('finds no record in an empty file', async () => {
    expect(await read('')).toEqual([]);
  });

  it.each([1, 3, 7, 65_536])(
    'tells line and character of a byte that is not UTF-8 (pieces of %i)',
    async (size) => {
      const bytes = Buffer.concat([
        Buffer.from('id,name\n1,Zoë\n2,Zo'),
        Buffer.from([0xeb, 0x0a]),
        Buffer.from('3,x\n'),
      ]);
      expect(await faultOf(bytes, size)).toEqual({
        line: 3,
        code: 'ENCODING_NOT_UTF8',
        message: 'The byte EB at character 5 of line 3 is not UTF-8.',
      });
    },
  );

  it('refuses a character cut off by the end of the file, and overlong and surrogate forms', async () => {
    for (const bytes of [
      [0x61, 0xc3],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
    ]) {
      expect(await faultOf(Buffer.from(bytes))).toMatchObject({ line: 1, code: 'ENCODING_NOT_UTF8' });
    }
  });

  it('names the row in which a quote opens and never closes', async () => {
    expect(await faultOf('a,b\n"x\ny",1\n2,"z\n3,4\n')).toMatchObject({ line: 4, code: 'QUOTE_NOT_CLOSED' });
  });

  it('names the row of a quote in the middle of a field', async () => {
    expect(await faultOf('a,b\n1,2\n1,x"y"\n')).toMatchObject({ line: 3, code: 'QUOTE_MISPLACED' });
    expect(await faultOf('a,b\n1,"x"y\n')).toMatchObject({ line: 2, code: 'QUOTE_MISPLACED' });
  });

  it('yields the rows before a quote that makes the rest unreadable', async () => {
    const found: CsvRecord[] = [];
    const reading = (async () => {
      for await (const batch of readCsv(pieces(Buffer.from('a,b\n1,2\n1,x"y"\n'), 100))) found.push(...batch);
    })();
    await expect(reading).rejects.toBeInstanceOf(CsvUnreadable);
    expect(cells(found)).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  it('gives up on a line or a quoted field longer than any row', async () => {
    expect(await faultOf(`a,b\n1,${'x'.repeat(MAX_RECORD_BYTES)}`)).toMatchObject({
      line: 2,
      code: 'ROW_TOO_LONG',
    });
    expect(await faultOf(`a,b\n1,"${'x\n'.repeat(MAX_RECORD_BYTES)}`)).toMatchObject({
      line: 2,
      code: 'ROW_TOO_LONG',
    });
  });

  it('gives up on more blank lines than any spreadsheet leaves, and on none that it may leave', async () => {
    const most = `a,b\n${'\n'.repeat(MAX_BLANK_LINES)}`;
    expect(lines(await read(most))).toEqual([1]);
    const { line, code } = await faultOf(`${most},\n`);
    expect([line, code]).toEqual([MAX_BLANK_LINES + 2, 'TOO_MANY_BLANK_LINES']);
  });

  it('reads every row of the sample payroll', async () => {
    const records = await read(readFileSync(`${__dirname}/../../samples/payroll-250.csv`), 1000);
    expect(lines(records)).toEqual(Array.from({ length: 251 }, (_, index) => index + 1));
    expect(new Set(records.map((record) => record.cells.length))).toEqual(new Set([7]));
  });
});
