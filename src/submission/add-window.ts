import { setMaxListeners } from 'node:events';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';
import { Lanes } from '../config/lanes';

/** The intents of so many adds are committed together, and their outcomes too (rule 1). */
export const BATCH_ROWS = 100;

/**
 * Batches of this process that may be intended and not yet recorded. With two, one is under way while the other is
 * written down; a kill leaves both in doubt, 200 rows at most.
 */
export const BATCHES_AT_ONCE = 2;

interface Waiter {
  order: number;
  resolve: (granted: boolean) => void;
}

/**
 * What this process has under way at the bank, over all instructions it builds: so many batches, and so many adds of
 * them in flight. The instruction that came first goes first, so that one is read back while the next is filled.
 */
@Injectable()
export class AddWindow {
  private freeBatches = BATCHES_AT_ONCE;
  private readonly waiting: Waiter[] = [];
  private readonly lanes: Lanes;
  private readonly closing = new AbortController();
  private last = 0;

  constructor(@Inject(CONFIG) config: Pick<Config, 'BANK_ADDS_IN_FLIGHT'>) {
    this.lanes = new Lanes(config.BANK_ADDS_IN_FLIGHT);
    setMaxListeners(config.BANK_ADDS_IN_FLIGHT, this.closing.signal);
  }

  /** A place in the order of instructions. */
  join(): number {
    this.last += 1;
    return this.last;
  }

  /** Grants nothing more: batches under way are finished, none is begun, and what waits for its turn is not sent. */
  close(): void {
    this.closing.abort();
    for (const { resolve } of this.waiting.splice(0)) resolve(false);
  }

  /** Whether what was begun may go on with another batch: not when the process is being stopped. */
  get open(): boolean {
    return !this.closed.aborted;
  }

  /** Says when the process is being stopped. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /** Waits for the right to intend a batch, and others in its place; false when the process is being stopped. */
  takeBatch(order: number): Promise<boolean> {
    if (this.closed.aborted) return Promise.resolve(false);
    if (this.freeBatches > 0) {
      this.freeBatches -= 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => this.waiting.push({ order, resolve }));
  }

  /** Gives the right back once the last batch's outcomes are written down, or nobody knows whether they are. */
  giveBatch(): void {
    const first = this.waiting.reduce<Waiter | undefined>(
      (best, one) => (best === undefined || one.order < best.order ? one : best),
      undefined,
    );
    if (first === undefined) {
      this.freeBatches += 1;
      return;
    }
    this.waiting.splice(this.waiting.indexOf(first), 1);
    first.resolve(true);
  }

  /** Makes one call when a lane is free, in the order of asking. */
  inLane<T>(call: () => Promise<T>): Promise<T> {
    return this.lanes.run(call);
  }
}
