import { LONGEST_WAIT_MS } from '../domain/request-pace';
import { TokenUnavailable } from './errors';
import type { BankHttp, HttpAnswer, HttpRequest, HttpResult } from './http';
import { isSuccess } from './outcome';
import { type BankClock, type RateBudget, type RateSignal, rateSignalOf, SYSTEM_CLOCK } from './rate-budget';

/** Where the access token comes from (Authentication 5: how it is obtained is not shown). */
export interface TokenSource {
  /**
   * A token that is not about to expire, the same for all callers.
   * @throws TokenUnavailable, RateLimited
   */
  current(): Promise<string>;
  /**
   * As `current`, for what is not sent again after a 401: renewed, too, at half the shortest life that a 401 has shown.
   * Where it cannot be renewed it is not used on, since what needs it can wait until it can: a refusal counts as one only
   * once there is no other token, or once it lasts.
   * @throws TokenUnavailable, RateLimited
   */
  young(): Promise<string>;
  /**
   * Called when the bank answered 401 to `rejected`: a newer token, or undefined where there cannot be one.
   * @throws TokenUnavailable, RateLimited
   */
  renewAfter401(rejected: string): Promise<string | undefined>;
  /**
   * As `renewAfter401` after a 403, which may be how the end of a token is answered: undefined also where `rejected` is
   * young, which has not ended.
   * @throws TokenUnavailable, RateLimited
   */
  renewAfter403(rejected: string): Promise<string | undefined>;
}

/** A token given by the operator; it cannot be renewed. */
export class StaticToken implements TokenSource {
  constructor(private readonly token: string) {}

  async current(): Promise<string> {
    return this.token;
  }

  young(): Promise<string> {
    return this.current();
  }

  async renewAfter401(): Promise<undefined> {
    return undefined;
  }

  renewAfter403(): Promise<undefined> {
    return this.renewAfter401();
  }
}

export interface ClientCredentials {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string;
  /** All of it in JSON, as unless said otherwise, or in a form; or id and secret in HTTP Basic beside a form. */
  form?: 'json' | 'form' | 'basic';
}

interface Token {
  text: string;
  gotAtMs: number;
  /** From here on a new one is fetched before use. */
  renewAtMs: number;
  expiresAtMs: number;
}

/** The family's tokens live ten minutes; a shorter life is assumed where the endpoint names none. */
const ASSUMED_LIFE_S = 300;
/** Longer than one exchange with its time-outs, so that a token does not end on the way. */
const RENEW_BEFORE_MS = 60_000;
/** A token that is turned away sooner has not ended: that would have every submit ask for one of its own. */
const SHORTEST_LIFE_MS = 1_000;
/** A token that is forbidden something sooner has not ended: it lacks a right. */
const SURELY_ALIVE_MS = 60_000;
/** After a failure callers share it for this long instead of hammering an endpoint that may lock the client out. */
const FAILURE_PAUSE_MS = 2_000;
/** OAuth's own refusals of a client (RFC 6749, 5.2), and of what it sent. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 422]);
/**
 * Any other client error may be that of a gateway whose endpoint is away, and so may a refusal while a token serves; one
 * that lasts so long is a wrong address, or access that is gone.
 */
const ASTRAY_MS = 120_000;
/** Every call waits for the token, so its turn comes before theirs; but not for long while an old one still serves. */
const TURN_WAIT_MS = 5_000;

/**
 * OAuth client credentials. One renewal at a time serves every caller. The document names no limit of
 * requests; with a `budget` each request for a token takes a turn of it.
 */
export class ClientCredentialsToken implements TokenSource {
  private token?: Token;
  private renewal?: Promise<Token>;
  private failure?: { error: TokenUnavailable; untilMs: number };
  private astraySinceMs?: number;
  /** Between a token and the 401 to it. */
  private shortestSeenMs = Infinity;

  constructor(
    private readonly http: BankHttp,
    private readonly credentials: ClientCredentials,
    private readonly clock: BankClock = SYSTEM_CLOCK,
    private readonly budget?: RateBudget,
  ) {}

  async current(): Promise<string> {
    const token = this.token;
    try {
      return await this.renewedAt(token?.renewAtMs ?? 0);
    } catch (error) {
      if (token && token === this.token && this.clock.nowMs() < token.expiresAtMs) return token.text;
      throw error;
    }
  }

  young(): Promise<string> {
    const { gotAtMs, renewAtMs } = this.token ?? { gotAtMs: 0, renewAtMs: 0 };
    return this.renewedAt(Math.min(renewAtMs, gotAtMs + this.shortestSeenMs / 2));
  }

  private async renewedAt(renewAtMs: number): Promise<string> {
    if (this.token && this.clock.nowMs() < renewAtMs) return this.token.text;
    return (await this.renew()).text;
  }

  async renewAfter401(rejected: string): Promise<string> {
    if (this.token && this.token.text !== rejected && this.clock.nowMs() < this.token.expiresAtMs) {
      return this.token.text;
    }
    if (this.token?.text === rejected) this.sawEndOf(this.token);
    this.token = undefined;
    return (await this.renew()).text;
  }

