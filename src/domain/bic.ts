export type BicFault = 'BIC_STRUCTURE' | 'BIC_COUNTRY_MISMATCH';
export type CheckedBic = { ok: true; bic: string } | { ok: false; code: BicFault; message: string };

// ISO 9362: party prefix, country, party suffix, and an optional branch.
const BIC = /^[A-Z0-9]{4}([A-Z]{2})[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/;

/**
 * BIC countries that go with an IBAN of another country, by the IBAN's country: territories that share the IBAN of
 * their state (the EPC's list of SEPA countries), and French banks that keep accounts in Monaco.
 */
const OTHER_BIC_COUNTRIES: Readonly<Record<string, readonly string[]>> = {
  FR: ['GF', 'GP', 'MQ', 'YT', 'RE', 'PM', 'BL', 'MF'],
  GB: ['GG', 'IM', 'JE'],
  MC: ['FR'],
};

/**
 * Checks a BIC of 8 or 11 characters by its structure and, where the IBAN's country is given, that the two countries
 * agree. Lower case is normalised. Whether the bank exists is not checked.
 */
export function validateBic(text: string, ibanCountry?: string): CheckedBic {
  const bic = /^[A-Za-z0-9]{8,11}$/.test(text) ? text.toUpperCase() : '';
  const country = BIC.exec(bic)?.[1];
  if (country === undefined) {
    return {
      ok: false,
      code: 'BIC_STRUCTURE',
      message: 'A BIC has 8 or 11 letters and digits, with the country at places 5 and 6.',
    };
  }
  if (ibanCountry !== undefined && !goesWith(country, ibanCountry)) {
    return {
      ok: false,
      code: 'BIC_COUNTRY_MISMATCH',
      message: `The BIC belongs to ${country} and the IBAN to ${ibanCountry}.`,
    };
  }
  return { ok: true, bic };
}

function goesWith(bicCountry: string, ibanCountry: string): boolean {
  return bicCountry === ibanCountry || (OTHER_BIC_COUNTRIES[ibanCountry] ?? []).includes(bicCountry);
}
