/** How the same read failed in a row so far, and what is left until that counts as lasting. */
export interface FailsInARow {
  /** What is read, in words and by the bank's ids. */
  read: string;
  times: number;
  sinceMs: number;
  /** Moments at which it has yet to fail, when the next of them is, and how far they are apart, at least. */
  momentsLeft: number;
  nextMs: number;
  apartMs: number;
}

/** What every error of the bank client is, so that a caller can tell the bank's faults from its own. */
export abstract class BankClientError extends Error {
  /** The read that it is of, such as `GET /api/…`, as far as it was asked for. */
  call?: string;
  /** Whether the same read was answered like that again and again, where that was counted. */
  isForGood?: boolean;
  /** How that was counted. */
  inARow?: FailsInARow;

  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The error, with the read that it is of, but for what it asked with, which may be an amount. */
export function ofRead<T extends BankClientError>(path: string, error: T): T {
  error.call = `GET ${path.split('?')[0] ?? path}`;
  return error;
}

/** Which read an error is of, in words that the bank can look for; of a list that is read for an instruction, of which. */
export function readOf({ call }: BankClientError, bankInstructionId: string | null = null): string {
  if (call !== undefined) return call;
  return bankInstructionId === null
    ? 'a read of ours'
    : `a read of customer instruction ${bankInstructionId}`;
}

/** Whether an error is the bank's or the network's, and so belongs to the trade. */
export function isBankError(error: unknown): error is BankClientError {
  return error instanceof BankClientError;
}

/** No answer: the network, a time-out, or a body that could not be received whole. */
export class BankUnreachable extends BankClientError {
  constructor(
    /** A code such as `ECONNREFUSED`, `total-timeout`, `body-too-large`. */
    readonly why: string,
    /** False only where no byte of the request was written. */
    readonly sent: boolean,
  ) {
    super(`The bank could not be reached (${inWords(why)})`);
  }
}

/** Why an answer could not be received whole that is larger than is read of any. */
export const BODY_TOO_LARGE = 'body-too-large';

/** Why an answer could not be received that was announced by a 100 nobody asked for. */
export const INTERIM_ANSWER = 'interim-answer';

/** Our own codes and the library's for people; those of the system tell whoever mends a connection more than words. */
const IN_WORDS: Readonly<Record<string, string>> = {
  'connect-timeout': 'no connection in time',
  'total-timeout': 'no whole answer in time',
  [BODY_TOO_LARGE]: 'an answer larger than any may be',
  [INTERIM_ANSWER]: 'an interim answer (100) that this client does not take',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'an answer that was cut off',
};

/** Why a call got no answer, as people are told it. */
export function inWords(why: string): string {
  return IN_WORDS[why] ?? why;
}

/** No access token could be had, so nothing was sent to the bank. */
export class TokenUnavailable extends BankClientError {
  constructor(
    readonly why: string,
    /** True where the token endpoint answered that this request will never do. */
    readonly refused: boolean,
  ) {
    super(`No access token (${inWords(why)})`);
  }
}

/** An answer that lacks a required field or cannot be read. Its message names fields, and no value. */
export class ContractDrift extends BankClientError {
  constructor(
    readonly fields: readonly string[],
    /** The sum that cannot be read, as received: for whoever may see payments. */
    readonly shown?: string,
  ) {
    super(`The bank's answer does not follow its interface: ${fields.join(', ')}`);
  }
}

/** The sum for which an answer cannot be read, where it is one: what an attention has in the bank's words. */
export function sumIn(error: BankClientError): string | undefined {
  return error instanceof ContractDrift ? error.shown : undefined;
}

/** The bank, or our own budget, asks to wait. */
export class RateLimited extends BankClientError {
  constructor(readonly retryAfterMs: number) {
    super(`The bank's rate limit is reached; wait ${retryAfterMs} ms`);
  }
}

/** Whoever wanted a call gave it up before anything of it was sent. */
export class GivenUp extends BankClientError {
  constructor() {
    super('The call was given up before it was sent');
  }
}

/** What an error answer said, as far as it could be read, masked (Errors 4: the shape is not shown). */
export interface BankErrorBody {
  code?: string;
  /** The message, and the hint after it. */
  words?: string;
  /** The body as received, masked and cut. */
  raw: string;
}

/** How the message of every `BankError` of that status begins. */
export function answered(status: number): string {
  return `The bank answered ${status}`;
}

/** An answer that is not a success. Its message says what was answered, and not in the bank's words. */
export class BankError extends BankClientError {
  readonly code?: string;
  /** The bank's own, masked; they may name a person all the same, so they are for whoever may see payments. */
  readonly words?: string;
  /** The body, masked likewise. */
  readonly raw: string;