  async renewAfter403(rejected: string): Promise<string | undefined> {
    const { token } = this;
    if (token && token.text !== rejected) return token.text;
    const ageMs = this.clock.nowMs() - (token?.gotAtMs ?? 0);
    return ageMs < SURELY_ALIVE_MS ? undefined : (await this.renew()).text;
  }

  private sawEndOf({ gotAtMs }: Token): void {
    const lifeMs = this.clock.nowMs() - gotAtMs;
    if (lifeMs >= SHORTEST_LIFE_MS) this.shortestSeenMs = Math.min(this.shortestSeenMs, lifeMs);
  }

  private renew(): Promise<Token> {
    if (this.failure && this.clock.nowMs() < this.failure.untilMs) return Promise.reject(this.failure.error);
    this.renewal ??= this.fetch().finally(() => {
      this.renewal = undefined;
    });
    return this.renewal;
  }

  private async fetch(): Promise<Token> {
    const token = await this.requested();
    if (token instanceof TokenUnavailable) {
      this.failure = { error: token, untilMs: this.clock.nowMs() + FAILURE_PAUSE_MS };
      throw token;
    }
    this.failure = undefined;
    this.token = token;
    return token;
  }

  private async requested(): Promise<Token | TokenUnavailable> {
    const isServed = this.token !== undefined && this.clock.nowMs() < this.token.expiresAtMs;
    await this.budget?.take(isServed ? TURN_WAIT_MS : LONGEST_WAIT_MS, { urgent: true });
    const result = await this.send();
    if (result.kind === 'answer') this.budget?.observe(pauseSignalOf(result));
    return this.tokenOf(result, isServed);
  }

  private send(): Promise<HttpResult> {
    const { headers, body } = requestOf(this.credentials);
    return this.http.send({
      method: 'POST',
      url: this.credentials.tokenUrl,
      headers: { ...headers, Accept: 'application/json' },
      body,
    });
  }

  private tokenOf(result: HttpResult, isServed: boolean): Token | TokenUnavailable {
    if (result.kind === 'failed') return new TokenUnavailable(result.why, false);
    const { status } = result;
    if (!isSuccess(status)) {
      const lasted = this.hasLasted(status);
      return new TokenUnavailable(`status ${status}`, lasted || (REFUSALS.has(status) && !isServed));
    }
    this.astraySinceMs = undefined;
    const reply = replyOf(result.text);
    if (!reply) return new TokenUnavailable('unreadable reply', false);
    const now = this.clock.nowMs();
    const lifeMs = reply.expiresInS * 1_000;
    return {
      text: reply.accessToken,
      gotAtMs: now,
      expiresAtMs: now + lifeMs,
      renewAtMs: now + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs / 2),
    };
  }

  /** Whether a client error has been the endpoint's answer for long. */
  private hasLasted(status: number): boolean {
    const nowMs = this.clock.nowMs();
    this.astraySinceMs = isAstray(status) ? (this.astraySinceMs ?? nowMs) : undefined;
    return this.astraySinceMs !== undefined && nowMs - this.astraySinceMs >= ASTRAY_MS;
  }
}

function requestOf(credentials: ClientCredentials): Pick<HttpRequest, 'headers' | 'body'> {
  const { clientId, clientSecret, scope, form = 'json' } = credentials;
  const grant = { grant_type: 'client_credentials' };
  const secret = { client_id: clientId, client_secret: clientSecret };
  if (form === 'json') {
    const headers = { 'Content-Type': 'application/json' };
    return { headers, body: JSON.stringify({ ...grant, ...secret, scope }) };
  }
  const body = new URLSearchParams({ ...grant, ...(form === 'form' && secret), ...(scope && { scope }) });
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    ...(form === 'basic' && { Authorization: basicOf(clientId, clientSecret) }),
  };
  return { headers, body: body.toString() };
}

/** Each half is encoded as in a form before the two are joined (RFC 6749, 2.3.1). */
function basicOf(clientId: string, clientSecret: string): string {
  const [id, secret] = [clientId, clientSecret].map((half) =>
    new URLSearchParams([['', half]]).toString().slice(1),
  );
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}

/** A client error; 408, 425 and 429 ask for patience. */
function isAstray(status: number): boolean {
  return status >= 400 && status <= 499 && ![408, 425, 429].includes(status);
}

/** What holds for every request: to wait after a 429. The limit it names is that of tokens. */
function pauseSignalOf(answer: HttpAnswer): RateSignal {
  const { status, retryAfterMs } = rateSignalOf(answer);
  return { status, retryAfterMs };
}

/** A header value must be visible ASCII; anything else would fail only when the token is used. */
const TOKEN_TEXT = /^[\x21-\x7e]{1,8192}$/;

function replyOf(text: string): { accessToken: string; expiresInS: number } | undefined {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof reply !== 'object' || reply === null) return undefined;
  const { access_token: accessToken, expires_in: expiresIn } = reply as Record<string, unknown>;
  if (typeof accessToken !== 'string' || !TOKEN_TEXT.test(accessToken)) return undefined;
  const seconds =
    typeof expiresIn === 'string' && /^\d{1,9}$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  const known = typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0;
  return { accessToken, expiresInS: known ? seconds : ASSUMED_LIFE_S };
}
