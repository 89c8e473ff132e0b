import { randomUUID } from 'node:crypto';

/** The id that is before every other: where paging through ids begins. */
export const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * A UUIDv7 (RFC 9562): 48 bits of milliseconds, the rest random, so that keys grow with time. The random part is
 * taken from a version 4 UUID, whose source is cached: an upload draws one for each of its rows.
 */
export function newId(nowMs: number = Date.now()): string {
  // In two parts that are small integers, which are written several times as fast.
  const high = Math.floor(nowMs / 0x10000).toString(16);
  const low = (nowMs % 0x10000).toString(16);
  return `${high.padStart(8, '0')}-${low.padStart(4, '0')}-7${randomUUID().slice(15)}`;
}
