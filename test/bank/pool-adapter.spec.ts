import { gzipSync } from 'node:zlib';
import * as net from 'node:net';
import fc from 'fast-check';
import { Agent } from 'undici';
import { BankHttp, type HttpResult } from '../../src/bank/http';
import { inWords } from '../../src/bank/errors';
import { answer, LIMITS, ScriptedBank, SHORT_LIMITS } from './scripted-bank';
import { eventually } from '../support/eventually';

describe('the pool that carries the exchanges', () => {
  let bank: ScriptedBank;
  let http: BankHttp;

  beforeEach(async () => {
    bank = await new ScriptedBank().listen();
    http = new BankHttp(LIMITS);
  });
  afterEach(async () => {
    http.close();
    await bank.close();
  });

  const post = (via: BankHttp, body: string, url = bank.url): Promise<HttpResult> =>
    via.send({ method: 'POST', url, headers: {}, body });
  const get = (): Promise<HttpResult> => http.send({ method: 'GET', url: bank.url, headers: {} });

  it('puts no request behind another on a connection: the next one leaves after the answer', async () => {
    const narrow = new BankHttp({ ...LIMITS, maxSockets: 1 });
    const answers: (() => void)[] = [];
    bank.handler = (_request, response) => answers.push(() => answer(response, 200, {}));
    const both = [post(narrow, 'first'), post(narrow, 'second')];
    await eventually(() => answers.length > 0, 5_000);
    await pause(50);
    expect(bank.requests.map((request) => request.body)).toEqual(['first']);
    answers[0]?.();
    await eventually(() => answers.length > 1, 5_000);
    answers[1]?.();
    expect((await Promise.all(both)).map((result) => result.kind)).toEqual(['answer', 'answer']);
    narrow.close();
  });

  it('puts no read behind another of which the answer has begun', async () => {
    const narrow = new BankHttp({ ...LIMITS, maxSockets: 1 });
    const answers: (() => void)[] = [];
    bank.handler = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders();
      answers.push(() => response.end('{}'));
    };
    const reads = [1, 2].map(() => narrow.send({ method: 'GET', url: bank.url, headers: {} }));
    await eventually(() => answers.length > 0, 5_000);
    await pause(100);
    expect(bank.requests).toHaveLength(1);
    answers[0]?.();
    await eventually(() => answers.length > 1, 5_000);
    answers[1]?.();
    expect((await Promise.all(reads)).map((result) => result.kind)).toEqual(['answer', 'answer']);
    narrow.close();
  });

  it('sends no request a second time, whatever carries it would do', async () => {
    const controllers = [1, 2].map(() => ({ abort: jest.fn() }));
    jest.spyOn(Agent.prototype, 'dispatch').mockImplementationOnce((_request, handler) => {
      for (const one of controllers) handler.onRequestStart?.(one as never, undefined);
      return true;
    });
    expect(await post(http, '{}')).toEqual({ kind: 'failed', sent: true, why: 'given-up' });
    expect(controllers[1]?.abort).toHaveBeenCalled();
  });

  it('has its connection back from what was given up', async () => {
    const narrow = new BankHttp({ ...SHORT_LIMITS, maxSockets: 1 });
    bank.handler = () => undefined;
    expect(await post(narrow, 'first')).toMatchObject({ kind: 'failed', sent: true });
    bank.handler = (_request, response) => answer(response, 200, {});
    expect(await post(narrow, 'second')).toMatchObject({ kind: 'answer' });
    narrow.close();
  });

  it('never sends later what was given up while it waited for a connection', async () => {
    const narrow = new BankHttp({ ...SHORT_LIMITS, maxSockets: 1 });
    bank.handler = () => undefined;
    const both = [post(narrow, 'first'), post(narrow, 'second')];
    await pause(SHORT_LIMITS.totalTimeoutMs - 500);
    // Both times end in one turn of the event loop: the second call is not begun when the first gives up.
    stallEventLoop(600);
    expect(await Promise.all(both)).toEqual([
      { kind: 'failed', sent: true, why: 'total-timeout' },
      { kind: 'failed', sent: false, why: 'total-timeout' },
    ]);
    await pause(100);
    expect(bank.requests.map((request) => request.body)).toEqual(['first']);
    narrow.close();
  });

  it('sends each request at most once, and one that was not sent never arrives, whatever the bank does', async () => {
    const deeds = ['answer', 'reset', 'close', 'half an answer', 'answer and close'] as const;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...deeds), { minLength: 1, maxLength: 24 }), async (plan) => {
        const pool = new BankHttp({
          ...LIMITS,
          maxSockets: 3,
          connectTimeoutMs: 10_000,
          totalTimeoutMs: 20_000,
        });
        bank.requests.length = 0;
        bank.handler = ({ body, socket }, response) => {
          switch (plan[Number(body)]) {
            case 'reset':
              return void socket.resetAndDestroy();
            case 'close':
              return void socket.destroy();
            case 'half an answer':
              response.writeHead(200, { 'Content-Length': '100' });
              response.write('{');
              return void setImmediate(() => socket.destroy());
            case 'answer and close':
              answer(response, 200, {}, { Connection: 'close' });
              return;
            case 'answer':
            case undefined:
              return answer(response, 200, {});
          }
        };
        const results = await Promise.all(plan.map((_, n) => post(pool, String(n))));
        pool.close();
        const arrivals = plan.map((_, n) => bank.requests.filter(({ body }) => body === String(n)).length);
        results.forEach((result, n) => {
          expect(arrivals[n]).toBeLessThanOrEqual(1);
          if (result.kind === 'failed' && !result.sent) expect(arrivals[n]).toBe(0);
          if (plan[n]?.startsWith('answer')) expect(result.kind).toBe('answer');
          else expect(result).toMatchObject({ kind: 'failed', sent: true });
        });
      }),
      { numRuns: 30 },
    );
  });

  it('unpacks an answer to a read, and calls one that unpacks to more than its cap too large', async () => {
    const packed = (text: string) => gzipSync(Buffer.from(text));
    let body = packed('{"value": 1.10}');
    let coding = 'gzip';
    bank.handler = (_request, response) => {
      response.writeHead(200, { 'Content-Encoding': coding });
      response.end(body);
    };
    for (coding of ['x-gzip', 'GZIP', 'gzip'])
      expect(await get()).toMatchObject({ kind: 'answer', text: '{"value": 1.10}' });
    expect(bank.requests[0]?.headers['accept-encoding']).toBe('gzip');
    body = packed('x'.repeat(LIMITS.maxBodyBytes + 1));
    expect(await get()).toEqual({ kind: 'failed', sent: true, why: 'body-too-large' });
    body = Buffer.from('not packed at all');
    expect(await get()).toEqual({ kind: 'failed', sent: true, why: 'unreadable-body' });
  });

  it.each([204, 401, 404, 429])(
    'takes an empty answer that says it is packed for what it is (%i)',
    async (status) => {
      bank.handler = (_request, response) => {
        response.writeHead(status, { 'Content-Encoding': 'gzip' });
        response.end();
      };
      expect(await get()).toMatchObject({ kind: 'answer', status, text: '' });
      expect(await post(http, '{}')).toMatchObject({ kind: 'answer', status, text: '' });
    },
  );

  it('keeps the status of a refusal that cannot be unpacked, and takes no success for one', async () => {
    let status = 401;
    let body = Buffer.from('not packed at all');
    bank.handler = (_request, response) => {
      response.writeHead(status, { 'Content-Encoding': 'gzip' });
      response.end(body);
    };
    expect(await get()).toMatchObject({ kind: 'answer', status, text: '' });
    body = gzipSync(Buffer.from('{"code":"E1"}')).subarray(0, 20);
    for (status of [400, 404, 502])
      expect(await post(http, '{}')).toMatchObject({ kind: 'answer', status, text: '' });
    body = gzipSync(Buffer.from('x'.repeat(LIMITS.maxBodyBytes + 1)));
    expect(await get()).toMatchObject({ kind: 'answer', status: 502, text: '' });
    for (status of [200, 201, 302])
      expect(await post(http, '{}')).toMatchObject({ kind: 'failed', sent: true });
  });

  it('tells an interim answer that it does not take from a connection that broke', async () => {
    const hasty = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n\r\n'));
    });
    await new Promise<void>((resolve) => hasty.listen(0, '127.0.0.1', resolve));
    const { port } = hasty.address() as net.AddressInfo;
    const request = { method: 'POST' as const, url: `http://127.0.0.1:${port}`, headers: {}, body: '{}' };
    const result = await http.send(request);
    hasty.close();
    expect(result).toEqual({ kind: 'failed', sent: true, why: 'interim-answer' });
    expect(inWords('interim-answer')).toBe('an interim answer (100) that this client does not take');
  });

  it('asks for no packing where it changes something, and declares no form where there is no body', async () => {
    await post(http, '{}');
    await http.send({ method: 'POST', url: bank.url, headers: {} });
    expect(bank.requests.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'identity']);
    expect(bank.requests[1]?.headers['content-type']).toBeUndefined();
  });

  it('takes an answer that came in pieces, of letters of several bytes', async () => {
    const bytes = Buffer.from('{"name":"Žofie Dvořáková"}');
    bank.handler = (_request, response) => {
      response.writeHead(200, { 'Content-Length': String(bytes.length) });
      response.write(bytes.subarray(0, 10));
      setTimeout(() => response.end(bytes.subarray(10)), 20);
    };
    expect(await get()).toMatchObject({ kind: 'answer', text: bytes.toString() });
  });

  it('closes a connection that stands only after its time was over', async () => {
    const sockets: net.Socket[] = [];
    // Speaks TLS after the time-out, if at all: what it then gets must be the end of the connection.
    const late = net.createServer((socket) => void sockets.push(socket.resume())).listen(0, '127.0.0.1');
    await new Promise((resolve) => late.once('listening', resolve));
    const { port } = late.address() as net.AddressInfo;
    const hasty = new BankHttp(SHORT_LIMITS);
    const result = await post(hasty, '{}', `https://127.0.0.1:${port}`);
    expect(result).toEqual({ kind: 'failed', sent: false, why: 'connect-timeout' });
    const [socket] = sockets;
    await new Promise<void>((resolve) =>
      socket?.closed ? resolve() : socket?.once('close', () => resolve()),
    );
    await new Promise((resolve) => late.close(resolve));
    hasty.close();
  });
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function stallEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
