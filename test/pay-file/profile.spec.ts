import { PayFileProfile } from '../../src/domain/pay-file-profile';
import {
  createProfile,
  deleteProfile,
  findProfileNamed,
  replaceProfile,
} from '../../src/pay-file/profile.store';
import { Problem } from '../../src/http/problem';
import { PayFileFault } from '../../src/pay-file/pay-file-fault';
import { csv, Desk, faultsOf, PayDesk, row, sample } from './pay-desk';
import { germanIban } from '../support/pay-rows';

const IBAN = 'DE42950800200355765512';
const OTHER_IBAN = germanIban(2);
const GERMAN: PayFileProfile = {
  columns: { 'Ausz. Betrag': 'amount', Brutto: 'ignored', Vorgang: 'ignored' },
  amounts: { decimalSign: 'comma', thousandsSign: 'dot' },
  dateOrder: 'DMY',
  encoding: 'windows-1252',
  constants: { currency: 'EUR' },
  titleLines: 2,
  totals: { lines: 1, countColumn: 'Vorgang', totalColumn: 'Ausz. Betrag' },
};

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

const keep = (name: string, definition: PayFileProfile) =>
  desk.database.inEmployer(employer.employerId, (tx) =>
    createProfile(tx, employer.personId, { name, definition }),
  );

/** A German payroll system's file of two rows. */
function german(change: (text: string) => string = (text) => text): Buffer {
  const lines = [
    'Lohnabrechnung; November 2026',
    'Firma Müller',
    'Personal-Nr.;Kontoinhaber;IBAN;Brutto;Ausz. Betrag;Zahlungsdatum;Vorgang',
    `E1;Zoë Müller;${IBAN};2.000,00;1.234;27.11.2026;A`,
    `E2;Jürgen Groß;${OTHER_IBAN};3.000,00;2.000,50;27.11.2026;B`,
    'Summe;;;5.000,00;3.234,50;;2',
    ';;;;;;',
    '',
  ];
  return Buffer.from(change(lines.join('\r\n')), 'latin1');
}

const withProfile = { profile: 'German payroll' };
const found = async (file: Buffer, fields: Record<string, string> = withProfile) =>
  faultsOf(await desk.refusal(employer, file, fields));

