/**
 * The encodings a pay file may have. UTF-8 is tried first and strictly, UTF-16 is known by its byte order mark; any
 * other has to be said, because most bytes are a letter in several of them.
 */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'iso-8859-15'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Encodings with one byte for each character. */
export type SingleByteEncoding = 'windows-1252' | 'iso-8859-15';

/** What a file that is not UTF-8 is shown in. */
export const CANDIDATE_ENCODINGS: readonly SingleByteEncoding[] = ['windows-1252', 'iso-8859-15'];

/** What stands for a byte that is no character. */
export const NO_CHARACTER = '\ufffd';

// Bytes 80 to 9F; five of them are not assigned.
const WINDOWS_1252 = '€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ';

const ISO_8859_15: Readonly<Record<string, string>> = {
  '\u00a4': '€',
  '\u00a6': 'Š',
  '\u00a8': 'š',
  '\u00b4': 'Ž',
  '\u00b8': 'ž',
  '\u00bc': 'Œ',
  '\u00bd': 'œ',
  '\u00be': 'Ÿ',
};

/**
 * Text whose characters are the bytes of a file (U+0000 to U+00FF), as the encoding means it. A byte that is not
 * assigned, or in ISO-8859-15 a control character from 80 to 9F, becomes U+FFFD: such a byte is a sign of another
 * encoding.
 */
export function decodeSingleBytes(bytes: string, encoding: SingleByteEncoding): string {
  if (encoding === 'windows-1252') {
    return bytes.replace(
      /[\u0080-\u009f]/g,
      (byte) => WINDOWS_1252[byte.charCodeAt(0) - 0x80] ?? NO_CHARACTER,
    );
  }
  return bytes.replace(
    /[\u0080-\u009f\u00a4\u00a6\u00a8\u00b4\u00b8\u00bc-\u00be]/g,
    (byte) => ISO_8859_15[byte] ?? NO_CHARACTER,
  );
}

const BYTES: Readonly<Record<SingleByteEncoding, ReadonlyMap<string, string>>> = {
  'windows-1252': bytesOf('windows-1252'),
  'iso-8859-15': bytesOf('iso-8859-15'),
};

function bytesOf(encoding: SingleByteEncoding): ReadonlyMap<string, string> {
  const upper = Array.from({ length: 128 }, (_, n) => String.fromCharCode(128 + n));
  const decoded = upper.map((byte) => [decodeSingleBytes(byte, encoding), byte] as const);
  return new Map(decoded.filter(([character]) => character !== NO_CHARACTER));
}

/** The reverse of `decodeSingleBytes`. What the encoding does not have becomes a question mark. */
export function encodeSingleBytes(text: string, encoding: SingleByteEncoding): string {
  return text.replace(/[^\0-\x7f]/gu, (character) => BYTES[encoding].get(character) ?? '?');
}
