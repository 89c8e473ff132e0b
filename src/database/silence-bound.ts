import { Socket } from 'node:net';
import { Client } from 'pg';
import { NoAnswer } from './outage';

/**
 * Ends a connection on which the server stays silent for longer than it may: whoever waits for an answer fails, and
 * the pool never gives the connection out again. The server's own time-outs do not end a COMMIT that waits for a
 * standby, and no time-out of its reaches us through a network that lost it.
 */
export class SilenceBound {
  private readonly socket: Socket;
  private allowedMs = 0;
  /** What the connection broke with, if it did: whoever uses it later is told only that it is broken. */
  cause: Error | undefined;

  constructor(private readonly client: Client) {
    const { stream } = client.connection;
    if (!(stream instanceof Socket)) throw new Error('a connection is a socket');
    this.socket = stream;
    this.socket.on('timeout', this.end);
    client.on('error', this.remember);
  }

  get ended(): boolean {
    return this.socket.destroyed;
  }

  /** The server may be silent for so long from now on. */
  allow(ms: number): void {
    this.allowedMs = ms;
    this.socket.setTimeout(ms);
  }

  /** Ends the connection now, and resolves when everybody who uses it knows. */
  async cut(): Promise<void> {
    if (this.socket.closed) return;
    const closed = new Promise<void>((resolve) => this.socket.once('close', () => resolve()));
    this.end();
    await closed;
  }

  /** The connection goes back to the pool, where it may be idle. */
  lift(): void {
    this.socket.setTimeout(0);
    this.socket.off('timeout', this.end);
    this.client.off('error', this.remember);
  }

  private readonly remember = (error: Error): void => {
    this.cause ??= error;
  };

  private readonly end = (): void => {
    this.socket.destroy(new NoAnswer(this.allowedMs));
  };
}
