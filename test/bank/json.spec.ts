import fc from 'fast-check';
import { LosslessNumber, parse } from 'lossless-json';
import { parseJson } from '../../src/bank/json';

/** What a text is read as, or that it is no JSON. */
function read(by: (text: string) => unknown, text: string): unknown {
  try {
    return by(text);
  } catch (error) {
    return error instanceof Error ? error.name : error;
  }
}

/** Pieces of which JSON is made, and of what is nearly JSON. */
const piece = fc.constantFrom(
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '"a"',
    '"b":',
    '"__proto__":',
    '"\\u00e9\\n"',
    '"\\x"',
    '\u0000',
  ],
  ...[
    '-',
    '0',
    '01',
    '17',
    '-0',
    '1.50',
    '1.',
    '.5',
    '1e2',
    '12345678901234567891.01',
    'true',
    'nul',
    ' ',
    '\n',
  ],
);

describe('reading JSON', () => {
  it('reads whatever is JSON as the library does, indented or not', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.nat(4), (text, indent) => {
        for (const written of [text, JSON.stringify(JSON.parse(text), null, indent)])
          expect(parseJson(written)).toEqual(parse(written));
      }),
    );
  });

  it('agrees with the library on what is none', () => {
    const broken = fc.tuple(fc.json(), fc.nat(), fc.nat(3), piece).map(([text, at, cut, put]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + cut);
    });
    const pieces = fc.array(piece, { maxLength: 12 }).map((all) => all.join(''));
    fc.assert(
      fc.property(fc.oneof(broken, pieces), (text) => {
        expect(read(parseJson, text)).toEqual(read(parse, text));
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps every digit of a number', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.stringMatching(/^(\.\d{1,30})?$/), (whole, part) => {
        const digits = `${whole}${part}`;
        expect(parseJson(`[${digits}]`)).toEqual([new LosslessNumber(digits)]);
      }),
    );
  });

  it.each([
    '{"value":1,"value":2}',
    '{"a":{"value":1,"b":0,"value":2}}',
    '{"value":1,"\\u0076alue":2}',
    '{"__proto__":1,"__proto__":2}',
  ])('refuses a name that stands for two values', (text) => {
    expect(() => parseJson(text)).toThrow('Duplicate key');
  });

  it('gives no object another prototype', () => {
    const record = parseJson('{"a":{"__proto__":{"status":"SETTLED"}}}') as { a: { status?: string } };
    expect(Object.getPrototypeOf(record.a)).toBe(Object.prototype);
    expect(record.a.status).toBeUndefined();
  });
});
