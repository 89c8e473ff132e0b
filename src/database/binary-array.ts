/** The types of elements by their object ids, which are the same in every PostgreSQL. */
const TYPES = { int4: 23, int8: 20, text: 25, bytea: 17, uuid: 2950 } as const;

/** What the elements of an array are. */
export type ElementType = keyof typeof TYPES;

/** How many dimensions, whether there are nulls, the type; of the one dimension its length and its first index. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
/** What some hundred short texts take; it grows. */
const FIRST_BYTES = 32_768;
/** Of a UTF-16 unit in UTF-8; to count them exactly would take as long as to write them. */
export const MOST_BYTES_OF_A_UNIT = 3;

/** What an array is made of: an int4 is a number, an int8 a bigint, a bytea its hexadecimal digits, anything else its text. */
export type Element = string | number | bigint | null;

/** A whole array as a parameter. The driver's own way, text, takes either side several times as long. */
export function binaryArray(type: ElementType, elements: readonly Element[]): Buffer {
  const bytes = elements.reduce<number>((sum, element) => sum + mostBytesOf(element), HEADER_BYTES);
  const array = new BinaryArray(type, bytes);
  for (const element of elements) array.add(element);
  return array.take();
}

/** Makes parameters of the same rows: an array for each column, of what `of` finds in a row. */
export function arraysOf<Row>(
  rows: readonly Row[],
): (type: ElementType, of: (row: Row) => Element) => Buffer {
  return (type, of) => binaryArray(type, rows.map(of));
}

/** With its length before it. */
function mostBytesOf(element: Element): number {
  return LENGTH_BYTES + (typeof element === 'string' ? element.length * MOST_BYTES_OF_A_UNIT : 8);
}

/**
 * An array as a parameter in PostgreSQL's binary form (`array_recv`), which costs the server less than text does. Its
 * bytes are used again for the next array.
 */
export class BinaryArray {
  private bytes: Buffer;
  private end = HEADER_BYTES;
  private length = 0;
  private nulls = 0;

  constructor(
    private readonly type: ElementType,
    firstBytes = FIRST_BYTES,
  ) {
    this.bytes = Buffer.allocUnsafeSlow(firstBytes);
  }

  add(value: Element): void {
    const at = this.end + LENGTH_BYTES;
    const most = this.end + mostBytesOf(value);
    if (most > this.bytes.length) this.grow(most);
    const written = value === null ? 0 : this.write(value, at);
    this.bytes.writeInt32BE(value === null ? -1 : written, this.end);
    this.end = at + written;
    this.length += 1;
    if (value === null) this.nulls = 1;
  }

  /** Ends the array, which holds until an element of the next one is added. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.end);
    const header = [1, this.nulls, TYPES[this.type], this.length, 1];
    header.forEach((field, place) => taken.writeInt32BE(field, place * LENGTH_BYTES));
    this.end = HEADER_BYTES;
    this.length = 0;
    this.nulls = 0;
    return taken;
  }

  /** @returns the bytes written */
  private write(value: string | number | bigint, at: number): number {
    if (typeof value === 'number') return this.bytes.writeInt32BE(value, at) - at;
    if (typeof value === 'bigint') return this.bytes.writeBigInt64BE(value, at) - at;
    if (this.type === 'uuid') return this.bytes.write(value.replaceAll('-', ''), at, 'hex');
    return this.bytes.write(value, at, this.type === 'bytea' ? 'hex' : 'utf8');
  }

  private grow(least: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(least, 2 * this.bytes.length));
    this.bytes.copy(larger, 0, 0, this.end);
    this.bytes = larger;
  }
}
