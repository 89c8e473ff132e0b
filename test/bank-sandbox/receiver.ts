import type { Json } from './client';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  raw: string;
  body: Json;
  signature: string;
}

const open = new Set<Receiver>();
afterAll(async () => {
  for (const receiver of open) await receiver.close();
});

/** A webhook receiver that answers what it is told to. */
export class Receiver {
  readonly received: Received[] = [];
  answer = 200;
  /** Takes deliveries and never answers. */
  hangs = false;
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receiver> {
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const raw = Buffer.concat(pieces).toString();
        const signature = String(request.headers['x-service-signature']);
        receiver.received.push({ raw, body: JSON.parse(raw), signature });
        if (!receiver.hangs) response.writeHead(receiver.answer).end();
      });
    });
    const receiver = new Receiver(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.add(receiver);
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  async close(): Promise<void> {
    open.delete(this);
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Waits until this many deliveries arrived. */
  async until(count: number, withinMs = 5_000): Promise<Received[]> {
    for (let waitedMs = 0; this.received.length < count; waitedMs += 10) {
      if (waitedMs > withinMs) throw new Error(`${this.received.length} of ${count} deliveries arrived`);
      await pause(10);
    }
    return this.received;
  }

  /** Long enough for anything that was going to come. */
  async settled(): Promise<Received[]> {
    await pause(150);
    return this.received;
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