describe('a file read by a profile', () => {
  beforeEach(() => keep('German payroll', GERMAN));

  it('is paid as the profile says it means', async () => {
    const { answer } = await desk.upload(employer, german(), withProfile);
    expect(answer).toMatchObject({ payments: 2, total: '3234.50', file: { rows: 2 } });
    expect(answer.namesChanged.examples).toEqual([
      { line: 4, before: 'Zoë Müller', after: 'Zoe Muller' },
      { line: 5, before: 'Jürgen Groß', after: 'Jurgen Gross' },
    ]);
    const rows = await desk.query(
      employer,
      'SELECT line, employee_id, amount_minor FROM payment ORDER BY line',
    );
    expect(rows).toEqual([
      { line: 4, employee_id: 'E1', amount_minor: '123400' },
      { line: 5, employee_id: 'E2', amount_minor: '200050' },
    ]);
  });

  it('is kept with what it was read by, whatever becomes of the profile', async () => {
    const kept = await desk.database.inEmployer(employer.employerId, (tx) =>
      findProfileNamed(tx, 'German payroll'),
    );
    await desk.upload(employer, german(), withProfile);
    await desk.database.inEmployer(employer.employerId, (tx) =>
      deleteProfile(tx, employer.personId, kept!.id, undefined),
    );
    const [file] = await desk.query(employer, 'SELECT profile_id, read_as FROM pay_file');
    expect(file).toEqual({ profile_id: kept!.id, read_as: GERMAN });
    expect(await desk.refusal(employer, german(), withProfile)).toMatchObject({ code: 'PROFILE_UNKNOWN' });
  });

  it('is refused without it: nothing of it is guessed', async () => {
    const problem = await desk.refusal(employer, german());
    expect(faultsOf(problem)).toEqual([[2, null, 'ENCODING_NOT_UTF8']]);
    expect((problem.extra['faults'] as PayFileFault[])[0]?.readings).toEqual([
      { encoding: 'windows-1252', text: 'Firma Müller' },
      { encoding: 'iso-8859-15', text: 'Firma Müller' },
    ]);
  });

  it('has no row that is taken for a totals line', async () => {
    const short = german((text) => text.replace(/Summe.*\r\n/, ''));
    expect(await found(short)).toContainEqual([5, null, 'TOTALS_LINE_IS_A_ROW']);
    const noIban = german((text) => text.replace(/Summe.*\r\n/, '').replace(`Groß;${IBAN}`, 'Groß;'));
    expect(await found(noIban)).toContainEqual([5, null, 'TOTALS_LINE_IS_A_ROW']);
    const noName = german((text) => text.replace(/Summe.*\r\n/, '').replace('Jürgen Groß', ''));
    expect(await found(noName)).toContainEqual([5, null, 'TOTALS_LINE_IS_A_ROW']);
    expect((await desk.stored(employer)).runs).toBe(0);
  });

  it('has the number of rows and the total of its totals line', async () => {
    expect(await found(german((text) => text.replace(';;2', ';;3')))).toEqual([
      [6, null, 'ROWS_NOT_AS_DECLARED'],
    ]);
    expect(await found(german((text) => text.replace('2.000,50', '2.000,51')))).toEqual([
      [6, null, 'TOTAL_NOT_AS_DECLARED'],
    ]);
    expect(await found(german((text) => text.replace(';;2', ';;')))).toEqual([
      [6, 'Vorgang', 'TOTALS_UNREADABLE'],
    ]);
    expect(await found(german((text) => text.replace(';;2', ';;2,5')))).toEqual([
      [6, 'Vorgang', 'TOTALS_UNREADABLE'],
    ]);
  });

  it('is told its faults by its own headers, with the total not compared where an amount cannot be read', async () => {
    const bad = german((text) => text.replace('2.000,50', '2000.50').replace('27.11.2026;A', '28.11.2026;A'));
    expect(await found(bad)).toEqual([
      [4, 'Zahlungsdatum', 'EXECUTION_DATE_DIFFERS'],
      [5, 'Ausz. Betrag', 'AMOUNT_FORMAT'],
      [6, null, 'TOTAL_NOT_COMPARED'],
    ]);
  });

  it('is not stored again as something else that the same bytes can mean', async () => {
    const { answer } = await desk.upload(employer, german(), withProfile);
    expect((await desk.upload(employer, german(), withProfile)).replayed).toBe(true);
    await keep('Another', {
      ...GERMAN,
      columns: { ...GERMAN.columns, Brutto: 'amount', 'Ausz. Betrag': 'ignored' },
    });
    expect(await desk.refusal(employer, german(), { profile: 'Another' })).toMatchObject({
      status: 409,
      code: 'FILE_READ_OTHERWISE',
      extra: { payRunId: answer.id },
    });
    const declared = { ...withProfile, declaredRows: '3' };
    expect(faultsOf(await desk.refusal(employer, german(), declared))).toEqual([
      [1, null, 'ROWS_NOT_AS_DECLARED'],
    ]);
  });

  it('takes the encoding of the upload before that of the profile', async () => {
    const utf8 = Buffer.from(german().toString('latin1'));
    expect(await found(utf8, { ...withProfile, encoding: 'iso-8859-15' })).not.toEqual([]);
    await expect(desk.upload(employer, utf8, { ...withProfile, encoding: 'UTF-8' })).resolves.toBeDefined();
  });
});

