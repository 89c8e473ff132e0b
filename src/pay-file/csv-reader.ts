import { isUtf8 } from 'node:buffer';
import { CsvError, parse, Parser } from 'csv-parse';
import { fileFault, FileFaultCode, PayFileFault } from './pay-file-fault';

/** One record: its cells as text, and the line it begins in, from 1 (quoted cells may hold further lines). */
export interface CsvRecord {
  line: number;
  cells: string[];
}

/** The file cannot be read further than this fault. */
export class CsvUnreadable extends Error {
  constructor(readonly fault: PayFileFault) {
    super(`the file cannot be read on after line ${fault.line}: ${fault.code}`);
  }
}

/** The longest row of sensible cells has some 1,500 bytes; a quote left open must not gather the file in memory. */
export const MAX_RECORD_BYTES = 65_536;

const LINE_FEED = 0x0a;

/**
 * Reads comma separated UTF-8 (RFC 4180, lines ended by LF or CRLF, a byte order mark allowed) in batches of whole
 * records. No cell is trimmed, converted or repaired; blank lines are passed over.
 * @throws CsvUnreadable at the first byte that is not UTF-8, or quote that leaves the rest without a meaning; records
 * before a quote were yielded.
 */
export async function* readCsv(bytes: AsyncIterable<Buffer>): AsyncGenerator<CsvRecord[]> {
  const found: string[][] = [];
  const parser = parse({
    bom: true,
    delimiter: ',',
    record_delimiter: ['\r\n', '\n'],
    max_record_size: MAX_RECORD_BYTES,
    // Every row is handed over, so that the faults of all rows are told at once; the caller counts the cells.
    relax_column_count: true,
  });
  // The error is taken from the write that met it.
  parser.on('error', () => undefined);
  // The option `on_record` would be told the state of the parser with every row, for twice the garbage.
  parser.on('data', (record: string[]) => void found.push(record));
  let line = 1;
  const takeRecords = (): CsvRecord[] =>
    found.splice(0).flatMap((cells) => {
      const record = { line, cells };
      line += linesOf(cells);
      return cells.length === 1 && cells[0] === '' ? [] : record;
    });
  try {
    for await (const piece of wholeLines(bytes)) {
      const failure = await write(parser, piece);
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

/** The bytes again in pieces that end with a line, each of them checked to be UTF-8. */
async function* wholeLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  let line = 1;
  for await (const chunk of bytes) {
    const joined = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const cut = joined.lastIndexOf(LINE_FEED) + 1;
    rest = joined.subarray(cut);
    const piece = joined.subarray(0, cut);
    if (cut > 0) {
      assertUtf8(piece, line);
      yield piece;
      line += countLines(piece);
    }
    if (rest.length > MAX_RECORD_BYTES) throw new CsvUnreadable(fileFault(line, 'ROW_TOO_LONG'));
  }
  assertUtf8(rest, line);
  if (rest.length > 0) yield rest;
}

function countLines(piece: Buffer): number {
  let lines = 0;
  for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}

/** A line break never lies within a character, so each piece of whole lines can be judged by itself. */
function assertUtf8(piece: Buffer, firstLine: number): void {
  if (isUtf8(piece)) return;
  let line = firstLine;
  let start = 0;
  for (;;) {
    const end = piece.indexOf(LINE_FEED, start) + 1 || piece.length;
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
  return new CsvUnreadable(fileFault(line, 'ENCODING_NOT_UTF8', { value: `0x${hex}`, message }));
}

// The parser's own count takes a CRLF within quotes for two lines.
function linesOf(cells: readonly string[]): number {
  let lines = 1;
  for (const cell of cells) {
    for (let at = cell.indexOf('\n'); at >= 0; at = cell.indexOf('\n', at + 1)) lines += 1;
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
