import { PayFileColumn, PayFileRow } from '../domain/pay-file';
import { ERRORS_COLUMN, headerReader, PayFileProfile } from '../domain/pay-file-profile';
import { CsvRecord } from './csv-reader';
import { Dialect, SaidOfCsv } from './dialect';
import { Columns, Header, readHeader, toRow } from './pay-file-columns';
import { fileFault, PayFileFault } from './pay-file-fault';

// Enough to find the line by; what stands there may be anything.
const MAX_SHOWN_LINE = 80;

/** What a file is read by: the profile it was uploaded with, under the encoding said with the upload. */
export function saidOf(profile: PayFileProfile): SaidOfCsv {
  const meaningOf = headerReader(profile);
  return {
    encoding: profile.encoding,
    titleLines: profile.titleLines,
    knows: (header) => meaningOf(header.trim()) !== undefined,
  };
}

/** The employer's own cells of a record, and what the errors column says where the file has one. */
export interface SplitCells {
  own: readonly string[];
  errors: string | undefined;
}

/** How an entry of the errors column begins. */
const ENTRY = /^line ([1-9][0-9]{0,8}): /;

/** Finds header, rows and totals lines among the records of one file. */
export class FileRows {
  header: Header | undefined;
  private headerCells: readonly string[] = [];
  private errorsAt = -1;
  dialect: Dialect | undefined;
  /** The last records read, which are totals lines if the file ends after them. */
  private held: CsvRecord[] = [];

  constructor(private readonly profile: PayFileProfile) {}

  get columns(): Columns | undefined {
    return this.header?.columns;
  }

  /** The records that are rows for certain. After a header with faults there are none. */
  take(records: readonly CsvRecord[]): readonly CsvRecord[] {
    let rows = records;
    const [first, ...others] = records;
    if (!this.header && first) {
      this.header = readHeader(first, this.profile);
      this.headerCells = first.cells;
      this.errorsAt = first.cells.findIndex((name) => name.trim() === ERRORS_COLUMN);
      rows = others;
    }
    if (!this.columns) return [];
    const { lines } = this.profile.totals;
    if (lines === 0) return rows;
    // Only what may be the end of the file is looked at for blank rows before its time.
    const candidates = [...this.held, ...rows.filter((record) => !isBlank(record))];
    this.held = candidates.splice(-lines);
    return candidates;
  }

  /** The totals lines, once the file has ended, and which of them are rows. */
  totals(): { lines: readonly CsvRecord[]; faults: PayFileFault[] } {
    const faults = this.held
      .filter((record) => this.looksLikeRow(record))
      .map(({ line, cells }) =>
        fileFault(line, 'TOTALS_LINE_IS_A_ROW', { value: cells.join(' ').slice(0, MAX_SHOWN_LINE) }),
      );
    return { lines: this.held, faults };
  }

  /** The cells of the header as they are written, without the errors column. */
  get ownHeader(): readonly string[] {
    return this.split({ line: 1, cells: [...this.headerCells] }).own;
  }

  /**
   * Takes the errors column out of a record. In a row with too many or too few cells it cannot be told by its place; it
   * was written to the end, and is known there by how it begins.
   */
  split({ cells }: CsvRecord): SplitCells {
    if (this.errorsAt < 0) return { own: cells, errors: undefined };
    const isWhole = cells.length === this.headerCells.length;
    const place = isWhole ? this.errorsAt : cells.length - 1;
    const errors = cells[place] ?? '';
    if (!isWhole && !ENTRY.test(errors)) return { own: cells, errors: undefined };
    return { own: cells.filter((_, index) => index !== place), errors };
  }

  /** Totals have a label and sums; what names an account, or a person by id and name with an amount, is to be paid. */
  private looksLikeRow({ cells }: CsvRecord): boolean {
    const places = this.columns?.places ?? {};
    const filled = (field: PayFileColumn): boolean =>
      (cells[places[field] ?? cells.length] ?? '').trim() !== '';
    return filled('iban') || (filled('employeeId') && filled('name') && filled('amount'));
  }
}

/** How an entry ends: with the mark of the file whose line it names. */
const FILE_MARK = /\[file ([0-9a-f]{8})\]\s*$/;

/** By which a file with faulty rows is known in its corrections file; two of one employer have the same by accident only. */
export function markOfFile(faultyFileId: string): string {
  return faultyFileId.slice(-8);
}

/** No line has this number. */
export const LINE_OF_ANOTHER_FILE = 0;

/**
 * The line that an entry of the errors column is about; `LINE_OF_ANOTHER_FILE` where it bears another mark than that of
 * the file which is corrected.
 */
export function lineOfEntry(errors = '', fileMark?: string): number | undefined {
  const [, line] = ENTRY.exec(errors) ?? [];
  const [, mark] = FILE_MARK.exec(errors) ?? [];
  if (mark !== undefined && fileMark !== undefined && mark !== fileMark) return LINE_OF_ANOTHER_FILE;
  return line === undefined ? undefined : Number(line);
}

/** Spreadsheets end a file with rows of nothing but separators; they pay nobody. */
function isBlank({ cells }: CsvRecord): boolean {
  return cells.every((cell) => cell === '');
}

/** One record as a row, or its fault; undefined where it is blank. */
export function readRow(record: CsvRecord, columns: Columns): PayFileRow | PayFileFault | undefined {
  return isBlank(record) ? undefined : toRow(record, columns);
}
