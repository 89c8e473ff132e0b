import type { z } from 'zod';
import { LONGEST_WAIT_MS } from '../domain/request-pace';
import { BankUnreachable, ContractDrift, GivenUp, ofRead, RateLimited, TokenUnavailable } from './errors';
import type { BankHttp, HttpRequest, HttpResult } from './http';
import { checked, isSuccess, type Outcome, outcomeOf, readErrorOf } from './outcome';
import { type BankClock, type RateBudget, rateSignalOf } from './rate-budget';
import type { FaultsOf } from './same-record';
import { readAs } from './schema';
import type { TokenSource } from './token';
import { PATHS } from './types';

/** The right to send one request about now. */
export interface Turn {
  /** When it was given, by the clock of the session. */
  readonly atMs: number;
}

/** What lets a call leave that must not leave late. */
export interface Leaving {
  /** Waited for before, by {@link BankSession.turn}. */
  turn?: Turn;
  /** Asked before the first byte: where it says no, nothing is sent. */
  mayLeave?: () => boolean;
  /** Ends the wait for a turn and a token: what has not left by then is not sent. */
  givenUp?: AbortSignal;
}

/** A call that changes something at the bank. */
export interface Change<T extends z.ZodType = z.ZodUndefined> extends Leaving {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Sent byte for byte. */
  body?: string;
  /** Shape of a successful answer; without it any 2xx is a yes. */
  answer?: T;
  /** The JSON that a successful answer without a body stands for, where one needs none. */
  noContent?: string;
  /** Whether a successful answer is about what was sent; one that is not leaves a doubt. */
  faultsOf?: FaultsOf<z.output<T>>;
  /** Renew the token once and send again on a 401, or a 403 to an old one: only where these count as not executed. */
  renewsToken?: boolean;
  freshConnection?: boolean;
  /** Longest wait for the rate budget, and for the token; a call that may not start late passes a small one. */
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

/** A turn that is not used in this time is lost: others have theirs by then. */
const TURN_LASTS_MS = 1_000;

/** Of two turns the second is kept for so long, which is for one read: whatever takes longer waits for turns of its own. */
const KEPT_FOR_MS = 2_000;

/** A read may meet an idle connection the bank has just closed, or a broken answer; the second connection is fresh. */
const READ_ATTEMPTS = 2;
const BROKEN_CONNECTION: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** A read is asked again so often where the bank's rate limit refuses it. */
const TURNED_AWAY_AT_MOST = 3;

const NO_CONTENT = 204;

/** A record that a new token is forbidden has none renewed for so long, about a token's life: each may end another's. */
const FORBIDDEN_FOR_MS = 600_000;

/** Token, rate budget and one exchange: what every method of the client goes through. */
export class BankSession {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** By what is called: when a new token was forbidden that, until it is taken; the latest stands last. */
  private readonly forbiddenAtMs = new Map<string, number>();

  constructor(private readonly options: SessionOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, '');
  }

  /**
   * A GET. Reads change nothing, so one lost to a broken connection, or answered with what does not follow the
   * interface, is asked again once; one that the rate limit refuses, once that lets it. An answer with `faultsOf` is about
   * another record, which is contract drift. A 204 is read as `noContent`, the JSON that an answer without content stands for;
   * without it that is contract drift.
   * @throws BankUnreachable, TokenUnavailable, RateLimited, Unauthorised, NotAllowed, NotFound, BankError,
   * ContractDrift
   */
  async read<T extends z.ZodType>(
    path: string,
    answer: T,
    faultsOf: FaultsOf<z.output<T>> = noFaults,
    noContent = '',
    turn?: Turn,
  ): Promise<z.output<T>> {
    for (let attempt = 1; ; attempt += 1) {
      const request = { method: 'GET' as const, path, freshConnection: attempt > 1 };
      try {
        const result = await this.patiently(request, attempt === 1 ? turn : undefined);
        if (result.kind === 'failed' || !isSuccess(result.status))
          throw ofRead(path, readErrorOf(result, retryAfterMs(result)));
        const record = readAs(answer, result.status === NO_CONTENT ? noContent : result.text);
        const faults = faultsOf(record);
        if (faults.length > 0) throw new ContractDrift(faults);
        return record;
      } catch (error) {
        if (attempt < READ_ATTEMPTS && mayBeBetterAtOnce(error)) continue;
        throw error instanceof ContractDrift ? ofRead(path, error) : error;
      }
    }
  }

