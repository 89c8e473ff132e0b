import { inspect } from 'node:util';
import { BankClient } from '../../src/bank/client';
import { RateLimited, TokenUnavailable } from '../../src/bank/errors';
import { BankHttp } from '../../src/bank/http';
import type { Turn } from '../../src/bank/session';
import { ClientCredentialsToken, StaticToken } from '../../src/bank/token';
import { ManualClock } from './manual-clock';
import { answer, INSTRUCTION_BODY, ScriptedBank } from './scripted-bank';

describe('the access token', () => {
  let bank: ScriptedBank;
  let clock: ManualClock;
  let token: ClientCredentialsToken;
  const http = new BankHttp();

  beforeEach(async () => {
    bank = await new ScriptedBank().listen();
    bank.handler = (_request, response) =>
      answer(response, 200, {
        access_token: `t${bank.requests.length}`,
        token_type: 'Bearer',
        expires_in: 600,
      });
    clock = new ManualClock();
    const credentials = {
      tokenUrl: `${bank.url}/token`,
      clientId: 'payrun',
      clientSecret: 's3cret',
      scope: 'a b',
    };
    token = new ClientCredentialsToken(http, credentials, clock);
  });
  afterEach(() => bank.close());
  afterAll(() => http.close());

  it('is asked for with the client credentials in a JSON body', async () => {
    expect(await token.current()).toBe('t1');
    expect(JSON.parse(bank.requests[0]?.body ?? '')).toEqual({
      grant_type: 'client_credentials',
      client_id: 'payrun',
      client_secret: 's3cret',
      scope: 'a b',
    });
  });

  describe.each([
    {
      form: 'form' as const,
      authorization: undefined,
      body: 'grant_type=client_credentials&client_id=payrun%3Aone&client_secret=s3cr%C3%A9t+%25%2B%26&scope=a+b',
    },
    {
      form: 'basic' as const,
      // Each half is encoded as a form before the two are joined (RFC 6749, 2.3.1).
      authorization: `Basic ${Buffer.from('payrun%3Aone:s3cr%C3%A9t+%25%2B%26').toString('base64')}`,
      body: 'grant_type=client_credentials&scope=a+b',
    },
  ])('asked for with BANK_TOKEN_FORM=$form', ({ form, authorization, body }) => {
    const secret = 's3crét %+&';
    beforeEach(() => {
      const tokenUrl = `${bank.url}/token`;
      const credentials = { tokenUrl, clientId: 'payrun:one', clientSecret: secret, scope: 'a b', form };
      token = new ClientCredentialsToken(http, credentials, clock);
    });

    it('is sent with what OAuth says, once', async () => {
      expect(await token.current()).toBe('t1');
      const { headers, body: sent } = bank.requests[0]!;
      expect([headers['content-type'], headers.authorization, sent]).toEqual([
        'application/x-www-form-urlencoded',
        authorization,
        body,
      ]);
    });

    it('tells nothing of the credentials where they are refused', async () => {
      bank.handler = ({ headers, body: sent }, response) =>
        answer(response, 401, { message: `${headers.authorization} ${sent}` });
      const error: unknown = await token.current().catch((caught: unknown) => caught);
      expect(error).toMatchObject({ refused: true });
      const told = inspect(error, { depth: null });
      for (const part of [secret, 's3cr', 'cGF5cnVuJTNBb25l']) expect(told).not.toContain(part);
    });
  });

  it('is fetched once for fifty callers at once', async () => {
    const tokens = await Promise.all(Array.from({ length: 50 }, () => token.current()));
    expect(new Set(tokens)).toEqual(new Set(['t1']));
    expect(bank.requests).toHaveLength(1);
  });

  it('is kept until a minute before its end, then renewed', async () => {
    await token.current();
    clock.ms += 539_000;
    expect(await token.current()).toBe('t1');
    clock.ms += 1_000;
    expect(await token.current()).toBe('t2');
  });

  it('is used to its end when its renewal fails', async () => {
    await token.current();
    bank.handler = (_request, response) => answer(response, 503, '');
    clock.ms += 560_000;
    expect(await token.current()).toBe('t1');
    clock.ms += 40_000;
    await expect(token.current()).rejects.toThrow(TokenUnavailable);
  });

  it('is not used for a submit in its last minute, on whose way it may end, when its renewal fails', async () => {
    await token.current();
    bank.handler = (_request, response) => answer(response, 503, '');
    clock.ms += 530_000;
    expect(await token.young()).toBe('t1');
    clock.ms += 30_000;
    await expect(token.young()).rejects.toThrow(TokenUnavailable);
  });

  it('is waited for by a submit while another serves, when its renewal is refused, until that lasts or the other ends', async () => {
    await token.current();
    bank.handler = (_request, response) => answer(response, 403, '');
    clock.ms += 541_000;
    await expect(token.young()).rejects.toMatchObject({ refused: false });
    expect(await token.current()).toBe('t1');
    clock.ms += 59_000;
    await expect(token.young()).rejects.toMatchObject({ refused: true });
  });

  it('is refused for good to a submit once its renewal has been for two minutes', async () => {
    const rejected = await token.current();
    clock.ms += 10_000;
    await token.renewAfter401(rejected);
    bank.handler = (_request, response) => answer(response, 403, '');
    clock.ms += 6_000;
    await expect(token.young()).rejects.toMatchObject({ refused: false });
    clock.ms += 119_000;
    await expect(token.young()).rejects.toMatchObject({ refused: false });
    clock.ms += 2_000;
    await expect(token.young()).rejects.toMatchObject({ refused: true });
    expect(await token.current()).toBe('t2');
  });

  it('is renewed once for fifty callers who all met a 401', async () => {
    const rejected = await token.current();
    const renewed = await Promise.all(Array.from({ length: 50 }, () => token.renewAfter401(rejected)));
    expect(new Set(renewed)).toEqual(new Set(['t2']));
    expect(await token.renewAfter401('t1')).toBe('t2');
    expect(bank.requests).toHaveLength(2);
  });

  it('fails for everybody while its endpoint is down, without asking it again at once', async () => {
    bank.handler = (request) => request.socket.destroy();
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => token.current()));
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    await expect(token.current()).rejects.toMatchObject({ refused: false });
    expect(bank.requests).toHaveLength(1);
    clock.ms += 2_000;
    await expect(token.current()).rejects.toThrow(TokenUnavailable);
    expect(bank.requests).toHaveLength(2);
  });

  it('says when the credentials are refused, and never what they are', async () => {
    bank.handler = (_request, response) => answer(response, 401, { message: 's3cret is wrong' });
    const error: unknown = await token.current().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ refused: true });
    expect(String(error)).not.toContain('s3cret');
  });

  it.each([
    { status: 400, refused: true },
    { status: 403, refused: true },
    { status: 404, refused: false },
    { status: 405, refused: false },
    { status: 422, refused: true },
    { status: 429, refused: false },
    { status: 500, refused: false },
    { status: 302, refused: false },
  ])('is refused for good by a $status: $refused', async ({ status, refused }) => {
    bank.handler = (_request, response) => answer(response, status, {});
    await expect(token.current()).rejects.toMatchObject({ refused });
  });

  it('is refused by an answer that is no refusal once that has lasted, and not by two that are far apart', async () => {
    const astray: ScriptedBank['handler'] = (_request, response) => answer(response, 404, {});
    const refused = async () => {
      clock.ms += 119_000;
      return token.current().then(
        () => 'a token',
        (error: TokenUnavailable) => error.refused,
      );
    };
    bank.handler = astray;
    expect([await refused(), await refused()]).toEqual([false, false]);
    bank.handler = (_request, response) => answer(response, 500, {});
    expect(await refused()).toBe(false);
    bank.handler = astray;
    expect([await refused(), await refused(), await refused()]).toEqual([false, false, true]);
  });

  it.each(['', '[]', 'null', '{"access_token":""}', '{"access_token":"a\\nb"}', '{"access_token":7}'])(
    'is not taken from the reply %j',
    async (reply) => {
      bank.handler = (_request, response) => answer(response, 200, reply);
      await expect(token.current()).rejects.toThrow('unreadable reply');
    },
  );

  it('is assumed short-lived where its life is not told', async () => {
    bank.handler = (_request, response) =>
      answer(response, 200, { access_token: `t${bank.requests.length}` });
    await token.current();
    clock.ms += 240_000;
    expect(await token.current()).toBe('t2');
  });

  it('cannot be renewed when it is static', async () => {
    const fixed = new StaticToken('fixed');
    expect(await fixed.current()).toBe('fixed');
    expect(await fixed.renewAfter401()).toBeUndefined();
  });
});

