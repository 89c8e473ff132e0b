import { BankClient } from '../../src/bank/client';
import {
  BankError,
  BankUnreachable,
  ContractDrift,
  isNotShown,
  NotAllowed,
  NotFound,
  RateLimited,
  TokenUnavailable,
  Unauthorised,
} from '../../src/bank/errors';
import { ManualClock } from './manual-clock';
import { answer, INSTRUCTION_BODY, PAYMENT_BODY, ScriptedBank } from './scripted-bank';

describe('the outcome of a call', () => {
  let bank: ScriptedBank;
  let client: BankClient;
  let clock: ManualClock;
  let tokens: number;

  beforeEach(async () => {
    bank = await new ScriptedBank().listen();
    clock = new ManualClock();
    tokens = 0;
    client = new BankClient({
      baseUrl: `${bank.url}/`,
      amountUnit: 'minor',
      token: { tokenUrl: `${bank.url}/token`, clientId: 'c', clientSecret: 's' },
      limits: { totalTimeoutMs: 2_000 },
      clock,
    });
  });
  afterEach(async () => {
    client.close();
    await bank.close();
  });

  /** Answers every call but those for a token. */
  const answering = (status: number, body: unknown, headers: Record<string, string> = {}): void => {
    bank.handler = (request, response) => {
      if (request.url === '/token') answer(response, 200, { access_token: `t${++tokens}`, expires_in: 600 });
      else answer(response, status, body, headers);
    };
  };
  const calls = (): string[] =>
    bank.requests.filter((request) => request.url !== '/token').map(({ url }) => url);

  it.each([200, 201, 202])('is yes for a %s with a valid body', async (status) => {
    answering(status, INSTRUCTION_BODY);
    expect(await client.customerInstructions.submit('4711')).toMatchObject({
      kind: 'yes',
      status,
      value: { id: '4711', status: { value: 'INITIATED' } },
    });
  });

  it.each([
    [400, 'invalid'],
    [422, 'invalid'],
    [401, 'unauthorised'],
    [403, 'forbidden'],
    [429, 'rate-limited'],
  ])('is no for a %s: %s', async (status, reason) => {
    answering(status, { code: 'E1', message: 'no' });
    expect(await client.customerInstructions.addBytes('4711', '{}')).toMatchObject({
      kind: 'no',
      reason,
      status,
      error: { code: 'E1' },
    });
  });

  it.each([100 + 199, 301, 302, 307, 308, 404, 405, 408, 409, 410, 413, 500, 501, 502, 503, 504])(
    'is in doubt for a %s without its own body',
    async (status) => {
      answering(status, 'IBAN FR7630006000011234567890189');
      const outcome = await client.customerInstructions.addBytes('4711', '{}');
      expect(outcome).toMatchObject({
        kind: 'in-doubt',
        status,
        raw: expect.stringContaining('FR…0189') as string,
      });
      expect(calls()).toHaveLength(1);
    },
  );

  it.each(['', 'OK', '{"id":4711', '{"id":4711}', '[]', 'null'])(
    'is in doubt for a 201 with the body %j',
    async (body) => {
      answering(201, body);
      expect(await client.customerInstructions.submit('4711')).toMatchObject({
        kind: 'in-doubt',
        status: 201,
      });
    },
  );

  it.each([201, 404, 422, 502])(
    'keeps nothing that the database cannot hold of a %s in UTF-16',
    async (status) => {
      bank.handler = (request, response) => {
        if (request.url === '/token') return answer(response, 200, { access_token: 't', expires_in: 600 });
        response.writeHead(status);
        response.end(Buffer.from('<h1>Bad Gateway</h1>', 'utf16le'));
      };
      const outcome = await client.customerInstructions.addBytes('4711', '{}');
      expect(outcome.kind).toBe(status === 422 ? 'no' : 'in-doubt');
      const raw = outcome.kind === 'no' ? outcome.error?.raw : outcome.kind === 'in-doubt' && outcome.raw;
      expect(raw).toBe('<h1>Bad Gateway</h1>');
    },
  );

  it('is no where nothing was sent: bank or token endpoint not there', async () => {
    answering(200, {});
    await client.accounts.get('1').catch(() => undefined);
    await bank.close();
    expect(await client.customerInstructions.submit('1')).toMatchObject({ kind: 'no', reason: 'not-sent' });
    clock.ms += 3_600_000;
    expect(await client.customerInstructions.submit('1')).toMatchObject({ kind: 'no', reason: 'not-sent' });
    await bank.listen();
  });

  it('is no, without a token, where the token endpoint refuses the credentials', async () => {
    bank.handler = (_request, response) => answer(response, 401, {});
    const outcome = await client.customerInstructions.submit('1');
    expect(outcome).toMatchObject({ kind: 'no', reason: 'no-token' });
    expect(calls()).toHaveLength(0);
  });

  it('renews the token once after a 401 on initiate and add, and sends the same bytes again', async () => {
    bank.handler = (request, response) => {
      if (request.url === '/token') answer(response, 200, { access_token: `t${++tokens}`, expires_in: 600 });
      else if (request.headers.authorization === 'Bearer t1') answer(response, 401, {});
      else answer(response, 201, PAYMENT_BODY);
    };
    expect(await client.customerInstructions.addBytes('4711', '{"x":1}')).toMatchObject({ kind: 'yes' });
    expect(bank.requests.map((request) => request.body).filter((body) => body === '{"x":1}')).toHaveLength(2);
    expect(tokens).toBe(2);
  });

  describe('with a token that the bank turns away', () => {
    /** A bank that takes only the second token, which its endpoint at first answers with a status. */
    const renewalAnswered = async (status: number): Promise<() => void> => {
      answering(200, { id: '1', status: 'OPENED' });
      await client.accounts.get('1');
      let failing = true;
      bank.handler = (request, response) => {
        if (request.url === '/token')
          answer(response, failing ? status : 200, { access_token: 't2', expires_in: 600 });
        else if (request.headers.authorization === 'Bearer t1') answer(response, 401, {});
        else answer(response, 200, request.method === 'GET' ? { id: '1', status: 'OPENED' } : PAYMENT_BODY);
      };
      return () => {
        failing = false;
        clock.ms += 2_000;
      };
    };

    it('is tried again later where its renewal fails for a moment', async () => {
      const endpointRecovers = await renewalAnswered(503);
      await expect(client.accounts.get('1')).rejects.toMatchObject({ refused: false });
      endpointRecovers();
      expect(await client.accounts.get('1')).toMatchObject({ status: 'OPENED' });
    });

    it('has not sent an add where its renewal fails for a moment', async () => {
      const endpointRecovers = await renewalAnswered(503);
      expect(await client.customerInstructions.addBytes('4711', '{}')).toMatchObject({
        kind: 'no',
        reason: 'not-sent',
      });
      endpointRecovers();
      expect(await client.customerInstructions.addBytes('4711', '{}')).toMatchObject({ kind: 'yes' });
    });

    it('is refused where its renewal is', async () => {
      await renewalAnswered(401);
      await expect(client.accounts.get('1')).rejects.toThrow(Unauthorised);
    });

    it('is refused to an add where its renewal is', async () => {
      await renewalAnswered(401);
      const refused = await client.customerInstructions.addBytes('4711', '{}');
      expect(refused).toMatchObject({ kind: 'no', reason: 'unauthorised' });
    });
  });

  it('gives up after the second 401, whatever else the token serves for', async () => {
    bank.handler = (request, response) => {
      if (request.url === '/token') answer(response, 200, { access_token: `t${++tokens}` });
      else if (request.url?.includes('/accounts/2')) answer(response, 200, { id: '2', status: 'OPENED' });
      else answer(response, 401, {});
    };
    await client.accounts.get('2');
    bank.requests.length = 0;
    expect(await client.customerInstructions.addBytes('1', '{}')).toMatchObject({ reason: 'unauthorised' });
    expect(calls()).toHaveLength(2);
    const reads = Array.from({ length: 2 }, () => client.accounts.get('1'));
    for (const read of await Promise.allSettled(reads))
      expect(read).toMatchObject({ reason: expect.any(Unauthorised) });
  });

  describe('with a token whose end is answered with 403', () => {
    /** A bank that takes one token alone. */
    const taking = (token: string) => {
      bank.handler = (request, response) => {
        if (request.url === '/token') answer(response, 200, { access_token: `t${++tokens}` });
        else if (request.headers.authorization !== `Bearer ${token}`) answer(response, 403, {});
        else answer(response, 200, request.method === 'GET' ? { id: '1', status: 'OPENED' } : PAYMENT_BODY);
      };
    };
    const older = (ms: number) => (clock.ms += ms);

    it('is renewed once it is older than a minute, for a read and an add', async () => {
      taking('t1');
      expect(await client.accounts.get('1')).toMatchObject({ status: 'OPENED' });
      taking('t2');
      older(61_000);
      expect(await client.accounts.get('1')).toMatchObject({ status: 'OPENED' });
      taking('t3');
      older(61_000);
      expect(await client.customerInstructions.addBytes('4711', '{}')).toMatchObject({ kind: 'yes' });
      expect([tokens, calls().length]).toEqual([3, 5]);
    });

    it('is not while it is young, nor a second time, nor for a submit', async () => {
      taking('t1');
      await client.accounts.get('1');
      taking('none');
      older(59_000);
      await expect(client.accounts.get('1')).rejects.toThrow(NotAllowed);
      expect(tokens).toBe(1);
      older(2_000);
      expect(await client.customerInstructions.submit('1')).toMatchObject({ reason: 'forbidden' });
      expect([tokens, calls().length]).toEqual([1, 3]);
      await expect(client.accounts.get('1')).rejects.toThrow(NotAllowed);
      await expect(client.accounts.get('1')).rejects.toThrow(NotAllowed);
      expect([tokens, calls().length]).toEqual([2, 6]);
    });

    it('is not for a record that stays forbidden with a new one, until ten minutes later or it is shown', async () => {
      let mayRead = false;
      bank.handler = (request, response) => {
        if (request.url === '/token') answer(response, 200, { access_token: `t${++tokens}` });
        else if (request.url?.includes('/accounts/')) answer(response, 200, { id: '1', status: 'OPENED' });
        else if (mayRead) answer(response, 200, PAYMENT_BODY);
        else answer(response, 403, {});
      };
      const forbidden = () => expect(client.paymentTransactions.get('9')).rejects.toThrow(NotAllowed);
      await client.accounts.get('1');
      older(61_000);
      await forbidden();
      expect(tokens).toBe(2);
      older(61_000);
      await forbidden();
      expect(tokens).toBe(2);
      older(61_000);
      mayRead = true;
      await client.paymentTransactions.get('9').catch(() => undefined);
      mayRead = false;
      await forbidden();
      expect(tokens).toBe(3);
      older(600_000);
      await client.accounts.get('1');
      older(61_000);
      await forbidden();
      expect(tokens).toBe(5);
    });

    it('is for another record than the one that stays forbidden', async () => {
      const without = (token: string) => {
        bank.handler = (request, response) => {
          if (request.url === '/token') answer(response, 200, { access_token: `t${++tokens}` });
          else if (request.url?.endsWith('/2') || request.headers.authorization === `Bearer ${token}`)
            answer(response, 403, {});
          else answer(response, 200, { id: '1', status: 'OPENED' });
        };
      };
      without('none');
      await client.accounts.get('1');
      older(61_000);
      await expect(client.accounts.get('2')).rejects.toThrow(NotAllowed);
      without('t2');
      older(180_000);
      expect(await client.accounts.get('1')).toMatchObject({ status: 'OPENED' });
      expect(tokens).toBe(3);
    });

    describe('and cannot be renewed', () => {
      const renewalAnswered = async (status: number) => {
        taking('t1');
        await client.accounts.get('1');
        older(61_000);
        bank.handler = (request, response) => answer(response, request.url === '/token' ? status : 403, {});
      };
      const add = () => client.customerInstructions.addBytes('4711', '{}');

      it.each([503, 400])('says nothing of our access where that may pass (%s)', async (status) => {
        await renewalAnswered(status);
        for (let times = 0; times < 3; times += 1) {
          await expect(client.accounts.get('1')).rejects.toThrow(TokenUnavailable);
          expect(await add()).toMatchObject({ kind: 'no', reason: 'not-sent' });
        }
      });

      it('is forbidden what it is once the renewal has been refused for two minutes', async () => {
        await renewalAnswered(400);
        await expect(client.accounts.get('1')).rejects.toMatchObject({ refused: false });
        older(120_000);
        await expect(client.accounts.get('1')).rejects.toThrow(NotAllowed);
        expect(await add()).toMatchObject({ reason: 'forbidden' });
      });
    });
  });

  it('never sends a second request for a submit: not after a 401, a reset or silence', async () => {
    answering(401, {});
    expect(await client.customerInstructions.submit('1')).toMatchObject({
      kind: 'no',
      reason: 'unauthorised',
    });
    expect(calls()).toHaveLength(1);
    for (const fault of ['reset', 'silence']) {
      bank.requests.length = 0;
      bank.handler = (request) => (fault === 'reset' ? request.socket.resetAndDestroy() : undefined);
      expect(await client.customerInstructions.submit('1')).toMatchObject({ kind: 'in-doubt' });
      expect(calls()).toHaveLength(1);
    }
  });

  it('submits without a body on a connection of its own', async () => {
    answering(201, INSTRUCTION_BODY);
    await client.customerInstructions.get('4711');
    await client.customerInstructions.submit('4711');
    const [read, submit] = bank.requests.filter((request) => request.url !== '/token');
    expect(submit?.socket).not.toBe(read?.socket);
    expect(submit).toMatchObject({ method: 'POST', body: '' });
    expect(submit?.headers['content-type']).toBeUndefined();
  });

  it('says how long to wait after a 429, and lets a submit not leave late', async () => {
    answering(429, {}, { 'Retry-After': '7' });
    expect(await client.customerInstructions.addBytes('1', '{}')).toMatchObject({ retryAfterMs: 7_000 });
    expect(await client.customerInstructions.submit('1')).toMatchObject({
      kind: 'no',
      reason: 'not-sent',
      retryAfterMs: 7_000,
    });
    expect(calls()).toHaveLength(1);
  });

  it.each([
    ['0', 1_000],
    ['120', 120_000],
    ['99999999999', 3_600_000],
    ['Mon, 02 Mar 2026 10:00:30 GMT', 30_000],
    ['Monday, 02-Mar-26 10:00:30 GMT', 30_000],
    ['Mon Mar  2 10:00:30 2026', 30_000],
    ['Mon, 02 Mar 2026 09:00:00 GMT', 1_000],
    ['1.5', 60_000],
    ['-5', 60_000],
    ['+5', 60_000],
    ['7s', 60_000],
    ['1e3', 60_000],
    ['', 60_000],
    ['soon', 60_000],
    ['2026-03-02T10:00:30Z', 60_000],
    ['Mon, 02 Mar 2026 10:00:30 +0100', 60_000],
    ['Tue, 31 Feb 2026 10:00:30 GMT', 60_000],
  ])(
    'reads the Retry-After %j as RFC 9110 has it, at least a second: %i ms',
    async (header, retryAfterMs) => {
      answering(429, {}, { 'Retry-After': header, Date: 'Mon, 02 Mar 2026 10:00:00 GMT' });
      expect(await client.customerInstructions.addBytes('1', '{}')).toMatchObject({ retryAfterMs });
    },
  );

  it('learns the limit of customer instructions, and none of another endpoint', async () => {
    const told = { 'X-RateLimit-Limit': '10', 'X-RateLimit-Remaining': '0' };
    answering(200, [], told);
    await client.hooks.list();
    await client.turn();
    expect(clock.slept).toEqual([]);
    answering(200, INSTRUCTION_BODY, told);
    await client.customerInstructions.get('4711');
    await client.turn();
    expect(clock.slept).toEqual([60_000]);
  });

  it('waits a minute after a 429 that names no time', async () => {
    answering(429, {});
    expect(await client.customerInstructions.addBytes('1', '{}')).toMatchObject({ retryAfterMs: 60_000 });
  });

  it.each([
    ['nothing', {}, true],
    ['when', { 'Retry-After': '7' }, undefined],
    ['how many', { 'X-RateLimit-Limit': '60' }, undefined],
  ])('knows a 429 that tells %s of the limit for a vague one, or not', async (_, headers, isVague) => {
    answering(429, {}, headers);
    const { kind, ...said } = await client.customerInstructions.addBytes('1', '{}');
    expect([kind, 'isVague' in said ? said.isVague : undefined]).toEqual(['no', isVague]);
  });

  it.each([
    [401, Unauthorised],
    [403, NotAllowed],
    [404, NotFound],
    [410, NotFound],
    [429, RateLimited],
    [500, BankError],
    [302, BankError],
  ])('of a read that meets %s is a typed error', async (status, type) => {
    const message = 'account 12345678 of "Ada", paid to Zoe Muller';
    answering(status, { error: { code: 'E7', message, hint: 'look' } });
    const error: unknown = await client.accounts.get('1').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(type);
    expect(String(error)).not.toMatch(/12345678|Ada|Zoe/);
    if (!(error instanceof BankError)) return;
    expect(error).toMatchObject({ status, code: 'E7' });
    expect(error.words).toBe('account … of "…", paid to Zoe Muller look');
  });

  it.each([
    [400, true],
    [403, true],
    [404, true],
    [405, true],
    [409, true],
    [501, true],
    [302, false],
    [401, false],
    [408, false],
    [429, false],
    [500, false],
    [503, false],
  ])('of a read that meets %s says whether what was asked for is not to be had: %s', async (status, is) => {
    answering(status, {});
    const error: unknown = await client.accounts.get('1').catch((caught: unknown) => caught);
    expect(isNotShown(error)).toBe(is);
  });

  it('of a read without a usable answer is ContractDrift or BankUnreachable', async () => {
    answering(200, '{"status":"OPENED"}');
    await expect(client.accounts.get('1')).rejects.toThrow(ContractDrift);
    bank.handler = () => undefined;
    await expect(client.accounts.get('1')).rejects.toThrow(BankUnreachable);
  });

  it('of a read over a connection that broke is asked again once, on a fresh one', async () => {
    answering(200, { id: '1', status: 'OPENED' });
    await client.accounts.get('1');
    const usual = bank.handler;
    bank.handler = (request) => {
      bank.handler = usual;
      request.socket.destroy();
    };
    expect(await client.accounts.get('1')).toMatchObject({ status: 'OPENED' });
    expect(calls()).toHaveLength(3);
    bank.handler = (request) => request.socket.destroy();
    await expect(client.accounts.get('1')).rejects.toThrow(BankUnreachable);
    expect(calls()).toHaveLength(5);
  });

  it.each([
    ['as long as it asks for, three times at most', { 'Retry-After': '7' }, [7_000, 7_000, 7_000]],
    ['a minute where it asks for no time, once', {}, [60_000]],
    ['not where it asks for longer than any turn is waited for', { 'Retry-After': '121' }, []],
  ])('of a read that the rate limit refuses waits %s, and asks again', async (_, headers, waits) => {
    const whole = { id: '1', status: 'OPENED' };
    const refusing = (times: number) => {
      let left = times;
      answering(429, {}, headers);
      const refuse = bank.handler;
      bank.handler = (request, response) => {
        if (request.url !== '/token' && (left -= 1) < 0) answer(response, 200, whole);
        else refuse(request, response);
      };
    };
    refusing(waits.length);
    expect(await client.accounts.get('1')).toMatchObject(whole);
    expect(clock.slept).toEqual(waits);
    clock.slept.length = 0;
    refusing(waits.length + 1);
    const call = 'GET /api/distributor/v1/accounts/1';
    await expect(client.accounts.get('1')).rejects.toMatchObject({ name: 'RateLimited', call });
    expect(clock.slept).toEqual(waits);
    expect(calls()).toHaveLength(2 * (waits.length + 1));
  });

  it.each(['<html>busy</html>', '{"id":"1","stat', '', '{"id":"1"}', '{"id":"2","status":"OPENED"}'])(
    'of a read answered with %s is asked again once, on a fresh connection; drift is what both answers show',
    async (broken) => {
      const whole = { id: '1', status: 'OPENED' };
      answering(200, whole);
      await client.accounts.get('1');
      const usual = bank.handler;
      bank.handler = (_request, response) => {
        bank.handler = usual;
        answer(response, 200, broken);
      };
      expect(await client.accounts.get('1')).toMatchObject(whole);
      const [first, second] = bank.requests.slice(-2);
      expect([calls().length, first?.socket === second?.socket]).toEqual([3, false]);
      answering(200, broken);
      await expect(client.accounts.get('1')).rejects.toThrow(ContractDrift);
      expect(calls()).toHaveLength(5);
    },
  );
});
