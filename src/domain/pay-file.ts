import { AmountStyle, exampleAmount, isAmbiguousAmount, parseStyledAmount } from './amount-style';
import { validateBic } from './bic';
import { IsoDate } from './calendar';
import { textOfFirstFew } from './first-few';
import { validateIban } from './iban';
import { checkName, OffendingCharacter } from './latin';
import {
  AmountBounds,
  AmountFault,
  Currency,
  parseDecimalAmount,
  ParsedAmount,
  PAYMENT_BOUNDS,
} from './money';
import { sameIban } from './party';
import { PayFileColumn, RowFault, rowFault, RowFaultCode } from './row-fault';
import { DateOrder, readWrittenDate, writeDate } from './written-date';

export { ROW_FAULT_CODES } from './row-fault';
export type { PayFileColumn, RowFault, RowFaultCode } from './row-fault';

/** One row of a pay file as text, exactly as it was written. `line` is its line in the file, counted from 1. */
export interface PayFileRow {
  line: number;
  employeeId: string;
  name: string;
  iban: string;
  bic?: string;
  amount: string;
  currency: string;
  remittance?: string;
  /** Undefined where the file has no such column. */
  executionDate?: string;
}

/**
 * What a row is checked against: the account paid from, the text for rows that bring none, the day of the run, and how
 * amounts and dates are written: plainly (1234.56, 2026-11-27) where nothing is declared.
 */
export interface RowContext {
  debtorIban: string;
  defaultRemittance: (employeeId: string) => string;
  executionDate?: IsoDate;
  amounts?: AmountStyle;
  dateOrder?: DateOrder;
}

/**
 * A row without faults. `name` is as written; `sepaName` and `remittance` are what the bank is sent, and
 * `nameChanged` and `remittanceChanged` say that they differ from what was written.
 */
export interface CheckedRow {
  line: number;
  employeeId: string;
  name: string;
  sepaName: string;
  nameChanged: boolean;
  iban: string;
  bic?: string;
  amountMinor: bigint;
  currency: Currency;
  remittance: string;
  remittanceChanged: boolean;
}

/** Lengths in characters: the scheme's for name and remittance, the bank's reference length for the employee id. */
export const MAX_EMPLOYEE_ID = 35;
export const MAX_NAME = 70;
const MAX_REMITTANCE = 140;

// A cell longer than any field could be is refused before its letters are looked at one by one.
const MAX_CELL = 1_000;

const PRINTABLE_ASCII = /^[!-~](?:[ -~]*[!-~])?$/;

type Report = (
  column: PayFileColumn,
  code: RowFaultCode,
  value: string,
  message?: string,
  remedy?: string,
) => void;

/** Checks one row by every rule and tells all its faults at once; `payment` is there exactly when there are none. */
export function checkRow(row: PayFileRow, context: RowContext): { payment?: CheckedRow; faults: RowFault[] } {
  const faults: RowFault[] = [];
  const report: Report = (column, code, ...told) => {
    faults.push(rowFault(row.line, column, code, ...told));
  };
  checkEmployeeId(row.employeeId, report);
  const name = checkNameCell(row.name, report);
  const iban = checkIbanCell(row, context, report);
  const bic = checkBicCell(row.bic ?? '', iban?.country, report);
  const amountMinor = checkAmount(row.amount, context, report);
  const currency = checkCurrency(row.currency, report);
  const remittance = checkRemittance(row, context, report);
  if (row.executionDate !== undefined) checkExecutionDate(row.executionDate, context, report);
  if (faults.length > 0 || !name || !iban || amountMinor === undefined || !currency || !remittance) {
    return { faults };
  }
  const payment: CheckedRow = {
    line: row.line,
    employeeId: row.employeeId,
    name: row.name,
    sepaName: name.sent,
    nameChanged: name.changed,
    iban: iban.iban,
    ...(bic === undefined ? {} : { bic }),
    amountMinor,
    currency,
    remittance: remittance.sent,
    remittanceChanged: remittance.changed,
  };
  return { payment, faults };
}

function checkEmployeeId(value: string, report: Report): void {
  if (value === '') report('employeeId', 'EMPLOYEE_ID_MISSING', value);
  else if (value.length > MAX_EMPLOYEE_ID) report('employeeId', 'EMPLOYEE_ID_TOO_LONG', value);
  else if (!PRINTABLE_ASCII.test(value)) report('employeeId', 'EMPLOYEE_ID_CHARACTERS', value);
}

interface SentText {
  sent: string;
  changed: boolean;
}

function checkNameCell(value: string, report: Report): SentText | undefined {
  if (value.length > MAX_CELL) return void report('name', 'NAME_TOO_LONG', value);
  const checked = checkName(value);
  if (!checked.ok) return void report('name', 'NAME_CHARACTERS', value, describe(checked.faults));
  if (!/[A-Za-z]/.test(checked.sepaName)) return void report('name', 'NAME_MISSING', value);
  if (checked.sepaName.length > MAX_NAME) return void report('name', 'NAME_TOO_LONG', value);
  return { sent: checked.sepaName, changed: checked.changed };
}

const TOTALS_REMEDY =
  'Fill in the IBAN of the employee. Where this is a line of totals, delete it, or say in a profile how many there are (totals).';

