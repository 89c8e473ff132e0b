import { randomBytes } from 'node:crypto';
import { parse } from 'lossless-json';

/** Unguessable, so that no text of a client can be taken for a number. */
const MARK = `number-${randomBytes(12).toString('hex')}:`;
const MARKED = new RegExp(`"${MARK}([-+.0-9eE]+)"`, 'g');
/** Integers of up to 15 digits are exact as a JavaScript number. */
const SAFE_INTEGER = /^-?\d{1,15}$/;

/** A JSON number kept as its text, so that no float ever touches it. */
export class RawNumber {
  constructor(readonly text: string) {}

  toJSON(): string {
    return MARK + this.text;
  }
}

/** Parses JSON; numbers that are not exact integers come out as {@link RawNumber}. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return parse(text, null, (number) => (SAFE_INTEGER.test(number) ? Number(number) : new RawNumber(number)));
}

/** Writes JSON; a {@link RawNumber} becomes the number it was. */
export function writeJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(MARK) ? text.replace(MARKED, '$1') : text;
}
