import { once } from 'node:events';
import { AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { httpApp } from './test-app';

const GRACE_MS = 10_000;
const REAL = ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'hrtime', 'Date'] as const;

let app: NestExpressApplication;
beforeEach(async () => {
  app = await httpApp({});
  await app.listen(0, '127.0.0.1');
});
afterEach(() => jest.useRealTimers());

async function connection(sent: string) {
  const { port } = app.getHttpServer().address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => undefined).resume();
  socket.write(sent);
  await sleep(100);
  return socket;
}

it('waits ten seconds for a request that was not sent to its end, then stops', async () => {
  const socket = await connection('POST /v1 HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\nab');
  const gone = once(socket, 'close');
  jest.useFakeTimers({ doNotFake: [...REAL] });
  let closed = false;
  const closing = app.close().then(() => (closed = true));
  await jest.advanceTimersByTimeAsync(GRACE_MS - 500);
  expect([closed, socket.destroyed]).toEqual([false, false]);
  await jest.advanceTimersByTimeAsync(500);
  await Promise.all([closing, gone]);
  expect(closed).toBe(true);
});

it('stops at once where nothing is under way', async () => {
  const socket = await connection('GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n');
  await Promise.all([app.close(), once(socket, 'close')]);
});
