import fc from 'fast-check';
import { isAscii, isUtf8 } from 'node:buffer';
import { stringify } from 'csv-stringify/sync';
import { fieldOfHeader } from '../../src/domain/header-names';
import { decodeSingleBytes, Encoding } from '../../src/domain/pay-file-encoding';
import { CsvRecord, readCsv } from '../../src/pay-file/csv-reader';
import { CsvUnreadable } from '../../src/pay-file/csv-unreadable';
import { DELIMITERS, Dialect, MAX_RECORD_BYTES, SaidOfCsv } from '../../src/pay-file/dialect';
import { faultOfUnreadable } from '../../src/pay-file/encoding-question';

const knows = (header: string): boolean => fieldOfHeader(header) !== undefined;
const HEADER = ['employee_id', 'name', 'iban', 'amount', 'currency'];

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(
  bytes: Buffer,
  said: SaidOfCsv = {},
  size = 65_536,
): Promise<{ records: CsvRecord[]; dialect: Dialect | undefined }> {
  const records: CsvRecord[] = [];
  let dialect: Dialect | undefined;
  const tell = (found: Dialect): void => void (dialect = found);
  for await (const batch of readCsv(pieces(bytes, size), { knows, ...said }, tell)) records.push(...batch);
  return { records, dialect };
}

async function faultOf(bytes: Buffer, said: SaidOfCsv = {}, size = 65_536) {
  let dialect: Dialect | undefined;
  const reading = async (): Promise<void> => {
    const source = readCsv(pieces(bytes, size), { knows, ...said }, (found) => void (dialect = found));
    for await (const batch of source) expect(batch.length).toBeGreaterThanOrEqual(0);
  };
  const error: unknown = await reading().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CsvUnreadable)) throw new Error('it was read');
  return faultOfUnreadable(error, dialect);
}

/** Every character that an encoding with one byte for each has, by its byte. */
function charactersOf(encoding: 'windows-1252' | 'iso-8859-15'): Map<string, number> {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const read = bytes.map((byte) => [decodeSingleBytes(String.fromCharCode(byte), encoding), byte] as const);
  return new Map(read.filter(([character]) => character !== '\ufffd'));
}
const NARROW = { 'windows-1252': charactersOf('windows-1252'), 'iso-8859-15': charactersOf('iso-8859-15') };

function encode(text: string, encoding: Encoding, marked: boolean): Buffer {
  const mark = marked ? '\ufeff' : '';
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(mark + text);
    case 'utf-16le':
      return Buffer.from(mark + text, 'utf16le');
    case 'utf-16be':
      return Buffer.from(mark + text, 'utf16le').swap16();
    case 'windows-1252':
    case 'iso-8859-15':
      return Buffer.from([...text].map((character) => NARROW[encoding].get(character) ?? 0x3f));
  }
}

describe('a file of any conforming writer', () => {
  const ascii = [
    '',
    'a,b',
    'a;b',
    'a\tb',
    'a|b',
    'say "hi"',
    '"',
    "'",
    '=1+1',
    ' ',
    'two\nlines',
    'two\r\nlines',
    '\r',
  ];
  const wide = ['Zoë', 'Łukasz', '€', '\u0000', '\ud83d\ude00'];
  const cellOf = (encoding: Encoding) =>
    encoding === 'windows-1252' || encoding === 'iso-8859-15'
      ? fc.oneof(
          fc.string({ unit: fc.constantFrom(...NARROW[encoding].keys()), maxLength: 12 }),
          fc.constantFrom(...ascii),
        )
      : fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.constantFrom(...ascii, ...wide));
  const written = fc
    .record({
      encoding: fc.constantFrom<Encoding>('utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'iso-8859-15'),
      delimiter: fc.constantFrom(...DELIMITERS),
      ending: fc.constantFrom<'\n' | '\r\n' | '\r'>('\n', '\r\n', '\r'),
      marked: fc.boolean(),
      allQuoted: fc.boolean(),
      lastEnded: fc.boolean(),
      blanks: fc.nat(2),
      titles: fc.array(fc.constantFrom('Payroll; November, 2026', '', '"', 'a|b'), { maxLength: 3 }),
      size: fc.integer({ min: 1, max: 60 }),
    })
    .chain((form) =>
      fc.record({
        form: fc.constant(form),
        rows: fc.array(fc.array(cellOf(form.encoding), { minLength: 5, maxLength: 5 }), { maxLength: 8 }),
      }),
    );

  it('is read back cell for cell, in every dialect and encoding, however its bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(written, async ({ form, rows }) => {
        const body = stringify([HEADER, ...rows], {
          delimiter: form.delimiter,
          record_delimiter: form.ending,
          quoted: form.allQuoted,
          quoted_match: /[\r\n\ufeff]/,
        });
        const text = [...form.titles.map((title) => title + form.ending), body].join('');
        const ended = form.lastEnded
          ? text + form.ending.repeat(form.blanks)
          : text.slice(0, -form.ending.length);
        const narrow = !form.encoding.startsWith('utf-');
        const said = {
          titleLines: form.titles.length,
          ...((narrow || !form.marked) && { encoding: form.encoding }),
        };
        const bytes = encode(ended, form.encoding, form.marked && !narrow);
        // By accident: nobody can tell it from UTF-8 that is said to be something else.
        fc.pre(!narrow || isAscii(bytes) || !isUtf8(bytes));
        const { records, dialect } = await read(bytes, said, form.size);
        expect(dialect).toMatchObject({ encoding: form.encoding, delimiter: form.delimiter });
        expect(records.map(({ cells }) => cells)).toEqual([HEADER, ...rows]);
        expect(records[0]?.line).toBe(form.titles.length + 1);
      }),
      { numRuns: 400 },
    );
  });
});

