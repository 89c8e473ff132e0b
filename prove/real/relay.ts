import { createHash } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { SIGNATURE_HEADER } from '../../src/bank/types';
import { listening, readAll } from './proxy';

interface Delivery {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** The way of the bank's webhooks to the service: hands them on, many times, or holds them back. */
export class Relay {
  /** How often each is handed on. */
  copies = 1;
  /** Held back ones are answered with 200. */
  holds = false;
  held: Delivery[] = [];
  /** What the service answered to those that were handed on since the last calm; 502 where it gave no answer. */
  statuses: number[] = [];
  /** Hashes of the bodies with forged data that were handed on since. */
  forged: Buffer[] = [];
  /** Whether a delivery was held back or handed on more than once. */
  private bent = false;

  /** Where the service is now. */
  target = (): string => '';

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Relay> {
    const { server, url } = await listening();
    const relay = new Relay(server, url);
    server.on('request', (message, response) => void relay.take(message, response));
    return relay;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Whether something was to become of the webhooks and none came. */
  get missed(): boolean {
    return (this.copies > 1 || this.holds) && !this.bent;
  }

  calm(): void {
    Object.assign(this, { copies: 1, holds: false, held: [], statuses: [], forged: [], bent: false });
  }

  /** Answers the status the service gave, or 502 where it gave none. */
  async handOn(delivery: Delivery): Promise<number> {
    const { body } = delivery;
    if (body.includes('"forged"')) this.forged.push(createHash('sha256').update(body).digest());
    const status = await this.send(delivery);
    this.statuses.push(status);
    return status;
  }

  private async send({ path, headers, body }: Delivery): Promise<number> {
    try {
      const answer = await fetch(this.target() + path, {
        method: 'POST',
        headers,
        body: new Uint8Array(body),
      });
      return answer.status;
    } catch {
      return 502;
    }
  }

  private async take(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const delivery = { path: message.url ?? '/', headers: headersOf(message), body: await readAll(message) };
    this.bent ||= this.holds || this.copies > 1;
    if (this.holds) {
      this.held.push(delivery);
      response.writeHead(200).end();
      return;
    }
    const statuses = await Promise.all(Array.from({ length: this.copies }, () => this.handOn(delivery)));
    response.writeHead(statuses.at(-1) ?? 502).end();
  }
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const signature = headers[SIGNATURE_HEADER.toLowerCase()];
  return { 'content-type': 'application/json', [SIGNATURE_HEADER]: String(signature) };
}
