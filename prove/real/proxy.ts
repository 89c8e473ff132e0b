import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { instructionIn } from './calls';

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

/** A call of the service that changes something at the bank, when it came. */
export interface Post {
  method: string;
  path: string;
  /** SHA-256 of its body, hexadecimal. */
  hash: string;
  atMs: number;
  /** Of its answer, where there was one. */
  status?: number;
}

/** What the network does to an exchange that the bank has answered. */
export interface Effect {
  /** Another body. */
  body?: string;
  /** A refusal of this status instead of the bank's answer. */
  refusal?: number;
  redirectTo?: string;
  /** The connection is reset in the middle of the answer. */
  reset?: boolean;
  /** The request is delivered once more, or another one like it. */
  again?: {
    afterMs: number;
    /** Counted from when the bank has answered the submit of its instruction, not from this answer. */
    afterSubmit?: boolean;
    change?: (body: string) => string;
  };
}
export type Meddling = (exchange: Exchange) => Effect | undefined | Promise<Effect | undefined>;
/** What is done before a request goes on to the bank; answers whether anything was. */
export type Ahead = (request: Pick<Exchange, 'method' | 'path'>) => Promise<boolean>;

/** Of the bank's headers; the connection's own are made anew. */
const PASSED_ON = /^(content-type|retry-after|location|x-ratelimit-.*)$/;

const OF_INSTRUCTIONS = /^\/api\/service-domain\/v1\/customer-instructions\//;

const REFUSAL_BODY = JSON.stringify({ code: 'REFUSED', message: 'It was refused.' });

/** What comes after a submit is delivered so often at most, with so long a pause. */
const UNTIL_TAKEN = 20;
const PAUSE_MS = 50;

/** The network between the service and the bank: hands everything on, and meddles as it is told. */
export class Proxy {
  /** What the service has sent of its instructions, in the order in which it came. */
  readonly posts: Post[] = [];
  private meddling: Meddling | undefined;
  private acting: Ahead | undefined;
  /** Of each meddling since the last calm, how often it changed something. */
  private strikes: { count: number }[] = [];
  private readonly underway = new Set<Promise<unknown>>();
  /** Called when the bank has answered the submit of an instruction. */
  private waiting: { instruction: string | undefined; go: () => void }[] = [];

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

  /** Meddles from now on; whether it ever changed anything, `missed` tells. */
  set meddle(meddling: Meddling) {
    const strike = { count: 0 };
    this.strikes.push(strike);
    this.meddling = async (exchange) => {
      const effect = await meddling(exchange);
      if (effect !== undefined && changes(effect, exchange)) strike.count += 1;
      return effect;
    };
  }

  /** Acts before each request from now on, as `meddle` does after its answer. */
  set ahead(acting: Ahead) {
    const strike = { count: 0 };
    this.strikes.push(strike);
    this.acting = async (request) => {
      const acted = await acting(request);
      if (acted) strike.count += 1;
      return acted;
    };
  }

  /** Whether some meddling since the last calm has changed nothing. */
  get missed(): boolean {
    return this.strikes.some(({ count }) => count === 0);
  }

  /** Hands everything on as it is. */
  calm(): void {
    this.meddling = undefined;
    this.acting = undefined;
    this.strikes = [];
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await Promise.allSettled(this.underway);
  }

  private async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const sent = await readAll(message);
      const post = this.noted(message, sent);
      await this.acting?.({ method: message.method ?? 'GET', path: message.url ?? '/' });
      const exchange = await this.forward(message, sent);
      post.status = exchange.status;
      const effect = (await this.meddling?.(exchange)) ?? {};
      const { body = exchange.body, refusal, redirectTo, reset, again } = effect;
      if (refusal !== undefined) post.status = refusal;
      if (again !== undefined) this.deliverAgain(message, sent, again);
      if (exchange.path.endsWith('/submit')) this.submitted(instructionIn(exchange.path));
      if (refusal !== undefined) refuse(response, refusal);
      else if (redirectTo !== undefined) response.writeHead(307, { location: redirectTo }).end();
      else if (reset === true) resetMidway(response, exchange);
      else response.writeHead(exchange.status, exchange.headers).end(body);
    } catch {
      // The bank broke the connection; so does its network.
      response.destroy();
    }
  }

  private noted({ method = 'GET', url: path = '/' }: IncomingMessage, sent: Buffer): Post {
    const hash = createHash('sha256').update(sent).digest('hex');
    const post = { method, path, hash, atMs: Date.now() };
    if (method !== 'GET' && OF_INSTRUCTIONS.test(path)) this.posts.push(post);
    return post;
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

  /** Until the bank takes it: what is submitted again it may refuse while it still looks at the first. */
  private async deliver(message: IncomingMessage, body: Buffer, times: number): Promise<void> {
    for (let time = 1; time <= times; time += 1) {
      if ((await this.forward(message, body)).status < 300) return;
      await sleep(PAUSE_MS);
    }
  }

  private submitted(instruction: string | undefined): void {
    for (const one of this.waiting.filter((waits) => waits.instruction === instruction)) one.go();
    this.waiting = this.waiting.filter((waits) => waits.instruction !== instruction);
  }

  private deliverAgain(
    message: IncomingMessage,
    sent: Buffer,
    { afterMs, afterSubmit, change }: NonNullable<Effect['again']>,
  ): void {
    const body = change === undefined ? sent : Buffer.from(change(sent.toString()));
    const instruction = instructionIn(message.url ?? '');
    const submitted = new Promise<void>((go) => this.waiting.push({ instruction, go }));
    const again = (afterSubmit === true ? submitted : Promise.resolve())
      .then(() => sleep(afterMs))
      .then(() => this.deliver(message, body, afterSubmit === true ? UNTIL_TAKEN : 1))
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

function changes({ body, refusal, redirectTo, reset, again }: Effect, exchange: Exchange): boolean {
  if (body !== undefined && body !== exchange.body) return true;
  if (refusal !== undefined && refusal !== exchange.status) return true;
  return redirectTo !== undefined || reset === true || again !== undefined;
}

function refuse(response: ServerResponse, status: number): void {
  const wait = status === 429 ? { 'retry-after': '1' } : {};
  response.writeHead(status, { 'content-type': 'application/json', ...wait }).end(REFUSAL_BODY);
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
