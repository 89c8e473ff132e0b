import { isUtf8 } from 'node:buffer';
import { CsvError, parse, Parser } from 'csv-parse';
import { CsvUnreadable } from './csv-unreadable';
import {
  CARRIAGE_RETURN,
  CsvDialect,
  Dialect,
  LINE_FEED,
  MAX_RECORD_BYTES,
  openCsv,
  QUOTE,
  SaidOfCsv,
} from './dialect';
import { decode } from './encoding';
import { fileFault, FileFaultCode, PayFileFault, remedyOf } from './pay-file-fault';

/** One record: its cells as text, and the line it begins in, from 1 (quoted cells may hold further lines). */
export interface CsvRecord {
  line: number;
  cells: string[];
}

/** Twice the lines of a spreadsheet, which may be saved with all of them; a file of nothing else would be read for minutes. */
export const MAX_BLANK_LINES = 2_097_152;

/**
 * Reads CSV (RFC 4180) in batches of whole records, the header first. Commas, semicolons, tabs or vertical bars
 * separate the cells, LF, CRLF or CR the lines: both are found on the header line. No cell is trimmed, converted or
 * repaired; blank lines are passed over, up to a number.
 * @param tell is told the dialect before the first batch.
 * @throws CsvUnreadable at the first byte that is no character, or quote that leaves the rest without a meaning; records
 * before a quote were yielded.
 */
export async function* readCsv(
  bytes: AsyncIterable<Buffer>,
  said: SaidOfCsv = {},
  tell: (dialect: Dialect) => void = () => undefined,
): AsyncGenerator<CsvRecord[]> {
  const { encoding, marked, utf8 } = await decode(bytes, said.encoding);
  try {
    const { dialect, head } = await openCsv(utf8, said);
    tell({ encoding, marked, ...dialect });
    yield* readRecords(wholeLines(head, utf8, dialect), dialect);
  } catch (error) {
    throw marked && error instanceof CsvUnreadable && error.undecoded ? damaged(error.fault) : error;
  } finally {
    await utf8.return(undefined);
  }
}

async function* readRecords(
  pieces: AsyncIterable<Buffer>,
  { delimiter, lineEnding, headerLine }: CsvDialect,
): AsyncGenerator<CsvRecord[]> {
  const found: string[][] = [];
  const parser = parse({
    delimiter,
    record_delimiter: lineEnding === 'CR' ? ['\r'] : ['\r\n', '\n'],
    max_record_size: MAX_RECORD_BYTES,
    // Every row is handed over, so that the faults of all rows are told at once; the caller counts the cells.
    relax_column_count: true,
  });
  // The error is taken from the write that met it.
  parser.on('error', () => undefined);
  // The option `on_record` would be told the state of the parser with every row, for twice the garbage.
  parser.on('data', (record: string[]) => void found.push(record));
  const lineBreak = lineEnding === 'CR' ? '\r' : '\n';
  let line = headerLine;
  let blank = 0;
  const takeRecords = (): CsvRecord[] => {
    const records: CsvRecord[] = [];
    for (const cells of found.splice(0)) {
      if (cells.length > 1 || cells[0] !== '') records.push({ line, cells });
      if (cells[0] === '' && cells.every((cell) => cell === '')) blank += 1;
      if (blank > MAX_BLANK_LINES) throw new CsvUnreadable(fileFault(line, 'TOO_MANY_BLANK_LINES'));
      line += linesOf(cells, lineBreak);
    }
    return records;
  };
  let plain = true;
  try {
    for await (const piece of pieces) {
      plain &&= piece.length <= MAX_RECORD_BYTES && !piece.includes(QUOTE);
      if (plain) found.push(...splitPlain(piece.toString(), delimiter, lineEnding));
      const failure = plain ? undefined : await write(parser, piece);
      yield takeRecords();
      if (failure) throw unreadable(failure, line);
    }
    const failure = await end(parser);
    yield takeRecords();
    if (failure) throw unreadable(failure, line);
  } finally {
    parser.destroy();
  }
}

/**
 * The cells of whole lines. Before the first quote of a file nothing else than its separators has a meaning, and to look
 * for these takes a fifth of the parser's time.
 */
function splitPlain(text: string, delimiter: string, lineEnding: Dialect['lineEnding']): string[][] {
  const lines = text.split(lineEnding === 'CR' ? '\r' : /\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => line.split(delimiter));
}

