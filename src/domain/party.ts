/** The account a pay run is paid from. */
export interface Debtor {
  name: string;
  iban: string;
  bic?: string;
}

/** The account a payment goes to. */
export interface Creditor {
  name: string;
  iban: string;
  bic?: string;
}

/**
 * A name for comparison only, never for sending: compatibility forms unified (NFKC), case folded (ß equals SS),
 * white space collapsed.
 */
export function normaliseName(name: string): string {
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

function foldIban(iban: string): string {
  return iban.replaceAll(' ', '').replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}
