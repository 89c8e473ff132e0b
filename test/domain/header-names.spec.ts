import { fieldOfHeader, foldHeader, HEADER_NAMES } from '../../src/domain/header-names';
import { ColumnMeaning, headerReader, NO_PROFILE } from '../../src/domain/pay-file-profile';
import { COLUMN_NAMES } from '../../src/pay-file/pay-file-fault';

describe('the names of a header', () => {
  it('mean one field each, in all eight languages', () => {
    const meanings = new Map<string, Set<string>>();
    for (const [field, names] of Object.entries(HEADER_NAMES)) {
      for (const name of names) {
        const folded = foldHeader(name);
        expect(folded).not.toBe('');
        meanings.set(folded, (meanings.get(folded) ?? new Set()).add(field));
      }
    }
    expect([...meanings].filter(([, fields]) => fields.size > 1)).toEqual([]);
  });

  it.each([
    ['English', 'Employee ID', 'Full name', 'Net pay', 'Currency', 'Payment details'],
    ['French', 'MATRICULE', 'Nom et Prénom', 'Net à payer', 'Devise', 'Libellé du virement'],
    ['German', 'Personal-Nr.', 'Kontoinhaber', 'Auszahlungsbetrag', 'Währung', 'Verwendungszweck'],
    ['Spanish', 'Nº empleado', 'Nombre y apellidos', 'Líquido a percibir', 'Moneda', 'Concepto'],
    ['Italian', 'Matricola', 'Cognome e nome', 'Netto a pagare', 'Valuta', 'Causale'],
    ['Dutch', 'Personeelsnummer', 'Rekeninghouder', 'Netto-bedrag', 'Munt', 'Omschrijving'],
    ['Polish', 'Nr pracownika', 'Imię i nazwisko', 'Kwota do wypłaty', 'Waluta', 'Tytuł przelewu'],
    ['Portuguese', 'Número de funcionário', 'Nome completo', 'Salário líquido', 'Moeda', 'Descritivo'],
  ])('are known in %s', (_language, ...headers) => {
    expect(headers.map(fieldOfHeader)).toEqual(['employeeId', 'name', 'amount', 'currency', 'remittance']);
  });

  it('are known as the samples and the faults spell them', () => {
    for (const [field, name] of Object.entries(COLUMN_NAMES)) expect(fieldOfHeader(name)).toBe(field);
  });

  it('are the same whatever their case, accents, spaces and joining signs', () => {
    for (const name of ['WÄHRUNG', 'wa\u0308hrung', ' Wahrung ', 'währung:']) {
      expect(fieldOfHeader(name)).toBe('currency');
    }
    for (const name of ['EMPLOYEE-ID', 'employee id', 'Employee_Id', 'employeeId', 'Employee\u00a0ID.']) {
      expect(fieldOfHeader(name)).toBe('employeeId');
    }
  });

  it('that are half of a name, gross pay or anything else are not known', () => {
    for (const name of [
      'Vorname',
      'Prénom',
      'Nombre',
      'First name',
      'Brutto',
      'Gross pay',
      '__proto__',
      '',
      'id',
    ]) {
      expect([name, fieldOfHeader(name)]).toEqual([name, undefined]);
    }
  });
});

describe('a profile', () => {
  it('goes before the known names, and may say that a column is ignored', () => {
    const columns: Record<string, ColumnMeaning> = Object.fromEntries([
      ['Ausz. Betrag', 'amount'],
      ['Betrag', 'ignored'],
      ['constructor', 'name'],
    ]);
    const meaningOf = headerReader({ ...NO_PROFILE, columns });
    expect(meaningOf('AUSZ BETRAG')).toEqual({ meaning: 'amount', by: 'profile' });
    expect(meaningOf('Betrag')).toEqual({ meaning: 'ignored', by: 'profile' });
    expect(meaningOf('Constructor')).toEqual({ meaning: 'name', by: 'profile' });
    expect(meaningOf('IBAN')).toEqual({ meaning: 'iban', by: 'name' });
    expect(meaningOf('__proto__')).toBeUndefined();
  });
});
