import { isValidIBAN } from 'ibantools';
import { SANDBOX_BANK_CODE } from './seed';

/** The electronic form of an IBAN: no spaces, capitals. */
export function electronicIban(text: string): string {
  return text.replace(/\s/g, '').toUpperCase();
}

/** Whether an IBAN in electronic form has its country's structure and right check digits. */
export function isIban(iban: string): boolean {
  return isValidIBAN(iban);
}

/** Whether an account with this IBAN would be one of this bank. */
export function isOwnIban(iban: string): boolean {
  return iban.startsWith('DE') && iban.slice(4, 12) === SANDBOX_BANK_CODE;
}

/** The IBAN of account number `account` at the sandbox bank. */
export function ownIban(account: number): string {
  const bban = SANDBOX_BANK_CODE + String(account).padStart(10, '0');
  // "DE00" moved to the end, letters as numbers: D = 13, E = 14.
  const checkDigits = 98n - (BigInt(`${bban}131400`) % 97n);
  return `DE${checkDigits.toString().padStart(2, '0')}${bban}`;
}

/** The paper form: groups of four. */
export function spacedIban(iban: string): string {
  return iban.replace(/(.{4})(?=.)/g, '$1 ');
}
