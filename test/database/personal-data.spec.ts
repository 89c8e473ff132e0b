import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { PersonalData } from '../../src/database/personal-data';

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 100, maxLength: 400 }));

describe('the keyed hash of personal data', () => {
  it('is version 1 and the HMAC-SHA-256 of the text, whatever the length of key and text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 32, maxLength: 100 }), text, (key, value) => {
        const personal = new PersonalData({ PAYRUN_HASH_KEY: key });
        const expected = `01${createHmac('sha256', key).update(value).digest('hex')}`;
        expect(personal.hash(value).toString('hex')).toBe(expected);
        expect(personal.hexHash(value)).toBe(expected);
      }),
    );
  });

  it('is not changed by what was hashed before it', () => {
    const personal = new PersonalData({ PAYRUN_HASH_KEY: 'a key of at least thirty-two letters' });
    const alone = personal.hexHash('DE89');
    personal.hexHash('DE89370400440532013000');
    expect(personal.hexHash('DE89')).toBe(alone);
  });
});
