import { AmountStyle } from '../domain/amount-style';
import { foldHeader } from '../domain/header-names';
import { formatMinor } from '../domain/money';
import { readAmount } from '../domain/pay-file';
import { PayFileProfile } from '../domain/pay-file-profile';
import { CsvRecord } from './csv-reader';
import { Columns } from './pay-file-columns';
import { fileFault, PayFileFault } from './pay-file-fault';

/** What the uploader, or the file's own totals line, says is in the file. */
export interface Declaration {
  rows?: number;
  totalMinor?: bigint;
  /** Where it is said; line 1, of the file as a whole, where it came with the upload. */
  line?: number;
}

/** What was read of a file; the total is undefined when an amount could not be read. */
export interface ReadRows {
  rows: number;
  totalMinor: bigint | undefined;
}

/** The faults of a file whose rows are not what is declared. */
export function faultsOfDeclaration(declared: Declaration, read: ReadRows): PayFileFault[] {
  const line = declared.line ?? 1;
  const faults: PayFileFault[] = [];
  if (declared.rows !== undefined && declared.rows !== read.rows) {
    const message = `${declared.rows} rows are declared; the file has ${read.rows}.`;
    faults.push(fileFault(line, 'ROWS_NOT_AS_DECLARED', { value: String(declared.rows), message }));
  }
  const { totalMinor } = declared;
  if (totalMinor === undefined || totalMinor === read.totalMinor) return faults;
  const value = formatMinor(totalMinor);
  if (read.totalMinor === undefined) {
    faults.push(fileFault(line, 'TOTAL_NOT_COMPARED', { value }));
  } else {
    const message = `A total of ${value} is declared; the amounts add up to ${formatMinor(read.totalMinor)}.`;
    faults.push(fileFault(line, 'TOTAL_NOT_AS_DECLARED', { value, message }));
  }
  return faults;
}

/** Reads what the profile looks for in the first totals line. */
export function readTotalsLine(
  lines: readonly CsvRecord[],
  { headers }: Columns,
  { totals, amounts }: PayFileProfile,
): { declared: Declaration; faults: PayFileFault[] } {
  const faults: PayFileFault[] = [];
  const [first] = lines;
  const line = first?.line ?? 1;
  const cellOf = (column: string | undefined): string | undefined => {
    if (column === undefined) return undefined;
    const place = headers.findIndex((header) => foldHeader(header) === foldHeader(column));
    if (place < 0) faults.push(fileFault(1, 'TOTALS_COLUMN_MISSING', { column, value: column }));
    return place < 0 ? undefined : (first?.cells[place] ?? '').trim();
  };
  const hundredthsOf = (column: string | undefined, step: bigint): bigint | undefined => {
    const cell = cellOf(column);
    if (cell === undefined) return undefined;
    const hundredths = hundredthsIn(cell, amounts);
    if (hundredths === undefined || hundredths % step !== 0n) {
      faults.push(fileFault(line, 'TOTALS_UNREADABLE', { column, value: cell.slice(0, MAX_SHOWN) }));
    }
    return hundredths;
  };
  const rows = hundredthsOf(totals.countColumn, 100n);
  const totalMinor = hundredthsOf(totals.totalColumn, 1n);
  return {
    declared: { line, rows: rows === undefined ? undefined : Number(rows / 100n), totalMinor },
    faults,
  };
}

// What is shown of a cell that should be a number.
const MAX_SHOWN = 40;

/** The most a file of ten million rows can come to, and room above it. */
export const MAX_DECLARED_TOTAL_MINOR = 10n ** 20n;

/** A million times the most a payment may be: what ten million rows add up to is stored still. */
const MAX_ADDED_MINOR = 10n ** 16n;

/** The amount of a row for the total, also where no payment may be of so little or so much; undefined where it says none. */
export function amountForTotal(text: string, style: AmountStyle | undefined): bigint | undefined {
  return hundredthsIn(text, style, MAX_ADDED_MINOR);
}

function hundredthsIn(
  text: string,
  style: AmountStyle | undefined,
  maxMinor = MAX_DECLARED_TOTAL_MINOR,
): bigint | undefined {
  const read = readAmount(text, style, { minMinor: 0n, maxMinor });
  return read.ok ? read.amountMinor : undefined;
}
