import { AS_ANOTHER_KIND } from '../domain/hold';
import { PayFileColumn, ROW_FAULT_CODES, RowFault } from '../domain/pay-file';
import { Encoding } from '../domain/pay-file-encoding';
import { Problem } from '../http/problem';

/** The columns as a pay file in English spells them. */
export const COLUMN_NAMES: Readonly<Record<PayFileColumn, string>> = {
  employeeId: 'employee_id',
  name: 'name',
  iban: 'iban',
  bic: 'bic',
  amount: 'amount',
  currency: 'currency',
  remittance: 'remittance',
  executionDate: 'execution_date',
};

const HEADER = 'employee_id,name,iban,bic,amount,currency,remittance';

/** What each fault of a file, rather than of one cell, means and what the uploader can do. The codes are stable. */
const FILE_FAULT_CODES = {
  FILE_EMPTY: { meaning: 'The file is empty.', remedy: `Begin it with the header ${HEADER}.` },
  FILE_IS_A_WORKBOOK: {
    meaning: 'The file is a workbook, such as Excel saves, and no CSV.',
    remedy: 'Open it, save the sheet as “CSV UTF-8” and upload that with encoding=utf-8.',
  },
  NO_ROWS: { meaning: 'The file has a header and no rows.', remedy: 'Add one row for each employee.' },
  ENCODING_NOT_UTF8: {
    meaning: 'The file is not UTF-8, and its encoding is never guessed.',
    remedy:
      'Look at `readings`: upload the file again with encoding= and the encoding in which it reads right, or save it as “CSV UTF-8” and upload that with encoding=utf-8.',
  },
  ENCODING_NOT_AS_SAID: {
    meaning: 'The file is not in the encoding it is said to have.',
    remedy: 'Save it as “CSV UTF-8” and upload that with encoding=utf-8.',
  },
  COLUMN_MISSING: {
    meaning: 'A column is missing.',
    remedy: `The header is ${HEADER}, in any order. Delete the lines of a title before it, or say in a profile how many there are (titleLines).`,
  },
  COLUMN_TWICE: {
    meaning: 'Two columns mean the same.',
    remedy: 'Delete one of the two, or say in a profile which of them is ignored.',
  },
  COLUMN_UNKNOWN: {
    meaning: 'This column is not known, and no column is ignored.',
    remedy: `Delete it, correct its name, or say in a profile what it means or that it is ignored: the header is ${HEADER}, also in seven other languages.`,
  },
  FIELDS_TOO_FEW: {
    meaning: 'The row has fewer fields than the header.',
    remedy:
      'Look for a missing separator; a field that stays empty keeps its own. Delete a line of totals, or say in a profile how many there are (totals).',
  },
  FIELDS_TOO_MANY: {
    meaning: 'The row has more fields than the header.',
    remedy: 'Put a field that holds a separator between double quotes.',
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
  TOO_MANY_BLANK_LINES: {
    meaning: 'The file has more blank lines than two spreadsheets.',
    remedy: 'Delete the blank lines, or copy the rows into a new file.',
  },
  TOTALS_LINE_IS_A_ROW: {
    meaning: 'The profile says that this line holds totals, and it looks like somebody’s pay.',
    remedy: 'Correct the number of totals lines in the profile: no row is left out.',
  },
  TOTALS_COLUMN_MISSING: {
    meaning: 'The profile looks for a total in a column that the file does not have.',
    remedy: 'Correct the name of the column in the profile.',
  },
  TOTALS_UNREADABLE: {
    meaning: 'The totals line holds no number where the profile looks for one.',
    remedy: 'Look whether the file is complete, or correct the profile.',
  },
  ROWS_NOT_AS_DECLARED: {
    meaning: 'The file has another number of rows than is declared.',
    remedy: 'Look for rows that are missing or too many, or correct what is declared.',
  },
  TOTAL_NOT_AS_DECLARED: {
    meaning: 'The amounts add up to another total than is declared.',
    remedy: 'Look for an amount that was changed, or correct what is declared.',
  },
  TOTAL_NOT_COMPARED: {
    meaning:
      'A total is declared, and an amount of the file cannot be read: nobody knows whether they agree.',
    remedy: 'Correct the amount, or declare no total for this upload.',
  },
  EMPLOYEE_NOT_REPAYABLE: {
    meaning: 'An earlier payment of the employee ended in a way that may have paid after all.',
    remedy: `Leave the row out until the open attention about that payment is decided; for good where what the bank shows contradicts its end. ${AS_ANOTHER_KIND}`,
  },
  CORRECTS_NO_ROW: {
    meaning: 'The row belongs to no row of the run that is kept back, or to one that another row corrects.',
    remedy:
      'Leave payrun_errors, or else the employee id, as it is in the corrections file; upload further people as a supplement.',
  },
  ROW_ALREADY_CORRECTED: {
    meaning: 'The row was corrected before, and otherwise than now.',
    remedy: 'Delete the row from the corrections; amend the run if what it pays is wrong.',
  },
  CORRECTED_ROW_NOT_PAID: {
    meaning: 'The row was corrected before, and its payment was left out or ended unpaid.',
    remedy:
      'Delete the row from the corrections. Once its run is approved, upload it as a supplement, or make a successor of that run with the payment’s id.',
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
  /** What a cell would say in each encoding that the file may have. */
  readings?: readonly Reading[];
}

/** A cell as one encoding reads it. */
export interface Reading {
  encoding: Encoding;
  text: string;
}

const CODES: Readonly<Record<PayFileFault['code'], { remedy: string }>> = {
  ...ROW_FAULT_CODES,
  ...FILE_FAULT_CODES,
};

/** What can be done about a fault. */
export function remedyOf(code: PayFileFault['code']): string {
  return CODES[code].remedy;
}

/** What is known of a fault besides its code and line. */
export interface FaultPlace {
  column?: string;
  value?: string;
  message?: string;
  remedy?: string;
  readings?: readonly Reading[];
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
    remedy: place.remedy ?? remedy,
    ...(place.readings && { readings: place.readings }),
  };
}

/** Each column by the name that the file has for it. */
export type ColumnNames = Readonly<Record<PayFileColumn, string>>;

/** A fault of one cell, with the column named as in the file. */
export function cellFault(fault: RowFault, names: ColumnNames): PayFileFault {
  return { ...fault, column: names[fault.column] };
}

/** A thousand faults are more than anybody corrects by hand, and half a megabyte of answer. */
export const MAX_SHOWN_FAULTS = 1_000;

/** Faults in the order of their lines: all are counted, the first 1,000 kept. */
export class PayFileFaults {
  private shown: PayFileFault[] = [];
  private total = 0;
  private ofFile = false;

  get count(): number {
    return this.total;
  }

  /** Whether one of them is the file's own, so that it is refused whatever its rows are. */
  get refuseFile(): boolean {
    return this.ofFile;
  }

  /** Faults of the file itself. */
  addOfFile(faults: readonly PayFileFault[]): void {
    this.ofFile ||= faults.length > 0;
    this.merge(faults, faults.length);
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

/** Where the faulty rows of a refused file can be fetched in its own layout, and how long. */
export interface RefusedFile {
  /** `rfl_…` */
  id: string;
  rows: number;
  /** At the latest: only the last of an employer's refused files are kept. */
  keptUntil: string;
}

/** The answer to a file with faults: it is refused as a whole. */
export function refusePayFile(faults: PayFileFaults, corrections: RefusedFile | null = null): Problem {
  const detail = 'Nothing of the file is paid; correct every fault and upload it again.';
  return new Problem(422, 'PAY_FILE_REFUSED', detail, {
    faultCount: faults.count,
    faults: faults.first(),
    corrections,
  });
}
