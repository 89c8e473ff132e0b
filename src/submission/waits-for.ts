import { inWords, isBankError, RateLimited } from '../bank/errors';
import type { Outcome } from '../bank/outcome';
import type { Waiting } from '../database/lease-worker';
import { whyOf } from './call-record';

/** How begins what work waits for that nobody at the bank can mend. */
export const THIS_SERVICE = 'this service: ';

/** Why a process does not send a submit that it cannot remember outside the database. */
export const UNREMEMBERED = 'RESTORE_WITNESS_FILE could not be written';

/** What people can do about a limit of requests, the bank's or the one that is set. */
const LIMITED = ' (BANK_REQUESTS_PER_MINUTE is to be set to as many requests as the bank takes)';

/** What a step failed in, for people: which read, and how, where the bank or the way to it failed. */
export function waitsForOf(error: unknown): string {
  if (!isBankError(error)) return `${THIS_SERVICE}an error that its log tells`;
  const what = error.message + (error instanceof RateLimited ? LIMITED : '');
  return error.call === undefined ? what : `${error.call}: ${what}`;
}

/** What is waited for after a call to the path that got nobody on. */
export function waitingAfter(path: string, outcome: Outcome<unknown>, inMs: number): Waiting {
  const why = whyOf(outcome);
  if (why === UNREMEMBERED) return { inMs, waitsFor: THIS_SERVICE + why };
  const isUnsent = outcome.kind === 'no' && outcome.reason === 'not-sent';
  const isLimited = why === NO_TURN || (outcome.kind === 'no' && outcome.reason === 'rate-limited');
  const what = isUnsent ? `nothing was sent (${WORDS[why] ?? inWords(why)})` : inWords(why);
  return { inMs, waitsFor: `POST ${path}: ${what}${isLimited ? LIMITED : ''}` };
}

const NO_TURN = 'rate-budget';
const WORDS: Readonly<Record<string, string>> = { [NO_TURN]: 'the rate limit allowed none' };
