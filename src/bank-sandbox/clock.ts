import { DateTime } from 'luxon';

/** Throws one line with the setting's name for a time zone there is not. */
export function requireTimeZone(zone: string, setting: string): void {
  if (!DateTime.utc().setZone(zone).isValid)
    throw new Error(`${setting} must be a time zone, such as Europe/Berlin`);
}

/** The bank's own time: the machine's, moved by an offset, and never running backwards. */
export class BankClock {
  private lastMs = 0;
  private offsetMs = 0;

  /** The zone of the bank's calendar dates. */
  timeZone = 'UTC';

  constructor(private readonly realNow: () => number) {}

  now(): number {
    this.lastMs = Math.max(this.lastMs, this.realNow() + this.offsetMs);
    return this.lastMs;
  }

  /** The offset that makes `now()` answer `targetMs`. */
  offsetTo(targetMs: number): number {
    return targetMs - this.realNow();
  }

  setOffset(offsetMs: number): void {
    this.offsetMs = offsetMs;
  }

  /** Time has been at least here, as a journal remembers it. */
  reach(ms: number): void {
    this.lastMs = Math.max(this.lastMs, ms);
  }

  /** The calendar date at the bank. */
  dateOf(ms: number): string {
    return DateTime.fromMillis(ms, { zone: this.timeZone }).toFormat('yyyy-MM-dd');
  }

  /** The first moment of a calendar date at the bank, or undefined when there is no such date. */
  startOf(date: string): number | undefined {
    const start = DateTime.fromFormat(date, 'yyyy-MM-dd', { zone: this.timeZone });
    return start.isValid ? start.toMillis() : undefined;
  }
}

/** As the bank writes times. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
