import { Injectable, OnModuleDestroy } from '@nestjs/common';

/**
 * What is under way when the service is told to stop has so long to end, all of it together. Orchestrators kill a process
 * 30 s after the signal, `npm start` kills its own after 15.
 */
const GRACE_MS = 10_000;

/** When the service was told to stop, and how long it may still be about it. */
@Injectable()
export class Shutdown implements OnModuleDestroy {
  private beganAtMs: number | undefined;

  /** Every module is told before the first is waited for; they are waited for one after another. */
  onModuleDestroy(): void {
    this.beganAtMs ??= performance.now();
  }

  /** How long what is under way may still be waited for, in ms; ten seconds as long as nobody said stop. */
  get leftMs(): number {
    const nowMs = performance.now();
    return Math.max(0, (this.beganAtMs ?? nowMs) + GRACE_MS - nowMs);
  }
}
