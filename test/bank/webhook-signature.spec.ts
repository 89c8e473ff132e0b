import fc from 'fast-check';
import { signForTests, verifySignature } from '../../src/bank/webhook-signature';

const body = Buffer.from('{"id":"1","event":"account.status.opened","data":{"accountNumber":"A","n":1.10}}');
const valid = signForTests(body, 'secret');

describe('a webhook signature', () => {
  it('is the lower-case hexadecimal HMAC-SHA-256 of the bytes', () => {
    expect(signForTests('what do ya want for nothing?', 'Jefe')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
    expect(verifySignature(body, valid, ['secret'])).toBe(true);
  });

  it('verifies only the bytes that were signed, with a secret that signed them', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1 }),
        fc.nat(),
        fc.string({ minLength: 1 }),
        (bytes, at, secret) => {
          const signed = Buffer.from(bytes);
          const header = signForTests(signed, secret);
          const changed = Buffer.from(signed);
          const index = at % changed.length;
          changed.writeUInt8(((changed[index] ?? 0) + 1) % 256, index);
          expect(verifySignature(signed, header, [secret])).toBe(true);
          expect(verifySignature(changed, header, [secret])).toBe(false);
          expect(verifySignature(signed, header, [`${secret}x`])).toBe(false);
        },
      ),
    );
  });

  it('accepts either of two secrets while one is replaced', () => {
    expect(verifySignature(body, valid, ['new', 'secret'])).toBe(true);
    expect(verifySignature(body, valid, ['secret', 'new'])).toBe(true);
    expect(verifySignature(body, valid, [])).toBe(false);
  });

  it('never accepts the empty secret, which anybody knows', () => {
    expect(verifySignature(body, signForTests(body, ''), [''])).toBe(false);
  });

  it.each([
    undefined,
    '',
    'abc',
    valid.toUpperCase(),
    `${valid}00`,
    valid.slice(2),
    ` ${valid}`,
    `sha256=${valid}`,
  ])('refuses the header %j without throwing', (header) => {
    expect(verifySignature(body, header, ['secret'])).toBe(false);
  });

  it('accepts the compact form of a spaced body only where the setting allows it', () => {
    const spaced = Buffer.from(body.toString().replaceAll(':', ': ').replaceAll(',', ' ,\n'));
    expect(verifySignature(spaced, valid, ['secret'], 'raw')).toBe(false);
    expect(verifySignature(spaced, valid, ['secret'], 'reserialised')).toBe(true);
    expect(verifySignature(body, valid, ['secret'], 'reserialised')).toBe(true);
    expect(verifySignature(Buffer.from('not json'), valid, ['secret'], 'reserialised')).toBe(false);
  });
});
