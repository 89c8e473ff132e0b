import { readdirSync } from 'node:fs';
import { PayFileFault } from '../../src/pay-file/pay-file-fault';
import { csv, Desk, faultsOf, HEADER, PayDesk, row, sample } from './pay-desk';

const NOTHING = { runs: 0, files: 0, payments: 0 };

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
  employer = await desk.employer();
});
afterAll(() => desk.close());

/** File, and each fault as line, column and code. */
const DEFECTS: Readonly<Record<string, [number, string | null, string][]>> = {
  'amount-comma.csv': [[3, 'amount', 'AMOUNT_FORMAT']],
  'amount-exponent.csv': [[3, 'amount', 'AMOUNT_FORMAT']],
  'amount-negative.csv': [[3, 'amount', 'AMOUNT_FORMAT']],
  'amount-three-decimals.csv': [[3, 'amount', 'AMOUNT_DECIMALS']],
  'amount-too-large.csv': [[3, 'amount', 'AMOUNT_TOO_LARGE']],
  'amount-zero.csv': [[3, 'amount', 'AMOUNT_TOO_SMALL']],
  'bad-bic.csv': [[3, 'bic', 'BIC_STRUCTURE']],
  'bad-iban-check-digits.csv': [[4, 'iban', 'IBAN_CHECK_DIGITS']],
  'bad-iban-length.csv': [[4, 'iban', 'IBAN_LENGTH']],
  'bic-country-mismatch.csv': [[3, 'bic', 'BIC_COUNTRY_MISMATCH']],
  'creditor-is-debtor.csv': [[4, 'iban', 'CREDITOR_IS_DEBTOR']],
  'currency-usd.csv': [[3, 'currency', 'CURRENCY_NOT_SUPPORTED']],
  'employee-id-missing.csv': [[3, 'employee_id', 'EMPLOYEE_ID_MISSING']],
  'empty.csv': [[1, null, 'FILE_EMPTY']],
  'formula-cell.csv': [[3, 'name', 'NAME_CHARACTERS']],
  'header-duplicate-column.csv': [[1, 'amount', 'COLUMN_TWICE']],
  'header-missing-column.csv': [[1, 'iban', 'COLUMN_MISSING']],
  'header-only.csv': [[1, null, 'NO_ROWS']],
  'header-unknown-column.csv': [[1, 'bonus', 'COLUMN_UNKNOWN']],
  'iban-country-not-sepa.csv': [[4, 'iban', 'IBAN_COUNTRY_NOT_SEPA']],
  'latin1-bytes.csv': [[2, null, 'ENCODING_NOT_UTF8']],
  'many-defects.csv': [
    [4, 'iban', 'IBAN_CHECK_DIGITS'],
    [7, 'amount', 'AMOUNT_TOO_SMALL'],
    [10, 'currency', 'CURRENCY_NOT_SUPPORTED'],
    [13, 'name', 'NAME_MISSING'],
    [16, 'bic', 'BIC_COUNTRY_MISMATCH'],
    [20, 'amount', 'AMOUNT_DECIMALS'],
  ],
  'name-control-character.csv': [[3, 'name', 'NAME_CHARACTERS']],
  'name-cyrillic-lookalike.csv': [[3, 'name', 'NAME_CHARACTERS']],
  'name-empty.csv': [[3, 'name', 'NAME_MISSING']],
  'name-right-to-left-mark.csv': [[3, 'name', 'NAME_CHARACTERS']],
  'name-too-long.csv': [[3, 'name', 'NAME_TOO_LONG']],
  'nul-byte.csv': [[3, 'name', 'NAME_CHARACTERS']],
  'quote-not-closed.csv': [[3, null, 'QUOTE_NOT_CLOSED']],
  'remittance-too-long.csv': [[3, 'remittance', 'REMITTANCE_TOO_LONG']],
  'row-too-few-fields.csv': [[3, null, 'FIELDS_TOO_FEW']],
  'row-too-many-fields.csv': [[3, null, 'FIELDS_TOO_MANY']],
};

