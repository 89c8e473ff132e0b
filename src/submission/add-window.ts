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

/** So many times fewer adds are in flight with each step of gentleness: with the second, one at a time. */
const FEWER_EACH_STEP = 8;

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
  private readonly most: number;
  private readonly lanes: Lanes;
  /** By how many they are: shared, since a bank may take one add at a time of whatever instruction. */
  private readonly fewerLanes = new Map<number, Lanes>();
  private readonly closing = new AbortController();
  private last = 0;

  constructor(@Inject(CONFIG) config: Pick<Config, 'BANK_ADDS_IN_FLIGHT'>) {
    this.most = config.BANK_ADDS_IN_FLIGHT;
    this.lanes = new Lanes(this.most);
    setMaxListeners(this.most, this.closing.signal);
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

  /** Makes one call when a lane is free, in the order of asking; one of fewer lanes where it is to be gentle. */
  inLane<T>(call: () => Promise<T>, gentleness = 0): Promise<T> {
    if (gentleness === 0) return this.lanes.run(call);
    return this.fewerFor(gentleness).run(() => this.lanes.run(call));
  }

  private fewerFor(gentleness: number): Lanes {
    const width = Math.max(1, Math.floor(this.most / FEWER_EACH_STEP ** gentleness));
    const lanes = this.fewerLanes.get(width) ?? new Lanes(width);
    this.fewerLanes.set(width, lanes);
    return lanes;
  }
}
