import { pathPattern, type Route } from '../http/exchange';
import type { Tokens } from '../http/tokens';
import type { Variants } from '../variants';

/** The document does not show how a token is obtained; this is how this family of interfaces does it. */
export const TOKEN_PATH = '/api/distributor/v1/oauth2/token';

/** Gives tokens for a client id and its secret. */
export function tokenRoutes(tokens: Tokens, { tokenForm }: Pick<Variants, 'tokenForm'>): Route[] {
  return [
    {
      operation: 'token',
      method: 'POST',
      path: pathPattern(TOKEN_PATH),
      takes: tokenForm === 'json' ? undefined : 'form',
      handle: ({ body, authorization }) => ({
        status: 200,
        body: tokenForm === 'basic' ? tokens.issueToBasic(authorization, body) : tokens.issue(body),
      }),
    },
  ];
}
