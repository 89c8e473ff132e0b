import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAfter, isBefore, isOfList } from '../fault-kinds';
import type { Faults, FaultScript } from '../faults';
import { parseJson, writeJson } from '../json';
import { badRequest, notFound, Refusal } from '../refusal';
import type { Variants } from '../variants';
import type { Answer, BankRequest, Route } from './exchange';
import { type Interception, interceptionOf, sendFaulty } from './faulty-answer';
import { MovedQuery } from './paging';
import type { RateLimit } from './rate-limit';
import type { Tokens } from './tokens';
import { wrongList } from './wrong-list';

/** A megabyte holds any request of the document many times over. */
const MAX_BODY_BYTES = 1_048_576;
/** Longer than clients keep idle sockets, so that none is closed under a request. */
const KEEP_ALIVE_MS = 65_000;
const SANDBOX_PREFIX = '/sandbox/';

interface Call {
  route: Route;
  request: BankRequest;
}

/** Speaks HTTP for the bank: routes, tokens, errors, call counts and scripted faults. */
export class BankServer {
  readonly calls: Record<string, number> = {};
  readonly server: Server;
  private readonly stopping = new AbortController();

  constructor(
    private readonly routes: readonly Route[],
    private readonly parts: {
      tokens: Tokens;
      faults: Faults;
      variants: Pick<Variants, 'errorShape'>;
      rateLimit: RateLimit;
    },
    private readonly afterCall: () => void,
  ) {
    this.server = createServer((message, response) => void this.serve(message, response));
    this.server.keepAliveTimeout = KEEP_ALIVE_MS;
  }

  async listen(port: number, host: string): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, resolve);
    });
    const address = this.server.address();
    const boundPort = address !== null && typeof address === 'object' ? address.port : port;
    return `http://${host}:${boundPort}`;
  }

  async close(): Promise<void> {
    this.stopping.abort();
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await readBody(message);
      const url = targetOf(message);
      const { route, params } = this.match(message.method ?? '', url.pathname);
      const isControl = url.pathname.startsWith(SANDBOX_PREFIX);
      if (!isControl) this.calls[route.operation] = (this.calls[route.operation] ?? 0) + 1;
      const fault = isControl ? undefined : this.parts.faults.next(route.operation);
      const parse = (): Call => ({
        route,
        request: {
          params,
          query: url.searchParams,
          body: bodyOf(message, body, route),
          authorization: message.headers.authorization,
        },
      });
      if (fault) await this.serveFaulty(fault, parse, message.url ?? '/', response);
      else this.send(response, await this.process(parse));
    } catch (error) {
      this.send(response, this.refuse(error));
    }
  }

  private async serveFaulty(
    fault: FaultScript,
    parse: () => Call,
    url: string,
    response: ServerResponse,
  ): Promise<void> {
    const { kind } = fault;
    if (isBefore(kind)) return this.intercept(interceptionOf(kind, fault, url), parse, response);
    if (kind === 'list-moving') {
      const moved = (): Call => movedBy(fault.by ?? 1, parse());
      return this.send(response, await this.process(moved));
    }
    const answer = await this.process(parse);
    if (isOfList(kind)) return this.send(response, wrongList(answer, fault));
    if (!isAfter(kind)) return;
    if (kind === 'doubled') {
      if (fault.delayMs === undefined) await this.process(parse);
      else void this.processLater(parse, fault.delayMs);
    }
    await sendFaulty(kind, fault, answer, response);
  }

  private async intercept(
    interception: Interception,
    parse: () => Call,
    response: ServerResponse,
  ): Promise<void> {
    if ('answer' in interception) return this.send(response, interception.answer);
    if ('hang' in interception) return;
    response.destroy();
    if ('drop' in interception) return;
    await this.processLater(parse, interception.dropThenProcessAfterMs);
  }

  private async processLater(parse: () => Call, delayMs: number): Promise<void> {
    const { signal } = this.stopping;
    const due = await sleep(delayMs, true, { signal }).catch(() => false);
    if (due) await this.process(parse);
  }

  /** Never throws: a refusal is an answer. */
  private async process(parse: () => Call): Promise<Answer> {
    const { tokens, rateLimit } = this.parts;
    try {
      const { route, request } = parse();
      if (!route.scopes) return await route.handle(request);
      rateLimit.take();
      tokens.require(request.authorization, route.scopes);
      const answer = await route.handle(request);
      return { ...answer, headers: { ...answer.headers, ...rateLimit.headers() } };
    } catch (error) {
      return { ...this.refuse(error), headers: rateLimit.headers() };
    } finally {
      this.afterCall();
    }
  }

  private match(method: string, path: string): { route: Route; params: string[] } {
    for (const route of this.routes) {
      if (route.method !== method) continue;
      const found = route.path.exec(path);
      if (found) return { route, params: found.slice(1) };
    }
    throw notFound('path');
  }

  private refuse(error: unknown): Answer {
    const refusal = error instanceof Refusal ? error : new Refusal(500, 'INTERNAL', String(error));
    const { status, code, message } = refusal;
    const body = { code, message };
    return { status, body: this.parts.variants.errorShape === 'nested' ? { error: body } : body };
  }

  private send(response: ServerResponse, answer: Answer): void {
    if (response.destroyed || response.headersSent) return;
    if (answer.body === undefined) {
      response.writeHead(answer.status, { ...answer.headers, 'content-length': 0 }).end();
      return;
    }
    const body = writeJson(answer.body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    response.writeHead(answer.status, { ...headers, ...answer.headers }).end(body);
  }
}

function movedBy(records: number, call: Call): Call {
  const { request } = call;
  return { ...call, request: { ...request, query: new MovedQuery(request.query, records) } };
}

function targetOf({ url = '/' }: IncomingMessage): URL {
  const base = 'http://bank';
  if (!URL.canParse(url, base)) throw badRequest('the request target is not valid');
  return new URL(url, base);
}

async function readBody(message: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of message as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES) throw new Refusal(413, 'BODY_TOO_LARGE', 'the body is too large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function bodyOf(message: IncomingMessage, text: string, { takes }: Route): unknown {
  if (text.trim() === '') return undefined;
  const expected = takes === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  const [type = ''] = (message.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== expected)
    throw new Refusal(415, 'UNSUPPORTED_MEDIA_TYPE', `Content-Type must be ${expected}`);
  if (takes === 'form') return Object.fromEntries(new URLSearchParams(text));
  try {
    return parseJson(text);
  } catch {
    throw badRequest('the body is not JSON');
  }
}
