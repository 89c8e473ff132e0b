/** Eight bits for each of a million hashes: at most three in a hundred are taken for seen that were not. */
const BITS = 8_388_608;
/** Each hash has this many of the bits, found by so many of its hexadecimal digits. */
const BITS_OF_HASH = 3;
const DIGITS = 6;

/** Remembers hashes in 1 MB, however many: one that was seen is always known, another seldom taken for it (a Bloom filter). */
export class SeenHashes {
  private readonly bits = new Uint8Array(BITS / 8);

  /** Notes a hash of at least 18 hexadecimal digits. @returns false when it was never noted before, for certain */
  see(hexHash: string): boolean {
    let seen = true;
    for (let n = 0; n < BITS_OF_HASH; n += 1) {
      const place = Number.parseInt(hexHash.slice(n * DIGITS, (n + 1) * DIGITS), 16) % BITS;
      const byte = this.bits[place >> 3] ?? 0;
      const bit = 1 << (place & 7);
      if ((byte & bit) !== 0) continue;
      seen = false;
      this.bits[place >> 3] = byte | bit;
    }
    return seen;
  }
}
