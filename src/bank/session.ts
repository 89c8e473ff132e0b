import type { z } from 'zod';
import { BankUnreachable, ContractDrift, RateLimited, TokenUnavailable } from './errors';
import type { BankHttp, HttpRequest, HttpResult } from './http';
import { checked, isSuccess, type Outcome, outcomeOf, readErrorOf } from './outcome';
import { type BankClock, type RateBudget, rateSignalOf } from './rate-budget';
import type { FaultsOf } from './same-record';
import { readAs } from './schema';
import type { TokenSource } from './token';

/** A call that changes something at the bank. */
export interface Change<T extends z.ZodType = z.ZodUndefined> {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Sent byte for byte. */
  body?: string;
  /** Shape of a successful answer; without it any 2xx is a yes. */
  answer?: T;
  /** Whether a successful answer is about what was sent; one that is not leaves a doubt. */
  faultsOf?: FaultsOf<z.output<T>>;
  /** Renew the token once and send again on a 401: only where a 401 counts as not executed. */
  renewOn401?: boolean;
  freshConnection?: boolean;
  /** Longest wait for the rate budget; a call that may not start late passes a small one. */
  maxQueueMs?: number;
}

type Sent = Omit<HttpRequest, 'url' | 'headers'> & { path: string };

export interface SessionOptions {
  baseUrl: string;
  http: BankHttp;
  token: TokenSource;
  budget: RateBudget;
  clock: BankClock;
}

/** Two pauses of a minute; whoever waits longer should be told instead. */
const LONGEST_QUEUE_MS = 120_000;
/** A read may meet an idle connection the bank has just closed, or a broken answer; the second connection is fresh. */
const READ_ATTEMPTS = 2;
const BROKEN_CONNECTION: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** Token, rate budget and one exchange: what every method of the client goes through. */
export class BankSession {
  /** Without a slash at its end. */
  readonly baseUrl: string;

  constructor(private readonly options: SessionOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, '');
  }

  /**
   * A GET. Reads change nothing, so one lost to a broken connection, or answered with what does not follow the
   * interface, is asked again once. An answer with `faultsOf` is about another record, which is contract drift.
   * @throws BankUnreachable, TokenUnavailable, RateLimited, Unauthorised, NotAllowed, NotFound, BankError,
   * ContractDrift
   */
  async read<T extends z.ZodType>(
    path: string,
    answer: T,
    faultsOf: FaultsOf<z.output<T>> = noFaults,
  ): Promise<z.output<T>> {
    for (let attempt = 1; ; attempt += 1) {
      const request = { method: 'GET' as const, path, freshConnection: attempt > 1 };
      try {
        const result = await this.exchange(request, true, LONGEST_QUEUE_MS);
        if (result.kind === 'failed' || !isSuccess(result.status))
          throw readErrorOf(result, this.retryAfterMs(result));
        const record = readAs(answer, result.text);
        const faults = faultsOf(record);
        if (faults.length > 0) throw new ContractDrift(faults);
        return record;
      } catch (error) {
        if (attempt === READ_ATTEMPTS || !mayBeBetterAtOnce(error)) throw error;
      }
    }
  }

  /**
   * One request, one outcome; never throws for what the bank or the network does. The only second request is
   * the one after a 401 where `renewOn401` says so.
   */
  async change<T extends z.ZodType = z.ZodUndefined>(change: Change<T>): Promise<Outcome<z.output<T>>> {
    try {
      const result = await this.exchange(
        change,
        change.renewOn401 ?? false,
        change.maxQueueMs ?? LONGEST_QUEUE_MS,
      );
      const outcome = outcomeOf(result, change.answer, this.retryAfterMs(result));
      return checked(outcome, change.faultsOf ?? noFaults);
    } catch (error) {
      return notSent(error);
    }
  }

  private async exchange(request: Sent, renewOn401: boolean, maxQueueMs: number): Promise<HttpResult> {
    const { budget, token } = this.options;
    await budget.take(maxQueueMs);
    const used = await token.current();
    const result = await this.send(request, used);
    if (result.kind !== 'answer' || result.status !== 401 || !renewOn401) return result;
    const renewed = await token.renewAfter401(used).catch(() => undefined);
    if (renewed === undefined) return result;
    await budget.take(maxQueueMs);
    return this.send(request, renewed);
  }

  private async send(request: Sent, token: string): Promise<HttpResult> {
    const headers: Record<string, string> = { Authorization: `Bearer ${token}`, Accept: 'application/json' };
    if (request.body !== undefined) headers['Content-Type'] = 'application/json';
    const result = await this.options.http.send({
      method: request.method,
      url: this.baseUrl + request.path,
      headers,
      body: request.body,
      freshConnection: request.freshConnection,
    });
    if (result.kind === 'answer') this.options.budget.observe(rateSignalOf(result, this.options.clock));
    return result;
  }

  private retryAfterMs(result: HttpResult): number | undefined {
    return result.kind === 'answer' ? rateSignalOf(result, this.options.clock).retryAfterMs : undefined;
  }
}

const noFaults = (): string[] => [];

function mayBeBetterAtOnce(error: unknown): boolean {
  if (error instanceof BankUnreachable) return BROKEN_CONNECTION.has(error.why);
  return error instanceof ContractDrift;
}

/** No token or no turn: nothing left, whatever the reason. */
function notSent(error: unknown): Outcome<never> {
  if (error instanceof RateLimited) {
    return { kind: 'no', reason: 'not-sent', why: 'rate-budget', retryAfterMs: error.retryAfterMs };
  }
  if (error instanceof TokenUnavailable) {
    return { kind: 'no', reason: error.refused ? 'no-token' : 'not-sent', why: error.message };
  }
  throw error;
}
