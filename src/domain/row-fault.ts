/** The columns of a pay file, by the name of the field they fill. */
export type PayFileColumn =
  'employeeId' | 'name' | 'iban' | 'bic' | 'amount' | 'currency' | 'remittance' | 'executionDate';

/** What each fault of a row means and what the uploader can do. The codes are stable. */
export const ROW_FAULT_CODES = {
  EMPLOYEE_ID_MISSING: {
    meaning: 'The row names no employee.',
    remedy: 'Fill in the employee id of your payroll system.',
  },
  EMPLOYEE_ID_TOO_LONG: {
    meaning: 'The employee id has more than 35 characters.',
    remedy: 'Use an employee id of at most 35 characters.',
  },
  EMPLOYEE_ID_CHARACTERS: {
    meaning: 'The employee id holds a character that is not printable ASCII, or a space at its edge.',
    remedy: 'Use letters without accents, digits and signs, with no space before or after.',
  },
  NAME_MISSING: {
    meaning: 'The row names no account holder.',
    remedy: 'Fill in the name of the account holder.',
  },
  NAME_TOO_LONG: {
    meaning: 'The name as sent to the bank has more than 70 characters.',
    remedy: 'Shorten the name to 70 characters yourself; it is never cut for you.',
  },
  NAME_CHARACTERS: {
    meaning: 'The name holds characters that are not Latin letters or the usual signs.',
    remedy: 'Write the name in Latin letters, as it stands on the bank card.',
  },
  IBAN_MISSING: { meaning: 'The row has no IBAN.', remedy: 'Fill in the IBAN of the employee.' },
  IBAN_CHARACTERS: {
    meaning: 'The IBAN holds a character other than A to Z, digits and spaces.',
    remedy: 'Type the IBAN again rather than pasting it.',
  },
  IBAN_COUNTRY_UNKNOWN: {
    meaning: 'The IBAN does not begin with a country that issues IBANs.',
    remedy: 'Ask the employee for the IBAN again.',
  },
  IBAN_COUNTRY_NOT_SEPA: {
    meaning: 'The account is in a country that a SEPA credit transfer does not reach.',
    remedy: 'Ask the employee for an account in a SEPA country, or pay outside this file.',
  },
  IBAN_LENGTH: {
    meaning: 'The IBAN has too few or too many characters for its country.',
    remedy: 'Look for a missing or doubled character.',
  },
  IBAN_STRUCTURE: {
    meaning: 'Letters and digits of the IBAN do not stand where its country puts them.',
    remedy: 'Compare the IBAN with the account holder’s papers: O and 0, I and 1 are often mixed up.',
  },
  IBAN_CHECK_DIGITS: {
    meaning: 'The check digits of the IBAN do not fit the rest.',
    remedy: 'Look for a mistyped or swapped digit.',
  },
  BIC_STRUCTURE: {
    meaning: 'The BIC does not have 8 or 11 characters in the right places.',
    remedy: 'Correct the BIC, or leave it empty: the IBAN is enough.',
  },
  BIC_COUNTRY_MISMATCH: {
    meaning: 'The BIC belongs to another country than the IBAN.',
    remedy: 'Find out which of the two is wrong, or leave the BIC empty.',
  },
  AMOUNT_MISSING: { meaning: 'The row has no amount.', remedy: 'Fill in the amount.' },
  AMOUNT_FORMAT: {
    meaning:
      'The amount is not written as digits with at most one dot, nor as a profile of the employer says.',
    remedy:
      'Write 1234.56, or as the profile of the file says: no sign, exponent or currency. A file that writes every amount otherwise is uploaded with a profile that says how.',
  },
  AMOUNT_AMBIGUOUS: {
    meaning: 'The amount is more than a thousand in some countries and a few units in others.',
    remedy:
      'Write it with a dot and two decimals, such as 1234.00 or 1.23. A file that marks off thousands is uploaded with a profile that names both signs.',
  },
  AMOUNT_DECIMALS: {
    meaning: 'The amount has more than two decimals.',
    remedy: 'Round the amount to whole cents in the payroll.',
  },
  AMOUNT_TOO_SMALL: { meaning: 'The amount is below 0.01.', remedy: 'Leave out rows that pay nothing.' },
  AMOUNT_TOO_LARGE: {
    meaning: 'The amount is above 999,999,999.99, the most one SEPA credit transfer carries.',
    remedy: 'Look for a missing decimal sign.',
  },
  CURRENCY_MISSING: { meaning: 'The row has no currency.', remedy: 'Write EUR.' },
  CURRENCY_NOT_SUPPORTED: {
    meaning: 'The currency is not EUR.',
    remedy: 'Write EUR in capitals; other currencies cannot be paid.',
  },
  REMITTANCE_CHARACTERS: {
    meaning: 'The text for the employee holds characters that cannot be sent.',
    remedy: "Use Latin letters, digits and / - ? : ( ) . , ' +.",
  },
  REMITTANCE_TOO_LONG: {
    meaning: 'The text for the employee, as sent to the bank, has more than 140 characters.',
    remedy: 'Shorten the text to 140 characters yourself; it is never cut for you.',
  },
  EXECUTION_DATE_FORMAT: {
    meaning: 'This is no date in the order that is declared.',
    remedy:
      'Write the day of the run as in 2026-11-27, or in the order that the profile of the file says. A file that writes every date otherwise is uploaded with a profile that says how.',
  },
  EXECUTION_DATE_DIFFERS: {
    meaning: 'The row is to be paid on another day than the run.',
    remedy: 'Upload rows of another day as a run of their own, or correct the execution date.',
  },
  CREDITOR_IS_DEBTOR: {
    meaning: 'The IBAN is that of the account the salaries are paid from.',
    remedy: 'Fill in the employee’s own IBAN.',
  },
} as const;

export type RowFaultCode = keyof typeof ROW_FAULT_CODES;

/** One fault of one row, for the person who uploaded the file: `value` is what they sent, cut to 140 characters. */
export interface RowFault {
  line: number;
  column: PayFileColumn;
  code: RowFaultCode;
  value: string;
  message: string;
  remedy: string;
}

// As long as the longest field may be, so that a whole wrong file in one cell is not sent back.
const MAX_SHOWN_VALUE = 140;

/** A fault with the code's meaning and remedy, unless something more exact is known. */
export function rowFault(
  line: number,
  column: PayFileColumn,
  code: RowFaultCode,
  value: string,
  message?: string,
  remedy?: string,
): RowFault {
  const known = ROW_FAULT_CODES[code];
  const shown = value.length > MAX_SHOWN_VALUE ? `${value.slice(0, MAX_SHOWN_VALUE)}…` : value;
  return {
    line,
    column,
    code,
    value: shown,
    message: message ?? known.meaning,
    remedy: remedy ?? known.remedy,
  };
}
