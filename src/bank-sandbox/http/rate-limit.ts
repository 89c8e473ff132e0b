import type { BankClock } from '../clock';
import { Refusal } from '../refusal';
import type { Variants } from '../variants';

const MINUTE_MS = 60_000;

/** At most so many requests a minute of the bank's clock; nothing above it is executed. */
export class RateLimit {
  private minute = -1;
  private used = 0;

  constructor(
    private readonly variants: Pick<Variants, 'requestsPerMinute'>,
    private readonly clock: BankClock,
  ) {}

  /** Throws 429 when the minute is used up. */
  take(): void {
    const minute = Math.floor(this.clock.now() / MINUTE_MS);
    if (minute !== this.minute) {
      this.minute = minute;
      this.used = 0;
    }
    this.used += 1;
    const limit = this.variants.requestsPerMinute;
    if (limit > 0 && this.used > limit)
      throw new Refusal(429, 'TOO_MANY_REQUESTS', 'too many requests in this minute');
  }

  headers(): Record<string, string> {
    const limit = this.variants.requestsPerMinute;
    if (limit === 0) return {};
    const remaining = Math.max(0, limit - this.used);
    return { 'x-ratelimit-limit': String(limit), 'x-ratelimit-remaining': String(remaining) };
  }
}
