import fc from 'fast-check';
import { decodeSingleBytes, Encoding, ENCODINGS } from '../../src/domain/pay-file-encoding';
import { ERRORS_COLUMN, NO_PROFILE } from '../../src/domain/pay-file-profile';
import { PersonalData } from '../../src/database/personal-data';
import { readCsv } from '../../src/pay-file/csv-reader';
import { DELIMITERS, Dialect } from '../../src/pay-file/dialect';
import {
  bytesOf,
  errorsOf,
  Layout,
  layoutOf,
  openCells,
  openFaults,
  sealCells,
  sealFaults,
  writeLine,
} from '../../src/pay-file/faulty-row';
import { FileRows, lineOfEntry, saidOf } from '../../src/pay-file/file-rows';
import { fileFault, PayFileFault } from '../../src/pay-file/pay-file-fault';

const HEADER = ['employee_id', 'name', 'iban', 'amount', 'currency'];
const personal = new PersonalData({ PAYRUN_HASH_KEY: 'a key of at least thirty-two letters' });
const MARK = '1a2b3c4d';
const fault: PayFileFault = {
  ...fileFault(7, 'FIELDS_TOO_FEW', { column: 'Nº; "id"\n', value: 'E1' }),
  message: 'It holds “=1+1”; \u202e\u0007 and ’ é €.',
};

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** A corrections file read back: its layout, and the employer's own cells with the entry of each row. */
async function readBack(bytes: Buffer, encoding: Encoding, size = 65_536) {
  const profile = { ...NO_PROFILE, encoding };
  const file = new FileRows(profile);
  const rows: { own: readonly string[]; errors: string | undefined }[] = [];
  const tell = (dialect: Dialect): void => void (file.dialect = dialect);
  for await (const records of readCsv(pieces(bytes, size), saidOf(profile), tell)) {
    for (const record of file.take(records)) rows.push(file.split(record));
  }
  return { layout: layoutOf(file), rows };
}

const written = (layout: Layout, rows: readonly (readonly string[])[]): Buffer =>
  Buffer.concat([
    bytesOf(layout, writeLine(layout, [...layout.header, ERRORS_COLUMN]), true),
    ...rows.map((cells, n) =>
      bytesOf(layout, writeLine(layout, [...cells, errorsOf({ line: n + 2, faults: [fault] }, MARK)]), false),
    ),
  ]);

const ASCII = [
  '',
  ' ',
  'a',
  ',',
  ';',
  '\t',
  '|',
  '"',
  "'",
  '=1+1',
  '@x',
  '\n',
  '\r\n',
  '\r',
  'line 3: x',
  '\\',
];
/** Letters that an encoding has. */
const LETTERS: Readonly<Record<Encoding, readonly string[]>> = {
  'utf-8': ['é', '€', '好', '😀', '\u202e', '\u0000'],
  'utf-16le': ['é', '€', '好', '😀', '\u202e', '\u0000'],
  'utf-16be': ['é', '€', '好', '😀', '\u202e', '\u0000'],
  'windows-1252': [...decodeSingleBytes('\u0080\u0092\u00e9\u00ff', 'windows-1252')],
  'iso-8859-15': [...decodeSingleBytes('\u00a4\u00bd\u00e9\u00ff', 'iso-8859-15')],
};

const layouts: fc.Arbitrary<Layout> = fc
  .record({
    encoding: fc.constantFrom(...ENCODINGS),
    delimiter: fc.constantFrom(...DELIMITERS),
    lineEnding: fc.constantFrom('LF' as const, 'CRLF' as const, 'CR' as const),
    quoted: fc.boolean(),
    marked: fc.boolean(),
    header: fc.shuffledSubarray(HEADER, { minLength: HEADER.length }),
  })
  .map((layout) => ({
    ...layout,
    // UTF-16 is known by its mark; one byte for each letter has none.
    marked: layout.encoding.startsWith('utf-16') || (layout.encoding === 'utf-8' && layout.marked),
  }));

describe('a corrections file', () => {
  it('is read back cell for cell in every dialect, and has the layout of the file it corrects', async () => {
    const cases = layouts.chain((layout) =>
      fc.record({
        layout: fc.constant(layout),
        rows: fc.array(
          fc.array(
            fc
              .array(fc.constantFrom(...ASCII, ...LETTERS[layout.encoding]), { maxLength: 4 })
              .map((parts) => parts.join('')),
            { minLength: 1, maxLength: 8 },
          ),
          { minLength: 1, maxLength: 6 },
        ),
        size: fc.integer({ min: 1, max: 300 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ({ layout, rows, size }) => {
        const back = await readBack(written(layout, rows), layout.encoding, size);
        expect(back.layout).toEqual(layout);
        expect(back.rows.map(({ own }) => own)).toEqual(rows);
        expect(back.rows.map(({ errors }) => lineOfEntry(errors, MARK))).toEqual(rows.map((_, n) => n + 2));
        expect(back.rows.map(({ errors }) => lineOfEntry(errors, '00000000'))).toEqual(rows.map(() => 0));
      }),
      { numRuns: 300 },
    );
  });

  it('keeps the cells of the employer as they are, also what a spreadsheet would run, and makes no formula itself', () => {
    const layout: Layout = {
      encoding: 'utf-8',
      delimiter: ';',
      lineEnding: 'CRLF',
      quoted: false,
      marked: false,
      header: HEADER,
    };
    const cells = ['=HYPERLINK("x")', '@sum', '+49', '-1', 'a;b'];
    expect(writeLine(layout, cells)).toBe('"=HYPERLINK(""x"")";@sum;+49;-1;"a;b"\r\n');
    expect(writeLine({ ...layout, quoted: true }, ['a', ''])).toBe('"a";""\r\n');
    expect(errorsOf({ line: 7, faults: [fault] }, MARK)).toMatch(
      /^line 7: Nº; "id" : It holds “=1\+1”; {3}and ’ é €\. /,
    );
  });

  it('tells a thousand letters of the faults of a row', () => {
    expect(errorsOf({ line: 2, faults: Array(50).fill(fault) }, MARK)).toHaveLength(1_000);
  });

  it('finds the errors column wherever it was moved to, and rows without theirs', async () => {
    const text = [
      'employee_id,payrun_errors,name,iban,amount,currency',
      'E1,line 9: x,Ann,DE,1.00,EUR',
      'E2,,Ann,DE,1.00,EUR',
      'E3,Ann,DE,line 4: x',
      'E4,Ann,DE,line 4 x',
      '',
    ].join('\n');
    const { layout, rows } = await readBack(Buffer.from(text), 'utf-8');
    expect(layout?.header).toEqual(HEADER);
    expect(rows).toEqual([
      { own: ['E1', 'Ann', 'DE', '1.00', 'EUR'], errors: 'line 9: x' },
      { own: ['E2', 'Ann', 'DE', '1.00', 'EUR'], errors: '' },
      { own: ['E3', 'Ann', 'DE'], errors: 'line 4: x' },
      { own: ['E4', 'Ann', 'DE', 'line 4 x'], errors: undefined },
    ]);
  });
});

describe('a faulty row', () => {
  it('comes out of its seal as it went in', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (cells) => {
        expect(openCells(personal, sealCells(personal, cells))).toEqual(cells);
      }),
    );
    expect(openFaults(personal, sealFaults(personal, [fault]), 7)).toEqual([fault]);
  });
});
