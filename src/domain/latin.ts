/** A character that cannot be used, and where it stands: `column` counts code points from 1. */
export interface OffendingCharacter {
  char: string;
  codePoint: string;
  column: number;
}

export type CheckedName =
  { ok: true; sepaName: string; changed: boolean } | { ok: false; faults: OffendingCharacter[] };

const SEPA_TEXT = /^[A-Za-z0-9/\-?:().,'+ ]*$/;

/**
 * What the European Payments Council's conversion table and usual bank practice make of letters and marks that are
 * no base letter plus accent. Accents themselves are dropped, so ä becomes a, as the council prefers to ae.
 */
const CONVERSIONS: Readonly<Record<string, string>> = {
  Æ: 'AE',
  æ: 'ae',
  Œ: 'OE',
  œ: 'oe',
  ß: 'ss',
  ẞ: 'SS',
  Ø: 'O',
  ø: 'o',
  Ł: 'L',
  ł: 'l',
  Đ: 'D',
  đ: 'd',
  Ð: 'D',
  ð: 'd',
  Þ: 'TH',
  þ: 'th',
  Ħ: 'H',
  ħ: 'h',
  Ŧ: 'T',
  ŧ: 't',
  Ŋ: 'N',
  ŋ: 'n',
  Ĳ: 'IJ',
  ĳ: 'ij',
  Ŀ: 'L',
  ŀ: 'l',
  Ə: 'E',
  ə: 'e',
  ı: 'i',
  ĸ: 'k',
  ŉ: "'n",
  ª: 'a',
  º: 'o',
  '&': '+',
  '\u2018': "'",
  '\u2019': "'",
  '\u02BC': "'",
  '\u00B4': "'",
  '\u2010': '-',
  '\u2011': '-',
  '\u2013': '-',
  '\u2014': '-',
};

/** Whether every character belongs to the set each SEPA bank must take. Empty text does. */
export function isSepaText(text: string): boolean {
  return SEPA_TEXT.test(text);
}

/**
 * A name as it may be sent to the bank. Letters of the Latin script are taken with their accents; what is sent is
 * `sepaName`, with spaces collapsed, and `changed` says that it differs from what was given, to be shown to a person.
 */
export function checkName(text: string): CheckedName {
  const converted = convert(text);
  if (converted.faults.length > 0) return { ok: false, faults: converted.faults };
  const sepaName = converted.text.replace(/ {2,}/g, ' ').replace(/^ | $/g, '');
  return { ok: true, sepaName, changed: sepaName !== text };
}

/** What has to be converted: a base character with the accents written after it, if either is outside the SEPA set. */
const ODD_LETTERS = /[^A-Za-z0-9/\-?:().,'+ ][\u0300-\u036F]*|[^][\u0300-\u036F]+/gu;

function convert(text: string): { text: string; faults: OffendingCharacter[] } {
  if (isSepaText(text)) return { text, faults: [] };
  let whole = true;
  const converted = text.replace(ODD_LETTERS, (cluster) => {
    const letter = convertLetter(cluster.normalize('NFC'));
    whole &&= letter !== undefined;
    return letter ?? '';
  });
  return whole ? { text: converted, faults: [] } : convertEach(text);
}

function convertEach(text: string): { text: string; faults: OffendingCharacter[] } {
  const faults: OffendingCharacter[] = [];
  let result = '';
  let column = 1;
  // A base character and the accents written after it are one letter, whichever way they are encoded.
  for (const [cluster] of text.matchAll(/[^][\u0300-\u036F]*/gu)) {
    const converted = convertLetter(cluster.normalize('NFC'));
    if (converted === undefined) faults.push(...faultsOf(cluster, column));
    else result += converted;
    column += [...cluster].length;
  }
  return { text: result, faults };
}

function convertLetter(letter: string): string | undefined {
  if ([...letter].length !== 1) return undefined;
  const [base = ''] = letter.normalize('NFD');
  return CONVERSIONS[letter] ?? (isSepaText(base) ? base : CONVERSIONS[base]);
}

/** The base is at fault when it has no conversion; otherwise the accents that no letter is written with. */
function faultsOf(cluster: string, column: number): OffendingCharacter[] {
  const [base = '', ...accents] = cluster;
  if (convertLetter(base.normalize('NFC')) === undefined) return [offending(base, column)];
  return accents.map((accent, index) => offending(accent, column + 1 + index));
}

function offending(char: string, column: number): OffendingCharacter {
  const hex = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return { char, codePoint: `U+${hex}`, column };
}
