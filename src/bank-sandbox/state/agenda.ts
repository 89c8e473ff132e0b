/** A piece of work of the bank that is due at a moment. */
export interface Work {
  dueAtMs: number;
  /** The account whose money it may move. */
  accountId: string;
  /** How many payments it concerns. */
  size: number;
  run: () => void;
}

/** What the bank still has to do, ordered by due time, first come first served. */
export class Agenda {
  private readonly queue: Work[] = [];
  /** Time between two statuses. */
  stepMs = 0;

  add(work: Work): void {
    let low = 0;
    let high = this.queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.queue[middle]?.dueAtMs ?? 0) <= work.dueAtMs) low = middle + 1;
      else high = middle;
    }
    this.queue.splice(low, 0, work);
  }

  /** Does what is due, for about `maxPayments` payments; returns for how many. */
  advance(atMs: number, maxPayments: number): number {
    let done = 0;
    while (done < maxPayments) {
      const [work] = this.queue;
      if (!work || work.dueAtMs > atMs) break;
      this.queue.shift();
      done += work.size;
      work.run();
    }
    return done;
  }

  concerns(accountId: string): boolean {
    return this.queue.some((work) => work.accountId === accountId);
  }

  nextDueMs(): number | undefined {
    return this.queue[0]?.dueAtMs;
  }
}
