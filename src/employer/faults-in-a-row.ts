import { Inject, Injectable } from '@nestjs/common';
import { type FailsInARow, isFaultOfOneRead, isHidden } from '../bank/errors';
import { Clock } from '../config/clock';
import { CONFIG, Config } from '../config/env';
import { DAY_MS } from '../domain/durations';

/** Faults in a row that may pass by themselves, where what is read is the best evidence there is. */
const PASSING_FAULTS = 4;

/** What ended is read once a day: faults further apart are not known to be of one time. */
const IN_A_ROW_MS = 2 * DAY_MS;

interface Faults {
  count: number;
  firstMs: number;
  lastMs: number;
  /** Of these the moments apart from each other, and the last of them. */
  moments: number;
  momentMs: number;
}

/** How often in a row the bank answered a read, by its name, so that it shows nothing: 403 and 404 are an answer. */
@Injectable()
export class FaultsInARow {
  private readonly faults = new Map<string, Faults>();

  constructor(
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'BANK_PATIENCE_MS'>,
  ) {}

  /** What is read, by the name it is counted by; an error that counts bears whether it is for good. @throws as the read */
  async counting<T>(name: string, read: () => Promise<T>): Promise<T> {
    try {
      const answer = await read();
      this.end(name);
      return answer;
    } catch (error) {
      if (isHidden(error)) this.end(name);
      else if (isFaultOfOneRead(error)) {
        error.inARow = this.add(name);
        error.isForGood = this.isLasting(name);
      }
      throw error;
    }
  }

  /** Counts a fault. @returns how it was met so far, and what is left until it lasts */
  add(read: string): FailsInARow {
    const lastMs = this.clock.now().getTime();
    this.forgetOld(lastMs);
    const before = this.faults.get(read) ?? { count: 0, firstMs: lastMs, moments: 0, momentMs: -Infinity };
    const apartMs = this.config.BANK_PATIENCE_MS / PASSING_FAULTS;
    const isApart = lastMs - before.momentMs >= apartMs;
    const moments = before.moments + (isApart ? 1 : 0);
    const momentMs = isApart ? lastMs : before.momentMs;
    const { firstMs } = before;
    const count = before.count + 1;
    // The latest stands last.
    this.faults.delete(read);
    this.faults.set(read, { count, firstMs, lastMs, moments, momentMs });
    const momentsLeft = Math.max(0, PASSING_FAULTS + 1 - moments);
    return { read, times: count, sinceMs: firstMs, momentsLeft, nextMs: momentMs + apartMs, apartMs };
  }

  /** What is left of a fault that fails alike with others in a row: once these last, until it is met at a second moment. */
  withRow(fault: FailsInARow, row: FailsInARow): FailsInARow {
    const momentsLeft = Math.max(row.momentsLeft, this.isRepeated(fault.read) ? 0 : 1);
    if (momentsLeft >= fault.momentsLeft) return fault;
    const nextMs = row.momentsLeft === 0 ? fault.nextMs : Math.max(fault.nextMs, row.nextMs);
    return { ...fault, momentsLeft, nextMs };
  }

  private forgetOld(nowMs: number): void {
    for (const [read, { lastMs }] of this.faults) {
      if (nowMs - lastMs <= IN_A_ROW_MS) return;
      this.faults.delete(read);
    }
  }

  end(read: string): void {
    this.faults.delete(read);
  }

  of(read: string): number {
    return this.faults.get(read)?.count ?? 0;
  }

  /** Whether it was met at moments apart from each other, and not only in one. */
  isRepeated(read: string): boolean {
    return (this.faults.get(read)?.moments ?? 0) > 1;
  }

  /** Whether it does not pass by itself any more: faults of an outage that is shorter than BANK_PATIENCE_MS are not enough. */
  isLasting(read: string): boolean {
    return (this.faults.get(read)?.moments ?? 0) > PASSING_FAULTS;
  }
}
