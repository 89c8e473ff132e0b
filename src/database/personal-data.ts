import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';

const SEAL_VERSION = '0:';
const HASH_VERSION = Buffer.from([1]);

/**
 * The one codec of names and IBANs at rest, and the keyed hashes by which they are compared. What is stored
 * carries a version, so that encrypting it is a change of this class and of nothing else.
 */
@Injectable()
export class PersonalData {
  constructor(@Inject(CONFIG) private readonly config: Pick<Config, 'PAYRUN_HASH_KEY'>) {}

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
    return Buffer.concat([
      HASH_VERSION,
      createHmac('sha256', this.config.PAYRUN_HASH_KEY).update(text).digest(),
    ]);
  }
}
