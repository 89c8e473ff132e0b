import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { TcpNetConnectOpts } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { AxiosError, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import { Agent, buildConnector, Client, type Dispatcher } from 'undici';
import { BODY_TOO_LARGE, INTERIM_ANSWER } from './errors';

/** Limits of one exchange with the bank. */
export interface HttpLimits {
  /** Until the connection (with TLS) stands. */
  connectTimeoutMs: number;
  /** From the call to the last byte of the answer, queueing for a socket included. */
  totalTimeoutMs: number;
  /** Of a decompressed answer. */
  maxBodyBytes: number;
  maxSockets: number;
}

/** What is known of an exchange while it runs, and after it failed. */
export interface Exchange {
  /** A connection of its own, closed afterwards. */
  readonly fresh: boolean;
  /** Asked before the first byte; not sent where it says no. */
  readonly mayLeave?: () => boolean;
  /** A usable connection (after TLS) took the request: from here on bytes of it may have left. */
  connected: boolean;
}

/**
 * Servers keep an idle socket five seconds or more; leaving first avoids a reset on reuse, which is a doubt. The pool's
 * own timer may be a second late.
 */
const IDLE_SOCKET_TIMEOUT_MS = 3_000;

const BYTE_ORDER_MARK = 0xfeff;

/** The names of gzip, in small letters: those of codings are the same in any case (RFC 9110, 8.4.1). */
const GZIP: ReadonlySet<string> = new Set(['gzip', 'x-gzip']);

/**
 * Carries axios' requests over a pool of connections, one request at a time on each (no pipelining: what stands behind
 * a lost request would be lost or sent again with it). No retry, no redirect, no proxy. Fails with an `AxiosError` whose
 * code is the network's, `connect-timeout`, `total-timeout`, `too-late`, `interim-answer` or
 * `body-too-large`.
 */
export class PoolAdapter {
  private readonly pool: Agent;

  constructor(
    private readonly limits: HttpLimits,
    private readonly tls: ConnectionOptions,
  ) {
    this.pool = new Agent({
      ...this.poolOptions(),
      connections: limits.maxSockets,
      pipelining: 1,
    });
  }

  async send(config: InternalAxiosRequestConfig, exchange: Exchange): Promise<AxiosResponse<string>> {
    const url = new URL(config.url ?? '');
    const via = exchange.fresh ? this.freshClient(url.origin) : this.pool;
    try {
      const answer = await this.dispatch(via, url, config, exchange);
      const data = await this.textOf(answer);
      return { status: answer.status, statusText: '', headers: answer.headers, data, config };
    } finally {
      if (via instanceof Client) void via.destroy();
    }
  }

  /** Closes every connection. */
  close(): void {
    void this.pool.destroy();
  }

  private poolOptions() {
    return {
      keepAliveTimeout: IDLE_SOCKET_TIMEOUT_MS,
      keepAliveMaxTimeout: IDLE_SOCKET_TIMEOUT_MS,
      // The total time is the exchange's own, from the call to the last byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.connector({}),
    };
  }

  private freshClient(origin: string): Client {
    // No pipelining at all means that the connection is not kept: `Connection: close`.
    return new Client(origin, {
      ...this.poolOptions(),
      pipelining: 0,
      connect: this.connector({ maxCachedSessions: 0 }),
    });
  }

  /** The pool's own connect time-out ends the socket, but up to a second late: who waits is told in time. */
  private connector(options: buildConnector.BuildOptions): buildConnector.connector {
    const { connectTimeoutMs } = this.limits;
    const tls: ConnectionOptions | TcpNetConnectOpts = this.tls;
    const connect = buildConnector({ ...tls, ...options, timeout: connectTimeoutMs, allowH2: false });
    return (target, callback) => {
      let told = false;
      const timer = setTimeout(() => {
        told = true;
        callback(new AxiosError('connect-timeout', 'connect-timeout'), null);
      }, connectTimeoutMs);
      connect(target, (...[error, socket]) => {
        clearTimeout(timer);
        if (told) socket?.destroy();
        else if (error) callback(error, null);
        else callback(null, socket);
      });
    };
  }

  private dispatch(
    via: Dispatcher,
    url: URL,
    config: InternalAxiosRequestConfig,
    exchange: Exchange,
  ): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const receiver = new Receiver(exchange, this.limits, resolve, reject);
      const request = {
        origin: url.origin,
        path: url.pathname + url.search,
        method: (config.method ?? 'GET').toUpperCase(),
        headers: config.headers.toJSON() as Record<string, string>,
        body: config.data as string | undefined,
      };
      via.dispatch(request, receiver);
    });
  }

  private async textOf(answer: RawAnswer): Promise<string> {
    const coding = String(answer.headers['content-encoding']).toLowerCase();
    const isPacked = GZIP.has(coding) && answer.body.length > 0;
    const bytes = isPacked ? await this.unpacked(answer) : answer.body;
    const text = bytes.toString('utf8');
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  /** Nothing depends on the body of a refusal: where it cannot be unpacked, its status still tells. */
  private async unpacked({ status, body }: RawAnswer): Promise<Buffer> {
    try {
      return await promisify(gunzip)(body, { maxOutputLength: this.limits.maxBodyBytes });
    } catch (error) {
      if (status >= 400) return Buffer.alloc(0);
      const tooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      throw new AxiosError('gzip', tooLarge ? BODY_TOO_LARGE : 'unreadable-body');
    }
  }
}

interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** One request's side of the pool: collects the answer, keeps its limits, and settles exactly once. */
class Receiver implements Dispatcher.DispatchHandler {
  private readonly timer: NodeJS.Timeout;
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private status = 0;
  private headers: RawAnswer['headers'] = {};
  private controller?: Dispatcher.DispatchController;
  private settled = false;

  constructor(
    private readonly exchange: Exchange,
    private readonly limits: HttpLimits,
    private readonly resolve: (answer: RawAnswer) => void,
    private readonly reject: (error: AxiosError) => void,
  ) {
    this.timer = setTimeout(() => this.fail('total-timeout'), limits.totalTimeoutMs);
  }

  /** Called when a connection stands and before the first byte is written. A second time would be a second request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.settled || this.exchange.connected) return this.giveUp(controller, 'given-up');
    if (this.exchange.mayLeave?.() === false) return this.giveUp(controller, 'too-late');
    this.controller = controller;
    this.exchange.connected = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: RawAnswer['headers'],
  ): void {
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > this.limits.maxBodyBytes) return this.fail(BODY_TOO_LARGE);
    this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.settled) return;
    this.settle();
    const [only] = this.chunks;
    const body = this.chunks.length === 1 && only ? only : Buffer.concat(this.chunks);
    this.resolve({ status: this.status, headers: this.headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(codeOf(error));
  }

  private giveUp(controller: Dispatcher.DispatchController, code: string): void {
    controller.abort(new AxiosError(code, code));
    this.fail(code);
  }

  private fail(code: string): void {
    if (this.settled) return;
    this.settle();
    const error = new AxiosError(code, code);
    this.controller?.abort(error);
    this.reject(error);
  }

  private settle(): void {
    this.settled = true;
    clearTimeout(this.timer);
  }
}

/** The pool's words for the one thing it closes a connection for: a 100. */
const BAD_RESPONSE = 'bad response';

/** The pool's word for a connection the other side closed is the one the system has for it. */
function codeOf(error: Error & { code?: unknown }): string {
  if (error.code === 'UND_ERR_SOCKET') return error.message === BAD_RESPONSE ? INTERIM_ANSWER : 'ECONNRESET';
  return typeof error.code === 'string' ? error.code : 'no-answer';
}