describe('a request for a token', () => {
  let bank: ScriptedBank;
  let elsewhere: ScriptedBank;
  const budget = { take: jest.fn<Promise<void>, [number?]>(), observe: jest.fn(), pauseLeftMs: () => 0 };
  let client: BankClient;

  beforeEach(async () => {
    [bank, elsewhere] = await Promise.all([new ScriptedBank().listen(), new ScriptedBank().listen()]);
    for (const host of [bank, elsewhere])
      host.handler = ({ url }, response) =>
        answer(response, 200, url === '/token' ? { access_token: 't', expires_in: 600 } : []);
    budget.take.mockReset().mockResolvedValue();
    budget.observe.mockReset();
  });
  afterEach(async () => {
    client.close();
    await Promise.all([bank.close(), elsewhere.close()]);
  });

  const clientWithTokensOf = (tokenUrl: string) =>
    new BankClient({
      baseUrl: bank.url,
      token: { tokenUrl, clientId: 'payrun', clientSecret: 's3cret' },
      amountUnit: 'minor',
      budget,
    });

  it('at the address of the bank takes a turn of the budget, and only a pause it is told counts for all', async () => {
    client = clientWithTokensOf(`${bank.url}/token`);
    await client.hooks.list();
    await client.hooks.list();
    expect(budget.take).toHaveBeenCalledTimes(3);
    expect(budget.observe).toHaveBeenCalledTimes(3);
  });

  it('teaches nothing of a limit that is its own, and pauses all where it is turned away', async () => {
    client = clientWithTokensOf(`${bank.url}/token`);
    let status = 200;
    bank.handler = ({ url }, response) => {
      const isToken = url === '/token';
      if (isToken) response.setHeader('x-ratelimit-limit', '5').setHeader('x-ratelimit-remaining', '0');
      answer(response, isToken ? status : 200, isToken ? { access_token: 't', expires_in: 600 } : []);
    };
    await client.hooks.list();
    expect(budget.observe.mock.calls[0]).toEqual([{ status: 200, retryAfterMs: undefined }]);
    client.close();
    status = 429;
    client = clientWithTokensOf(`${bank.url}/token`);
    await expect(client.hooks.list()).rejects.toThrow('No access token');
    expect(budget.observe.mock.lastCall).toEqual([{ status: 429, retryAfterMs: undefined }]);
  });

  it('at another address takes none: the limit there is another one', async () => {
    client = clientWithTokensOf(`${elsewhere.url}/token`);
    await client.hooks.list();
    expect(elsewhere.requests).toHaveLength(1);
    expect(budget.take).toHaveBeenCalledTimes(1);
    expect(budget.observe).toHaveBeenCalledTimes(1);
  });

  it('is not sent where no turn comes soon, and neither is what needed the token', async () => {
    client = clientWithTokensOf(`${bank.url}/token`);
    budget.take.mockRejectedValueOnce(new RateLimited(60_000));
    expect(await client.customerInstructions.submit('1')).toMatchObject({
      kind: 'no',
      reason: 'not-sent',
      why: 'rate-budget',
      retryAfterMs: 60_000,
    });
    expect(bank.requests).toEqual([]);
  });

  it('and the call it is for wait for their turns one after the other, however small the limit', async () => {
    const clock = new ManualClock();
    client = new BankClient({
      baseUrl: bank.url,
      token: { tokenUrl: `${bank.url}/token`, clientId: 'payrun', clientSecret: 's3cret' },
      amountUnit: 'minor',
      requestsPerMinute: 2,
      clock,
    });
    await client.hooks.list();
    expect(bank.requests.map(({ url }) => url.split('?')[0])).toEqual([
      '/token',
      expect.stringContaining('hook'),
    ]);
    expect(clock.slept).toEqual([60_000]);
  });
});

