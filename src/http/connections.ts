import type { Server } from 'node:http';
import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** What is asked for when the service is told to stop has as long to be answered as its other work has to end. */
const GRACE_MS = 10_000;

/**
 * Ends connections that are still open so long after the service began to stop: one whose client is gone, or sends no
 * more, would keep it for ever.
 */
@Injectable()
export class Connections implements BeforeApplicationShutdown {
  constructor(private readonly host: HttpAdapterHost) {}

  beforeApplicationShutdown(): void {
    if (!this.host.listening) return;
    const server = this.host.httpAdapter.getHttpServer() as Server;
    setTimeout(() => server.closeAllConnections(), GRACE_MS).unref();
  }
}
