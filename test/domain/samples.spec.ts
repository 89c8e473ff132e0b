import { readdirSync, readFileSync } from 'node:fs';
import { getCountrySpecifications, isSEPACountry, isValidBIC, isValidIBAN } from 'ibantools';

const FOLDER = `${__dirname}/../../samples/`;
const HEADER = 'employee_id,name,iban,bic,amount,currency,remittance';
const COLUMNS = HEADER.split(',');
const PAYROLLS = ['payroll-250.csv', 'payroll-5.csv', 'payroll-supplement-3.csv'];

const bytes = (file: string): Buffer => readFileSync(FOLDER + file);
const text = (file: string): string => bytes(file).toString('utf8');
const lines = (file: string): string[] => text(file).split('\n').slice(0, -1);
const fields = (line: string): string[] =>
  [...line.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    (m) => m[1]?.replaceAll('""', '"') ?? m[2] ?? '',
  );

interface Row {
  employeeId: string;
  name: string;
  iban: string;
  bic: string;
  amount: string;
  currency: string;
  remittance: string;
}

function rows(file: string): Row[] {
  return lines(file)
    .slice(1)
    .map((line) => {
      const found = fields(line);
      expect(found).toHaveLength(COLUMNS.length);
      const [employeeId = '', name = '', iban = '', bic = '', amount = '', currency = '', remittance = ''] =
        found;
      return { employeeId, name, iban, bic, amount, currency, remittance };
    });
}