  /**
   * The answer to a GET, asked again where that is 429, in all no longer after it began than one turn is waited for: where each
   * read that rests on many began them all anew, some banks would never let one end.
   */
  private async patiently(request: Sent, turn: Turn | undefined): Promise<HttpResult> {
    const { budget, clock } = this.options;
    const untilMs = clock.nowMs() + LONGEST_WAIT_MS;
    const leftMs = (): number => untilMs - clock.nowMs();
    let result = await this.exchange(request, true, LONGEST_WAIT_MS, { turn });
    for (let left = TURNED_AWAY_AT_MOST; left > 0 && statusOf(result) === 429; left -= 1) {
      if (budget.pauseLeftMs() >= leftMs()) break;
      result = await this.exchange(request, true, leftMs());
    }
    return result;
  }

  /**
   * One request, one outcome; never throws for what the bank or the network does. The only second request is
   * the one with another token where `renewsToken` says so.
   */
  async change<T extends z.ZodType = z.ZodUndefined>(change: Change<T>): Promise<Outcome<z.output<T>>> {
    try {
      const result = await this.exchange(
        change,
        change.renewsToken ?? false,
        change.maxQueueMs ?? LONGEST_WAIT_MS,
        change,
      );
      const { answer, noContent } = change;
      const isEmpty = result.kind === 'answer' && result.text === '' && noContent !== undefined;
      const read = isEmpty ? { ...result, text: noContent } : result;
      const outcome = outcomeOf(read, answer, result.kind === 'answer' ? rateSignalOf(result) : {});
      return checked(outcome, change.faultsOf ?? noFaults);
    } catch (error) {
      return notSent(error);
    }
  }

  /**
   * Waits for a turn, two minutes at most and ahead of others, and for a young token before it. For a call that may not wait
   * once it is written down.
   * @throws RateLimited, TokenUnavailable
   */
  async turn(): Promise<Turn> {
    await this.options.token.young();
    await this.options.budget.take(LONGEST_WAIT_MS, { urgent: true });
    return this.turnOfNow();
  }

  /**
   * As `turn`, for a call that rests on a read right before it: the turns of both are waited for together.
   * @returns the turn of the call, unless the read took so long that others have it
   * @throws RateLimited, TokenUnavailable, and whatever the read throws
   */
  async turnAfter<T>(read: (turn: Turn) => Promise<T>): Promise<{ turn?: Turn; answer: T }> {
    await this.options.token.young();
    await this.options.budget.take(LONGEST_WAIT_MS, { urgent: true, turns: 2 });
    const its = this.turnOfNow();
    const answer = await read(its);
    const turn = this.turnOfNow();
    return turn.atMs - its.atMs <= KEPT_FOR_MS ? { turn, answer } : { answer };
  }

  private turnOfNow(): Turn {
    return { atMs: this.options.clock.nowMs() };
  }

  private async exchange(
    request: Sent,
    renewsToken: boolean,
    maxQueueMs: number,
    { turn, givenUp }: Leaving = {},
  ): Promise<HttpResult> {
    const { budget } = this.options;
    const used = await unlessGivenUp(this.tokenInTurn(maxQueueMs, { turn, givenUp }), givenUp);
    const result = await this.send(request, used);
    const renewed = renewsToken ? await this.renewedAfter(result, request, used) : undefined;
    if (renewed === undefined) return result;
    await unlessGivenUp(budget.take(maxQueueMs, { givenUp }), givenUp);
    const again = await this.send(request, renewed);
    if (statusOf(again) === 403) this.rememberForbidden(request);
    return again;
  }

  /** Another token, where one was turned away and there can be one. */
  private async renewedAfter(result: HttpResult, request: Sent, used: string): Promise<string | undefined> {
    const { token } = this.options;
    const status = statusOf(result);
    if (status === 401) return token.renewAfter401(used).catch(refusedAsNone);
    if (status === 403 && !this.isForbidden(request)) return token.renewAfter403(used).catch(refusedAsNone);
    return undefined;
  }

