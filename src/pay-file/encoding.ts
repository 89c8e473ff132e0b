import { isAscii } from 'node:buffer';
import { TextDecoder } from 'node:util';
import {
  decodeSingleBytes,
  encodeSingleBytes,
  Encoding,
  ENCODINGS,
  NO_CHARACTER,
  SingleByteEncoding,
} from '../domain/pay-file-encoding';
import { CsvUnreadable } from './csv-unreadable';
import { FaultPlace, fileFault, remedyOf } from './pay-file-fault';

const MARKS: readonly { encoding: Encoding; bytes: Buffer }[] = [
  { encoding: 'utf-8', bytes: Buffer.from([0xef, 0xbb, 0xbf]) },
  { encoding: 'utf-16le', bytes: Buffer.from([0xff, 0xfe]) },
  { encoding: 'utf-16be', bytes: Buffer.from([0xfe, 0xff]) },
];
/** What XLSX and ODS, which are ZIP archives, and XLS begin with, and no text does. */
const WORKBOOKS: readonly Buffer[] = [
  Buffer.from([0x50, 0x4b, 0x03, 0x04]),
  Buffer.from([0xd0, 0xcf, 0x11, 0xe0]),
];
const LONGEST_MARK = 4;

/** The bytes of a file as UTF-8 without a byte order mark, and the encoding they were in. */
export interface Decoded {
  encoding: Encoding;
  /** Whether it began with its byte order mark. */
  marked: boolean;
  /** Where the file was said or taken to be UTF-8 these are its bytes, which are still to be checked. */
  utf8: AsyncGenerator<Buffer>;
}

/**
 * Reads the mark and decodes the rest in the encoding declared, or that of the mark, or UTF-8.
 * @throws CsvUnreadable where it is a workbook, or its beginning contradicts what was declared, and, from the generator,
 * at the first byte that is no character.
 */
export async function decode(bytes: AsyncIterable<Buffer>, declared?: Encoding): Promise<Decoded> {
  const source = bytes[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < LONGEST_MARK) {
    const next = await source.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  if (WORKBOOKS.some((one) => head.subarray(0, one.length).equals(one)))
    throw new CsvUnreadable(fileFault(1, 'FILE_IS_A_WORKBOOK'));
  const mark = MARKS.find((one) => head.subarray(0, one.bytes.length).equals(one.bytes));
  if (declared && mark && mark.encoding !== declared) throw contradicted(declared, mark.encoding);
  if (declared && !mark && isWide(declared) && !beginsLikeText(head, declared)) throw notWide(declared);
  const encoding = declared ?? mark?.encoding ?? 'utf-8';
  const rest = chain(head.subarray(mark?.bytes.length ?? 0), source);
  return { encoding, marked: mark !== undefined, utf8: encoding === 'utf-8' ? rest : recode(rest, encoding) };
}

/** The bytes of text in an encoding; after `markOf` and other pieces, in the order of a file. */
export function encode(text: string, encoding: Encoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  if (!isWide(encoding)) return Buffer.from(encodeSingleBytes(text, encoding), 'latin1');
  const little = Buffer.from(text, 'utf16le');
  return encoding === 'utf-16le' ? little : little.swap16();
}

/** The byte order mark of an encoding; those of one byte have none. */
export function markOf(encoding: Encoding): Buffer {
  return MARKS.find((one) => one.encoding === encoding)?.bytes ?? Buffer.alloc(0);
}

async function* chain(head: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
  } finally {
    await source.return?.();
  }
}

async function* recode(
  bytes: AsyncIterable<Buffer>,
  encoding: Exclude<Encoding, 'utf-8'>,
): AsyncGenerator<Buffer> {
  const suspicion = new Utf8Suspicion();
  let rest: Buffer = Buffer.alloc(0);
  const lines = new LineCount();
  for await (const chunk of bytes) {
    const joined = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const cut = isWide(encoding) ? wholeUnits(joined, encoding) : joined.length;
    rest = joined.subarray(cut);
    const text = decodeWhole(joined.subarray(0, cut), encoding);
    assertCharacters(text, joined, encoding, lines);
    if (!isWide(encoding)) suspicion.look(chunk, lines);
    lines.pass(text);
    yield Buffer.from(text);
  }
  if (rest.length > 0) throw noCharacter(lines.after(''), encoding, rest[0]);
  const foundIn = suspicion.confirmed();
  if (foundIn !== undefined) throw utf8AfterAll(foundIn, encoding);
}

/**
 * Finds out whether every letter outside ASCII is one in UTF-8. In any other encoding that takes an accident at each of
 * them, so the file changed its encoding and not its profile, and `ú` would be paid as `Ao`.
 */
class Utf8Suspicion {
  private decoder: TextDecoder | undefined = new TextDecoder('utf-8', { fatal: true });
  private firstLine: number | undefined;

