import { Clock } from './clock';

/** What is done at most once in an interval, by what it is done for: kept in this process, and no longer than that. */
export class AtMostEvery<K> {
  /** Of each, whether its interval still runs; the latest stands last. */
  private readonly runs = new Map<K, () => boolean>();

  /** @param ms how long the interval is, in milliseconds */
  constructor(
    private readonly ms: number,
    private readonly clock: Clock,
  ) {}

  isDue(key: K): boolean {
    return !this.runs.get(key)?.();
  }

  /** That it was done now. */
  note(key: K): void {
    for (const [noted, runs] of this.runs) {
      if (runs()) break;
      this.runs.delete(noted);
    }
    this.runs.delete(key);
    this.runs.set(key, this.clock.within(this.ms));
  }
}
