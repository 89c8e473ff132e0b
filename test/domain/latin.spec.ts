import fc from 'fast-check';
import { checkName, isSepaText } from '../../src/domain/latin';
import { normaliseName, sameIban, sameName } from '../../src/domain/party';

/** A name as it is sent; undefined where it is refused. */
function sentAs(name: string): string | undefined {
  const checked = checkName(name);
  return checked.ok ? checked.sepaName : undefined;
}

describe('text for the bank', () => {
  it('is taken as it is when it is in the SEPA set', () => {
    const text = "Abc XYZ 019 /-?:().,'+";
    expect(isSepaText(text)).toBe(true);
    expect(sentAs(text)).toBe(text);
  });

  it.each([
    ['José Núñez', 'Jose Nunez'],
    ['Jürgen Groß', 'Jurgen Gross'],
    ['Łukasz Żółć', 'Lukasz Zolc'],
    ['Ærø Ångström', 'AEro Angstrom'],
    ['Þórður Guðmundsson', 'THordur Gudmundsson'],
    ['Şükrü Iğdır', 'Sukru Igdir'],
    ['Ștefan Țîrlea', 'Stefan Tirlea'],
    ['Nguyễn Thị Hường', 'Nguyen Thi Huong'],
    ['Dvořák Šťastný', 'Dvorak Stastny'],
    ['Ħal Għaxaq', 'Hal Ghaxaq'],
    ['Siân O’Brien–Smith', "Sian O'Brien-Smith"],
    ['Mª José', 'Ma Jose'],
    ['Ǿrsted', 'Orsted'],
    ['Müller & Söhne', 'Muller + Sohne'],
  ])('%s is sent as %s', (text, sent) => {
    expect(sentAs(text)).toBe(sent);
    expect(sentAs(text.normalize('NFD'))).toBe(sent);
  });

  it.each([
    ['Иван', 'U+0418'],
    ['\u0410nna', 'U+0410'],
    ['Ann\u0430', 'U+0430'],
    ['\u0391nna', 'U+0391'],
    ['άννα', 'U+03AC'],
    ['王', 'U+738B'],
    ['한', 'U+D55C'],
    ['An\u200Bna', 'U+200B'],
    ['An\u200Dna', 'U+200D'],
    ['\uFEFFAnna', 'U+FEFF'],
    ['\u202EannA', 'U+202E'],
    ['\u2066Anna', 'U+2066'],
    ['An\u0000na', 'U+0000'],
    ['An\nna', 'U+000A'],
    ['An\tna', 'U+0009'],
    ['An\u0085na', 'U+0085'],
    ['An\u00ADna', 'U+00AD'],
    ['An\u00A0na', 'U+00A0'],
    ['Ａnna', 'U+FF21'],
    ['ﬁnn', 'U+FB01'],
    ['An😀na', 'U+1F600'],
    ['An_na', 'U+005F'],
    ['Anna;', 'U+003B'],
    ['=1+1≠', 'U+003D'],
    ['An\uD800na', 'U+D800'],
    ['An\uFFFDna', 'U+FFFD'],
  ])('%j has no conversion because of %s', (text, codePoint) => {
    const checked = checkName(text);
    expect(checked).toMatchObject({ ok: false });
    expect(!checked.ok && checked.faults[0]?.codePoint).toBe(codePoint);
  });

  it('refuses accents piled on a letter that nobody writes', () => {
    expect(checkName('A\u0301\u0301\u0301nna')).toMatchObject({ ok: false });
    expect(checkName('\u0301Anna')).toMatchObject({
      ok: false,
      faults: [{ codePoint: 'U+0301', column: 1 }],
    });
  });

  it('is never sent outside the SEPA set, whatever comes in', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), (text) => {
        const checked = checkName(text);
        if (checked.ok) expect(isSepaText(checked.sepaName)).toBe(true);
        else expect(checked.faults.length).toBeGreaterThan(0);
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads the same however accents are encoded, and once converted stays', () => {
    const letters = fc.string({ unit: fc.constantFrom(..."aZéÉüÜñçøßłŁőțŽž '-") });
    fc.assert(
      fc.property(letters, (text) => {
        const sent = sentAs(text);
        expect(sentAs(text.normalize('NFD'))).toBe(sent);
        expect(sentAs(sent ?? 'missing')).toBe(sent);
      }),
    );
  });

  it('names each offending character with code point and column', () => {
    expect(checkName('a😀é王')).toEqual({
      ok: false,
      faults: [
        { char: '😀', codePoint: 'U+1F600', column: 2 },
        { char: '王', codePoint: 'U+738B', column: 4 },
      ],
    });
  });

  it('counts the column over accents encoded apart', () => {
    expect(checkName('e\u0301\u0430')).toMatchObject({
      ok: false,
      faults: [{ codePoint: 'U+0430', column: 3 }],
    });
  });
});

describe('a name', () => {
  it('says when what is sent differs from what was given', () => {
    expect(checkName('Anna Berg')).toEqual({ ok: true, sepaName: 'Anna Berg', changed: false });
    expect(checkName('Änna Berg')).toEqual({ ok: true, sepaName: 'Anna Berg', changed: true });
    expect(checkName('  Anna   Berg ')).toEqual({ ok: true, sepaName: 'Anna Berg', changed: true });
  });

  it('is compared after case, width, spaces and encoding are folded', () => {
    expect(sameName('ANNA  GROSS ', 'anna groß')).toBe(true);
    expect(sameName('José', 'Jose\u0301')).toBe(true);
    expect(sameName('Ａnna', 'anna')).toBe(true);
    expect(sameName('Anna', 'Anne')).toBe(false);
    expect(normaliseName(normaliseName(' Straße ﬁ '))).toBe(normaliseName(' Straße ﬁ '));
  });
});

it('compares IBANs without regard to spaces and case', () => {
  expect(sameIban('DE89 3704 0044 0532 0130 00', 'de89370400440532013000')).toBe(true);
  expect(sameIban('DE89370400440532013000', 'DE89370400440532013001')).toBe(false);
});
