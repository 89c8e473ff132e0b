import { PayFileColumn, PayFileRow } from '../domain/pay-file';
import { CsvRecord } from './csv-reader';
import { COLUMN_NAMES, fileFault, PayFileFault } from './pay-file-fault';

const OPTIONAL: ReadonlySet<PayFileColumn> = new Set(['bic', 'remittance']);
const FIELD_OF_NAME = new Map(
  Object.entries(COLUMN_NAMES).map(([field, name]) => [name, field as PayFileColumn]),
);
const OTHER_DELIMITERS = [';', '\t', '|'] as const;
const DELIMITER_NAMES = { ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' } as const;

/** Where each column of one file stands. */
export interface Columns {
  width: number;
  places: Readonly<Partial<Record<PayFileColumn, number>>>;
}

/**
 * Reads the header: `employee_id,name,iban,bic,amount,currency,remittance` in any order, `bic` and `remittance` may
 * be absent; case and spaces around a name do not matter. `columns` is there exactly when there are no faults.
 */
export function readHeader(header: CsvRecord): { columns?: Columns; faults: PayFileFault[] } {
  const whole = faultOfHeader(header);
  if (whole) return { faults: [whole] };
  const faults: PayFileFault[] = [];
  const places: Partial<Record<PayFileColumn, number>> = {};
  header.cells.forEach((cell, index) => {
    const name = cell.trim().toLowerCase();
    const field = FIELD_OF_NAME.get(name);
    if (field === undefined) faults.push(columnFault(header.line, 'COLUMN_UNKNOWN', cell));
    else if (places[field] !== undefined) faults.push(columnFault(header.line, 'COLUMN_TWICE', name));
    else places[field] = index;
  });
  for (const [name, field] of FIELD_OF_NAME) {
    if (places[field] === undefined && !OPTIONAL.has(field)) {
      faults.push(columnFault(header.line, 'COLUMN_MISSING', name));
    }
  }
  return faults.length > 0 ? { faults } : { columns: { width: header.cells.length, places }, faults };
}

/** A header read with the wrong separators would be told as a dozen faults of columns. */
function faultOfHeader({ line, cells }: CsvRecord): PayFileFault | undefined {
  if (cells.some((cell) => cell.includes('\r'))) return fileFault(line, 'LINE_ENDING');
  const only = cells.length === 1 ? cells[0] : undefined;
  const delimiter = OTHER_DELIMITERS.find((candidate) => only?.includes(candidate));
  if (delimiter === undefined) return undefined;
  const message = `The columns are separated by ${DELIMITER_NAMES[delimiter]}, not by commas.`;
  return fileFault(line, 'DELIMITER', { value: delimiter, message });
}

function columnFault(
  line: number,
  code: 'COLUMN_UNKNOWN' | 'COLUMN_TWICE' | 'COLUMN_MISSING',
  name: string,
): PayFileFault {
  // A column's name is a few letters; a cell of a file without a header may be anything.
  const shown = name.slice(0, 40);
  const verb = {
    COLUMN_UNKNOWN: 'is not known',
    COLUMN_TWICE: 'is there twice',
    COLUMN_MISSING: 'is missing',
  };
  const message = `The column “${shown}” ${verb[code]}.`;
  return fileFault(line, code, { column: shown, value: shown, message });
}

/** One record as a row, or the fault that its number of cells is not the header's. */
export function toRow(record: CsvRecord, { width, places }: Columns): PayFileRow | PayFileFault {
  const { line, cells } = record;
  if (cells.length !== width) {
    const code = cells.length < width ? 'FIELDS_TOO_FEW' : 'FIELDS_TOO_MANY';
    return fileFault(line, code, {
      message: `The row has ${cells.length} fields; the header has ${width}.`,
    });
  }
  const cell = (field: PayFileColumn): string => cells[places[field] ?? width] ?? '';
  return {
    line,
    employeeId: cell('employeeId'),
    name: cell('name'),
    iban: cell('iban'),
    bic: cell('bic'),
    amount: cell('amount'),
    currency: cell('currency'),
    remittance: cell('remittance'),
  };
}
