import type { BankClock } from '../../src/bank/rate-budget';

/** A clock on which many sleep at once: it moves on to the next who wakes, when nothing else is left to be done. */
export class VirtualClock implements BankClock {
  private readonly sleepers: { atMs: number; wake: () => void }[] = [];

  constructor(public ms = Date.parse('2026-03-02T10:00:00Z')) {}

  nowMs(): number {
    return this.ms;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.sleepers.push({ atMs: this.ms + ms, wake });
      setImmediate(() => this.wakeNext());
    });
  }

  private wakeNext(): void {
    this.sleepers.sort((one, other) => one.atMs - other.atMs);
    const next = this.sleepers.shift();
    if (!next) return;
    this.ms = Math.max(this.ms, next.atMs);
    next.wake();
  }
}
