import { once } from 'node:events';
import { AddressInfo, connect, createServer, Server, Socket } from 'node:net';

/** What happens to a COMMIT on its way; `passes` only tells that it was committed. */
export type CommitFault =
  'passes' | 'never arrives' | 'cut before' | 'answer lost' | 'answer hangs' | 'warning';

interface Trap {
  statement: RegExp;
  fault: CommitFault;
  sprung: () => void;
}

const QUERY = 'Q'.charCodeAt(0);
const PARSE = 'P'.charCodeAt(0);
const BIND = 'B'.charCodeAt(0);
const COMPLETE = 'C'.charCodeAt(0);
const ERROR = 'E'.charCodeAt(0);

/** What PostgreSQL says when the wait for its standby was cancelled. */
const WARNING = messageOf(
  'N',
  'SWARNING\0VWARNING\0C01000\0MThe transaction has already committed locally, but might not have been replicated to the standby.\0\0',
);

/** The network between the service and PostgreSQL: hands everything on until it is told otherwise. */
export class DatabaseProxy {
  private readonly links = new Set<Link>();
  private traps: Trap[] = [];
  private silent = false;
  /** What the server calls its severities, by their English words. */
  private severities: Readonly<Record<string, string>> = {};

  private constructor(
    private readonly server: Server,
    private readonly target: { host: string; port: number },
    readonly port: number,
  ) {}

  /** @param url where the server listens; the proxy listens on a port of its own. */
  static async start(url: string): Promise<DatabaseProxy> {
    const { hostname, port } = new URL(url);
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const own = (server.address() as AddressInfo).port;
    const proxy = new DatabaseProxy(server, { host: hostname, port: Number(port) }, own);
    server.on('connection', (socket) => proxy.accept(socket));
    return proxy;
  }

  /** The same connection through this proxy. */
  through(url: string): string {
    const changed = new URL(url);
    changed.port = String(this.port);
    return changed.toString();
  }

  /** How many connections there are now. */
  get connections(): number {
    return this.links.size;
  }

  /**
   * The next transaction with such a statement, its text values behind it, suffers the fault at its COMMIT; resolves
   * when it does, or when the connection ends before its answer.
   */
  atCommit(statement: RegExp, fault: CommitFault): Promise<void> {
    return new Promise((sprung) => this.traps.push({ statement, fault, sprung }));
  }

  /** Every connection breaks, and no new one is had. */
  async refuse(): Promise<void> {
    this.server.close();
    this.cut();
  }

  /** Every connection breaks. */
  cut(): void {
    for (const link of this.links) link.end();
  }

  /** Nothing gets through any more, and nobody is told. */
  hush(): void {
    this.silent = true;
    for (const link of this.links) link.hush();
  }

  /** The server's errors have their severities in another language from now on. */
  translate(severities: Readonly<Record<string, string>>): void {
    this.severities = severities;
  }

  /** The network is whole again, and the server speaks English. */
  async restore(): Promise<void> {
    this.traps = [];
    this.severities = {};
    if (this.silent) this.cut();
    this.silent = false;
    if (this.server.listening) return;
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  async stop(): Promise<void> {
    this.cut();
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    await closed;
  }

  private accept(client: Socket): void {
    const link: Link = new Link(
      client,
      connect(this.target),
      (statements) => this.trapFor(statements),
      (severity) => this.severities[severity] ?? severity,
    );
    this.links.add(link);
    client.once('close', () => this.links.delete(link));
    if (this.silent) link.hush();
  }

  private trapFor(statements: readonly string[]): Trap | undefined {
    const found = this.traps.find((trap) => statements.some((one) => trap.statement.test(one)));
    this.traps = this.traps.filter((trap) => trap !== found);
    return found;
  }
}

/** One connection, read message by message in both directions. */
class Link {
  private statements: string[] = [];
  /** The texts of statements whose plans are kept, by name: only their first use carries the text. */
  private readonly kept = new Map<string, string>();
  /** Of the COMMIT that is under way. */
  private trap: Trap | undefined;
  private hushed = false;

