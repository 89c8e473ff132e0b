import { createHash, randomBytes } from 'node:crypto';

const KEY_BYTES = 32;
const BEARER = /^Bearer +(pk_[A-Za-z0-9_-]{43})$/i;

/** A new API key: `pk_` and 256 random bits in base64url. */
export function makeKey(random: (bytes: number) => Buffer = randomBytes): string {
  return `pk_${random(KEY_BYTES).toString('base64url')}`;
}

/** What is stored of a key. A plain SHA-256 suffices: 256 random bits cannot be guessed from it. */
export function hashOfKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The key in an `Authorization` header, or undefined when it holds none of ours. */
export function keyInHeader(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1];
}
