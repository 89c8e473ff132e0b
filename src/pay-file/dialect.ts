import { Encoding } from '../domain/pay-file-encoding';
import { CsvUnreadable } from './csv-unreadable';
import { fileFault } from './pay-file-fault';

export const DELIMITERS = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof DELIMITERS)[number];

/** How one file is written. */
export interface Dialect {
  encoding: Encoding;
  delimiter: Delimiter;
  /** CR where lines end with it alone; LF and CRLF may both occur. */
  lineEnding: 'LF' | 'CRLF' | 'CR';
  headerLine: number;
  /** Whether every cell is between quotes, as those of the header are. */
  quoted: boolean;
  /** Whether the file begins with a byte order mark. */
  marked: boolean;
}

/** What the text of a file shows; its encoding is known before. */
export type CsvDialect = Omit<Dialect, 'encoding' | 'marked'>;

/** What is said of a file by those who upload it. */
export interface SaidOfCsv {
  encoding?: Encoding;
  /** Lines before the header, 0 when absent. */
  titleLines?: number;
  /** Whether a header means something; the sign that makes the most of them do so separates the columns. */
  knows?: (header: string) => boolean;
}

/** A file from its header on: `head` was read already. */
export interface Opened {
  dialect: CsvDialect;
  head: Buffer;
}

/** The longest row of sensible cells has some 1,500 bytes; a quote left open must not gather the file in memory. */
export const MAX_RECORD_BYTES = 65_536;

export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const QUOTE = 0x22;

/** Where a line ends, what with and where the next one begins; undefined where more bytes may tell another story. */
interface LineEnd {
  end: number;
  next: number;
  ending: Dialect['lineEnding'];
}

/**
 * Reads on until the header line is whole and finds its dialect. Title lines and blank lines before it are left out.
 * @throws CsvUnreadable `ROW_TOO_LONG` when no line ends, `ENCODING_NOT_UTF8` for UTF-16 without its mark.
 */
export async function openCsv(utf8: AsyncIterator<Buffer>, said: SaidOfCsv): Promise<Opened> {
  let head: Buffer = Buffer.alloc(0);
  const titleLines = said.titleLines ?? 0;
  for (;;) {
    const next = await utf8.next();
    const ended = next.done === true;
    if (!ended) head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
    const found = findHeader(head, titleLines, ended);
    if (found) return opened(head, found, said);
    // What is left are blank lines without end.
    if (head.length > MAX_RECORD_BYTES * (titleLines + 1))
      throw new CsvUnreadable(fileFault(1, 'ROW_TOO_LONG'));
  }
}

interface HeaderPlace extends LineEnd {
  start: number;
  line: number;
}

function findHeader(head: Buffer, titleLines: number, ended: boolean): HeaderPlace | undefined {
  let start = 0;
  let line = 1;
  for (;;) {
    const isTitle = line <= titleLines;
    const found = lineEnd(head, start, ended, !isTitle);
    if (!found && head.length - start > MAX_RECORD_BYTES)
      throw new CsvUnreadable(fileFault(line, 'ROW_TOO_LONG'));
    if (!found) return undefined;
    if (!isTitle && found.end > start) return { ...found, start, line };
    if (found.next >= head.length) return ended ? { ...found, start: head.length, line } : undefined;
    start = found.next;
    line += 1;
  }
}

function lineEnd(head: Buffer, start: number, ended: boolean, quotes: boolean): LineEnd | undefined {
  let quoted = false;
  for (let at = start; at < head.length; at += 1) {
    const byte = head[at];
    if (byte === QUOTE && quotes) quoted = !quoted;
    else if (byte === LINE_FEED && !quoted) return { end: at, next: at + 1, ending: 'LF' };
    else if (byte === CARRIAGE_RETURN && !quoted) {
      if (at + 1 === head.length && !ended) return undefined;
      const both = head[at + 1] === LINE_FEED;
      return { end: at, next: at + (both ? 2 : 1), ending: both ? 'CRLF' : 'CR' };
    }
  }
  return ended ? { end: head.length, next: head.length, ending: 'LF' } : undefined;
}

function opened(head: Buffer, { start, end, line, ending }: HeaderPlace, said: SaidOfCsv): Opened {
  const header = head.subarray(start, end);
  if (header.includes(0)) throw unmarked(line, header);
  const text = header.toString();
  const delimiter = findDelimiter(text, said.knows ?? (() => false));
  const quoted = cellsOf(text, delimiter).every((cell) => QUOTED.test(cell));
  return { dialect: { delimiter, lineEnding: ending, headerLine: line, quoted }, head: head.subarray(start) };
}

function findDelimiter(header: string, knows: (name: string) => boolean): Delimiter {
  let best: { delimiter: Delimiter; known: number; cells: number } = { delimiter: ',', known: 0, cells: 1 };
  for (const delimiter of DELIMITERS) {
    const names = splitLine(header, delimiter);
    const known = names.filter(knows).length;
    if (known > best.known || (known === best.known && names.length > best.cells)) {
      best = { delimiter, known, cells: names.length };
    }
  }
  return best.delimiter;
}

/** The cells of a line that is not checked: quotes are taken off where they stand in pairs. */
export function splitLine(line: string, delimiter: string): string[] {
  return cellsOf(line, delimiter).map(unquote);
}

function cellsOf(line: string, delimiter: string): string[] {
  const cells: string[] = [];
  let cell = '';
  let quoted = false;
  for (const character of line) {
    if (character === '"') quoted = !quoted;
    if (character !== delimiter || quoted) cell += character;
    else {
      cells.push(cell);
      cell = '';
    }
  }
  return [...cells, cell];
}

const QUOTED = /^".*"$/s;

function unquote(cell: string): string {
  return QUOTED.test(cell) ? cell.slice(1, -1).replaceAll('""', '"') : cell;
}

/** Every second byte of Latin text in UTF-16 is zero, which no header is. */
function unmarked(line: number, header: Buffer): CsvUnreadable {
  const message = `The header in line ${line} holds NUL characters, as UTF-16 without its byte order mark does.`;
  return new CsvUnreadable(fileFault(line, 'ENCODING_NOT_UTF8', { value: '0x00', message }), header);
}