  constructor(
    private readonly client: Socket,
    private readonly upstream: Socket,
    private readonly trapFor: (statements: readonly string[]) => Trap | undefined,
    private readonly translated: (severity: string) => string,
  ) {
    // The first message has no type.
    const sent = new Messages(0);
    const answered = new Messages(1);
    client.on('data', (chunk: Buffer) => sent.read(chunk, (message) => this.send(message)));
    upstream.on('data', (chunk: Buffer) => answered.read(chunk, (message) => this.answer(message)));
    for (const socket of [client, upstream]) {
      socket.setNoDelay();
      socket.on('error', () => this.end());
      socket.on('close', () => !this.hushed && this.end());
    }
  }

  end(): void {
    this.client.destroy();
    this.upstream.destroy();
    if (this.trap !== undefined) this.spring(() => undefined);
  }

  hush(): void {
    this.hushed = true;
    // It holds its end until the network is whole again, or the client gives up.
    this.client.once('close', () => this.upstream.destroy());
  }

  private send(message: Buffer): void {
    if (this.hushed) return;
    const sql = statementOf(message);
    if (sql !== undefined) {
      if (/^(START TRANSACTION|BEGIN)/i.test(sql)) this.statements = [];
      if (/^COMMIT/i.test(sql)) this.trap = this.trapFor(this.statements);
      this.statements.push(sql);
    }
    if (message[0] === PARSE) this.kept.set(textAt(message, 5), sql ?? '');
    if (message[0] === BIND) {
      const name = textAt(message, 5 + Buffer.byteLength(textAt(message, 5)) + 1);
      this.statements.push(`${this.kept.get(name)} ${message.toString('latin1')}`);
    }
    if (this.trap?.fault === 'never arrives') return this.spring(() => this.hush());
    if (this.trap?.fault === 'cut before') return this.spring(() => this.end());
    this.upstream.write(message);
  }

  private answer(message: Buffer): void {
    if (this.hushed) return;
    const { trap } = this;
    if (message[0] === ERROR) return void this.client.write(this.inItsLanguage(message));
    if (trap === undefined || message[0] !== COMPLETE || !message.includes('COMMIT'))
      return void this.client.write(message);
    this.spring(() => {
      if (trap.fault === 'answer lost') return this.end();
      if (trap.fault === 'answer hangs') return this.hush();
      if (trap.fault === 'warning') this.client.write(WARNING);
      this.client.write(message);
    });
  }

  /** Only the field S is translated by a server; V, which the driver passes over, never is. */
  private inItsLanguage(error: Buffer): Buffer {
    const fields = error.toString('utf8', 5);
    return messageOf(
      'E',
      fields.replace(/^S(\w+)/, (_, severity: string) => `S${this.translated(severity)}`),
    );
  }

  private spring(fault: () => void): void {
    const { trap } = this;
    this.trap = undefined;
    fault();
    trap?.sprung();
  }
}

/** Cuts a stream into the messages of PostgreSQL's protocol: a type, except at the beginning, and a length. */
class Messages {
  private pending = Buffer.alloc(0);

  constructor(private typeBytes: 0 | 1) {}

  read(chunk: Buffer, handle: (message: Buffer) => void): void {
    this.pending = Buffer.concat([this.pending, chunk]);
    while (this.pending.length >= this.typeBytes + 4) {
      const length = this.typeBytes + this.pending.readUInt32BE(this.typeBytes);
      if (this.pending.length < length) return;
      const message = this.pending.subarray(0, length);
      this.pending = this.pending.subarray(length);
      this.typeBytes = 1;
      handle(message);
    }
  }
}

/** The text of a simple query or of a statement that is parsed. */
function statementOf(message: Buffer): string | undefined {
  if (message[0] === QUERY) return message.toString('utf8', 5, message.length - 1);
  if (message[0] !== PARSE) return undefined;
  return textAt(message, message.indexOf(0, 5) + 1);
}

/** The text that begins there; the empty one is the name of what is not kept. */
function textAt(message: Buffer, start: number): string {
  return message.toString('utf8', start, message.indexOf(0, start));
}

function messageOf(type: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(4 + Buffer.byteLength(body));
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)]);
}