describe('the samples of other payroll systems', () => {
  const paidBy = async (file: string, fields: Record<string, string>): Promise<unknown[]> => {
    employer = await desk.employer();
    const { columns, ...others } = GERMAN;
    await keep('Lohn', {
      ...others,
      columns: { ...columns, Kostenstelle: 'ignored' },
      totals: { lines: 1, countColumn: 'Kostenstelle', totalColumn: 'Ausz. Betrag' },
    });
    await desk.upload(employer, sample(file), fields);
    return desk.query(
      employer,
      'SELECT employee_id, amount_minor, iban_hash, name_hash, bic, remittance FROM payment ORDER BY employee_id',
    );
  };

  it.each([
    ['payroll-german.csv', { profile: 'Lohn' }, [0, 2, 4]],
    ['payroll-polish.csv', {}, [0, 1, 2]],
    ['payroll-spanish.csv', {}, [0, 1, 2]],
  ] as const)('%s pays what the same rows of payroll-5.csv pay', async (file, fields, rows) => {
    const plain = await paidBy('payroll-5.csv', {});
    expect(await paidBy(file, fields)).toEqual(rows.map((n) => plain[n]));
  });
});

describe('profiles of an employer', () => {
  const plain: PayFileProfile = { columns: {}, constants: {}, titleLines: 0, totals: { lines: 0 } };

  it('are known by a name that is free again once they are deleted', async () => {
    const kept = await keep('One', plain);
    await expect(keep('One', plain)).rejects.toMatchObject({ constraint: 'one_profile_of_a_name' });
    await desk.database.inEmployer(employer.employerId, (tx) =>
      deleteProfile(tx, employer.personId, kept.id, undefined),
    );
    expect((await keep('One', plain)).id).not.toBe(kept.id);
  });

  it('are not replaced or deleted by somebody who saw an earlier state', async () => {
    const { id } = await keep('One', plain);
    const replace = (ifMatch: string) =>
      desk.database.inEmployer(employer.employerId, (tx) =>
        replaceProfile(tx, employer.personId, id, { name: 'Two', definition: GERMAN }, ifMatch),
      );
    expect(await replace('"1"')).toMatchObject({ name: 'Two', revision: 2n, definition: GERMAN });
    const remove = desk.database.inEmployer(employer.employerId, (tx) =>
      deleteProfile(tx, employer.personId, id, '"1"'),
    );
    await expect(remove).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    await expect(replace('"1"')).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    expect((await desk.audit(employer)).map(({ action }) => action)).toEqual([
      'pay-file-profile.created',
      'pay-file-profile.replaced',
    ]);
  });

  it('are seen by nobody else', async () => {
    const { id } = await keep('One', plain);
    const other = await desk.employer();
    const thrown: unknown = await desk.database
      .inEmployer(other.employerId, (tx) =>
        replaceProfile(tx, other.personId, id, { name: 'x', definition: plain }, undefined),
      )
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Problem);
    expect(thrown).toMatchObject({ status: 404, code: 'PAY_FILE_PROFILE_NOT_FOUND' });
    expect(await desk.query(other, 'SELECT FROM pay_file_profile')).toEqual([]);
    expect(await desk.refusal(other, csv(row('E1')), { profile: 'One' })).toMatchObject({
      code: 'PROFILE_UNKNOWN',
    });
  });

  it('are at most a hundred', async () => {
    for (let n = 0; n < 100; n += 1) await keep(`Profile ${n}`, plain);
    await expect(keep('One more', plain)).rejects.toMatchObject({ status: 409, code: 'TOO_MANY_PROFILES' });
  });

  it('may name the period and the text of all rows', async () => {
    await keep('One', { ...plain, constants: { period: '2026-10', remittance: 'Gehalt' } });
    const file = Buffer.from(`employee_id,name,iban,amount,currency\nE1,Ann,${IBAN},1.00,EUR\n`);
    const { answer } = await desk.upload(employer, file, { profile: 'One', period: '' });
    expect(answer.period).toBe('2026-10');
    expect(await desk.query(employer, 'SELECT remittance FROM payment')).toEqual([{ remittance: 'Gehalt' }]);
    await keep('Two', plain);
    expect(await desk.refusal(employer, file, { profile: 'Two', period: '' })).toMatchObject({
      status: 422,
      code: 'PERIOD_MISSING',
    });
  });
});

