import fc from 'fast-check';
import { checkRow } from '../../src/domain/pay-file';
import {
  DEFAULT_TEMPLATE,
  faultOfTemplate,
  fillTemplate,
  PLACEHOLDERS,
  wordsOfKind,
} from '../../src/domain/remittance-template';

const values = {
  period: '2026-11',
  kind_of_pay: 'Salary',
  employer: 'Birch Foods SARL',
  employee_id: 'E0001',
};

describe('a template of the remittance', () => {
  it.each([
    ['Salary {period} {employer}', 'Salary 2026-11 Birch Foods SARL'],
    [DEFAULT_TEMPLATE, 'Salary 2026-11'],
    ['{employee_id}/{employee_id}', 'E0001/E0001'],
    ['Gehalt', 'Gehalt'],
  ])('%s is filled in', (template, text) => {
    expect(faultOfTemplate(template)).toBeUndefined();
    expect(fillTemplate(template, values)).toBe(text);
  });

  it.each([
    ['Salary {month}', '{month} is not known; known are {period}, {kind_of_pay}, {employer}, {employee_id}.'],
    ['Salary {}', '{} is not known'],
    ['Salary {Period}', '{Period} is not known'],
    ['Salary {toString}', '{toString} is not known'],
    ['Salary {period', '{ stands alone.'],
    ['Salary period}', '} stands alone.'],
    ['{{period}}', '{ stands alone.'],
    ['Зарплата {period}', 'U+0417 cannot be sent.'],
  ])('%s is none', (template, fault) => {
    expect(faultOfTemplate(template)).toContain(fault);
  });

  it('is filled with every value exactly as it is, once', () => {
    const text = fc.stringMatching(/^[A-Za-z .-]{0,10}$/);
    const part = fc.oneof(
      text.map((one) => ({ written: one, meant: () => one })),
      fc.constantFrom(...PLACEHOLDERS).map((name) => ({
        written: `{${name}}`,
        meant: (of: typeof values) => of[name],
      })),
    );
    const anything = fc.record({
      period: fc.string(),
      kind_of_pay: fc.string(),
      employer: fc.oneof(fc.constant('{period} $& {employee_id}'), fc.string()),
      employee_id: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), anything, (parts, of) => {
        const template = parts.map(({ written }) => written).join('');
        expect(faultOfTemplate(template)).toBeUndefined();
        expect(fillTemplate(template, of)).toBe(parts.map(({ meant }) => meant(of)).join(''));
      }),
    );
  });

  it('names a kind of pay in words', () => {
    expect(wordsOfKind('YEAR_END_BONUS')).toBe('Year end bonus');
  });

  it('is used where a row says nothing, and its result is checked like a row’s own text', () => {
    const row = {
      line: 2,
      employeeId: 'E0001',
      name: 'Ada Example',
      iban: 'DE89370400440532013000',
      amount: '1.00',
      currency: 'EUR',
    };
    const remittanceOf = (template: string, written = '') =>
      checkRow(
        { ...row, remittance: written },
        {
          debtorIban: 'DE02120300000000202051',
          defaultRemittance: (employeeId) => fillTemplate(template, { ...values, employee_id: employeeId }),
        },
      );
    expect(remittanceOf('Pay of {employee_id}').payment?.remittance).toBe('Pay of E0001');
    expect(remittanceOf('Gehalt März').payment).toMatchObject({
      remittance: 'Gehalt Marz',
      remittanceChanged: true,
    });
    expect(remittanceOf('Pay of {employee_id}', 'as written').payment?.remittance).toBe('as written');
    const long = '{employer}'.repeat(9);
    expect(remittanceOf(long).faults).toMatchObject([
      { line: 2, column: 'remittance', code: 'REMITTANCE_TOO_LONG' },
    ]);
  });
});
