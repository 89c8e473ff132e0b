import fc from 'fast-check';
import {
  ApprovedFields,
  canonicalRow,
  checkRow,
  PayFileRow,
  readAmount,
  ROW_FAULT_CODES,
  RowContext,
  RowFault,
  RowFaultCode,
} from '../../src/domain/pay-file';

const DEBTOR = 'DE02120300000000202051';
const context: RowContext = {
  debtorIban: DEBTOR,
  defaultRemittance: () => 'Salary November 2026',
  executionDate: '2026-11-27',
};
const good: PayFileRow = {
  line: 7,
  employeeId: 'E-0042',
  name: 'José Núñez',
  iban: 'DE89 3704 0044 0532 0130 00',
  bic: 'COBADEFFXXX',
  amount: '2345.60',
  currency: 'EUR',
  remittance: 'Gehalt März',
};

const faultsOf = (change: Partial<PayFileRow>): RowFault[] =>
  checkRow({ ...good, ...change }, context).faults;

describe('a row of a pay file', () => {
  it('becomes a payment with what was written beside what is sent', () => {
    expect(checkRow(good, context)).toEqual({
      faults: [],
      payment: {
        line: 7,
        employeeId: 'E-0042',
        name: 'José Núñez',
        sepaName: 'Jose Nunez',
        nameChanged: true,
        iban: 'DE89370400440532013000',
        bic: 'COBADEFFXXX',
        amountMinor: 234560n,
        currency: 'EUR',
        remittance: 'Gehalt Marz',
        remittanceChanged: true,
      },
    });
  });

  it('takes the default text and no BIC', () => {
    const { payment } = checkRow({ ...good, bic: '', remittance: undefined }, context);
    expect(payment).toMatchObject({ remittance: 'Salary November 2026', remittanceChanged: false });
    expect(payment).not.toHaveProperty('bic');
  });

  const cases: [RowFaultCode, Partial<PayFileRow>][] = [
    ['EMPLOYEE_ID_MISSING', { employeeId: '' }],
    ['EMPLOYEE_ID_TOO_LONG', { employeeId: 'E'.repeat(36) }],
    ['EMPLOYEE_ID_CHARACTERS', { employeeId: ' E-0042' }],
    ['EMPLOYEE_ID_CHARACTERS', { employeeId: 'E-0042 ' }],
    ['EMPLOYEE_ID_CHARACTERS', { employeeId: 'E\u200B1' }],
    ['EMPLOYEE_ID_CHARACTERS', { employeeId: '\u0415-0042' }],
    ['NAME_MISSING', { name: '' }],
    ['NAME_MISSING', { name: '  ' }],
    ['NAME_MISSING', { name: '---' }],
    ['NAME_TOO_LONG', { name: 'a'.repeat(71) }],
    ['NAME_TOO_LONG', { name: 'ß'.repeat(36) }],
    ['NAME_TOO_LONG', { name: 'я'.repeat(100_000) }],
    ['NAME_CHARACTERS', { name: 'J\u043Ese' }],
    ['IBAN_MISSING', { iban: '' }],
    ['IBAN_CHARACTERS', { iban: 'DE89.3704' }],
    ['IBAN_COUNTRY_UNKNOWN', { iban: 'ZZ89370400440532013000' }],
    ['IBAN_COUNTRY_NOT_SEPA', { iban: 'TR330006100519786457841326', bic: '' }],
    ['IBAN_LENGTH', { iban: 'DE8937040044053201300' }],
    ['IBAN_STRUCTURE', { iban: 'DE8937O400440532013000' }],
    ['IBAN_CHECK_DIGITS', { iban: 'DE89370400440532013001' }],
    ['CREDITOR_IS_DEBTOR', { iban: 'de02 1203 0000 0000 2020 51' }],
    ['BIC_STRUCTURE', { bic: 'COBADE' }],
    ['BIC_COUNTRY_MISMATCH', { bic: 'BKAUATWW' }],
    ['AMOUNT_MISSING', { amount: '' }],
    ['AMOUNT_FORMAT', { amount: '2.345,60' }],
    ['AMOUNT_AMBIGUOUS', { amount: '1.234' }],
    ['AMOUNT_AMBIGUOUS', { amount: '999,000' }],
    ['AMOUNT_DECIMALS', { amount: '2345.605' }],
    ['AMOUNT_DECIMALS', { amount: '0.123' }],
    ['AMOUNT_TOO_SMALL', { amount: '0.00' }],
    ['AMOUNT_TOO_LARGE', { amount: '1000000000' }],
    ['CURRENCY_MISSING', { currency: '' }],
    ['CURRENCY_NOT_SUPPORTED', { currency: 'eur' }],
    ['CURRENCY_NOT_SUPPORTED', { currency: 'USD' }],
    ['REMITTANCE_CHARACTERS', { remittance: 'Gehalt 😀' }],
    ['REMITTANCE_TOO_LONG', { remittance: 'a'.repeat(141) }],
    ['EXECUTION_DATE_FORMAT', { executionDate: '27.11.2026' }],
    ['EXECUTION_DATE_FORMAT', { executionDate: '' }],
    ['EXECUTION_DATE_DIFFERS', { executionDate: '2026-11-28' }],
  ];

  it.each(cases)('is refused with %s alone: %j', (code, change) => {
    const { payment, faults } = checkRow({ ...good, ...change }, context);
    expect(payment).toBeUndefined();
    expect(faults.map((fault) => fault.code)).toEqual([code]);
    expect(faults[0]).toMatchObject({ line: 7, remedy: ROW_FAULT_CODES[code].remedy });
    expect(faults[0]?.message).not.toBe('');
  });

  it('is read in the style and the order of dates that are declared', () => {
    const declared: RowContext = {
      ...context,
      amounts: { decimalSign: 'comma', thousandsSign: 'dot' },
      dateOrder: 'DMY',
    };
    const german = { ...good, amount: '1.234', executionDate: '27.11.2026' };
    expect(checkRow(german, declared).payment).toMatchObject({ amountMinor: 123400n });
    const other = checkRow({ ...german, amount: '1.234.56', executionDate: '11/27/2026' }, declared).faults;
    expect(other.map(({ code }) => code)).toEqual(['AMOUNT_FORMAT', 'EXECUTION_DATE_FORMAT']);
    expect(readAmount('1.234,5', declared.amounts)).toEqual({ ok: true, amountMinor: 123450n });
  });

  it('has a case here for every fault code', () => {
    expect(new Set(cases.map(([code]) => code))).toEqual(new Set(Object.keys(ROW_FAULT_CODES)));
  });

  it('tells all its faults at once, in the order of the columns', () => {
    const bad = {
      employeeId: '',
      name: '',
      iban: 'x',
      bic: 'x',
      amount: '1e5',
      currency: 'usd',
      remittance: '€',
    };
    expect(faultsOf(bad).map((fault) => fault.column)).toEqual([
      'employeeId',
      'name',
      'iban',
      'bic',
      'amount',
      'currency',
      'remittance',
    ]);
  });

  it('names the characters it cannot send, and only the first few of many', () => {
    expect(faultsOf({ name: 'J\u043Ese' })[0]?.message).toContain('U+043E at character 2');
    expect(faultsOf({ name: 'Владимир' })[0]?.message).toContain('and 3 more');
  });

  it('shows a value it refuses, but not a whole file in one cell', () => {
    expect(faultsOf({ amount: '1,00' })[0]?.value).toBe('1,00');
    expect(faultsOf({ amount: '1'.repeat(5_000_000) })[0]?.value).toHaveLength(141);
  });

  it('takes each field at its greatest length', () => {
    const full = {
      employeeId: 'E'.repeat(35),
      name: 'a'.repeat(70),
      remittance: 'a'.repeat(140),
      amount: '999999999.99',
    };
    expect(faultsOf(full)).toEqual([]);
  });

  it('has either a payment or faults, never both or neither, whatever stands in it', () => {
    const cell = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom(...Object.values(good).map(String)),
    );
    const anyRow = fc.record({
      line: fc.nat(),
      employeeId: cell,
      name: cell,
      iban: cell,
      bic: cell,
      amount: cell,
      currency: cell,
      remittance: cell,
    });
    fc.assert(
      fc.property(anyRow, (row) => {
        const { payment, faults } = checkRow(row, context);
        expect(payment === undefined).toBe(faults.length > 0);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the canonical row', () => {
  const text = fc.string({ maxLength: 8 });
  const anyFields: fc.Arbitrary<ApprovedFields> = fc.record({
    employeeId: text,
    sepaName: text,
    iban: text,
    bic: fc.option(text, { nil: undefined }),
    amountMinor: fc.bigInt({ min: 1n, max: 999n }),
    currency: fc.constant('EUR' as const),
    remittance: text,
  });

  it('holds every field so that none can run into the next', () => {
    fc.assert(
      fc.property(anyFields, (fields) => {
        const [version, employeeId, sepaName, iban, bic, amount, currency, remittance] = JSON.parse(
          canonicalRow(fields),
        );
        expect(version).toBe('row-1');
        expect({
          employeeId,
          sepaName,
          iban,
          bic: bic ?? undefined,
          amountMinor: BigInt(amount),
          currency,
          remittance,
        }).toEqual(fields);
      }),
    );
  });

  it('tells an absent BIC from an empty one, and does not depend on the line', () => {
    const row = checkRow(good, context).payment!;
    expect(canonicalRow({ ...row, bic: undefined })).not.toBe(canonicalRow({ ...row, bic: '' }));
    expect(canonicalRow({ ...row, line: 99 } as ApprovedFields)).toBe(canonicalRow(row));
    expect(canonicalRow({ ...row, replacesPaymentId: null })).toBe(canonicalRow(row));
    const [first, second] = ['a', 'b'].map((id) => canonicalRow({ ...row, replacesPaymentId: id }));
    expect(new Set([canonicalRow(row), first, second]).size).toBe(3);
  });
});
