import type { LoggedAs } from '../config/describe-error';

/** What every error of the bank client is, so that a caller can tell the bank's faults from its own. */
export abstract class BankClientError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
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
    super(`The bank could not be reached (${why})`);
  }
}

/** No access token could be had, so nothing was sent to the bank. */
export class TokenUnavailable extends BankClientError {
  constructor(
    readonly why: string,
    /** True where the token endpoint answered that this request will never do. */
    readonly refused: boolean,
  ) {
    super(`No access token (${why})`);
  }
}

/** An answer that lacks a required field or cannot be read. Names fields, never their values. */
export class ContractDrift extends BankClientError {
  constructor(readonly fields: readonly string[]) {
    super(`The bank's answer does not follow its interface: ${fields.join(', ')}`);
  }
}

/** The bank, or our own budget, asks to wait. */
export class RateLimited extends BankClientError {
  constructor(readonly retryAfterMs: number) {
    super(`The bank's rate limit is reached; wait ${retryAfterMs} ms`);
  }
}

/** What an error answer said, as far as it could be read, masked (Errors 4: the shape is not shown). */
export interface BankErrorBody {
  code?: string;
  message?: string;
  hint?: string;
  /** The body as received, masked and cut. */
  raw: string;
}

/** An answer that is not a success. The message is the bank's own, masked; it may name a person all the same. */
export class BankError extends BankClientError implements LoggedAs {
  readonly loggedAs: string;
  readonly code?: string;
  readonly hint?: string;
  readonly raw: string;

  constructor(
    readonly status: number,
    body: BankErrorBody,
  ) {
    const loggedAs = `The bank answered ${status}${body.code ? ` ${body.code}` : ''}`;
    super(body.message ? `${loggedAs}: ${body.message}` : loggedAs);
    this.loggedAs = loggedAs;
    this.code = body.code;
    this.hint = body.hint;
    this.raw = body.raw;
  }
}

/** 401, also after one renewal of the token. */
export class Unauthorised extends BankError {}

/** 403: the token lacks a scope, or the record belongs to somebody else. */
export class NotAllowed extends BankError {}

/** 404, or 410 for what was there once. For a record just written it proves nothing: a listing may lag. */
export class NotFound extends BankError {}

/** A list that cannot be read to its end: it repeats itself, or is longer than the caps. */
export class ListUnreadable extends BankClientError {
  constructor(readonly why: 'repeats' | 'too-many-pages' | 'too-many-items' | 'gap') {
    super(`The bank's list cannot be read to its end (${why})`);
  }
}

/** Whether what the bank answers cannot be used, now or later: a person must ask it. */
export function isAnswerUnusable(error: unknown): error is ContractDrift | ListUnreadable {
  return error instanceof ContractDrift || error instanceof ListUnreadable;
}

/** Whether the bank refuses our access, so that going on would only make noise. */
export function isAccessRefused(error: unknown): error is BankClientError {
  if (error instanceof TokenUnavailable) return error.refused;
  return error instanceof NotAllowed || error instanceof Unauthorised;
}
