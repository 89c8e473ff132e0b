import type { ConnectionOptions } from 'node:tls';
import axios, { type AxiosInstance, isAxiosError, type RawAxiosRequestHeaders } from 'axios';
import { type Exchange, type HttpLimits, PoolAdapter } from './pool-adapter';

export type { HttpLimits };

/** 100 records of a list are some 300 kB; 8 MiB leaves room for free-form `externalData`. */
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connectTimeoutMs: 5_000,
  totalTimeoutMs: 30_000,
  maxBodyBytes: 8 * 1024 * 1024,
  maxSockets: 64,
};

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  /** Sent byte for byte as UTF-8. */
  body?: string;
  /** A connection of its own, never an idle keep-alive socket. */
  freshConnection?: boolean;
  /** Asked when a connection stands, before the first byte: where it says no, nothing is sent (`too-late`). */
  mayLeave?: () => boolean;
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
  /** An error code, `connect-timeout`, `total-timeout`, `too-late`, `interim-answer` or `body-too-large`. */
  why: string;
}

export type HttpResult = HttpAnswer | HttpFailure;

/**
 * One HTTP request per call over kept connections: no retry, no redirect, no proxy, time-outs and a body cap.
 * Never throws; a failure says whether the request can have left.
 */
export class BankHttp {
  private readonly axios: AxiosInstance;
  private readonly adapter: PoolAdapter;

  constructor(limits: HttpLimits = DEFAULT_HTTP_LIMITS, tls: ConnectionOptions = {}) {
    this.adapter = new PoolAdapter(limits, tls);
    this.axios = axios.create({
      maxRedirects: 0,
      proxy: false,
      timeout: 0,
      validateStatus: () => true,
      transformRequest: [],
      transformResponse: [],
    });
  }

  async send(request: HttpRequest): Promise<HttpResult> {
    const { freshConnection: fresh = false, mayLeave } = request;
    const exchange: Exchange = { fresh, mayLeave, connected: false };
    try {
      const answer = await this.axios.request<string>({
        method: request.method,
        url: request.url,
        headers: headersOf(request),
        data: request.body,
        adapter: (config) => this.adapter.send(config, exchange),
      });
      const headers = answer.headers as Record<string, unknown>;
      return {
        kind: 'answer',
        status: answer.status,
        header: (name) => textOf(headers[name]),
        text: answer.data,
      };
    } catch (error) {
      return { kind: 'failed', sent: exchange.connected, why: codeOf(error) };
    }
  }

  /** Closes every connection; call it when the service stops. */
  close(): void {
    this.adapter.close();
  }
}

function headersOf({ method, body, headers }: HttpRequest): RawAxiosRequestHeaders {
  // Packing pays for lists, not for the answer to one add. Without a type axios declares an empty POST a form.
  if (method === 'GET') return { 'Accept-Encoding': 'gzip', ...headers };
  return {
    'Accept-Encoding': 'identity',
    ...(body === undefined && { 'Content-Type': false }),
    ...headers,
  };
}

function codeOf(error: unknown): string {
  return isAxiosError(error) ? (error.code ?? 'no-answer') : 'client-error';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
