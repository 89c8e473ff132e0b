import type { z } from 'zod';
import { errorBodyOf } from './error-body';
import {
  BankError,
  BankUnreachable,
  type BankClientError,
  ContractDrift,
  NotAllowed,
  NotFound,
  RateLimited,
  Unauthorised,
} from './errors';
import type { HttpAnswer, HttpResult } from './http';
import { maskBody } from './mask';
import type { RateSignal } from './rate-budget';
import type { BankPayment } from './records';
import type { FaultsOf } from './same-record';
import { readAs } from './schema';

/** `not-sent`: no byte left. `no-token`: the same, because the token endpoint refused our credentials. */
export type RefusalReason =
  'not-sent' | 'no-token' | 'invalid' | 'unauthorised' | 'forbidden' | 'rate-limited';

/**
 * What is known after a call that changes something at the bank: it was done, it was not done, or nobody can
 * tell from the answer. A caller never repeats a call in doubt.
 */
export type Outcome<T> =
  | { kind: 'yes'; value: T; status: number }
  | {
      kind: 'no';
      reason: RefusalReason;
      status?: number;
      error?: BankError;
      retryAfterMs?: number;
      /** A 429 that tells neither how long to wait nor how many requests are taken. */
      isVague?: boolean;
      why?: string;
    }
  | {
      kind: 'in-doubt';
      why: string;
      status?: number;
      raw?: string;
      /** What an add was answered with that is not what was sent. */
      echo?: BankPayment;
    };

/** The bank's per-minute limits; a 429 without `Retry-After` means the next minute. */
const RATE_LIMIT_PAUSE_MS = 60_000;

/**
 * The one translation of an exchange into an outcome. `schema` undefined: the body does not matter (the two
 * closures and deletions answer with a status only).
 */
export function outcomeOf<T extends z.ZodType>(
  result: HttpResult,
  schema: T | undefined,
  told: Pick<RateSignal, 'retryAfterMs' | 'limit'> = {},
): Outcome<z.output<T>> {
  if (result.kind === 'failed') {
    return result.sent
      ? { kind: 'in-doubt', why: result.why }
      : { kind: 'no', reason: 'not-sent', why: result.why };
  }
  const { status } = result;
  if (isSuccess(status)) return outcomeOfSuccess(result, schema);
  const reason = REFUSALS.get(status);
  if (!reason) return { kind: 'in-doubt', why: `status ${status}`, status, raw: maskBody(result.text) };
  const wait = reason === 'rate-limited' ? waitOf(told) : {};
  return { kind: 'no', reason, status, error: new BankError(status, errorBodyOf(result.text)), ...wait };
}

function waitOf({ retryAfterMs, limit }: Pick<RateSignal, 'retryAfterMs' | 'limit'>) {
  const isVague = retryAfterMs === undefined && limit === undefined;
  return { retryAfterMs: retryAfterMs ?? RATE_LIMIT_PAUSE_MS, ...(isVague && { isVague }) };
}

/** Statuses taken as "not executed"; every other one than 2xx is a doubt. */
const REFUSALS: ReadonlyMap<number, RefusalReason> = new Map([
  [400, 'invalid'],
  [422, 'invalid'],
  [401, 'unauthorised'],
  [403, 'forbidden'],
  [429, 'rate-limited'],
]);

function outcomeOfSuccess<T extends z.ZodType>(
  answer: HttpAnswer,
  schema: T | undefined,
): Outcome<z.output<T>> {
  const { status } = answer;
  try {
    return { kind: 'yes', value: (schema ? readAs(schema, answer.text) : undefined) as z.output<T>, status };
  } catch (error) {
    if (!(error instanceof ContractDrift)) throw error;
    return { kind: 'in-doubt', why: error.message, status, raw: maskBody(answer.text) };
  }
}

/** A success that is about something else than what was sent proves nothing: a doubt, `echo-differs: <fields>`. */
export function checked<T>(outcome: Outcome<T>, faultsOf: FaultsOf<T>): Outcome<T> {
  const faults = outcome.kind === 'yes' ? faultsOf(outcome.value) : [];
  if (faults.length === 0) return outcome;
  return { kind: 'in-doubt', why: `echo-differs: ${faults.join(', ')}`, status: outcome.status };
}

/** The typed error of a read that did not succeed. */
export function readErrorOf(result: HttpResult, retryAfterMs: number | undefined): BankClientError {
  if (result.kind === 'failed') return new BankUnreachable(result.why, result.sent);
  const { status } = result;
  if (status === 429) return new RateLimited(retryAfterMs ?? RATE_LIMIT_PAUSE_MS);
  const body = errorBodyOf(result.text);
  if (status === 401) return new Unauthorised(status, body);
  if (status === 403) return new NotAllowed(status, body);
  if (status === 404 || status === 410) return new NotFound(status, body);
  return new BankError(status, body);
}

/** Whether an HTTP status is one of those that say yes. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}
