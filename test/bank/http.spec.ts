import * as net from 'node:net';
import * as tls from 'node:tls';
import { BankHttp, type HttpResult } from '../../src/bank/http';
import { answer, LIMITS, ScriptedBank, SHORT_LIMITS } from './scripted-bank';

describe('one exchange over HTTP', () => {
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

  const post = (url = bank.url, freshConnection = false, via = http): Promise<HttpResult> =>
    via.send({
      method: 'POST',
      url,
      headers: { Authorization: 'Bearer t' },
      body: '{"a": 1}',
      freshConnection,
    });

  /** Sends one that does not wait for long. */
  const postHastily = async (url = bank.url): Promise<HttpResult> => {
    const hasty = new BankHttp(SHORT_LIMITS);
    const result = await post(url, false, hasty);
    hasty.close();
    return result;
  };

  /** A connection is used again one turn of the event loop after its answer: one that the bank closes then is not. */
  const idle = () => new Promise((resolve) => setTimeout(resolve, 10));

  it('sends exactly the bytes given and returns the text as received', async () => {
    bank.handler = (_request, response) => answer(response, 201, '{"value": 1.10}', { 'Retry-After': '7' });
    const result = await post();
    expect(result).toMatchObject({ kind: 'answer', status: 201, text: '{"value": 1.10}' });
    expect(result.kind === 'answer' && result.header('retry-after')).toBe('7');
    expect(bank.requests.map((request) => request.body)).toEqual(['{"a": 1}']);
  });

  it('sends a POST without a body with length zero', async () => {
    await http.send({ method: 'POST', url: bank.url, headers: {} });
    expect(bank.requests[0]?.headers).toMatchObject({ 'content-length': '0' });
  });

  it('does not follow a redirect, so the token stays with the bank', async () => {
    const other = await new ScriptedBank().listen();
    bank.handler = (_request, response) => answer(response, 307, '', { Location: other.url });
    expect(await post()).toMatchObject({ kind: 'answer', status: 307 });
    expect(other.requests).toHaveLength(0);
    await other.close();
  });

  it('ignores a proxy named by the environment', async () => {
    process.env['http_proxy'] = 'http://127.0.0.1:1';
    try {
      expect(await post()).toMatchObject({ kind: 'answer', status: 200 });
    } finally {
      delete process.env['http_proxy'];
    }
  });

  it('knows that a refused connection and an unknown host carried nothing', async () => {
    const url = bank.url;
    await bank.close();
    expect(await post(url)).toEqual({ kind: 'failed', sent: false, why: 'ECONNREFUSED' });
    expect(await post('http://no-such-host.invalid/')).toMatchObject({ kind: 'failed', sent: false });
    await bank.listen();
  });

  it('knows that a failed TLS handshake carried nothing', async () => {
    expect(await post(bank.url.replace('http:', 'https:'))).toMatchObject({ kind: 'failed', sent: false });
  });

  it('knows that a certificate nobody vouches for carried nothing', async () => {
    let received = 0;
    const server = tls.createServer(SELF_SIGNED, (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => (received += chunk.length));
    });
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as net.AddressInfo;
    const result = await post(`https://127.0.0.1:${port}`);
    expect(result).toMatchObject({ kind: 'failed', sent: false });
    expect(received).toBe(0);
    await new Promise((resolve) => server.close(resolve));
  });

  it('gives up connecting in time, and nothing has left', async () => {
    // A server that accepts TCP and never speaks TLS: the connection for an https request never stands.
    const mute = net
      .createServer((socket) => socket.on('error', () => undefined).resume())
      .listen(0, '127.0.0.1');
    await new Promise((resolve) => mute.once('listening', resolve));
    const { port } = mute.address() as net.AddressInfo;
    expect(await postHastily(`https://127.0.0.1:${port}`)).toEqual({
      kind: 'failed',
      sent: false,
      why: 'connect-timeout',
    });
    await new Promise((resolve) => mute.close(resolve));
  });

  it('calls silence after the request a doubt', async () => {
    bank.handler = () => undefined;
    expect(await postHastily()).toEqual({ kind: 'failed', sent: true, why: 'total-timeout' });
  });

  it('calls a reset after the request a doubt', async () => {
    bank.handler = (request) => request.socket.resetAndDestroy();
    expect(await post()).toEqual({ kind: 'failed', sent: true, why: 'ECONNRESET' });
  });

  it('calls a reset on a reused connection a doubt and does not send again', async () => {
    await post();
    await idle();
    bank.handler = (request) => request.socket.destroy();
    expect(await post()).toMatchObject({ kind: 'failed', sent: true });
    expect(bank.requests).toHaveLength(2);
    expect(bank.requests[1]?.socket).toBe(bank.requests[0]?.socket);
  });

  it('calls a truncated answer a doubt', async () => {
    bank.handler = (request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('{"id":');
      setImmediate(() => request.socket.destroy());
    };
    expect(await post()).toMatchObject({ kind: 'failed', sent: true });
  });

  it('stops reading an answer larger than its cap', async () => {
    bank.handler = (_request, response) => answer(response, 200, 'x'.repeat(LIMITS.maxBodyBytes + 1));
    expect(await post()).toEqual({ kind: 'failed', sent: true, why: 'body-too-large' });
  });

  it('does not let an answer drip beyond the total time', async () => {
    bank.handler = (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(drip));
    };
    expect(await postHastily()).toEqual({ kind: 'failed', sent: true, why: 'total-timeout' });
  });

  it('reuses a connection, except where a fresh one is asked for', async () => {
    await post();
    await idle();
    await post();
    await idle();
    await post(bank.url, true);
    const [first, second, third] = bank.requests.map((request) => request.socket);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    expect(bank.requests[2]?.headers.connection).toBe('close');
  });
});

/** A certificate for nobody, valid until 2126, made for this test. */
const SELF_SIGNED = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg84WHg7f22OGjSvuj
hE5IcTsgl8BORAyvSnMM2tSZ5dahRANCAAT8OVpG7PTqgv7phnSdU1ngPvO7xmoL
fe/lKD6A1YWlugkNpLXrZIh9XHdQgeB5leEbr1MmR/FwJAH/xFnAJEWn
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBiTCCAS+gAwIBAgIULsONDeZQn6+bUKEFPbvxET4OnQkwCgYIKoZIzj0EAwIw
GTEXMBUGA1UEAwwObm9ib2R5LmludmFsaWQwIBcNMjYxMTIwMTAyNzQ4WhgPMjEy
NjEwMjcxMDI3NDhaMBkxFzAVBgNVBAMMDm5vYm9keS5pbnZhbGlkMFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAE/DlaRuz06oL+6YZ0nVNZ4D7zu8ZqC33v5Sg+gNWF
pboJDaS162SIfVx3UIHgeZXhG69TJkfxcCQB/8RZwCRFp6NTMFEwHQYDVR0OBBYE
FEq4KSClrDzHsMMtmZwFW0Ugd8UCMB8GA1UdIwQYMBaAFEq4KSClrDzHsMMtmZwF
W0Ugd8UCMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgPwXVEYkQ
3yTVgwFy5JOLlpaYy9E5uldhxHXyWjpeuCUCIQDN2wnA0PmD8TAoc/VFNfvwStjJ
Yx/OMAHHsiEUlbP0bQ==
-----END CERTIFICATE-----`,
};