/** The table rows of the README that describe a file, cells by position. */
const described = text('README.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .map(([, file = '', second = '', third = '']) => ({ file, second, third }));

describe('the samples README', () => {
  it('describes every sample once and nothing else', () => {
    const present = readdirSync(FOLDER).filter((file) => file !== 'README.md');
    expect(described.map(({ file }) => file).sort()).toEqual(present.sort());
  });

  it.each(PAYROLLS)('states the rows and the total of %s', (file) => {
    const total = rows(file).reduce((sum, { amount }) => sum + BigInt(amount.replace('.', '')), 0n);
    const stated = described.find((entry) => entry.file === file);
    expect(stated?.second).toBe(String(rows(file).length));
    expect(stated?.third.replace(/[.,]/g, '')).toBe(String(total));
  });
});

describe.each(PAYROLLS)('%s', (file) => {
  it('is UTF-8 without a byte order mark and has the header', () => {
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes(file))).not.toThrow();
    expect(lines(file)[0]).toBe(HEADER);
  });

  it('pays every employee once, to an IBAN of its own', () => {
    const all = rows(file);
    expect(new Set(all.map(({ employeeId }) => employeeId)).size).toBe(all.length);
    expect(new Set(all.map(({ iban }) => iban)).size).toBe(all.length);
  });

  it('holds nothing but payable rows', () => {
    for (const row of rows(file)) {
      const country = row.iban.slice(0, 2);
      expect({ row, payable: isValidIBAN(row.iban) && isSEPACountry(country) }).toEqual({
        row,
        payable: true,
      });
      if (row.bic !== '') expect([isValidBIC(row.bic), row.bic.slice(4, 6)]).toEqual([true, country]);
      expect(row.employeeId).toMatch(/^E\d{4}$/);
      expect(row.name).toMatch(/^[\p{Script=Latin}' -]{1,70}$/u);
      expect(row.name).toBe(row.name.normalize('NFC'));
      expect(row.amount).toMatch(/^[1-7]\d{3}\.\d{2}$/);
      expect(row.currency).toBe('EUR');
      expect(row.remittance).toMatch(/^(Salary)?$/);
    }
  });
});

describe('the payroll files together', () => {
  const all = rows('payroll-250.csv');

  it('pay into ten countries or more, with and without BIC and remittance', () => {
    expect(new Set(all.map(({ iban }) => iban.slice(0, 2))).size).toBeGreaterThanOrEqual(10);
    expect(all.filter(({ bic }) => bic === '')).toHaveLength(33);
    expect(all.filter(({ remittance }) => remittance === '')).toHaveLength(16);
  });

  it('share the five of the small one and none of the supplement', () => {
    expect(rows('payroll-5.csv')).toEqual(all.slice(0, 5));
    const known = new Set(all.flatMap(({ employeeId, iban }) => [employeeId, iban]));
    const again = rows('payroll-supplement-3.csv').filter(
      (r) => known.has(r.employeeId) || known.has(r.iban),
    );
    expect(again).toEqual([]);
  });
});

const wrongCheckDigits = (iban: string): boolean =>
  !isValidIBAN(iban) &&
  Array.from({ length: 100 }).some((_, n) =>
    isValidIBAN(iban.slice(0, 2) + `0${n}`.slice(-2) + iban.slice(4)),
  );

/** The account of Alder Logistics GmbH at the sandbox bank, as its seed has it. */
const SANDBOX_ACCOUNT_1002 = 'DE43999900000000001002';

/** File, line, column, and what makes the cell wrong. */
const CELLS: [file: string, line: number, column: string, wrong: (cell: string) => boolean][] = [
  ['bad-iban-check-digits.csv', 4, 'iban', wrongCheckDigits],
  ['bad-iban-length.csv', 4, 'iban', (cell) => cell.length !== getCountrySpecifications()['ES']?.chars],
  ['iban-country-not-sepa.csv', 4, 'iban', (cell) => isValidIBAN(cell) && !isSEPACountry(cell.slice(0, 2))],
  ['creditor-is-debtor.csv', 4, 'iban', (cell) => isValidIBAN(cell) && cell === SANDBOX_ACCOUNT_1002],
  ['bic-country-mismatch.csv', 3, 'bic', (cell) => isValidBIC(cell) && cell.slice(4, 6) === 'FR'],
  ['bad-bic.csv', 3, 'bic', (cell) => !isValidBIC(cell) && cell.slice(4, 6) === 'PL'],
  ['amount-zero.csv', 3, 'amount', (cell) => cell === '0.00'],
  ['amount-negative.csv', 3, 'amount', (cell) => /^-\d+\.\d{2}$/.test(cell)],
  ['amount-three-decimals.csv', 3, 'amount', (cell) => /^\d+\.\d{3}$/.test(cell)],
  ['amount-comma.csv', 3, 'amount', (cell) => cell === '1234,56'],
  ['amount-exponent.csv', 3, 'amount', (cell) => cell === '1e5'],
  ['amount-too-large.csv', 3, 'amount', (cell) => BigInt(cell.replace('.', '')) === 999_999_999_99n + 1n],
  ['currency-usd.csv', 3, 'currency', (cell) => cell === 'USD'],
  ['name-empty.csv', 3, 'name', (cell) => cell === ''],
  ['name-too-long.csv', 3, 'name', (cell) => cell.length === 71],
  ['name-cyrillic-lookalike.csv', 3, 'name', (cell) => /\p{Script=Cyrillic}/u.test(cell)],
  ['name-control-character.csv', 3, 'name', (cell) => cell.includes('\u0007')],
  ['name-right-to-left-mark.csv', 3, 'name', (cell) => cell.includes('\u200f')],
  ['formula-cell.csv', 3, 'name', (cell) => cell.startsWith('=HYPERLINK("')],
  ['remittance-too-long.csv', 3, 'remittance', (cell) => cell.length === 141],
  ['employee-id-missing.csv', 3, 'employee_id', (cell) => cell === ''],
  ['payroll-employee-twice.csv', 4, 'employee_id', (cell) => cell === 'E0001'],
  ['nul-byte.csv', 3, 'name', (cell) => cell.includes('\0')],
];

describe('a file with one wrong cell', () => {
  it.each(CELLS)('%s is wrong in line %i, %s, and nowhere else', (file, line, column, wrong) => {
    const good = lines('payroll-250.csv').slice(0, 4).map(fields);
    const differing = lines(file).flatMap((found, index) =>
      fields(found).flatMap((cell, at) =>
        cell === good[index]?.[at] ? [] : [[index + 1, COLUMNS[at], wrong(cell)]],
      ),
    );
    expect(lines(file)).toHaveLength(4);
    expect(differing).toEqual([[line, column, true]]);
  });
});

describe('a file that is wrong as a whole', () => {
  const good = lines('payroll-250.csv').slice(0, 4);

  it.each([
    ['header-missing-column.csv', COLUMNS.filter((column) => column !== 'iban')],
    ['header-duplicate-column.csv', COLUMNS.toSpliced(5, 0, 'amount')],
    ['header-unknown-column.csv', [...COLUMNS, 'bonus']],
  ])('%s has a wrong header and rows of its width', (file, header) => {
    expect(lines(file)[0]).toBe(header.join(','));
    expect(lines(file).map((line) => fields(line).length)).toEqual(Array(4).fill(header.length));
  });

  it.each([
    ['row-too-few-fields.csv', 6],
    ['row-too-many-fields.csv', 8],
  ])('%s has %i fields in line 3 only', (file, width) => {
    expect(lines(file).map((line) => fields(line).length)).toEqual([7, 7, width, 7]);
    expect(lines(file).toSpliced(2, 1)).toEqual(good.toSpliced(2, 1));
  });

  it('quote-not-closed.csv opens one quote, in line 3', () => {
    expect(text('quote-not-closed.csv').replace('"', '')).toBe(`${good.join('\n')}\n`);
    expect(lines('quote-not-closed.csv')[2]).toMatch(/^E0002,"[^"]+$/);
  });

  it('latin1-bytes.csv is good once read as Windows-1252, and is not UTF-8', () => {
    const raw = bytes('latin1-bytes.csv');
    const all = lines('payroll-250.csv');
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(raw)).toThrow();
    expect(raw.toString('latin1')).toBe([all[0], all[1], all[3], all[5], ''].join('\n'));
  });

  it('empty.csv has no bytes and header-only.csv no rows', () => {
    expect(bytes('empty.csv')).toHaveLength(0);
    expect(text('header-only.csv')).toBe(`${HEADER}\n`);
  });

  it('many-defects.csv has the six defects its README line names', () => {
    const all = lines('payroll-250.csv').slice(0, 21).map(fields);
    const differing = lines('many-defects.csv').flatMap((line, index) =>
      fields(line).flatMap((cell, at) =>
        cell === all[index]?.[at] ? [] : [`line ${index + 1} ${COLUMNS[at]}`],
      ),
    );
    const stated = described.find(({ file }) => file === 'many-defects.csv')?.third ?? '';
    expect(lines('many-defects.csv')).toHaveLength(21);
    expect(differing).toHaveLength(6);
    expect(stated.match(/line \d+ \w+/g)).toEqual(differing);
  });
});
