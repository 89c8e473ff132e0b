import { PayFileColumn, PayFileRow } from '../domain/pay-file';
import { ColumnMeaning, ERRORS_COLUMN, headerReader, PayFileProfile } from '../domain/pay-file-profile';
import { CsvRecord } from './csv-reader';
import { COLUMN_NAMES, ColumnNames, fileFault, PayFileFault } from './pay-file-fault';

const OPTIONAL: ReadonlySet<PayFileColumn> = new Set(['bic', 'remittance', 'executionDate']);
const FIELDS = Object.keys(COLUMN_NAMES) as PayFileColumn[];

/** What one header of the file was found to mean; null where it means nothing. */
export interface FoundColumn {
  header: string;
  meaning: ColumnMeaning | null;
  by: 'profile' | 'name' | null;
}

/** Where each column of one file stands, and what the file calls it. */
export interface Columns {
  width: number;
  /** Columns after the last name, in which every row is to be empty. */
  nameless: readonly number[];
  places: Readonly<Partial<Record<PayFileColumn, number>>>;
  names: ColumnNames;
  /** Values of fields that have no column. */
  constants: Readonly<Partial<Record<PayFileColumn, string>>>;
  /** The headers as they are written, trimmed. */
  headers: readonly string[];
}

/** A header as it was read: `columns` is there exactly when there are no faults. */
export interface Header {
  found: FoundColumn[];
  columns?: Columns;
  faults: PayFileFault[];
}

/**
 * Reads the header: the columns `employee_id,name,iban,bic,amount,currency,remittance,execution_date` in any order,
 * by the names of the profile or those known in eight languages. `bic`, `remittance` and `execution_date` may be
 * absent, and so may what the profile gives for all rows. Columns without a name after the last one, which spreadsheets
 * leave, are passed over.
 */
export function readHeader({ line, cells }: CsvRecord, profile: PayFileProfile): Header {
  const meaningOf = headerReader(profile);
  const faults: PayFileFault[] = [];
  const places: Partial<Record<PayFileColumn, number>> = {};
  const headers = cells.map((cell) => cell.trim());
  const lastNamed = headers.findLastIndex((header) => header !== '' && header !== ERRORS_COLUMN);
  const nameless: number[] = [];
  const found = headers.map((header, index): FoundColumn => {
    const read = meaningOf(header);
    const field = read?.meaning;
    if (field === undefined && header === '' && index > lastNamed) {
      nameless.push(index);
      return { header, meaning: 'ignored', by: null };
    }
    if (field === undefined) faults.push(unknownColumn(line, header, index));
    else if (field === 'ignored') return { header, meaning: field, by: read?.by ?? null };
    else if (places[field] !== undefined)
      faults.push(columnTwice(line, header, headers[places[field]] ?? ''));
    else places[field] = index;
    return { header, meaning: field ?? null, by: read?.by ?? null };
  });
  const constants = constantsOf(profile, places);
  for (const field of FIELDS) {
    const given = places[field] !== undefined || constants[field] !== undefined;
    if (!given && !OPTIONAL.has(field)) faults.push(missingColumn(line, COLUMN_NAMES[field]));
  }
  if (faults.length > 0) return { found, faults };
  const names = { ...COLUMN_NAMES };
  for (const field of FIELDS) names[field] = headers[places[field] ?? headers.length] ?? names[field];
  return { found, columns: { width: cells.length, nameless, places, names, constants, headers }, faults };
}

function constantsOf(
  { constants }: PayFileProfile,
  places: Columns['places'],
): Partial<Record<PayFileColumn, string>> {
  const { currency, remittance } = constants;
  return {
    ...(currency !== undefined && places.currency === undefined && { currency }),
    ...(remittance !== undefined && places.remittance === undefined && { remittance }),
  };
}

// A column's name is a few letters; a cell of a file without a header may be anything.
const MAX_SHOWN_NAME = 40;

const IGNORE_NAMELESS =
  'say in a profile that columns without a name are ignored: {"columns":{"":"ignored"}}.';

function unknownColumn(line: number, name: string, index: number): PayFileFault {
  if (name !== '')
    return columnFault(line, 'COLUMN_UNKNOWN', name, `The column “${shown(name)}” is not known.`);
  const message = `Column ${index + 1} of the header has no name.`;
  const remedy = `Name it, delete it, or ${IGNORE_NAMELESS}`;
  return fileFault(line, 'COLUMN_UNKNOWN', { column: '', message, remedy });
}

function columnTwice(line: number, name: string, first: string): PayFileFault {
  const message =
    name === first
      ? `The column “${shown(name)}” is there twice.`
      : `The columns “${shown(first)}” and “${shown(name)}” mean the same.`;
  return columnFault(line, 'COLUMN_TWICE', name, message);
}

function missingColumn(line: number, name: string): PayFileFault {
  return columnFault(line, 'COLUMN_MISSING', name, `The column “${name}” is missing.`);
}

function columnFault(
  line: number,
  code: 'COLUMN_UNKNOWN' | 'COLUMN_TWICE' | 'COLUMN_MISSING',
  name: string,
  message: string,
): PayFileFault {
  return fileFault(line, code, { column: shown(name), value: shown(name), message });
}

function shown(name: string): string {
  return name.slice(0, MAX_SHOWN_NAME);
}

/** One record as a row, or the fault that its cells do not stand below the header's. */
export function toRow(
  record: CsvRecord,
  { width, nameless, places, constants }: Columns,
): PayFileRow | PayFileFault {
  const { line, cells } = record;
  if (cells.length !== width) {
    const code = cells.length < width ? 'FIELDS_TOO_FEW' : 'FIELDS_TOO_MANY';
    return fileFault(line, code, {
      message: `The row has ${cells.length} fields; the header has ${width}.`,
    });
  }
  const filled = nameless.find((place) => cells[place] !== '');
  if (filled !== undefined) {
    const message = `The row has something in column ${filled + 1}, which has no name in the header.`;
    const remedy = `Put a field that holds a separator between double quotes, empty this one, or ${IGNORE_NAMELESS}`;
    return fileFault(line, 'FIELDS_TOO_MANY', { value: shown(cells[filled] ?? ''), message, remedy });
  }
  const cell = (field: PayFileColumn): string => cells[places[field] ?? width] ?? constants[field] ?? '';
  return {
    line,
    employeeId: cell('employeeId'),
    name: cell('name'),
    iban: cell('iban'),
    bic: cell('bic'),
    amount: cell('amount'),
    currency: cell('currency'),
    remittance: cell('remittance'),
    executionDate: places.executionDate === undefined ? undefined : cell('executionDate'),
  };
}