  look(chunk: Buffer, lines: LineCount): void {
    if (!this.decoder || (this.firstLine === undefined && isAscii(chunk))) return;
    this.firstLine ??= lines.after(
      chunk.toString(
        'latin1',
        0,
        chunk.findIndex((byte) => byte > 0x7f),
      ),
    );
    try {
      this.decoder.decode(chunk, { stream: true });
    } catch {
      this.decoder = undefined;
    }
  }

  /** The line of the first such letter, once the file has ended. */
  confirmed(): number | undefined {
    try {
      this.decoder?.decode();
      return this.decoder && this.firstLine;
    } catch {
      return undefined;
    }
  }
}

/** Counts lines that end with LF, CRLF or, where no LF ever comes, CR. */
class LineCount {
  private feeds = 0;
  private returns = 0;

  pass(text: string): void {
    this.feeds += text.split('\n').length - 1;
    this.returns += text.split('\r').length - 1;
  }

  /** The line, from 1, in which the character after all that was passed and `text` stands. */
  after(text: string): number {
    const feeds = this.feeds + text.split('\n').length - 1;
    return 1 + (feeds > 0 ? feeds : this.returns + text.split('\r').length - 1);
  }
}

type Wide = 'utf-16le' | 'utf-16be';
const HALF_A_PAIR = /\p{Surrogate}/u;

function isWide(encoding: Encoding): encoding is Wide {
  return encoding === 'utf-16le' || encoding === 'utf-16be';
}

/** Bytes that end between characters: not within a unit, nor a pair of them. */
function wholeUnits(bytes: Buffer, encoding: Wide): number {
  const cut = bytes.length - (bytes.length % 2);
  if (cut === 0) return 0;
  const last = encoding === 'utf-16le' ? bytes.readUInt16LE(cut - 2) : bytes.readUInt16BE(cut - 2);
  return last >= 0xd800 && last < 0xdc00 ? cut - 2 : cut;
}

/** Whether the first character is a European letter or sign: two bytes of another encoding are none. */
function beginsLikeText(head: Buffer, encoding: Wide): boolean {
  if (head.length < 2) return true;
  return /[\t\n\r -\u04ff\u2018-\u201f]/.test(decodeWhole(head.subarray(0, 2), encoding));
}

function decodeWhole(bytes: Buffer, encoding: Wide | SingleByteEncoding): string {
  if (!isWide(encoding)) return decodeSingleBytes(bytes.toString('latin1'), encoding);
  return (encoding === 'utf-16le' ? bytes : Buffer.from(bytes).swap16()).toString('utf16le');
}

function assertCharacters(text: string, bytes: Buffer, encoding: Encoding, lines: LineCount): void {
  const wide = isWide(encoding);
  const at = text.search(wide ? HALF_A_PAIR : NO_CHARACTER);
  if (at < 0) return;
  throw noCharacter(lines.after(text.slice(0, at)), encoding, wide ? undefined : bytes[at]);
}

function noCharacter(line: number, encoding: Encoding, byte: number | undefined): CsvUnreadable {
  const hex = byte === undefined ? undefined : byte.toString(16).toUpperCase().padStart(2, '0');
  const what = hex === undefined ? 'A byte' : `The byte ${hex}`;
  const message = `${what} in line ${line} is no character in ${encoding}.`;
  const value = hex === undefined ? '' : `0x${hex}`;
  return notAsSaid(line, { value, message, remedy: isWide(encoding) ? undefined : orIn(encoding) });
}

function notWide(declared: Wide): CsvUnreadable {
  const message = `The file is said to be ${declared}, and does not begin with a letter in it.`;
  return notAsSaid(1, { message, remedy: orIn(declared) });
}

function notAsSaid(line: number, place: FaultPlace): CsvUnreadable {
  return new CsvUnreadable(fileFault(line, 'ENCODING_NOT_AS_SAID', place));
}

/** What is said with an upload goes before what its profile says, or the file that it corrects. */
function orIn(declared: Encoding): string {
  const others = ENCODINGS.filter((one) => one !== declared).join(', ');
  return `${remedyOf('ENCODING_NOT_AS_SAID')} Or upload it again as it is, with encoding= and the one it is in: ${others}.`;
}

function uploadAs(encoding: Encoding): string {
  return `Upload it again as it is, with encoding=${encoding}.`;
}

function utf8AfterAll(line: number, declared: Encoding): CsvUnreadable {
  const message = `Every letter outside ASCII, from line ${line} on, is UTF-8; the file is said to be ${declared}.`;
  return notAsSaid(line, { value: 'utf-8', message, remedy: uploadAs('utf-8') });
}

function contradicted(declared: Encoding, marked: Encoding): CsvUnreadable {
  const message = `The file begins with the byte order mark of ${marked} and is said to be ${declared}.`;
  return notAsSaid(1, { value: marked, message, remedy: uploadAs(marked) });
}
