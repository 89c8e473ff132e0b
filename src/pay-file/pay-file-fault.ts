import { PayFileColumn, RowFault } from '../domain/pay-file';
import { Problem } from '../http/problem';

/** The columns as a pay file spells them. */
export const COLUMN_NAMES: Readonly<Record<PayFileColumn, string>> = {
  employeeId: 'employee_id',
  name: 'name',
  iban: 'iban',
  bic: 'bic',
  amount: 'amount',
  currency: 'currency',
  remittance: 'remittance',
};

const HEADER = Object.values(COLUMN_NAMES).join(',');

/** What each fault of a file, rather than of one cell, means and what the uploader can do. The codes are stable. */
export const FILE_FAULT_CODES = {
  FILE_EMPTY: { meaning: 'The file is empty.', remedy: `Begin it with the header ${HEADER}.` },
  NO_ROWS: { meaning: 'The file has a header and no rows.', remedy: 'Add one row for each employee.' },
  ENCODING_NOT_UTF8: {
    meaning: 'The file is not UTF-8.',
    remedy: 'Save it as “CSV UTF-8”; letters with accents are never guessed.',
  },
  LINE_ENDING: {
    meaning: 'The lines end with a carriage return alone.',
    remedy: 'Save the file with line feeds, or carriage return and line feed.',
  },
  DELIMITER: {
    meaning: 'The columns are not separated by commas.',
    remedy: 'Save the file with commas between the columns.',
  },
  COLUMN_MISSING: { meaning: 'A column is missing.', remedy: `The header is ${HEADER}, in any order.` },
  COLUMN_TWICE: { meaning: 'A column is there twice.', remedy: 'Keep one of the two and delete the other.' },
  COLUMN_UNKNOWN: {
    meaning: 'This column is not known, and no column is ignored.',
    remedy: `Delete it, or correct its name: the header is ${HEADER}.`,
  },
  FIELDS_TOO_FEW: {
    meaning: 'The row has fewer fields than the header.',
    remedy: 'Look for a missing comma; a field that stays empty keeps its comma.',
  },
  FIELDS_TOO_MANY: {
    meaning: 'The row has more fields than the header.',
    remedy: 'Put a field that holds a comma between double quotes.',
  },
  QUOTE_NOT_CLOSED: {
    meaning: 'A quoted field that begins in this row is not closed.',
    remedy: 'Close the field with a double quote; write a quote within a field twice.',
  },
  QUOTE_MISPLACED: {
    meaning: 'The row holds a double quote where none can be.',
    remedy: 'Put the whole field between double quotes and write a quote within it twice.',
  },
  ROW_TOO_LONG: {
    meaning: 'The row is longer than any row can be.',
    remedy: 'Look for a double quote that is not closed.',
  },
  TOO_MANY_ROWS: {
    meaning: 'The file has more rows than one file may have.',
    remedy: 'Split the payroll into several files.',
  },
  EMPLOYEE_TWICE: {
    meaning: 'The employee is in this file already.',
    remedy: 'Pay each employee in one row; add the amounts up in the payroll.',
  },
  EMPLOYEE_ALREADY_PAID: {
    meaning: 'The employee is paid in another pay run of this period and kind of pay.',
    remedy: 'Leave the row out, or ask an approver to release a further payment, with a reason.',
  },
  EMPLOYEE_NOT_REPAYABLE: {
    meaning: 'An earlier payment of the employee ended in a way that may have paid after all.',
    remedy: 'Leave the row out until the open attention about that payment is decided.',
  },
} as const;

/** The code of a fault of a file or a whole row. */
export type FileFaultCode = keyof typeof FILE_FAULT_CODES;

/**
 * One fault of an uploaded file. `line` counts from 1 and is that where the row begins; `column` is the header's
 * name of the cell's column, null where the fault is the row's or the file's; `value` is what was sent.
 */
export interface PayFileFault {
  line: number;
  column: string | null;
  code: RowFault['code'] | FileFaultCode;
  value: string;
  message: string;
  remedy: string;
}

/** What is known of a fault besides its code and line. */
export interface FaultPlace {
  column?: string;
  value?: string;
  message?: string;
}

/** A fault of the file or of a whole row. */
export function fileFault(line: number, code: FileFaultCode, place: FaultPlace = {}): PayFileFault {
  const { meaning, remedy } = FILE_FAULT_CODES[code];
  return {
    line,
    column: place.column ?? null,
    code,
    value: place.value ?? '',
    message: place.message ?? meaning,
    remedy,
  };
}

/** A fault of one cell, with the column named as in the file. */
export function cellFault(fault: RowFault): PayFileFault {
  return { ...fault, column: COLUMN_NAMES[fault.column] };
}

/** A thousand faults are more than anybody corrects by hand, and half a megabyte of answer. */
export const MAX_SHOWN_FAULTS = 1_000;

/** Faults in the order of their lines: all are counted, the first 1,000 kept. */
export class PayFileFaults {
  private shown: PayFileFault[] = [];
  private total = 0;

  get count(): number {
    return this.total;
  }

  add(faults: readonly PayFileFault[]): void {
    this.total += faults.length;
    this.shown.push(...faults.slice(0, MAX_SHOWN_FAULTS - this.shown.length));
  }

  /** Adds faults found apart from the others: the first ones by line, and how many there are in all. */
  merge(faults: readonly PayFileFault[], total: number): void {
    this.total += total;
    this.shown = [...this.shown, ...faults].sort((a, b) => a.line - b.line).slice(0, MAX_SHOWN_FAULTS);
  }

  first(): readonly PayFileFault[] {
    return this.shown;
  }
}

/** The answer to a file with faults: it is refused as a whole. */
export function refusePayFile(faults: PayFileFaults): Problem {
  const detail = 'Nothing of the file was stored; correct every fault and upload it again.';
  return new Problem(422, 'PAY_FILE_REFUSED', detail, {
    faultCount: faults.count,
    faults: faults.first(),
  });
}
