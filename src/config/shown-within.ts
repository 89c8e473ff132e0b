import type { Config } from './env';

/**
 * Within how many milliseconds of being sent a request is answered or given up, and any read shows what it did. No answer
 * shows what is older, either: it came within the time-out, and was as old as a read can be when it was asked for.
 */
export function shownWithinMs({
  BANK_LAG_BOUND_MS,
  BANK_TIMEOUT_MS,
}: Pick<Config, 'BANK_LAG_BOUND_MS' | 'BANK_TIMEOUT_MS'>): number {
  return BANK_LAG_BOUND_MS + BANK_TIMEOUT_MS;
}
