import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';
import { Lanes } from '../config/lanes';
import { HOUR_MS } from '../domain/durations';

/** The intents of so many adds are committed together, and their outcomes too (rule 1). */
export const BATCH_ROWS = 100;

/**
 * Batches of this process that may be intended and not yet recorded. With two, one is under way while the other is
 * written down; a kill leaves both in doubt, 200 rows at most.
 */
export const BATCHES_AT_ONCE = 2;

/** So many times fewer adds are in flight with each step of gentleness: with the second, one at a time. */
const FEWER_EACH_STEP = 8;

/** The bank's limit may be one of a rush hour: what it turned away counts for so long. */
const TURNED_AWAY_COUNTS_MS = HOUR_MS;
/** Adds that were under way together are turned away for one reason. */
const SAME_TURN_MS = 1_000;
/** Where one add at a time is too many still, the next waits for so long, and twice as long with each step. */
const SHORTEST_REST_MS = 100;
const LONGEST_REST_MS = 1_600;

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
  /** When the bank turned adds away and did not say how many it takes. */
  private turnedAwayAtMs: number[] = [];

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

  /** The bank turned an add away and said neither how many it takes nor when: with each time all are added more gently. */
  turnedAway(): void {
    const nowMs = performance.now();
    this.turnedAwayAtMs = this.countingAt(nowMs);
    if (nowMs - (this.turnedAwayAtMs.at(-1) ?? -Infinity) > SAME_TURN_MS) this.turnedAwayAtMs.push(nowMs);
  }

  /** Keeps a lane for a while after an add where the bank has turned away one at a time; not while the process is stopped. */
  async rest(): Promise<void> {
    const steps = [...Array(this.timesTurnedAway()).keys()];
    const oneByOne = steps.filter((step) => this.widthFor(step) === 1).length;
    if (oneByOne === 0) return;
    const ms = Math.min(SHORTEST_REST_MS * 2 ** (oneByOne - 1), LONGEST_REST_MS);
    await sleep(ms, undefined, { signal: this.closed }).catch(() => undefined);
  }

  /** Makes one call when a lane is free, in the order of asking; one of fewer lanes where it is to be gentle. */
  inLane<T>(call: () => Promise<T>, gentleness = 0): Promise<T> {
    const step = Math.max(gentleness, this.timesTurnedAway());
    if (step === 0) return this.lanes.run(call);
    return this.fewerFor(step).run(() => this.lanes.run(call));
  }

  /** Whether what is added so gently is added one at a time. */
  isOneByOne(gentleness: number): boolean {
    return gentleness > 0 && this.widthFor(gentleness) === 1;
  }

  private timesTurnedAway(): number {
    return this.countingAt(performance.now()).length;
  }

  private countingAt(nowMs: number): number[] {
    return this.turnedAwayAtMs.filter((atMs) => nowMs - atMs < TURNED_AWAY_COUNTS_MS);
  }

  private widthFor(gentleness: number): number {
    return Math.max(1, Math.floor(this.most / FEWER_EACH_STEP ** gentleness));
  }

  private fewerFor(gentleness: number): Lanes {
    const width = this.widthFor(gentleness);
    const lanes = this.fewerLanes.get(width) ?? new Lanes(width);
    this.fewerLanes.set(width, lanes);
    return lanes;
  }
}
