import {
  BeforeApplicationShutdown,
  Injectable,
  Logger,
  OnApplicationShutdown,
  OnModuleDestroy,
} from '@nestjs/common';

/**
 * What is under way when the service is told to stop has so long to end, all of it together. Orchestrators kill a process
 * 30 s after the signal, `npm start` kills its own after 15.
 */
const GRACE_MS = 10_000;

/** Closing takes less, but for a connection that is being made to a silent database, which is not waited for. */
const CLOSING_MS = 250;

/** When the service was told to stop, and how long it may still be about it. */
@Injectable()
export class Shutdown implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly logger = new Logger(Shutdown.name);
  private beganAtMs: number | undefined;

  /** Every module is told before the first is waited for; they are waited for one after another. */
  onModuleDestroy(): void {
    if (this.beganAtMs !== undefined) return;
    this.beganAtMs = performance.now();
    this.logger.log('told to stop');
  }

  /** Only a signal asks the process itself to end. */
  beforeApplicationShutdown(signal?: string): void {
    if (signal === undefined) return;
    const end = () => {
      this.logger.warn('ended before all was closed');
      process.exit();
    };
    setTimeout(end, this.leftMs + CLOSING_MS);
  }

  /** The last hook of all: what every room may inject ends after them. */
  onApplicationShutdown(): void {
    this.logger.log('stopped');
  }

  /** How long what is under way may still be waited for, in ms; ten seconds as long as nobody said stop. */
  get leftMs(): number {
    const nowMs = performance.now();
    return Math.max(0, (this.beganAtMs ?? nowMs) + GRACE_MS - nowMs);
  }
}
