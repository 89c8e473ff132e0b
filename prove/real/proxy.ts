import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** One exchange between the service and the bank. */
export interface Exchange {
  method: string;
  /** With its query. */
  path: string;
  /** Of the bank's answer. */
  status: number;
  /** Those a client acts on. */
  headers: Record<string, string>;
  body: string;
}

/** What the network does to an exchange that the bank has answered. */
export interface Effect {
  /** Another body. */
  body?: string;
  redirectTo?: string;
  /** The connection is reset in the middle of the answer. */
  reset?: boolean;
  /** The request is delivered once more, or another one like it. */
  again?: { afterMs: number; change?: (body: string) => string };
}
export type Meddling = (exchange: Exchange) => Effect | undefined;

/** Of the bank's headers; the connection's own are made anew. */
const PASSED_ON = /^(content-type|retry-after|location|x-ratelimit-.*)$/;

/** The network between the service and the bank: hands everything on, and meddles as it is told. */
export class Proxy {
  meddle: Meddling | undefined;
  private readonly underway = new Set<Promise<unknown>>();

  private constructor(
    private readonly server: Server,
    private readonly target: string,
    readonly url: string,
  ) {}

  static async start(target: string): Promise<Proxy> {
    const { server, url } = await listening();
    const proxy = new Proxy(server, target, url);
    server.on('request', (message, response) => void proxy.serve(message, response));
    return proxy;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await Promise.allSettled(this.underway);
  }

  private async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const sent = await readAll(message);
      const exchange = await this.forward(message, sent);
      const { body = exchange.body, redirectTo, reset, again } = this.meddle?.(exchange) ?? {};
      if (again !== undefined) this.deliverAgain(message, sent, again);
      if (redirectTo !== undefined) response.writeHead(307, { location: redirectTo }).end();
      else if (reset === true) resetMidway(response, exchange);
      else response.writeHead(exchange.status, exchange.headers).end(body);
    } catch {
      // The bank broke the connection; so does its network.
      response.destroy();
    }
  }

  private async forward(message: IncomingMessage, sent: Buffer): Promise<Exchange> {
    const { method = 'GET', url: path = '/' } = message;
    const headers: Record<string, string> = {};
    for (const name of ['authorization', 'content-type'] as const) {
      const value = message.headers[name];
      if (value !== undefined) headers[name] = value;
    }
    const body = sent.length === 0 ? undefined : new Uint8Array(sent);
    const answer = await fetch(this.target + path, { method, headers, body, redirect: 'manual' });
    const kept = [...answer.headers].filter(([name]) => PASSED_ON.test(name));
    return {
      method,
      path,
      status: answer.status,
      headers: Object.fromEntries(kept),
      body: await answer.text(),
    };
  }

  private deliverAgain(
    message: IncomingMessage,
    sent: Buffer,
    { afterMs, change }: NonNullable<Effect['again']>,
  ): void {
    const body = change === undefined ? sent : Buffer.from(change(sent.toString()));
    const again = sleep(afterMs)
      .then(() => this.forward(message, body))
      .catch(() => undefined);
    this.underway.add(again);
    void again.finally(() => this.underway.delete(again));
  }
}

/** A host that nobody meant to call, and what it was told. */
export class Elsewhere {
  /** Authorization headers it received. */
  readonly tokens: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Elsewhere> {
    const { server, url } = await listening();
    const elsewhere = new Elsewhere(server, url);
    server.on('request', (message: IncomingMessage, response: ServerResponse) => {
      elsewhere.tokens.push(message.headers.authorization ?? '');
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    return elsewhere;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

function resetMidway(response: ServerResponse, { status, headers, body }: Exchange): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.write(body.slice(0, body.length / 2), () => response.socket?.resetAndDestroy());
}

export async function listening(): Promise<{ server: Server; url: string }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}` };
}

export async function readAll(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
