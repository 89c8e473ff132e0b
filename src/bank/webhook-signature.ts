import { createHmac, timingSafeEqual } from 'node:crypto';
import { parse, stringify } from 'lossless-json';

/** Which bytes are signed ("the JSON serialisation of the payload"): those received, or also their compact form. */
export type SignatureForm = 'raw' | 'reserialised';

const LOWER_HEX_SHA256 = /^[0-9a-f]{64}$/;

/**
 * Verifies `X-Service-Signature` (Authentication 6) over the bytes received, in constant time. Several secrets
 * are valid while one is replaced; an empty one never is.
 */
export function verifySignature(
  rawBody: Buffer,
  header: string | undefined,
  secrets: readonly string[],
  form: SignatureForm = 'raw',
): boolean {
  if (header === undefined || !LOWER_HEX_SHA256.test(header)) return false;
  const received = Buffer.from(header, 'hex');
  let valid = false;
  for (const bytes of signedForms(rawBody, form)) {
    for (const secret of secrets) {
      const expected = createHmac('sha256', secret).update(bytes).digest();
      const equal = expected.length === received.length && timingSafeEqual(expected, received);
      valid = (equal && secret !== '') || valid;
    }
  }
  return valid;
}

/** Signs a body as the bank does, so that a receiver's tests need no bank. */
export function signForTests(rawBody: Buffer | string, secret: string): string {
  return createHmac('sha256', secret).update(rawBody).digest('hex');
}

function signedForms(rawBody: Buffer, form: SignatureForm): (Buffer | string)[] {
  if (form === 'raw') return [rawBody];
  try {
    return [rawBody, stringify(parse(rawBody.toString('utf8'))) ?? ''];
  } catch {
    return [rawBody];
  }
}
