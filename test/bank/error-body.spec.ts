import fc from 'fast-check';
import { errorBodyOf } from '../../src/bank/error-body';
import { maskBody, maskText } from '../../src/bank/mask';

describe('an error body', () => {
  it('is read plain or under error', () => {
    const plain = { code: 'LIMIT', message: 'Too much.', hint: 'Send less.' };
    const read = { code: 'LIMIT', words: 'Too much. Send less.' };
    expect(errorBodyOf(JSON.stringify(plain))).toMatchObject(read);
    expect(errorBodyOf(JSON.stringify({ error: plain }))).toMatchObject(read);
    expect(errorBodyOf('{"error":"invalid_token"}')).toMatchObject({ code: 'invalid_token' });
    expect(errorBodyOf('{"code":1042}')).toMatchObject({ code: '1042' });
  });

  it('is never depended on', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(typeof errorBodyOf(text).raw).toBe('string');
      }),
    );
  });

  it('keeps no account number, amount, or name that a field or a quotation holds', () => {
    const body = JSON.stringify({
      code: 'X',
      message: "creditor 'Ada Lovelace' with FR76 3000 6000 0112 3456 7890 189 may not get 1500.25",
      creditor: { name: 'Ada \\"L\\" Lovelace', accountId: { value: 'DE89370400440532013000' } },
      instructedAmount: { value: 150025, currency: 'EUR' },
      status: { value: 'INITIATED' },
    });
    const read = errorBodyOf(body);
    expect(read.words).toBe("creditor '…' with FR…0189 may not get …");
    expect(read.raw).not.toMatch(/Ada \\|DE8937|150025|0532013000/);
    expect(read.raw).toContain('"status":{"value":"INITIATED"}');
  });

  it('hides every IBAN but its country and last four', () => {
    const digits = fc.stringMatching(/^[A-Z]{2}[0-9]{2}[0-9]{11,26}$/);
    fc.assert(
      fc.property(digits, (iban) => {
        expect(maskText(`to ${iban}.`)).not.toContain(iban.slice(4, -4));
      }),
    );
  });

  it.each(['utf16le', 'utf8'] as const)('is kept and masked as the database can hold it (%s)', (encoding) => {
    const said = '{"name":"Ada","message":"\\u0000no account FR7630006000011234567890189"}';
    const read = errorBodyOf(Buffer.from(said, encoding).toString());
    expect(read.raw).toContain('"name":"…"');
    expect(`${read.raw} ${read.words ?? ''}`).toMatch(/no account FR…0189/);
    expect(`${read.raw} ${read.words ?? ''}`).not.toMatch(/\0|Ada/);
  });

  it('is cut, so that an intent row stays small', () => {
    expect(maskBody('é'.repeat(100_000))).toHaveLength(2_000);
  });
});
