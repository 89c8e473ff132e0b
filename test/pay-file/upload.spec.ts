import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, IncomingMessage, request, Server } from 'node:http';
import { AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../src/http/problem';
import { UploadLimits, withUpload } from '../../src/pay-file/upload';
import { eventually } from '../support/eventually';

const LIMITS: UploadLimits = { maxBytes: 1_000_000, idleMs: 2_000, totalMs: 5_000 };

interface Seen {
  sha256: string;
  sizeBytes: number;
  content: string;
  fileName?: string;
  fields: Record<string, string>;
}

let limits = LIMITS;
let server: Server;
let url: string;
const ended: unknown[] = [];

beforeAll(async () => {
  server = createServer((incoming, response) => {
    withUpload(incoming, limits, async ({ file, fileName, fields }) => {
      const content = await buffer(file.read());
      // A reading that is left before its end leaves the file as it was.
      for await (const chunk of file.read()) if ((chunk as Buffer).length > 0) break;
      expect((await buffer(file.read())).equals(content)).toBe(true);
      return {
        sha256: file.sha256.toString('hex'),
        sizeBytes: file.sizeBytes,
        content: content.toString('latin1'),
        fileName,
        fields: Object.fromEntries(fields),
      };
    }).then(
      (seen: Seen) => response.end(JSON.stringify(seen)),
      (error: unknown) => {
        ended.push(error);
        response.statusCode = error instanceof Problem ? error.status : 500;
        response.end(JSON.stringify(error instanceof Problem ? { code: error.code } : {}));
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
beforeEach(() => {
  limits = LIMITS;
  ended.length = 0;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

async function post(
  body: string | Buffer | FormData,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, { method: 'POST', body, headers });
  return { status: response.status, body: await response.json() };
}

const raw = (content: string) =>
  post(Buffer.from(content, 'latin1'), { 'content-type': 'text/csv; charset=utf-8' });
const file = (content: string, name = 'pay.csv'): [string, Blob, string] => [
  'file',
  new Blob([content]),
  name,
];

function form(...parts: ([string, string] | [string, Blob, string])[]): FormData {
  const data = new FormData();
  for (const [name, value, fileName] of parts) {
    if (typeof value === 'string') data.append(name, value);
    else data.append(name, value, fileName);
  }
  return data;
}

describe('a raw upload', () => {
  it('arrives byte for byte with its hash', async () => {
    const content = Array.from({ length: 300_000 }, (_, n) => String.fromCharCode(n % 256)).join('');
    const { status, body } = await raw(content);
    const sha256 = createHash('sha256').update(Buffer.from(content, 'latin1')).digest('hex');
    expect(status).toBe(200);
    expect(body).toEqual({ sha256, sizeBytes: 300_000, content, fields: {} });
  });

  it('may be empty', async () => {
    expect(await raw('')).toMatchObject({ status: 200, body: { sizeBytes: 0, content: '' } });
  });

  it('is taken up to the byte it may have and not beyond', async () => {
    limits = { ...LIMITS, maxBytes: 1000 };
    expect((await raw('x'.repeat(1000))).status).toBe(200);
    expect(await raw('x'.repeat(1001))).toEqual({ status: 413, body: { code: 'PAY_FILE_TOO_LARGE' } });
  });

  it('far too large is answered, on a connection that goes on serving', async () => {
    limits = { maxBytes: 1000, idleMs: 60_000, totalMs: 120_000 };
    const sockets = new Set<unknown>();
    const onConnection = (socket: unknown) => void sockets.add(socket);
    server.on('connection', onConnection);
    expect(await raw('x'.repeat(20_000_000))).toEqual({ status: 413, body: { code: 'PAY_FILE_TOO_LARGE' } });
    expect((await raw('x')).status).toBe(200);
    server.off('connection', onConnection);
    expect(sockets.size).toBeLessThanOrEqual(1);
  });

  it('of another type, or compressed, is refused', async () => {
    const json = await post('{}', { 'content-type': 'application/json' });
    expect(json).toEqual({ status: 415, body: { code: 'PAY_FILE_TYPE' } });
    const zipped = await post('x', { 'content-type': 'text/csv', 'content-encoding': 'gzip' });
    expect(zipped).toEqual({ status: 415, body: { code: 'ENCODING_UNSUPPORTED' } });
  });

  it('that falls silent is given up', async () => {
    limits = { ...LIMITS, idleMs: 100 };
    const { response, stop } = await slowly(1, 60_000);
    expect(response.statusCode).toBe(408);
    stop();
  });

  it('that drips for ever is given up', async () => {
    limits = { ...LIMITS, idleMs: 1_000, totalMs: 300 };
    const { response, stop } = await slowly(1_000, 20);
    expect(response.statusCode).toBe(408);
    stop();
  });

  it('that is slow but arrives in time is taken', async () => {
    limits = { ...LIMITS, idleMs: 1_500 };
    const { response } = await slowly(20, 100);
    expect(response.statusCode).toBe(200);
  });

  it('that breaks off ends at once', async () => {
    limits = { ...LIMITS, idleMs: 60_000, totalMs: 60_000 };
    const arrived = once(server, 'request');
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 100\r\n\r\nhalf');
    await arrived;
    socket.destroy();
    await eventually(() => ended.length > 0, 2_500);
    expect(ended).toMatchObject([{ code: 'UPLOAD_BROKEN_OFF' }]);
  });

  it('leaves nothing on the disk, nor lies there under a name', async () => {
    await raw('x');
    limits = { ...LIMITS, maxBytes: 1 };
    await raw('too long');
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('payrun-upload-'))).toEqual([]);
  });
});

/** Sends `chunks` of a byte with a pause before each. */
async function slowly(
  chunks: number,
  pauseMs: number,
): Promise<{ response: IncomingMessage; stop: () => void }> {
  const client = request(url, { method: 'POST', headers: { 'content-type': 'text/csv' } });
  client.on('error', () => undefined);
  client.flushHeaders();
  const pauses = new AbortController();
  const sending = (async () => {
    for (let sent = 0; sent < chunks; sent += 1) {
      client.write('x');
      await sleep(pauseMs, undefined, { signal: pauses.signal });
    }
    client.end();
  })();
  sending.catch(() => undefined);
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  response.resume();
  return {
    response,
    stop: () => {
      pauses.abort();
      client.destroy();
    },
  };
}

describe('an upload in a form', () => {
  it('arrives with its name and fields, before or after the file', async () => {
    const { status, body } = await post(
      form(['period', '2026-11'], file('a,b\n', 'Löhne.csv'), ['kindOfPay', 'BONUS']),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({
      sizeBytes: 4,
      content: 'a,b\n',
      fileName: 'Löhne.csv',
      fields: { period: '2026-11', kindOfPay: 'BONUS' },
    });
  });

  it.each([
    ['no file', form(['period', '2026-11'])],
    ['two files', form(file('a'), file('b'))],
    ['a field twice', form(['period', '1'], ['period', '2'], file('a'))],
    ['a field too long', form(['period', 'x'.repeat(2_000)], file('a'))],
    [
      'too many fields',
      form(...Array.from({ length: 20 }, (_, n): [string, string] => [`f${n}`, '']), file('a')),
    ],
  ])('is refused with %s', async (_, data) => {
    expect(await post(data)).toEqual({ status: 400, body: { code: 'FORM_MALFORMED' } });
  });

  it('is refused without a boundary, and when it ends too early', async () => {
    const malformed = { status: 400, body: { code: 'FORM_MALFORMED' } };
    expect(await post('x', { 'content-type': 'multipart/form-data' })).toEqual(malformed);
    const head = '--b\r\nContent-Disposition: form-data; name="f"; filename="f.csv"\r\n\r\nhalf a file';
    expect(await post(head, { 'content-type': 'multipart/form-data; boundary=b' })).toEqual(malformed);
  });

  it('too large is refused, like a raw one', async () => {
    limits = { ...LIMITS, maxBytes: 1000 };
    const answer = await post(form(file('x'.repeat(5_000_000))));
    expect(answer).toEqual({ status: 413, body: { code: 'PAY_FILE_TOO_LARGE' } });
  });

  it('that falls silent within the file is given up', async () => {
    limits = { ...LIMITS, idleMs: 100 };
    const client = request(url, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    client.on('error', () => undefined);
    client.write('--b\r\nContent-Disposition: form-data; name="f"; filename="f.csv"\r\n\r\nhalf');
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(408);
    client.destroy();
  });
});
