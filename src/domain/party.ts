const ELECTRONIC_IBAN = /^[A-Z0-9]*$/;

/** ASCII with single spaces within. */
const PLAIN_NAME = /^[!-~]+(?: [!-~]+)*$/;

/**
 * A name for comparison only, never for sending: compatibility forms unified (NFKC), case folded (ß equals SS),
 * white space collapsed.
 */
export function normaliseName(name: string): string {
  // Of ASCII nothing but the case is folded: that is what every name sent to the bank consists of.
  if (PLAIN_NAME.test(name)) return name.toLowerCase();
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC').replace(/\s+/gu, ' ').trim();
}

/** Whether two names are equal after `normaliseName`. */
export function sameName(a: string, b: string): boolean {
  return normaliseName(a) === normaliseName(b);
}

/** Whether two IBANs name the same account, whatever their spaces and case. */
export function sameIban(a: string, b: string): boolean {
  return foldIban(a) === foldIban(b);
}

/** An IBAN in its electronic form: capitals without spaces. */
export function foldIban(iban: string): string {
  if (ELECTRONIC_IBAN.test(iban)) return iban;
  return iban.replaceAll(' ', '').replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}
