import axios, { type AxiosInstance, type AxiosRequestConfig, isAxiosError } from 'axios';
import * as http from 'node:http';
import * as https from 'node:https';
import type { Socket } from 'node:net';

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

/** 100 records of a list are some 300 kB; 8 MiB leaves room for free-form `externalData`. */
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connectTimeoutMs: 5_000,
  totalTimeoutMs: 30_000,
  maxBodyBytes: 8 * 1024 * 1024,
  maxSockets: 64,
};

/** Servers keep an idle socket five seconds or more; leaving first avoids a reset on reuse, which is a doubt. */
const IDLE_SOCKET_TIMEOUT_MS = 4_000;

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  /** Sent byte for byte as UTF-8. */
  body?: string;
  /** A connection of its own, never an idle keep-alive socket. */
  freshConnection?: boolean;
}

export interface HttpAnswer {
  kind: 'answer';
  status: number;
  header: (name: string) => string | undefined;
  text: string;
}

export interface HttpFailure {
  kind: 'failed';
  /** False only where no connection stood when the exchange failed, so no byte of the request was written. */
  sent: boolean;
  /** An error code, `connect-timeout`, `total-timeout` or `body-too-large`. */
  why: string;
}

export type HttpResult = HttpAnswer | HttpFailure;

interface Attempt {
  request?: http.ClientRequest;
  /** A usable connection (after TLS) was handed to the request. */
  connected: boolean;
  timedOut?: 'connect-timeout' | 'total-timeout';
}

/**
 * One HTTP request per call over a keep-alive agent: no retry, no redirect, no proxy, time-outs and a body cap.
 * Never throws; a failure says whether the request can have left.
 */
export class BankHttp {
  private readonly axios: AxiosInstance;
  private readonly agents: { httpAgent: http.Agent; httpsAgent: https.Agent };

  constructor(
    private readonly limits: HttpLimits = DEFAULT_HTTP_LIMITS,
    private readonly tls: https.AgentOptions = {},
  ) {
    const keep = { keepAlive: true, timeout: IDLE_SOCKET_TIMEOUT_MS, maxSockets: limits.maxSockets };
    this.agents = { httpAgent: new http.Agent(keep), httpsAgent: new https.Agent({ ...tls, ...keep }) };
    this.axios = axios.create({
      adapter: 'http',
      maxRedirects: 0,
      proxy: false,
      timeout: 0,
      maxContentLength: limits.maxBodyBytes,
      responseType: 'text',
      validateStatus: () => true,
      transformRequest: [(data: unknown) => data],
      transformResponse: [(data: unknown) => data],
    });
  }

  async send(request: HttpRequest): Promise<HttpResult> {
    const attempt: Attempt = { connected: false };
    const abort = new AbortController();
    const timer = setTimeout(() => {
      attempt.timedOut ??= 'total-timeout';
      abort.abort();
    }, this.limits.totalTimeoutMs);
    try {
      const answer = await this.axios.request<string>(this.configOf(request, attempt, abort.signal));
      const headers = answer.headers as Record<string, unknown>;
      return {
        kind: 'answer',
        status: answer.status,
        header: (name) => textOf(headers[name]),
        text: answer.data ?? '',
      };
    } catch (error) {
      return { kind: 'failed', sent: attempt.connected, why: attempt.timedOut ?? codeOf(error) };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes idle connections; call it when the service stops. */
  close(): void {
    this.agents.httpAgent.destroy();
    this.agents.httpsAgent.destroy();
  }

  private configOf(request: HttpRequest, attempt: Attempt, signal: AbortSignal): AxiosRequestConfig {
    const agents = request.freshConnection
      ? { httpAgent: new http.Agent(), httpsAgent: new https.Agent({ ...this.tls, maxCachedSessions: 0 }) }
      : this.agents;
    const secure = request.url.startsWith('https:');
    return {
      method: request.method,
      url: request.url,
      // Without it axios declares an empty POST a form.
      headers: request.body === undefined ? { 'Content-Type': false, ...request.headers } : request.headers,
      data: request.body,
      signal,
      ...agents,
      transport: {
        request: (options: https.RequestOptions, onAnswer: (answer: http.IncomingMessage) => void) => {
          const outgoing = (secure ? https : http).request(options, onAnswer);
          attempt.request = outgoing;
          outgoing.once('socket', (socket) => this.watch(attempt, socket, secure));
          return outgoing;
        },
      },
    };
  }

  /** Node buffers what is written until the connection stands, so before that event nothing has left. */
  private watch(attempt: Attempt, socket: Socket, secure: boolean): void {
    if (attempt.request?.reusedSocket || (!secure && !socket.connecting)) {
      attempt.connected = true;
      return;
    }
    const timer = setTimeout(() => {
      attempt.timedOut ??= 'connect-timeout';
      attempt.request?.destroy(new Error('connect-timeout'));
    }, this.limits.connectTimeoutMs);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      attempt.connected = true;
      clearTimeout(timer);
    });
    socket.once('close', () => clearTimeout(timer));
  }
}

function codeOf(error: unknown): string {
  if (!isAxiosError(error)) return 'client-error';
  if (error.message.startsWith('maxContentLength')) return 'body-too-large';
  return error.code ?? 'no-answer';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