  /** Nothing of a call with a body: its path does not tell what of it is forbidden, which may be an account. */
  private rememberForbidden(request: Sent): void {
    if (request.body !== undefined) return;
    const nowMs = this.options.clock.nowMs();
    this.forbiddenAtMs.delete(nameOf(request));
    this.forbiddenAtMs.set(nameOf(request), nowMs);
    for (const [name, atMs] of this.forbiddenAtMs) {
      if (nowMs - atMs < FORBIDDEN_FOR_MS) return;
      this.forbiddenAtMs.delete(name);
    }
  }

  private isForbidden(request: Sent): boolean {
    const sinceMs = this.forbiddenAtMs.get(nameOf(request)) ?? -Infinity;
    return this.options.clock.nowMs() - sinceMs < FORBIDDEN_FOR_MS;
  }

  /** Waits for a turn, unless one may be used, and for the token to send with. */
  private async tokenInTurn(maxQueueMs: number, { turn, givenUp }: Leaving): Promise<string> {
    const { budget, token } = this.options;
    if (!this.mayUse(turn)) {
      // Before the turn: a token that has to be asked for takes one too, and that may be the next minute's.
      await soon(token.current(), maxQueueMs);
      await budget.take(maxQueueMs, { givenUp });
    }
    return soon(token.current(), maxQueueMs);
  }

  private mayUse(turn: Turn | undefined): boolean {
    const { budget, clock } = this.options;
    return turn !== undefined && clock.nowMs() - turn.atMs <= TURN_LASTS_MS && budget.pauseLeftMs() <= 0;
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
      mayLeave: request.mayLeave,
    });
    if (result.kind === 'answer' && isSuccess(result.status) && this.forbiddenAtMs.size > 0)
      this.forbiddenAtMs.delete(nameOf(request));
    if (result.kind === 'answer')
      this.options.budget.observe({ ...rateSignalOf(result), isApart: !ofPayments(request.path) });
    return result;
  }
}

/** Whether payments pass the endpoint: those of customer instructions, and of their credit transfers. */
function ofPayments(path: string): boolean {
  return path.startsWith(PATHS.customerInstruction(''));
}

/** What is called, and with which parameters: what one record is forbidden says nothing of another. */
function nameOf({ method, path }: Sent): string {
  return `${method} ${path}`;
}

function statusOf(result: HttpResult): number | undefined {
  return result.kind === 'answer' ? result.status : undefined;
}

function retryAfterMs(result: HttpResult): number | undefined {
  return result.kind === 'answer' ? rateSignalOf(result).retryAfterMs : undefined;
}

const noFaults = (): string[] => [];

function mayBeBetterAtOnce(error: unknown): boolean {
  if (error instanceof BankUnreachable) return BROKEN_CONNECTION.has(error.why);
  return error instanceof ContractDrift;
}

/** A turn that comes later is lost. @throws GivenUp */
async function unlessGivenUp<T>(waiting: Promise<T>, givenUp: AbortSignal | undefined): Promise<T> {
  if (givenUp === undefined) return waiting;
  let giveUp: (() => void) | undefined;
  const ended = new Promise<never>((_, reject) => {
    giveUp = () => reject(new GivenUp());
    if (givenUp.aborted) giveUp();
    else givenUp.addEventListener('abort', giveUp, { once: true });
  });
  try {
    return await Promise.race([ended, waiting]);
  } finally {
    if (giveUp) givenUp.removeEventListener('abort', giveUp);
  }
}

/** A token that comes later serves the next call. @throws TokenUnavailable */
async function soon(token: Promise<string>, withinMs: number): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TokenUnavailable('not in time', false)), withinMs);
  });
  try {
    return await Promise.race([token, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Where no token can be had the 401 or 403 stands; a failure that may pass says nothing of our access. */
function refusedAsNone(error: unknown): undefined {
  if (error instanceof TokenUnavailable && error.refused) return undefined;
  throw error;
}

/** No token or no turn: nothing left, or only what was answered with a 401 or 403 that counts as not executed. */
function notSent(error: unknown): Outcome<never> {
  if (error instanceof RateLimited) {
    return { kind: 'no', reason: 'not-sent', why: 'rate-budget', retryAfterMs: error.retryAfterMs };
  }
  if (error instanceof TokenUnavailable) {
    return { kind: 'no', reason: error.refused ? 'no-token' : 'not-sent', why: error.message };
  }
  if (error instanceof GivenUp) return { kind: 'no', reason: 'not-sent', why: error.message };
  throw error;
}
