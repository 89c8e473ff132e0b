import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';

const SEAL_VERSION = '0:';
const HASH_VERSION = '01';
const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
/** Names and IBANs; what is longer is hashed as well, and slower. */
const SHORT_BYTES = 512;

/**
 * The one codec of names and IBANs at rest, and the keyed hashes by which they are compared. What is stored
 * carries a version, so that encrypting it is a change of this class and of nothing else.
 */
@Injectable()
export class PersonalData {
  private readonly inner: Buffer;
  private readonly outer: Buffer;

  constructor(@Inject(CONFIG) config: Pick<Config, 'PAYRUN_HASH_KEY'>) {
    const key = Buffer.from(config.PAYRUN_HASH_KEY);
    const block = Buffer.alloc(BLOCK_BYTES);
    block.set(key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key);
    this.inner = Buffer.alloc(BLOCK_BYTES + SHORT_BYTES);
    this.inner.set(block.map((byte) => byte ^ 0x36));
    this.outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES);
    this.outer.set(block.map((byte) => byte ^ 0x5c));
  }

  seal(text: string): string {
    return SEAL_VERSION + text;
  }

  /** @throws Error when the text was sealed by a version this release does not know. */
  open(sealed: string): string {
    if (!sealed.startsWith(SEAL_VERSION)) throw new Error('personal data sealed by an unknown version');
    return sealed.slice(SEAL_VERSION.length);
  }

  /** A version byte and an HMAC-SHA-256: equal texts have equal hashes under one key. */
  hash(text: string): Buffer {
    return Buffer.from(this.hexHash(text), 'hex');
  }

  /**
   * The same in hexadecimal digits. The HMAC (RFC 2104) is made of two hashes: an upload has two for each row, and an Hmac
   * object takes twice their time.
   */
  hexHash(text: string): string {
    this.outer.write(hash('sha256', this.keyed(text)), BLOCK_BYTES, 'hex');
    return HASH_VERSION + hash('sha256', this.outer);
  }

  private keyed(text: string): Buffer {
    if (text.length * 3 > SHORT_BYTES)
      return Buffer.concat([this.inner.subarray(0, BLOCK_BYTES), Buffer.from(text)]);
    return this.inner.subarray(0, BLOCK_BYTES + this.inner.write(text, BLOCK_BYTES));
  }
}
