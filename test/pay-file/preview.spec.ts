import { PayFileProfile } from '../../src/domain/pay-file-profile';
import { createProfile } from '../../src/pay-file/profile.store';
import { Preview } from '../../src/pay-file/preview';
import { readPreviewFields } from '../../src/pay-file/terms';
import { csv, Desk, faultsOf, fileOf, PayDesk, row, sample } from './pay-desk';

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
  employer = await desk.employer();
});
afterAll(() => desk.close());

const preview = (bytes: Buffer, fields: Record<string, string> = {}, own = employer): Promise<Preview> =>
  desk.preview().show(own.employerId, fileOf(bytes), readPreviewFields(Object.entries(fields)));

describe('the preview of a pay file', () => {
  it('shows the mapping and the first rows as they would be paid, and stores nothing', async () => {
    const shown = await preview(sample('payroll-250.csv'), { period: '2026-11' });
    expect(shown.dialect).toEqual({
      encoding: 'utf-8',
      delimiter: ',',
      lineEnding: 'LF',
      headerLine: 1,
      quoted: false,
      marked: false,
    });
    expect(shown.columns[0]).toEqual({ header: 'employee_id', meaning: 'employeeId', by: 'name' });
    expect(shown.columns).toHaveLength(7);
    expect(shown).toMatchObject({ unknownColumns: [], missingColumns: [], faults: [] });
    expect(shown.rows).toHaveLength(10);
    expect(shown.rows[0]).toMatchObject({
      line: 2,
      payment: { employeeId: 'E0001', name: 'Zoe Muller', writtenName: 'Zoë Müller', currency: 'EUR' },
      faults: [],
    });
    expect(await desk.stored(employer)).toEqual({ runs: 0, files: 0, payments: 0 });
    expect(await desk.audit(employer)).toEqual([]);
  });

  it('shows the text for the employee by the template of the employer, as an upload stores it', async () => {
    const own = await desk.employer();
    const template = '{kind_of_pay} {period} / {employee_id} / {employer}';
    await desk.set(own, { remittanceTemplate: template, name: `Söhne ${own.employerId.slice(-12)}` });
    const file = csv(row('E1').replace(/Salary$/, ''), row('E2'));
    const fields = { period: '2026-11', kindOfPay: 'YEAR_END_BONUS' };
    const { rows } = await preview(file, fields, own);
    const texts = [`Year end bonus 2026-11 / E1 / Sohne ${own.employerId.slice(-12)}`, 'Salary'];
    expect(rows.map(({ payment }) => payment?.remittance)).toEqual(texts);
    await desk.upload(own, file, fields);
    expect(await desk.query(own, 'SELECT remittance FROM payment ORDER BY line')).toEqual(
      texts.map((remittance) => ({ remittance })),
    );
  });

  it('shows a fault where what the template makes is too long, and an upload refuses it', async () => {
    const own = await desk.employer();
    await desk.set(own, { remittanceTemplate: '{employer} '.repeat(4) });
    const file = csv(row('E1').replace(/Salary$/, ''), row('E2'));
    const { rows } = await preview(file, {}, own);
    expect(rows.map(({ faults }) => faults.map(({ code }) => code))).toEqual([['REMITTANCE_TOO_LONG'], []]);
    expect(faultsOf(await desk.refusal(own, file))).toEqual([[2, 'remittance', 'REMITTANCE_TOO_LONG']]);
  });

  it('is what an upload of the same file pays', async () => {
    const own = await desk.employer();
    const shown = await preview(sample('payroll-5.csv'), {}, own);
    await desk.upload(own, sample('payroll-5.csv'));
    const paid = await desk.query<{ employee_id: string; amount_minor: string }>(
      own,
      'SELECT employee_id, amount_minor FROM payment ORDER BY line',
    );
    expect(shown.rows.map(({ payment }) => [payment?.employeeId, payment?.amount.replace('.', '')])).toEqual(
      paid.map(({ employee_id, amount_minor }) => [employee_id, amount_minor]),
    );
  });

  it('shows which columns are not known, which are missing, and what says the others', async () => {
    const definition: PayFileProfile = {
      columns: { Zahlung: 'amount', Brutto: 'ignored' },
      amounts: { decimalSign: 'comma', thousandsSign: 'dot' },
      constants: { currency: 'EUR' },
      titleLines: 1,
      totals: { lines: 1 },
    };
    await desk.database.inEmployer(employer.employerId, (tx) =>
      createProfile(tx, employer.personId, { name: 'Payroll', definition }),
    );
    const rows = ['E1;Ann;DE42950800200355765512;1.234;9', 'Summe;;;1.234;'];
    const file = (header: string) => Buffer.from(['Title', header, ...rows, ''].join('\n'));
    const unclear = await preview(file('Personalnummer;Vorname;IBAN;Zahlung;Brutto'), { profile: 'Payroll' });
    expect(unclear.columns.map(({ meaning, by }) => [meaning, by])).toEqual([
      ['employeeId', 'name'],
      [null, null],
      ['iban', 'name'],
      ['amount', 'profile'],
      ['ignored', 'profile'],
    ]);
    expect(unclear).toMatchObject({ unknownColumns: ['Vorname'], missingColumns: ['name'], rows: [] });
    expect(unclear.faults.map(({ code }) => code)).toEqual(['COLUMN_UNKNOWN', 'COLUMN_MISSING']);
    const clear = await preview(file('Personalnummer;Kontoinhaber;IBAN;Zahlung;Brutto'), {
      profile: 'Payroll',
    });
    expect(clear.constants).toEqual([{ column: 'currency', value: 'EUR' }]);
    expect(clear.rows).toMatchObject([{ line: 3, payment: { amount: '1234.00', currency: 'EUR' } }]);
  });

  it('shows what is wrong with a row, and the rows beside it', async () => {
    const shown = await preview(csv(row('E1', '1.234'), 'E2,too,few', row('E3')));
    expect(
      shown.rows.map(({ payment, faults }) => [payment?.employeeId, faults.map(({ code }) => code)]),
    ).toEqual([
      [undefined, ['AMOUNT_AMBIGUOUS']],
      [undefined, ['FIELDS_TOO_FEW']],
      ['E3', []],
    ]);
  });

  it('asks for an encoding that is not known, and reads no further than it shows', async () => {
    const asked = await preview(sample('latin1-bytes.csv'));
    expect(asked.faults).toMatchObject([
      { code: 'ENCODING_NOT_UTF8', readings: [{ text: 'Zoë Müller' }, { text: 'Zoë Müller' }] },
    ]);
    const said = await preview(sample('latin1-bytes.csv'), { encoding: 'windows-1252' });
    expect(said.rows).toHaveLength(3);
    expect(await preview(Buffer.from(''))).toMatchObject({
      faults: [{ code: 'FILE_EMPTY' }],
      dialect: { headerLine: 1 },
    });
  });

  it('needs no account, and names a profile or account that is not there', async () => {
    const bare = await desk.employer(0);
    expect((await preview(csv(row('E1')), {}, bare)).rows).toHaveLength(1);
    await expect(preview(csv(row('E1')), { profile: 'None' })).rejects.toMatchObject({
      code: 'PROFILE_UNKNOWN',
    });
    const accountId = 'acc_00000000000070008000000000000000';
    await expect(preview(csv(row('E1')), { accountId })).rejects.toMatchObject({ code: 'ACCOUNT_UNKNOWN' });
  });
});
