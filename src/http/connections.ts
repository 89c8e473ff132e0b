import type { Server } from 'node:http';
import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Shutdown } from '../config/shutdown';

/**
 * Ends connections that are still open when the time to stop is over: one whose client is gone, or sends no more, would
 * keep the service for ever. New ones are not taken from then on.
 */
@Injectable()
export class Connections implements BeforeApplicationShutdown {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly shutdown: Shutdown,
  ) {}

  beforeApplicationShutdown(): void {
    if (!this.host.listening) return;
    const server = this.host.httpAdapter.getHttpServer() as Server;
    const end = () => {
      server.close();
      server.closeAllConnections();
    };
    setTimeout(end, this.shutdown.leftMs).unref();
  }
}
