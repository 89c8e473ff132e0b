import { randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type Scope, SCOPES } from '../../bank/types';
import type { BankClock } from '../clock';
import { Refusal } from '../refusal';
import type { Variants } from '../variants';
import { parsed } from './requests';

export interface StaticToken {
  token: string;
  scopes: readonly Scope[];
}

export interface Client {
  id: string;
  secret: string;
  scopes: readonly Scope[];
}

const grant = {
  grant_type: z.literal('client_credentials'),
  scope: z.string().max(1000).optional(),
};
const grantWithSecret = z.object({ ...grant, client_id: z.string(), client_secret: z.string() });
/** A client authenticates itself in one way only (RFC 6749, 2.3). */
const grantUnderBasic = z.strictObject(grant);

interface IssuedToken {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope: string;
}

/** Expired tokens are thrown away when there are this many. */
const MAX_TOKENS = 10_000;

/** Who may call, and for what. Issued tokens are forgotten at a restart; static ones never end. */
export class Tokens {
  private readonly issued = new Map<
    string,
    { client: Client; scopes: readonly Scope[]; expiresAtMs: number }
  >();

  constructor(
    private readonly statics: readonly StaticToken[],
    private readonly clients: readonly Client[],
    private readonly clock: BankClock,
    private readonly variants: Pick<Variants, 'tokenLifetimeS' | 'tokensLive'>,
  ) {}

  /** Throws 401 without a known, living token and 403 when it lacks one of the scopes. */
  require(header: string | undefined, scopes: readonly Scope[]): void {
    const granted = this.scopesOf(/^Bearer (\S+)$/i.exec(header ?? '')?.[1] ?? '');
    if (!granted) throw new Refusal(401, 'UNAUTHORIZED', 'the access token is missing, unknown or expired');
    const missing = scopes.filter((scope) => !granted.includes(scope));
    if (missing.length > 0) throw new Refusal(403, 'INSUFFICIENT_SCOPE', `missing: ${missing.join(', ')}`);
  }

  /** The client-credentials grant. Throws 401 for an unknown client. */
  issue(body: unknown): IssuedToken {
    const { client_id: id, client_secret: secret, scope } = parsed(grantWithSecret, body);
    return this.issueTo({ id, secret }, scope);
  }

  /** The same of a client that authenticates itself by HTTP Basic. */
  issueToBasic(header: string | undefined, body: unknown): IssuedToken {
    const { scope } = parsed(grantUnderBasic, body);
    return this.issueTo(basicCredentials(header), scope);
  }

  private issueTo(given: Pick<Client, 'id' | 'secret'>, scope: string | undefined): IssuedToken {
    const client = this.clients.find(({ id, secret }) => id === given.id && equal(secret, given.secret));
    if (!client) throw new Refusal(401, 'INVALID_CLIENT', 'the client is not known');
    const asked = scope?.split(' ') ?? [...SCOPES];
    const scopes = client.scopes.filter((scope) => asked.includes(scope));
    const { tokenLifetimeS, tokensLive } = this.variants;
    this.forgetExpired();
    if (tokensLive === 'until-the-next') this.endThoseOf(client);
    const token = randomBytes(24).toString('base64url');
    this.issued.set(token, { client, scopes, expiresAtMs: this.clock.now() + tokenLifetimeS * 1_000 });
    return {
      access_token: token,
      token_type: 'Bearer',
      expires_in: tokenLifetimeS,
      scope: scopes.join(' '),
    };
  }

  private scopesOf(token: string): readonly Scope[] | undefined {
    const known = this.statics.find((entry) => equal(entry.token, token));
    if (known) return known.scopes;
    const issued = this.issued.get(token);
    return issued && issued.expiresAtMs > this.clock.now() ? issued.scopes : undefined;
  }

  private endThoseOf(client: Client): void {
    for (const [token, issued] of this.issued) if (issued.client === client) this.issued.delete(token);
  }

  private forgetExpired(): void {
    if (this.issued.size < MAX_TOKENS) return;
    const nowMs = this.clock.now();
    for (const [token, { expiresAtMs }] of this.issued) if (expiresAtMs <= nowMs) this.issued.delete(token);
  }
}

/** Id and secret, each of them form-urlencoded (RFC 6749, 2.3.1). */
function basicCredentials(header: string | undefined): Pick<Client, 'id' | 'secret'> {
  const encoded = /^Basic (\S+)$/i.exec(header ?? '')?.[1] ?? '';
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':', 2);
  const decoded = new URLSearchParams(`id=${id}&secret=${secret}`);
  return { id: decoded.get('id') ?? '', secret: decoded.get('secret') ?? '' };
}

function equal(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