  constructor(
    readonly status: number,
    body: BankErrorBody,
  ) {
    super(`${answered(status)}${body.code ? ` ${body.code}` : ''}`);
    this.code = body.code;
    this.words = body.words;
    this.raw = body.raw;
  }
}

/** 401, also after one renewal of the token. */
export class Unauthorised extends BankError {}

/** 403: the token lacks a scope, or the record belongs to somebody else. */
export class NotAllowed extends BankError {}

/** No answer of the bank to this read: a probe found that it allows none, and so none is made. */
export class NoReadAllowed extends NotAllowed {
  constructor() {
    super(403, { raw: '' });
    this.message =
      'no read of its payments was found to be allowed when the account was last probed, and none is made: probe it again';
  }
}

/** 404, or 410 for what was there once. For a record just written it proves nothing: a listing may lag. */
export class NotFound extends BankError {}

/** The server failed to show page 0 of a list, and shows nothing as its page 1: one that is empty and counts from 1, or not. */
export class FirstPageFailed extends BankError {}

/** Why a list cannot be read to its end, and as people are told it. */
const WHY_UNREADABLE = {
  repeats: 'it shows the same page again',
  'too-many-pages': 'it has more pages than are read of any',
  'too-many-items': 'it shows more than is read of any',
  'page-too-large': 'a page is larger than is read of any',
  gap: 'between two pages something is left out',
  'nothing-shown': 'it counts some and shows none',
};

/** A list that cannot be read to its end: it repeats itself, or it or one of its pages is longer than the caps. */
export class ListUnreadable extends BankClientError {
  constructor(readonly why: keyof typeof WHY_UNREADABLE) {
    super(`The bank's list cannot be read to its end (${WHY_UNREADABLE[why]})`);
  }
}

/** Whether a list is longer than is read of any, which it stays. */
export function isTooLong(error: unknown): error is ListUnreadable {
  return error instanceof ListUnreadable && TOO_LONG.has(error.why);
}

const TOO_LONG: ReadonlySet<ListUnreadable['why']> = new Set(['too-many-pages', 'too-many-items']);

/** A read that fails again and again, of which no other shows what it would: only the bank can say what that is. */
export class ReadFails extends BankClientError {
  /**
   * @param what it would show
   * @param last what it failed with last
   */
  constructor(what: string, last?: BankClientError) {
    super(`The bank fails again and again to show ${what}`);
    this.call = last?.call;
  }
}

/** Whether a list answered and showed nothing, and not so that it is known to be empty. Only payments in it tell. */
export function isPerhapsEmpty(error: unknown): error is BankClientError {
  if (error instanceof ListUnreadable) return error.why === 'nothing-shown';
  return error instanceof FirstPageFailed;
}

/** Whether a list shows nothing: there is none, or it is perhaps empty. What is shown by itself need not be in it. */
export function isPerhapsNone(error: unknown): error is BankClientError {
  return error instanceof NotFound || isPerhapsEmpty(error);
}

/** Whether the bank refuses, or lacks, just what was asked for. */
export function isHidden(error: unknown): error is NotAllowed | NotFound {
  return error instanceof NotAllowed || error instanceof NotFound;
}

/** As `isHidden`, or what it does not show otherwise, again and again: then its word in writing is all there is. */
export function isHiddenForGood(error: unknown): error is BankClientError {
  return isHidden(error) || (isNotShown(error) && error.isForGood === true);
}

/** Whether what the bank answers cannot be used, now or later: a person must ask it. */
export function isAnswerUnusable(error: unknown): error is ContractDrift | ListUnreadable {
  return error instanceof ContractDrift || error instanceof ListUnreadable;
}

/** An answer to one read that shows nothing and may never show more; no answer, or want of access, is for us to mend. */
export function isRefusedRead(error: unknown): error is BankClientError {
  return (error instanceof BankError && !(error instanceof Unauthorised)) || isAnswerUnusable(error);
}

/** A read, or undefined where it fails in a way that says nothing of what was asked for. */
export async function unless<T>(
  saysNothing: (error: unknown) => boolean,
  reading: Promise<T>,
): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (saysNothing(error)) return undefined;
    throw error;
  }
}

