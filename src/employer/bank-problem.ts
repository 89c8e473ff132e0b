import { errorBodyOf } from '../bank/error-body';
import {
  BankClientError,
  BankError,
  BankUnreachable,
  INTERIM_ANSWER,
  inWords,
  isHidden,
  NotAllowed,
  RateLimited,
  ReadInPart,
  TokenUnavailable,
  Unauthorised,
} from '../bank/errors';
import type { Outcome } from '../bank/outcome';
import { MINUTE_MS } from '../domain/durations';
import { Problem } from '../http/problem';
import { wordsOf } from './bank-calls';

/** Reads the bank for a person who waits: what the bank fails in is told as a problem. @throws Problem 502, 503 */
export async function askBank<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof BankClientError ? bankProblem(error) : error;
  }
}

/**
 * Reads the bank for a decision that rests on what it shows.
 * @throws Problem 503 BANK_UNREADABLE while it cannot be read, with what fails, since when, and what to do about it
 */
export async function readToDecide<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof BankClientError)) throw error;
    const detail = `The bank could not be read: ${error.message}.${inARow(error)} ${whatToDo(error)}`;
    throw new Problem(503, 'BANK_UNREADABLE', detail, {}, { cause: error });
  }
}

function inARow({ inARow: fails }: BankClientError): string {
  if (!fails) return '';
  const times = fails.times === 1 ? 'once' : `${fails.times} times in a row`;
  return ` This read (${fails.read}) has failed ${times}, since ${atSecond(fails.sinceMs)}.`;
}

function whatToDo(error: BankClientError): string {
  if (error instanceof ReadInPart)
    return `Ask again now: what was read is kept for ${error.keptMs / MINUTE_MS} minutes, by the replica that read it, which goes on with the others.`;
  if (isHidden(error) || error.isForGood)
    return 'What the bank says in writing (evidence) is needed: nothing else goes before this read.';
  if (!error.inARow) return 'Try again.';
  const { momentsLeft, nextMs, apartMs } = error.inARow;
  const moments = momentsLeft === 1 ? 'one more moment' : `${momentsLeft} more moments`;
  const lastMs = nextMs + (momentsLeft - 1) * apartMs;
  return `Try again from ${atSecond(nextMs)} on: it is waited for until it has failed at ${moments}, each at least ${Math.ceil(apartMs / 1_000)} seconds after the one before, until about ${atSecond(lastMs)}; then what the bank says in writing (evidence) goes before it. Others that fail are waited for alike.`;
}

/** The moment, in whole seconds rounded up: whoever comes then is not too early. */
function atSecond(ms: number): string {
  return new Date(Math.ceil(ms / 1_000) * 1_000).toISOString().replace('.000', '');
}

function bankProblem(error: BankClientError): Problem {
  const tell = (status: number, code: string, detail: string) =>
    new Problem(status, code, detail, {}, { cause: error });
  if (error instanceof Unauthorised || (error instanceof TokenUnavailable && error.refused)) {
    return tell(502, 'BANK_REFUSES_CREDENTIALS', 'The bank does not accept the credentials of this service.');
  }
  if (error instanceof NotAllowed) {
    return tell(502, 'BANK_DOES_NOT_ALLOW', 'The bank does not allow this service to read that.');
  }
  if (error instanceof BankUnreachable && error.why === INTERIM_ANSWER) {
    return tell(502, 'BANK_ANSWER_UNUSABLE', `The bank gave ${inWords(error.why)}.`);
  }
  if (error instanceof BankUnreachable || error instanceof RateLimited || error instanceof TokenUnavailable) {
    return tell(503, 'BANK_UNAVAILABLE', 'The bank cannot be reached; try again in a moment.');
  }
  return tell(502, 'BANK_ANSWER_UNUSABLE', 'The bank answered something that cannot be used.');
}

/**
 * What the bank refuses in its own words is refused, also with a status that says less on a call that moves money. Not
 * what was answered without a word of it: that may come from what stands before the bank.
 */
export function asRefusal<T>(outcome: Outcome<T>, statuses: readonly number[]): Outcome<T> {
  if (outcome.kind !== 'in-doubt' || !statuses.includes(outcome.status ?? 0)) return outcome;
  const said = errorBodyOf(outcome.raw ?? '');
  if (said.words === undefined) return outcome;
  const { status = 0 } = outcome;
  return { kind: 'no', reason: 'invalid', status, error: new BankError(status, said) };
}

type Doubt = Extract<Outcome<unknown>, { kind: 'in-doubt' }>;

/** What an answer that leaves a doubt said, as far as it said anything. */
export function saidInDoubt({ why, raw }: Doubt): string {
  const { code, words } = errorBodyOf(raw ?? '');
  return [[why, code].filter(Boolean).join(' '), words].filter(Boolean).join(': ');
}

type Refusal = Extract<Outcome<unknown>, { kind: 'no' }>;

/** A call the bank did not carry out, told to the person who asked for it: what it refused in its own masked words. */
export function refusalProblem(refusal: Refusal, what: string): Problem {
  switch (refusal.reason) {
    case 'invalid':
      return new Problem(422, 'BANK_REFUSED', `${what}: ${wordsOf(refusal) ?? 'it gave no reason'}.`);
    case 'unauthorised':
    case 'no-token':
      return new Problem(502, 'BANK_REFUSES_CREDENTIALS', `${what}: it does not accept our credentials.`);
    case 'forbidden':
      return new Problem(502, 'BANK_DOES_NOT_ALLOW', `${what}: it does not allow this service to do that.`);
    case 'rate-limited':
    case 'not-sent':
      return new Problem(503, 'BANK_UNAVAILABLE', `${what}: it cannot be reached; try again in a moment.`);
  }
}