describe('the dialect of a file', () => {
  const text = (delimiter: string, ending = '\n'): string =>
    [HEADER, ['E1', 'Ann', 'x', '1,5', 'EUR'], []].map((cells) => cells.join(delimiter)).join(ending);

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('ends its lines with %s, and says so', async (lineEnding, ending) => {
    for (const size of [1, 1_000]) {
      const { records, dialect } = await read(Buffer.from(text(';', ending)), {}, size);
      const unmarked = { quoted: false, marked: false };
      expect(dialect).toEqual({
        encoding: 'utf-8',
        delimiter: ';',
        lineEnding,
        headerLine: 1,
        ...unmarked,
      });
      expect(records.map(({ line }) => line)).toEqual([1, 2]);
    }
  });

  it('is the delimiter by which the header means most, not the one that occurs most', async () => {
    const header = 'Name; Employee ID;Amount, net, of, all, this, month;IBAN\nx;y;z;w\n';
    expect((await read(Buffer.from(header))).dialect?.delimiter).toBe(';');
  });

  it('is not found in a quoted header', async () => {
    const { records } = await read(Buffer.from('"name","a;b;c;d\n;;;;",iban\n1,2,3\n'));
    expect(records.map(({ cells }) => cells)).toEqual([
      ['name', 'a;b;c;d\n;;;;', 'iban'],
      ['1', '2', '3'],
    ]);
    expect(records[1]?.line).toBe(3);
  });

  it('is found after title and blank lines, which are counted', async () => {
    const file = Buffer.from(`Report "of November\r\n;;;\r\n\r\n${text(';', '\r\n')}`);
    const { records, dialect } = await read(file, { titleLines: 2 });
    expect(dialect).toMatchObject({ delimiter: ';', headerLine: 4 });
    expect(records.map(({ line }) => line)).toEqual([4, 5]);
  });

  it('is not looked for in a line without an end', async () => {
    let taken = 0;
    async function* endless() {
      for (;;) {
        taken += 1;
        yield Buffer.alloc(16_384, 'x');
      }
    }
    const reading = (async () => {
      for await (const batch of readCsv(endless(), { knows })) expect(batch).toEqual([]);
    })();
    await expect(reading).rejects.toMatchObject({ fault: { code: 'ROW_TOO_LONG' } });
    expect(taken * 16_384).toBeLessThan(2 * MAX_RECORD_BYTES);
  });

  it('is not looked for behind a title, or blank lines, without an end', async () => {
    const long = Buffer.from('x'.repeat(2 * MAX_RECORD_BYTES));
    expect(await faultOf(long, { titleLines: 50 }, 16_384)).toMatchObject({ line: 1, code: 'ROW_TOO_LONG' });
    const blank = Buffer.from('\n'.repeat(2 * MAX_RECORD_BYTES));
    expect(await faultOf(blank, {}, 16_384)).toMatchObject({ code: 'ROW_TOO_LONG' });
  });

  it('stops reading its source when it is left early', async () => {
    let closed = false;
    async function* source() {
      try {
        for (let n = 0; n < 1_000; n += 1) yield Buffer.from(`${text(',')}\n`);
      } finally {
        closed = true;
      }
    }
    for await (const batch of readCsv(source(), { knows })) if (batch.length > 0) break;
    expect(closed).toBe(true);
  });
});