/** Not all that a decision rests on is read yet: a request takes no longer, and the next one goes on. */
export class ReadInPart extends BankClientError {
  constructor(
    { read, failed, of }: { read: number; failed: readonly BankClientError[]; of: number },
    /** How long what was read is kept for the request that goes on. */
    readonly keptMs: number,
  ) {
    const failures = failed[0] ? `, and ${failed.length} failed (${failed[0].message})` : '';
    super(`of ${of} reads ${read} were made in the time that one request may take${failures}`);
  }
}

/** What a read came to: what it showed, or what it failed with that says nothing of others. */
export type Answer<R> = { shown: R } | { failure: BankClientError };

/** @throws what says something of all reads, such as no answer */
export async function answerOf<R>(reading: Promise<R>): Promise<Answer<R>> {
  try {
    return { shown: await reading };
  } catch (error) {
    if (error instanceof BankUnreachable || !isFaultOfOneRead(error)) throw error;
    return { failure: error };
  }
}

/** What some of them failed with. */
export function failuresOf(answers: readonly Answer<unknown>[]): BankClientError[] {
  return answers.flatMap((answer) => ('failure' in answer ? [answer.failure] : []));
}

/** What all of them showed. @throws the first failure */
export function allShown<R>(answers: readonly Answer<R>[]): R[] {
  return answers.map((answer) => {
    if ('failure' in answer) throw answer.failure;
    return answer.shown;
  });
}

/**
 * Reads each, also behind one that fails, so that all are known to fail for good at one time.
 * @throws the first failure, once each was read; one that says something of all, such as no answer, at once
 */
export async function readEach<T, R>(all: readonly T[], read: (one: T) => Promise<R>): Promise<R[]> {
  const answers: Answer<R>[] = [];
  for (const one of all) answers.push(await answerOf(read(one)));
  return allShown(answers);
}

/** How a request itself is refused, such as for a parameter. */
const REQUEST_REFUSED: ReadonlySet<number> = new Set([400, 422]);

/** Whether the bank refuses what a read asked with, such as a bound of a list: another way of asking may do. */
export function isRequestRefused(error: unknown): error is BankError {
  return error instanceof BankError && REQUEST_REFUSED.has(error.status);
}

/** Whether the bank offers no such read, whatever it was asked for: another may show the same. */
export function isNotOffered(error: unknown): error is BankError {
  return error instanceof BankError && NOT_OFFERED.has(error.status);
}

/**
 * A fault of the bank's own, a redirect or time-out of what stands before it, or no answer to what was sent: of one read,
 * where it lasts, perhaps not of others. Not that what was asked for is not offered (501).
 */
export function isServersFault(error: unknown): error is BankError | BankUnreachable {
  if (error instanceof BankUnreachable) return error.sent;
  if (!(error instanceof BankError) || error instanceof Unauthorised) return false;
  const { status } = error;
  if (status >= 500) return status !== NOT_IMPLEMENTED;
  return status < 400 || (PASSING.has(status) && status !== 429);
}

/** Whether the bank refuses our access, so that going on would only make noise. */
export function isAccessRefused(error: unknown): error is BankClientError {
  if (error instanceof TokenUnavailable) return error.refused;
  return error instanceof NotAllowed || error instanceof Unauthorised;
}

const NOT_IMPLEMENTED = 501;

/** That such a call is not offered. */
const NOT_OFFERED: ReadonlySet<number> = new Set([405, NOT_IMPLEMENTED]);

/** Statuses below 500 that may pass by themselves: time-outs of what stands before the bank, and its limits. */
const PASSING = new Set([408, 425, 429]);

/**
 * Whether what was asked for is not to be had, now or later: refused, lacking, not offered (405, 501), or answered so that
 * it cannot be used. A server's fault, a redirect and want of access are for somebody to mend, and asked again.
 */
export function isNotShown(error: unknown): error is BankError | ContractDrift | ListUnreadable {
  if (isAnswerUnusable(error)) return true;
  if (!(error instanceof BankError) || error instanceof Unauthorised) return false;
  const { status } = error;
  return status === NOT_IMPLEMENTED || (status >= 400 && status < 500 && !PASSING.has(status));
}

/** Whether the bank does not let it be read: it does not show it, or reading it fails for good. */
export function isNotToBeRead(
  error: unknown,
): error is BankError | ContractDrift | ListUnreadable | ReadFails {
  return isNotShown(error) || error instanceof ReadFails;
}

/** A fault that may be of one read alone and last: it is counted by that read, and the others are made all the same. */
export function isFaultOfOneRead(
  error: unknown,
): error is BankError | BankUnreachable | ContractDrift | ListUnreadable {
  return isServersFault(error) || isNotShown(error);
}
