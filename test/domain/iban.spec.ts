import fc from 'fast-check';
import { countrySpecs, isValidIBAN } from 'ibantools';
import { validateBic } from '../../src/domain/bic';
import { ibanCountryOf, maskIban, validateIban } from '../../src/domain/iban';

/** The registry's own examples, and national ones, of every country a SEPA credit transfer reaches. */
const EXAMPLES = [
  'AD1200012030200359100100',
  'AL47212110090000000235698741',
  'AT611904300234573201',
  'BE68539007547034',
  'BG80BNBG96611020345678',
  'CH9300762011623852957',
  'CY17002001280000001200527600',
  'CZ6508000000192000145399',
  'DE89370400440532013000',
  'DK5000400440116243',
  'EE382200221020145685',
  'ES9121000418450200051332',
  'FI2112345600000785',
  'FR1420041010050500013M02606',
  'GB29NWBK60161331926819',
  'GI75NWBK000000007099453',
  'GR1601101250000000012300695',
  'HR1210010051863000160',
  'HU42117730161111101800000000',
  'IE29AIBK93115212345678',
  'IS140159260076545510730339',
  'IT60X0542811101000000123456',
  'LI21088100002324013AA',
  'LT121000011101001000',
  'LU280019400644750000',
  'LV80BANK0000435195001',
  'MC5811222000010123456789030',
  'MD24AG000225100013104168',
  'ME25505000012345678951',
  'MK07250120000058984',
  'MT84MALT011000012345MTLCAST001S',
  'NL91ABNA0417164300',
  'NO9386011117947',
  'PL61109010140000071219812874',
  'PT50000201231234567890154',
  'RO49AAAA1B31007593840000',
  'RS35260005601001611379',
  'SE4550000000058398257466',
  'SI56263300012039086',
  'SK3112000000198742637541',
  'SM86U0322509800000000270100',
  'VA59001123000012345678',
];

const anyExample = fc.constantFrom(...EXAMPLES);
const codeOf = (text: string): string => {
  const checked = validateIban(text);
  return checked.ok ? 'OK' : checked.code;
};

