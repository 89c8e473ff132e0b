import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { csvLine } from '../../src/http/csv';

const written = (text: string): string => parse(csvLine(['x', text]))[0]?.[1] ?? '';

describe('CSV for spreadsheets', () => {
  it.each([
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\rx',
    '  =1',
    '\u00a0+1',
    '＝1+1',
    ' ＠x',
    '\u200b-1',
    '－5',
    '＋5',
    '\n=1',
  ])('disarms the text %j', (text) => {
    expect(written(text)).toBe(`'${text}`);
  });

  it.each([
    [';', "1;=cmd|'/C calc'!A0;"],
    [';', 'a; +1;b'],
    ['\t', 'a\t@b'],
    ['|', 'a|-1'],
    [';', 'E1;"=A1&";'],
    [';', 'E1; "" +A1'],
    ['\n', 'E1\n=1+1'],
    ['\n', 'E1\r\n"=A1&"'],
  ])('disarms what a spreadsheet that splits at %j takes for a cell of %j', (delimiter, text) => {
    const cells = csvLine(['x', text]).trimEnd().split(delimiter);
    expect(cells.filter((cell) => /^["\s]*[=+\-@]/.test(cell))).toEqual([]);
    expect(written(text).replaceAll("'", '')).toBe(text.replaceAll("'", ''));
  });

  it.each(['', 'Zoe Muller', 'O-Brien', '1-1', "'=1", 'a=b', '12.50'])(
    'leaves the text %j as it is',
    (text) => {
      expect(written(text)).toBe(text);
    },
  );

  it('writes amounts as plain decimals, counts as they are, and nothing as an empty cell', () => {
    expect(csvLine([123_456n, -5n, 0n, 12, null, 'x'])).toBe('1234.56,-0.05,0.00,12,,x\r\n');
  });

  it('gives every text back to a reader of CSV, but for the apostrophe', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => {
        expect([text, `'${text}`]).toContain(written(text));
      }),
      { examples: [['a,b'], ['say "hi"'], ['two\r\nlines'], [' padded ']] },
    );
  });

  it('never lets a cell begin with what a spreadsheet takes for a formula', () => {
    const sign = fc.constantFrom('=', '+', '-', '@', '＝', '＋', '－', '＠');
    const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\u00a0', '\u3000', '\ufeff'), maxLength: 3 });
    fc.assert(
      fc.property(space, sign, fc.string(), (before, formula, rest) => {
        expect(written(before + formula + rest).startsWith("'")).toBe(true);
      }),
    );
  });
});
