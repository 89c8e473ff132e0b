import { PersonalData } from '../database/personal-data';
import { Encoding } from '../domain/pay-file-encoding';
import { Dialect } from './dialect';
import { encode, markOf } from './encoding';
import { FileRows } from './file-rows';
import { PayFileFault, remedyOf } from './pay-file-fault';

/** How the employer writes a file: what a corrections file is written by. */
export interface Layout extends Omit<Dialect, 'headerLine'> {
  /** The header's cells as they are written. */
  header: readonly string[];
}

/** The layout of a file whose header was understood. */
export function layoutOf({ dialect, columns, ownHeader }: FileRows): Layout | undefined {
  if (!dialect || !columns) return undefined;
  const { encoding, delimiter, lineEnding, quoted, marked } = dialect;
  return { encoding, delimiter, lineEnding, quoted, marked, header: ownHeader };
}

/** A row as the employer wrote it, with what is wrong with it. Lines count from 1 in the file it came with. */
export interface FaultyRow {
  line: number;
  cells: readonly string[];
  faults: readonly PayFileFault[];
}

type StoredFault = [
  PayFileFault['column'],
  PayFileFault['code'],
  value: string,
  message: string,
  /** Where it is more exact than the code's. */
  remedy?: string,
];

/** The cells of a row as they are stored; they hold names and IBANs. */
export function sealCells(personal: PersonalData, cells: readonly string[]): string {
  return personal.seal(JSON.stringify(cells));
}

/** The cells that `sealCells` stored. */
export function openCells(personal: PersonalData, sealed: string): string[] {
  return JSON.parse(personal.open(sealed)) as string[];
}

/** Faults of one row as they are stored: they show what stands in its cells. */
export function sealFaults(personal: PersonalData, faults: readonly PayFileFault[]): string {
  const stored = faults.map(({ column, code, value, message, remedy }): StoredFault => [
    column,
    code,
    value,
    message,
    ...(remedy === remedyOf(code) ? ([] as const) : ([remedy] as const)),
  ]);
  return personal.seal(JSON.stringify(stored));
}

/** The faults that `sealFaults` stored; a remedy that is the code's is that of today. */
export function openFaults(personal: PersonalData, sealed: string, line: number): PayFileFault[] {
  const stored = JSON.parse(personal.open(sealed)) as StoredFault[];
  return stored.map(([column, code, value, message, remedy]) => ({
    line,
    column,
    code,
    value,
    message,
    remedy: remedy ?? remedyOf(code),
  }));
}

/** What a person reads in one cell; the API tells all of it. */
const MAX_ERRORS_CHARACTERS = 1_000;

/**
 * The entry of the errors column. It begins with the line, by which the row is known when it comes back and which no
 * spreadsheet takes for a formula, whatever the cells it tells of hold. It ends with the mark of the file the line is of.
 */
export function errorsOf({ line, faults }: Pick<FaultyRow, 'line' | 'faults'>, fileMark: string): string {
  const end = ` [file ${fileMark}]`;
  const told = faults.map(
    ({ column, code, message, remedy }) => `${column ?? 'row'}: ${message} ${remedy} (${code})`,
  );
  const text = `line ${line}: ${told.join(' ')}`.replace(/\p{C}+/gu, ' ');
  return text.slice(0, MAX_ERRORS_CHARACTERS - end.length) + end;
}

/**
 * One line of a corrections file. The employer's own cells are written as they were read, also what a spreadsheet would
 * take for a formula: they come back to be paid, and an apostrophe before them would be a letter of a name.
 */
export function writeLine({ delimiter, lineEnding, quoted }: Layout, cells: readonly string[]): string {
  const written = cells.map((cell) =>
    quoted || cell.includes(delimiter) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
  );
  return written.join(delimiter) + LINE_ENDINGS[lineEnding];
}

const LINE_ENDINGS = { LF: '\n', CRLF: '\r\n', CR: '\r' } as const;

/** The bytes of lines in the encoding of the file, with its mark before the first of them. */
export function bytesOf(layout: Layout, lines: string, first: boolean): Buffer {
  const bytes = encode(plainer(lines, layout.encoding), layout.encoding);
  return first && layout.marked ? Buffer.concat([markOf(layout.encoding), bytes]) : bytes;
}

/** Our own words have curly quotes, which ISO-8859-15 has not; no cell read from it can hold one. */
function plainer(text: string, encoding: Encoding): string {
  return encoding === 'iso-8859-15' ? text.replace(/[‘’]/g, "'").replace(/[“”]/g, "'") : text;
}
