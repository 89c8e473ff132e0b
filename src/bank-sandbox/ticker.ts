import type { Bank } from './state/bank';

/** Payments moved without a break; more would hold up answers for too long. */
const SLICE_PAYMENTS = 20_000;
/** A timer sleeps at most this long, so that a moved clock is noticed in any case. */
const LONGEST_SLEEP_MS = 30_000;

/** Lets the bank's processing go on as time passes: one timer for all payments. */
export class Ticker {
  private timer?: NodeJS.Timeout;
  private immediate?: NodeJS.Immediate;
  private stopped = false;

  constructor(
    private readonly bank: Bank,
    private readonly afterSlice: () => void,
  ) {}

  /** Looks anew when the next step is due. */
  wake(): void {
    clearTimeout(this.timer);
    const dueMs = this.bank.agenda.nextDueMs();
    if (dueMs === undefined || this.stopped) return;
    const waitMs = dueMs - this.bank.clock.now();
    if (waitMs <= 0) this.immediate ??= setImmediate(() => this.slice());
    else this.timer = setTimeout(() => this.wake(), Math.min(waitMs, LONGEST_SLEEP_MS));
  }

  /** Takes every step that is due now. */
  async drain(): Promise<void> {
    while (!this.stopped && this.isDue()) {
      this.slice();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearImmediate(this.immediate);
  }

  private isDue(): boolean {
    return (this.bank.agenda.nextDueMs() ?? Infinity) <= this.bank.clock.now();
  }

  private slice(): void {
    this.immediate = undefined;
    if (this.stopped) return;
    if (this.isDue()) this.bank.execute('advance', { maxPayments: SLICE_PAYMENTS });
    this.afterSlice();
    this.wake();
  }
}
