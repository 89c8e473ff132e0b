import type { BankClock } from '../../src/bank/rate-budget';

/** A clock whose sleepers wake at once, having moved it. */
export class ManualClock implements BankClock {
  readonly slept: number[] = [];

  constructor(public ms = Date.parse('2026-03-02T10:00:00Z')) {}

  nowMs(): number {
    return this.ms;
  }

  async sleep(ms: number): Promise<void> {
    this.slept.push(ms);
    this.ms += ms;
  }
}