describe('a pay file with a defect', () => {
  it('has its line in this table, like every sample that is not a payroll', () => {
    const samples = readdirSync(`${__dirname}/../../samples`).filter((file) =>
      /^(?!payroll-).*\.csv$/.test(file),
    );
    expect(Object.keys(DEFECTS).sort()).toEqual(samples.sort());
  });

  it.each(Object.keys(DEFECTS))('%s is refused for exactly that, and nothing is stored', async (file) => {
    const problem = await desk.refusal(employer, sample(file));
    expect(faultsOf(problem)).toEqual(DEFECTS[file]);
    expect(problem.extra['faultCount']).toBe(DEFECTS[file]?.length);
    expect(await desk.stored(employer)).toEqual(NOTHING);
    expect(await desk.audit(employer)).toEqual([]);
  });

  it('says what it found, what it means and what to do', async () => {
    const faults = (await desk.refusal(employer, sample('amount-zero.csv'))).extra['faults'];
    expect(faults).toEqual([
      {
        line: 3,
        column: 'amount',
        code: 'AMOUNT_TOO_SMALL',
        value: '0.00',
        message: 'The amount is below 0.01.',
        remedy: 'Leave out rows that pay nothing.',
      },
    ]);
  });

  it('is told all faults of all rows at once, in the order of the lines', async () => {
    const file = csv(
      row('E1'),
      row('E2', '0.00'),
      'E1,,DE00,,x,USD,',
      'E3,too,few',
      row('E2'),
      row('E 3\u0007'),
      row('E4'),
    );
    expect(faultsOf(await desk.refusal(employer, file))).toEqual([
      [3, 'amount', 'AMOUNT_TOO_SMALL'],
      [4, 'name', 'NAME_MISSING'],
      [4, 'iban', 'IBAN_LENGTH'],
      [4, 'amount', 'AMOUNT_FORMAT'],
      [4, 'currency', 'CURRENCY_NOT_SUPPORTED'],
      [5, null, 'FIELDS_TOO_FEW'],
      [7, 'employee_id', 'EMPLOYEE_ID_CHARACTERS'],
    ]);
  });

  it('counts every fault and shows the first thousand lines', async () => {
    const file = csv(...Array.from({ length: 1_500 }, () => row('E1', '0.00')));
    const problem = await desk.refusal(employer, file, { declaredRows: '9' });
    const faults = problem.extra['faults'] as PayFileFault[];
    expect(problem.extra['faultCount']).toBe(1 + 1_500);
    expect(faults).toHaveLength(1_000);
    expect(faults[0]).toMatchObject({ line: 1, code: 'ROWS_NOT_AS_DECLARED' });
    expect(faults.at(-1)).toMatchObject({ line: 1_000, code: 'AMOUNT_TOO_SMALL' });
  });

  it('may hold rows that are good: they are not paid either', async () => {
    await desk.refusal(employer, csv(row('E1'), row('E2'), row('E3', '-1')));
    expect(await desk.stored(employer)).toEqual(NOTHING);
  });
});

describe('the header of a pay file', () => {
  it('is told all its faults together', async () => {
    const file = Buffer.from('name,name,,Iban,net,\n1,2,3,4,5,6\n');
    expect(faultsOf(await desk.refusal(employer, file))).toEqual([
      [1, 'name', 'COLUMN_TWICE'],
      [1, '', 'COLUMN_UNKNOWN'],
      [1, 'net', 'COLUMN_UNKNOWN'],
      [1, 'employee_id', 'COLUMN_MISSING'],
      [1, 'amount', 'COLUMN_MISSING'],
      [1, 'currency', 'COLUMN_MISSING'],
    ]);
  });

  it('may name the columns in any order, case and spacing, and leave out the optional ones', async () => {
    const file = Buffer.from(
      '\ufeff Currency,AMOUNT, name ,iban,Employee_ID\r\nEUR,12.50,Zoë Müller,DE42950800200355765512,E1\r\n',
    );
    const own = await desk.employer();
    const { answer } = await desk.upload(own, file);
    expect(answer).toMatchObject({ payments: 1, total: '12.50' });
    const payments = await desk.query(own, 'SELECT employee_id, bic, remittance, line FROM payment');
    expect(payments).toEqual([{ employee_id: 'E1', bic: null, remittance: 'Salary 2026-11', line: 2 }]);
  });
});

describe('the size of a pay file', () => {
  it('ends at the most rows a file may have', async () => {
    const intake = desk.intake({ maxRows: 2 });
    const file = csv(row('E1'), row('E2'), row('E3'), row('E4'));
    expect(faultsOf(await desk.refusal(employer, file, {}, intake))).toEqual([[4, null, 'TOO_MANY_ROWS']]);
    const own = await desk.employer();
    await expect(desk.upload(own, csv(row('E1'), row('E2')), {}, intake)).resolves.toMatchObject({
      answer: { payments: 2 },
    });
  });

  it.each([
    ['XLSX', Buffer.from('504b030414000600080000002100', 'hex')],
    ['XLS', Buffer.from('d0cf11e0a1b11ae10000', 'hex')],
  ])('is told to be a workbook where it is %s, also where an encoding is said', async (_kind, bytes) => {
    const workbook = [[1, null, 'FILE_IS_A_WORKBOOK']];
    expect(faultsOf(await desk.refusal(employer, bytes))).toEqual(workbook);
    expect(faultsOf(await desk.refusal(employer, bytes, { encoding: 'windows-1252' }))).toEqual(workbook);
  });

  it('is not made of blank lines', async () => {
    expect(faultsOf(await desk.refusal(employer, Buffer.from('\n\n')))).toEqual([[1, null, 'FILE_EMPTY']]);
    expect(faultsOf(await desk.refusal(employer, Buffer.from(`\n${HEADER}\n\n`)))).toEqual([
      [1, null, 'NO_ROWS'],
    ]);
  });
});
