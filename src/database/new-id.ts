import { randomUUID } from 'node:crypto';

/** The id that is before every other: where paging through ids begins. */
export const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * A UUIDv7 (RFC 9562): 48 bits of milliseconds, the rest random, so that keys grow with time. The random part is
 * taken from a version 4 UUID, whose source is cached: an upload draws one for each of its rows.
 */
export function newId(nowMs: number = Date.now()): string {
  const time = nowMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