describe('a file without a profile', () => {
  it('is read in another dialect, language and encoding', async () => {
    const file = `\ufeffMatrícula;x`; // Not known: a column that only looks like an employee's number.
    expect(faultsOf(await desk.refusal(employer, Buffer.from(file)))[0]).toEqual([
      1,
      'Matrícula',
      'COLUMN_UNKNOWN',
    ]);
    const spanish = ['Nº empleado', 'Nombre y apellidos', 'IBAN', 'Importe', 'Divisa'].join('\t');
    const text = `${spanish}\rE1\tJosé Núñez\t${IBAN}\t1234.56\tEUR\r\t\t\t\t\r`;
    const wide = Buffer.from(`\ufeff${text}`, 'utf16le');
    const { answer } = await desk.upload(employer, wide);
    expect(answer).toMatchObject({ payments: 1, total: '1234.56', namesChanged: { count: 1 } });
  });

  it('is read in the encoding that is said with the upload', async () => {
    const { answer } = await desk.upload(employer, sample('latin1-bytes.csv'), { encoding: 'windows-1252' });
    expect(answer.namesChanged.examples[0]).toMatchObject({ before: 'Zoë Müller', after: 'Zoe Muller' });
  });

  it('is refused where two columns mean the same', async () => {
    const file = Buffer.from(`Personalnummer;Kontoinhaber;Zahlungsempfänger;IBAN;Betrag;Währung\n`);
    const problem = await desk.refusal(employer, file);
    expect(problem.extra['faults']).toMatchObject([
      {
        line: 1,
        column: 'Zahlungsempfänger',
        code: 'COLUMN_TWICE',
        message: 'The columns “Kontoinhaber” and “Zahlungsempfänger” mean the same.',
      },
    ]);
  });

  it('holds what is declared with it', async () => {
    const file = csv(row('E1', '1.10'), row('E2', '2.20'));
    expect(await found(file, { declaredRows: '3', declaredTotal: '3.31' })).toEqual([
      [1, null, 'ROWS_NOT_AS_DECLARED'],
      [1, null, 'TOTAL_NOT_AS_DECLARED'],
    ]);
    await expect(
      desk.upload(employer, file, { declaredRows: '2', declaredTotal: '3.30' }),
    ).resolves.toBeDefined();
  });

  it('is refused where a total is declared and an amount cannot be read, also if faulty rows are held', async () => {
    await desk.set(employer, { faultPolicy: { policy: 'hold' } });
    const file = csv(row('E1', '1.10'), row('E2', 'two euros'));
    expect(await found(file, { declaredTotal: '1.10' })).toEqual([
      [1, null, 'TOTAL_NOT_COMPARED'],
      [3, 'amount', 'AMOUNT_FORMAT'],
    ]);
    await expect(desk.upload(employer, file, { declaredRows: '2' })).resolves.toBeDefined();
    expect(await found(file, { declaredRows: '2', declaredTotal: '1.10' })).toEqual([
      [1, null, 'TOTAL_NOT_COMPARED'],
    ]);
  });

  it('may have amounts that cannot be paid, which are part of its total nevertheless', async () => {
    await desk.set(employer, { faultPolicy: { policy: 'hold' } });
    const file = csv(row('E1', '1.10'), row('E2', '0.00'), row('E3', '1000000000.00'));
    const { answer } = await desk.upload(employer, file, {
      declaredRows: '3',
      declaredTotal: '1000000001.10',
    });
    expect(answer).toMatchObject({ payments: 1, total: '1.10' });
    const most = csv(...Array.from({ length: 20_000 }, (_, n) => row(`E${n}`, '9'.repeat(17))));
    expect(await found(most, { declaredTotal: '1.00' })).toContainEqual([1, null, 'TOTAL_NOT_COMPARED']);
  });

  it('is told what is declared also where its rows have other faults', async () => {
    const file = csv(row('E1', '1.10'), row('E2', '2.20', ''));
    expect(await found(file, { declaredTotal: '3.31' })).toEqual([
      [1, null, 'TOTAL_NOT_AS_DECLARED'],
      [3, 'name', 'NAME_MISSING'],
    ]);
  });
});