describe('an IBAN', () => {
  it.each(EXAMPLES)('is taken when it is the example %s', (iban) => {
    expect(validateIban(iban)).toEqual({ ok: true, iban, country: iban.slice(0, 2) });
  });

  it('has an example here for every country that is taken', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const all = letters.flatMap((one) => letters.map((other) => one + other));
    const taken = all.filter((country) => !codeOf(`${country}00`).startsWith('IBAN_COUNTRY_'));
    expect(EXAMPLES.map(ibanCountryOf)).toEqual(taken);
  });

  it('is normalised from lower case and groups of four, which loses nothing', () => {
    fc.assert(
      fc.property(anyExample, (iban) => {
        const grouped = iban.toLowerCase().replace(/(.{4})/g, '$1 ');
        expect(validateIban(grouped)).toMatchObject({ ok: true, iban });
      }),
    );
  });

  it.each([
    ['', 'IBAN_MISSING'],
    ['   ', 'IBAN_MISSING'],
    ['DE89\u00A0370400440532013000', 'IBAN_CHARACTERS'],
    ['DE89-3704-0044-0532-0130-00', 'IBAN_CHARACTERS'],
    ['DE89370400440532013000\u200B', 'IBAN_CHARACTERS'],
    ['DE89370400440532013000\n', 'IBAN_CHARACTERS'],
    ['\u0405I56263300012039086', 'IBAN_CHARACTERS'],
    ['S\u013156263300012039086', 'IBAN_CHARACTERS'],
    ['XX89370400440532013000', 'IBAN_COUNTRY_UNKNOWN'],
    ['D', 'IBAN_COUNTRY_UNKNOWN'],
    ['89370400440532013000DE', 'IBAN_COUNTRY_UNKNOWN'],
    ['TR330006100519786457841326', 'IBAN_COUNTRY_NOT_SEPA'],
    ['AE070331234567890123456', 'IBAN_COUNTRY_NOT_SEPA'],
    ['UA213223130000026007233566001', 'IBAN_COUNTRY_NOT_SEPA'],
    ['DE8937040044053201300', 'IBAN_LENGTH'],
    ['DE893704004405320130000', 'IBAN_LENGTH'],
    ['D'.repeat(100_000), 'IBAN_LENGTH'],
    ['NL91ABNA041716430O', 'IBAN_STRUCTURE'],
    ['DE8937O400440532013000', 'IBAN_STRUCTURE'],
    ['DE88370400440532013000', 'IBAN_CHECK_DIGITS'],
    ['DEA9370400440532013000', 'IBAN_CHECK_DIGITS'],
  ])('%j is refused as %s', (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  it('is refused after any change of a single digit', () => {
    fc.assert(
      fc.property(anyExample, (iban) => {
        [...iban].forEach((char, place) => {
          if (!/\d/.test(char)) return;
          for (const other of '0123456789'.replace(char, '')) {
            expect(codeOf(iban.slice(0, place) + other + iban.slice(place + 1))).not.toBe('OK');
          }
        });
      }),
      { numRuns: EXAMPLES.length },
    );
  });

  it('is refused after any swap of two neighbouring digits', () => {
    for (const iban of EXAMPLES) {
      for (let place = 2; place < iban.length - 1; place += 1) {
        const pair = iban.slice(place, place + 2);
        if (!/^\d\d$/.test(pair) || pair[0] === pair[1]) continue;
        const swapped = iban.slice(0, place) + pair[1]! + pair[0]! + iban.slice(place + 2);
        expect([swapped, codeOf(swapped)]).toEqual([swapped, 'IBAN_CHECK_DIGITS']);
      }
    }
  });

  it('is refused with check digits that only happen to leave the right remainder', () => {
    // 97 minus 97, 98 minus 97 and 2 plus 97 leave the same remainder as digits a bank issues.
    const bodies = Array.from({ length: 400 }, (_, index) => index.toString().padStart(18, '0'));
    const taken = bodies.flatMap((body) =>
      ['00', '01', '99'].filter((checkDigits) => codeOf(`DE${checkDigits}${body}`) === 'OK'),
    );
    expect(taken).toEqual([]);
  });

  it('has exactly one pair of check digits for each account', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }), (account) => {
        const body = account.toString().padStart(18, '0');
        const fitting = Array.from({ length: 100 }, (_, digits) => digits.toString().padStart(2, '0')).filter(
          (digits) => codeOf(`DE${digits}${body}`) === 'OK',
        );
        const expected = 98n - (BigInt(`${body}131400`) % 97n);
        expect(fitting).toEqual([expected.toString().padStart(2, '0')]);
      }),
      { numRuns: 50 },
    );
  });

  it('is judged like an independent library judges it, after random damage', () => {
    const anyDamage = fc.record({ place: fc.nat(40), char: fc.constantFrom(...'019AZ ') });
    fc.assert(
      fc.property(anyExample, fc.array(anyDamage, { maxLength: 2 }), (iban, damage) => {
        const chars = [...iban];
        for (const { place, char } of damage) if (place >= 2) chars[place % chars.length] = char;
        const text = chars.join('').replaceAll(' ', '');
        const country = text.slice(0, 2);
        fc.pre(EXAMPLES.some((one) => one.startsWith(country)) && country !== 'IE');
        fc.pre(!['00', '01', '99'].includes(text.slice(2, 4)));
        if (isValidIBAN(text)) expect(codeOf(text)).toBe('OK');
        // The library also knows check digits inside some countries' national part, which we leave to the bank.
        else if (!countrySpecs[country]?.bban_validation_func) expect(codeOf(text)).not.toBe('OK');
      }),
      { numRuns: 2_000 },
    );
  });

  it('is shown to people by country and last four characters only', () => {
    expect(maskIban('DE89370400440532013000')).toBe('DE…3000');
  });

  it('never appears in the message of its refusal', () => {
    const refused = validateIban('DE88370400440532013000');
    expect(JSON.stringify(refused)).not.toMatch(/\d{5}/);
  });
});

describe('a BIC', () => {
  it.each(['COBADEFF', 'COBADEFFXXX', 'DEUTDE2H', 'cobadeff'])('%s is taken', (text) => {
    expect(validateBic(text, 'DE')).toEqual({ ok: true, bic: text.toUpperCase() });
  });

  it.each(['COBADEF', 'COBADEFFX', 'COBADEFFXX', 'COBADEFFXXXX', 'COBA1EFF', 'COBA DEFF', 'СOBADEFF', ''])(
    '%j is refused for its structure',
    (text) => {
      expect(validateBic(text)).toMatchObject({ ok: false, code: 'BIC_STRUCTURE' });
    },
  );

  it('must belong to the country of the IBAN', () => {
    expect(validateBic('COBADEFF', 'AT')).toMatchObject({ ok: false, code: 'BIC_COUNTRY_MISMATCH' });
    expect(validateBic('BNPAFRPP', 'GB')).toMatchObject({ ok: false, code: 'BIC_COUNTRY_MISMATCH' });
  });

  it.each([
    ['BNPAGPGX', 'FR'],
    ['BNPAREPP', 'FR'],
    ['BARCGGSP', 'GB'],
    ['BARCJESH', 'GB'],
    ['BNPAFRPP', 'MC'],
  ])('%s of a territory goes with an IBAN of %s', (bic, country) => {
    expect(validateBic(bic, country)).toEqual({ ok: true, bic });
  });
});