describe('a token that ends long before the time its endpoint named', () => {
  const LIFE_MS = 2_000;
  let bank: ScriptedBank;
  let clock: ManualClock;
  let client: BankClient;
  let issuedAtMs: Map<string, number>;

  beforeEach(async () => {
    bank = await new ScriptedBank().listen();
    clock = new ManualClock();
    issuedAtMs = new Map();
    bank.handler = ({ url, headers }, response) => {
      if (url === '/token') {
        const token = `t${issuedAtMs.size + 1}`;
        issuedAtMs.set(token, clock.ms);
        return answer(response, 200, { access_token: token, expires_in: 600 });
      }
      const token = (headers.authorization ?? '').slice('Bearer '.length);
      if (clock.ms - (issuedAtMs.get(token) ?? -LIFE_MS) >= LIFE_MS) return answer(response, 401, {});
      return answer(response, 200, url.endsWith('/4711/submit') ? INSTRUCTION_BODY : []);
    };
    client = new BankClient({
      baseUrl: bank.url,
      token: { tokenUrl: `${bank.url}/token`, clientId: 'payrun', clientSecret: 's3cret' },
      amountUnit: 'minor',
      clock,
    });
  });
  afterEach(async () => {
    client.close();
    await bank.close();
  });

  const read = async () => {
    for await (const _ of client.accounts.list()) break;
  };
  /** The token a submit leaves with that takes its turn so long after the last token was issued, and its outcome. */
  const submitted = async (afterMs: number, turns: () => Promise<Turn | undefined>) => {
    clock.ms = Math.max(...issuedAtMs.values()) + afterMs;
    const turn = await turns();
    // On its way, or waiting for the intent to be written down.
    clock.ms += 600;
    const { kind } = await client.customerInstructions.submit('4711', { turn });
    return { kind, token: bank.requests.at(-1)!.headers.authorization };
  };

  it.each([
    ['a submit', () => client.turn()],
    [
      'a submit and the read that it rests on',
      async () => (await client.turnAfter(async () => undefined)).turn,
    ],
  ])('is renewed before the turn of %s once a 401 has shown how long it lives', async (_, turns) => {
    await read();
    clock.ms += 2_200;
    await read();
    expect(await submitted(500, turns)).toEqual({ kind: 'yes', token: 'Bearer t2' });
    expect(await submitted(1_500, turns)).toEqual({ kind: 'yes', token: 'Bearer t3' });
  });

  it('is used on by everything else', async () => {
    await read();
    clock.ms += 2_200;
    await read();
    clock.ms += 1_500;
    await read();
    expect(issuedAtMs.size).toBe(2);
  });

  it('has a submit wait while its endpoint is down and it is older than half of that life, and nothing else', async () => {
    await read();
    clock.ms += 2_200;
    await read();
    const { handler } = bank;
    bank.handler = (request, response) =>
      request.url === '/token' ? answer(response, 503, {}) : handler(request, response);
    const turns = () => client.turn();
    await expect(submitted(1_500, turns)).rejects.toThrow(TokenUnavailable);
    await read();
    expect(bank.requests.at(-1)!.headers.authorization).toBe('Bearer t2');
    expect(bank.requests.filter(({ url }) => url.endsWith('/submit'))).toEqual([]);
    bank.handler = handler;
    expect(await submitted(4_000, turns)).toEqual({ kind: 'yes', token: 'Bearer t3' });
  });

  it('that is turned away as soon as it is issued shows no life: a submit asks for none of its own', async () => {
    await read();
    clock.ms += 900;
    issuedAtMs.set('t1', -LIFE_MS);
    await read();
    expect(await submitted(1_300, () => client.turn())).toEqual({ kind: 'yes', token: 'Bearer t2' });
  });
});