/** The bytes again in pieces that end with a line, each of them checked to be UTF-8. */
async function* wholeLines(
  head: Buffer,
  bytes: AsyncIterator<Buffer>,
  { lineEnding, headerLine }: CsvDialect,
): AsyncGenerator<Buffer> {
  const lineBreak = lineEnding === 'CR' ? CARRIAGE_RETURN : LINE_FEED;
  let rest: Buffer = Buffer.alloc(0);
  let line = headerLine;
  for (let chunk: Buffer | undefined = head; chunk; chunk = await nextOf(bytes)) {
    const joined: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const cut = joined.lastIndexOf(lineBreak) + 1;
    rest = joined.subarray(cut);
    const piece = joined.subarray(0, cut);
    if (cut > 0) {
      assertUtf8(piece, line, lineBreak);
      yield piece;
      line += countLines(piece, lineBreak);
    }
    if (rest.length > MAX_RECORD_BYTES) throw new CsvUnreadable(fileFault(line, 'ROW_TOO_LONG'));
  }
  assertUtf8(rest, line, lineBreak);
  if (rest.length > 0) yield rest;
}

async function nextOf(bytes: AsyncIterator<Buffer>): Promise<Buffer | undefined> {
  const next = await bytes.next();
  return next.done ? undefined : next.value;
}

function countLines(piece: Buffer, lineBreak: number): number {
  let lines = 0;
  for (let at = piece.indexOf(lineBreak); at >= 0; at = piece.indexOf(lineBreak, at + 1)) lines += 1;
  return lines;
}

/** A line break never lies within a character, so each piece of whole lines can be judged by itself. */
function assertUtf8(piece: Buffer, firstLine: number, lineBreak: number): void {
  if (isUtf8(piece)) return;
  let line = firstLine;
  let start = 0;
  for (;;) {
    const end = piece.indexOf(lineBreak, start) + 1 || piece.length;
    const bytes = piece.subarray(start, end);
    if (!isUtf8(bytes)) throw notUtf8(bytes, line);
    line += 1;
    start = end;
  }
}

function notUtf8(bytes: Buffer, line: number): CsvUnreadable {
  // Decoding replaces what is invalid, so the first difference to the original is the first invalid byte.
  const repaired = Buffer.from(bytes.toString('utf8'));
  const at = bytes.findIndex((byte, index) => byte !== repaired[index]);
  const character = [...bytes.subarray(0, at).toString('utf8')].length + 1;
  const hex = (bytes[at] ?? 0).toString(16).toUpperCase().padStart(2, '0');
  const message = `The byte ${hex} at character ${character} of line ${line} is not UTF-8.`;
  return new CsvUnreadable(fileFault(line, 'ENCODING_NOT_UTF8', { value: `0x${hex}`, message }), bytes);
}

/** A file that begins with a mark is in no other encoding than that: it can only be written anew. */
function damaged({ line, value, message }: PayFileFault): CsvUnreadable {
  const remedy = remedyOf('ENCODING_NOT_AS_SAID');
  return new CsvUnreadable(fileFault(line, 'ENCODING_NOT_UTF8', { value, message, remedy }));
}

// The parser's own count takes a CRLF within quotes for two lines.
function linesOf(cells: readonly string[], lineBreak: string): number {
  let lines = 1;
  for (const cell of cells) {
    for (let at = cell.indexOf(lineBreak); at >= 0; at = cell.indexOf(lineBreak, at + 1)) lines += 1;
  }
  return lines;
}

function write(parser: Parser, piece: Buffer): Promise<Error | undefined> {
  return new Promise((resolve) => parser.write(piece, (error) => resolve(error ?? undefined)));
}

function end(parser: Parser): Promise<Error | undefined> {
  return new Promise((resolve) => {
    parser.once('error', resolve).once('end', () => resolve(undefined));
    parser.end();
  });
}

const FAULT_OF_ERROR: Readonly<Record<string, FileFaultCode>> = {
  CSV_QUOTE_NOT_CLOSED: 'QUOTE_NOT_CLOSED',
  CSV_INVALID_CLOSING_QUOTE: 'QUOTE_MISPLACED',
  INVALID_OPENING_QUOTE: 'QUOTE_MISPLACED',
  CSV_MAX_RECORD_SIZE: 'ROW_TOO_LONG',
};

function unreadable(error: Error, line: number): Error {
  const code = error instanceof CsvError ? FAULT_OF_ERROR[error.code] : undefined;
  if (code === undefined) return error;
  return new CsvUnreadable(fileFault(line, code));
}