function checkIbanCell(
  { iban: value, name, employeeId }: PayFileRow,
  context: RowContext,
  report: Report,
): { iban: string; country: string } | undefined {
  const checked = validateIban(value);
  if (!checked.ok) {
    const remedy = value === '' && (name === '' || employeeId === '') ? TOTALS_REMEDY : undefined;
    return void report('iban', checked.code, value, checked.message, remedy);
  }
  if (sameIban(checked.iban, context.debtorIban)) return void report('iban', 'CREDITOR_IS_DEBTOR', value);
  return checked;
}

function checkBicCell(value: string, ibanCountry: string | undefined, report: Report): string | undefined {
  if (value === '') return undefined;
  const checked = validateBic(value, ibanCountry);
  if (!checked.ok) return void report('bic', checked.code, value, checked.message);
  return checked.bic;
}

const AMOUNT_CODES: Readonly<Record<AmountFault, RowFaultCode>> = {
  EMPTY: 'AMOUNT_MISSING',
  NOT_PLAIN_DECIMAL: 'AMOUNT_FORMAT',
  TOO_MANY_DECIMALS: 'AMOUNT_DECIMALS',
  BELOW_MINIMUM: 'AMOUNT_TOO_SMALL',
  ABOVE_MAXIMUM: 'AMOUNT_TOO_LARGE',
};

function checkAmount(value: string, { amounts }: RowContext, report: Report): bigint | undefined {
  const parsed = readAmount(value, amounts);
  if (parsed.ok) return parsed.amountMinor;
  const code = !amounts && isAmbiguousAmount(value) ? 'AMOUNT_AMBIGUOUS' : AMOUNT_CODES[parsed.reason];
  const remedy = amounts && code === 'AMOUNT_FORMAT' ? amountRemedy(amounts) : undefined;
  return void report('amount', code, value, undefined, remedy);
}

function amountRemedy(style: AmountStyle): string {
  return `Write ${exampleAmount(style)}, as the profile of the file says: no sign, exponent or currency.`;
}

/** Reads the amount of one payment, or within other bounds, in the style declared or plainly. */
export function readAmount(
  text: string,
  style: AmountStyle | undefined,
  bounds: AmountBounds = PAYMENT_BOUNDS,
): ParsedAmount {
  return style ? parseStyledAmount(text, style, bounds) : parseDecimalAmount(text, bounds);
}

function checkCurrency(value: string, report: Report): Currency | undefined {
  if (value === 'EUR') return value;
  return void report('currency', value === '' ? 'CURRENCY_MISSING' : 'CURRENCY_NOT_SUPPORTED', value);
}

function checkRemittance(
  { remittance, employeeId }: PayFileRow,
  context: RowContext,
  report: Report,
): SentText | undefined {
  const text = remittance || context.defaultRemittance(employeeId);
  if (text.length > MAX_CELL) return void report('remittance', 'REMITTANCE_TOO_LONG', text);
  const checked = checkName(text);
  if (!checked.ok) return void report('remittance', 'REMITTANCE_CHARACTERS', text, describe(checked.faults));
  if (checked.sepaName.length > MAX_REMITTANCE) return void report('remittance', 'REMITTANCE_TOO_LONG', text);
  return { sent: checked.sepaName, changed: checked.changed };
}

function checkExecutionDate(
  value: string,
  { dateOrder = 'YMD', executionDate }: RowContext,
  report: Report,
): void {
  const date = readWrittenDate(value, dateOrder);
  if (date === undefined) {
    const remedy = dateOrder === 'YMD' ? undefined : dateRemedy(dateOrder, executionDate);
    report('executionDate', 'EXECUTION_DATE_FORMAT', value, undefined, remedy);
  } else if (executionDate !== undefined && date !== executionDate) {
    const message = `The row is to be paid on ${writeDate(date, dateOrder)}, the run on ${writeDate(executionDate, dateOrder)}.`;
    report('executionDate', 'EXECUTION_DATE_DIFFERS', value, message);
  }
}

function dateRemedy(order: DateOrder, executionDate: IsoDate = '2026-11-27'): string {
  return `Write the day of the run as in ${writeDate(executionDate, order)}, in the order that the profile of the file says.`;
}

// A name in another script is wrong in every letter; the first few say enough.
const MAX_NAMED_CHARACTERS = 5;

function describe(faults: readonly OffendingCharacter[]): string {
  const all = faults.map((fault) => `${fault.codePoint} at character ${fault.column}`);
  return `These characters cannot be sent: ${textOfFirstFew(all, MAX_NAMED_CHARACTERS)}.`;
}

/** What of a row is sent to the bank or decides who is paid: the part an approval covers. */
export type ApprovedFields = Pick<
  CheckedRow,
  'employeeId' | 'sepaName' | 'iban' | 'bic' | 'amountMinor' | 'currency' | 'remittance'
> & {
  /** UUID of the payment that this one is made instead of. */
  replacesPaymentId?: string | null;
};

/**
 * One row as text for the row hash: a JSON array of strings and nulls, so that no two different rows read alike. The
 * order is fixed; a change of it needs a new first element. What replaces nothing is hashed as before there were
 * successors.
 */
export function canonicalRow(row: ApprovedFields): string {
  const fields = [
    row.employeeId,
    row.sepaName,
    row.iban,
    row.bic ?? null,
    row.amountMinor.toString(),
    row.currency,
    row.remittance,
  ];
  const replaces = row.replacesPaymentId ?? null;
  return JSON.stringify(replaces === null ? ['row-1', ...fields] : ['row-2', ...fields, replaces]);
}