describe('an encoding that is not known', () => {
  const narrow = Buffer.concat([
    Buffer.from('employee_id;name;iban\nE0;Ann;x\nE1;'),
    Buffer.from([0x8a, 0x61, 0xa8, 0x61]),
    Buffer.from(';y\n'),
  ]);

  it('is asked for with the first name in each that it may be', async () => {
    expect(await faultOf(narrow)).toMatchObject({
      line: 3,
      code: 'ENCODING_NOT_UTF8',
      value: '0x8A',
      readings: [
        { encoding: 'windows-1252', text: 'Ša¨a' },
        { encoding: 'iso-8859-15', text: '\ufffdaša' },
      ],
      remedy: expect.stringContaining('encoding='),
    });
  });

  it('is taken once it is said, and not another one', async () => {
    const { records, dialect } = await read(narrow, { encoding: 'windows-1252' });
    expect(dialect?.encoding).toBe('windows-1252');
    expect(records[2]?.cells).toEqual(['E1', 'Ša¨a', 'y']);
    for (const size of [1, 5, 1_000]) {
      expect(await faultOf(narrow, { encoding: 'iso-8859-15' }, size)).toMatchObject({
        line: 3,
        code: 'ENCODING_NOT_AS_SAID',
        value: '0x8A',
      });
    }
  });

  it('is asked for where UTF-16 comes without its mark', async () => {
    const plain = 'employee_id;name\nE1;Zoë\n';
    const little = await faultOf(encode(plain, 'utf-16le', false));
    expect(little).toMatchObject({ line: 1, code: 'ENCODING_NOT_UTF8', value: '0x00' });
    expect(little.readings?.[0]).toEqual({ encoding: 'utf-16le', text: 'employee_id;name' });
    const big = await faultOf(encode(plain, 'utf-16be', false));
    expect(big.readings?.[1]).toEqual({ encoding: 'utf-16be', text: 'employee_id;name' });
    const { records } = await read(encode(plain, 'utf-16be', false), { encoding: 'utf-16be' });
    expect(records[1]?.cells).toEqual(['E1', 'Zoë']);
  });

  it('is not one of one byte where every letter is UTF-8: Raúl would be paid as RaAol', async () => {
    for (const [breaks, size] of [
      ['\n', 1],
      ['\r\n', 1],
      ['\r', 7],
      ['\r\n', 1_000],
    ] as const) {
      const file = ['employee_id;name', 'E1;Ann', 'E2;Raúl', 'E3;Inês', ''].join(breaks);
      expect(await faultOf(Buffer.from(file), { encoding: 'windows-1252' }, size)).toMatchObject({
        line: 3,
        code: 'ENCODING_NOT_AS_SAID',
        value: 'utf-8',
      });
      // One letter that is not UTF-8 is enough.
      const narrow = encode(file, 'windows-1252', false);
      expect((await read(narrow, { encoding: 'windows-1252' }, size)).records).toHaveLength(4);
      const ascii = Buffer.from(file.replaceAll('ú', 'u').replaceAll('ê', 'e'));
      expect((await read(ascii, { encoding: 'windows-1252' }, size)).records).toHaveLength(4);
    }
  });

  it('is not the one of a mark that says otherwise', async () => {
    for (const marked of ['utf-8', 'utf-16le', 'utf-16be'] as const) {
      const fault = await faultOf(encode('name\nx\n', marked, true), { encoding: 'windows-1252' });
      expect(fault).toMatchObject({ line: 1, code: 'ENCODING_NOT_AS_SAID', value: marked });
    }
  });

  it.each([
    ['half a pair', Buffer.from('a;b\nx\ud800y;z\n', 'utf16le')],
    ['half a pair, and CR', Buffer.from('a;b\rx\udc00y;z\r', 'utf16le')],
    ['half a unit', Buffer.concat([Buffer.from('a;b\nx', 'utf16le'), Buffer.from([0x61])])],
  ])('is not UTF-16 with %s in it', async (_, bytes) => {
    for (const size of [1, 1_000]) {
      const fault = await faultOf(bytes, { encoding: 'utf-16le' }, size);
      expect(fault).toMatchObject({ line: 2, code: 'ENCODING_NOT_AS_SAID' });
    }
  });
});

describe('encodings of one byte', () => {
  it('hold the letters of their tables', () => {
    const bytes = Buffer.from([0x80, 0x8a, 0x92, 0x9f, 0xa4, 0xa6, 0xbd, 0xe9, 0xff]).toString('latin1');
    expect(decodeSingleBytes(bytes, 'windows-1252')).toBe('€Š’Ÿ¤¦½éÿ');
    expect(decodeSingleBytes(bytes, 'iso-8859-15')).toBe('\ufffd\ufffd\ufffd\ufffd€Šœéÿ');
    expect([NARROW['windows-1252'].size, NARROW['iso-8859-15'].size]).toEqual([251, 224]);
  });

  it('are those of the standard', () => {
    const bytes = Uint8Array.from({ length: 96 }, (_, index) => 0xa0 + index);
    const own = decodeSingleBytes(Buffer.from(bytes).toString('latin1'), 'iso-8859-15');
    expect(own).toBe(new TextDecoder('iso-8859-15').decode(bytes));
  });
});
