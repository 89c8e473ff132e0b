export type IbanFault =
  | 'IBAN_MISSING'
  | 'IBAN_CHARACTERS'
  | 'IBAN_COUNTRY_UNKNOWN'
  | 'IBAN_COUNTRY_NOT_SEPA'
  | 'IBAN_LENGTH'
  | 'IBAN_STRUCTURE'
  | 'IBAN_CHECK_DIGITS';

export type CheckedIban =
  { ok: true; iban: string; country: string } | { ok: false; code: IbanFault; message: string };

/**
 * The national part of the IBAN of every country a SEPA credit transfer reaches, in the notation of the IBAN
 * registry without its exclamation marks: n digits, a capital letters, c either. The five joined in 2025.
 */
const SEPA_STRUCTURES: Readonly<Record<string, string>> = {
  AD: '8n12c',
  AL: '8n16c',
  AT: '16n',
  BE: '12n',
  BG: '4a6n8c',
  CH: '5n12c',
  CY: '8n16c',
  CZ: '20n',
  DE: '18n',
  DK: '14n',
  EE: '16n',
  ES: '20n',
  FI: '14n',
  FR: '10n11c2n',
  GB: '4a14n',
  GI: '4a15c',
  GR: '7n16c',
  HR: '17n',
  HU: '24n',
  IE: '4a14n',
  IS: '22n',
  IT: '1a10n12c',
  LI: '5n12c',
  LT: '16n',
  LU: '3n13c',
  LV: '4a13c',
  MC: '10n11c2n',
  MD: '20c',
  ME: '18n',
  MK: '3n10c2n',
  MT: '4a5n18c',
  NL: '4a10n',
  NO: '11n',
  PL: '24n',
  PT: '21n',
  RO: '4a16c',
  RS: '18n',
  SE: '20n',
  SI: '15n',
  SK: '20n',
  SM: '1a10n12c',
  VA: '18n',
};

/** Countries of the IBAN registry that a SEPA credit transfer does not reach. */
const NOT_SEPA = new Set(
  (
    'AE AZ BA BH BI BR BY CR DJ DO EG FK FO GE GL GT HN IL IQ JO KW KZ LB LC LY MN MR MU NI OM PK PS QA RU SA SC ' +
    'SD SO ST SV TL TN TR UA VG XK YE'
  ).split(' '),
);

interface NationalStructure {
  length: number;
  pattern: RegExp;
}

const CHARACTER_CLASS: Readonly<Record<string, string>> = { n: '[0-9]', a: '[A-Z]', c: '[A-Z0-9]' };

function compile(notation: string): NationalStructure {
  let length = 4;
  let pattern = '';
  for (const [, count = '', kind = ''] of notation.matchAll(/([0-9]+)([nac])/g)) {
    length += Number.parseInt(count, 10);
    pattern += `${CHARACTER_CLASS[kind] ?? ''}{${count}}`;
  }
  return { length, pattern: new RegExp(`^${pattern}$`) };
}

const STRUCTURES: ReadonlyMap<string, NationalStructure> = new Map(
  Object.entries(SEPA_STRUCTURES).map(([country, notation]) => [country, compile(notation)]),
);

// An IBAN has at most 34 characters; 64 leaves room for the spaces of any grouping.
const MAX_IBAN_TEXT = 64;

/**
 * Checks an IBAN by characters, country, length, national structure and check digits, in this order. ASCII spaces
 * and lower case are normalised, which loses nothing; `iban` is the electronic form. A message names no digits of
 * the account.
 */
export function validateIban(text: string): CheckedIban {
  if (text.length > MAX_IBAN_TEXT) return refuse('IBAN_LENGTH', 'An IBAN has at most 34 characters.');
  const iban = electronicForm(text);
  if (iban === '') return refuse('IBAN_MISSING', 'The IBAN is missing.');
  if (iban === undefined) {
    return refuse('IBAN_CHARACTERS', 'An IBAN holds only the letters A to Z, digits and spaces.');
  }
  const country = iban.slice(0, 2);
  const structure = STRUCTURES.get(country);
  if (!structure) return refuseCountry(country);
  if (iban.length !== structure.length) {
    return refuse(
      'IBAN_LENGTH',
      `An IBAN of ${country} has ${structure.length} characters; this one has ${iban.length}.`,
    );
  }
  if (!structure.pattern.test(iban.slice(4))) {
    return refuse('IBAN_STRUCTURE', `This does not have the structure of an IBAN of ${country}.`);
  }
  if (!hasValidCheckDigits(iban)) {
    return refuse('IBAN_CHECK_DIGITS', 'The check digits do not fit: at least one character is wrong.');
  }
  return { ok: true, iban, country };
}

function refuse(code: IbanFault, message: string): CheckedIban {
  return { ok: false, code, message };
}

function refuseCountry(country: string): CheckedIban {
  if (NOT_SEPA.has(country)) {
    return refuse('IBAN_COUNTRY_NOT_SEPA', `A SEPA credit transfer does not reach accounts in ${country}.`);
  }
  return refuse('IBAN_COUNTRY_UNKNOWN', 'The first two characters are not a country that issues IBANs.');
}

/**
 * The IBAN without ASCII spaces and in capitals, or undefined when it holds any other character: only then is
 * upper-casing safe, because some foreign letters become ASCII ones.
 */
function electronicForm(text: string): string | undefined {
  const joined = text.replaceAll(' ', '');
  return /^[A-Za-z0-9]*$/.test(joined) ? joined.toUpperCase() : undefined;
}

/** ISO 7064 mod 97-10 with the remainder carried from character to character, so that it stays a small integer. */
function hasValidCheckDigits(iban: string): boolean {
  const checkDigits = iban.slice(2, 4);
  // 00, 01 and 99 are congruent to the 97, 98 and 02 that a bank issues, but never issued themselves.
  if (!/^[0-9]{2}$/.test(checkDigits) || checkDigits < '02' || checkDigits > '98') return false;
  let remainder = 0;
  for (let index = 0; index < iban.length; index += 1) {
    const code = iban.charCodeAt((index + 4) % iban.length);
    remainder = code < 58 ? (remainder * 10 + code - 48) % 97 : (remainder * 100 + code - 55) % 97;
  }
  return remainder === 1;
}

/** The country and the last four characters, for people and logs: `DE…0130`. */
export function maskIban(iban: string): string {
  return `${ibanCountryOf(iban)}…${iban.slice(-4)}`;
}

/** The country code of an IBAN in electronic form. */
export function ibanCountryOf(iban: string): string {
  return iban.slice(0, 2);
}
