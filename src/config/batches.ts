interface Waiting<T> {
  item: T;
  bytes: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** How much there is at the most. One item alone may be larger. */
interface Limits {
  items: number;
  bytes: number;
}

/** More waits than can be served in a while: it is refused at once, to be asked for again later. */
export class TooMuchWaits extends Error {
  constructor() {
    super('too much waits to be served');
  }
}

/** Makes one call for all that comes while the call before is under way. */
export class Batches<T> {
  private readonly waiting: Waiting<T>[] = [];
  private waitingBytes = 0;
  private isServing = false;

  /**
   * @param together how much goes into one call
   * @param most how much may wait; the last item may go beyond its bytes
   * @param serve does the work for some items, for all of them or for none
   * @param mayBeOneOf whether a failure may be the fault of one of several items: each is then served by itself, up to
   * a failure that is the fault of none
   */
  constructor(
    private readonly together: Limits,
    private readonly most: Limits,
    private readonly serve: (items: readonly T[]) => Promise<void>,
    private readonly mayBeOneOf: (error: unknown) => boolean,
  ) {}

  /** Answers once the item was served. @throws TooMuchWaits, and what failed it, or all it was served with */
  async add(item: T, bytes: number): Promise<void> {
    if (this.waiting.length >= this.most.items || this.waitingBytes >= this.most.bytes)
      throw new TooMuchWaits();
    this.waitingBytes += bytes;
    await new Promise<void>((resolve, reject) => {
      this.waiting.push({ item, bytes, resolve, reject });
      if (!this.isServing) void this.serveAll();
    });
  }

  private async serveAll(): Promise<void> {
    this.isServing = true;
    for (let some = this.next(); some.length > 0; some = this.next()) await this.serveSome(some);
    this.isServing = false;
  }

  private next(): Waiting<T>[] {
    const { items, bytes } = this.together;
    let sum = 0;
    const end = this.waiting.findIndex((one, n) => {
      sum += one.bytes;
      return n > 0 && (n === items || sum > bytes);
    });
    const some = this.waiting.splice(0, end === -1 ? this.waiting.length : end);
    for (const one of some) this.waitingBytes -= one.bytes;
    return some;
  }

  private async serveSome(some: readonly Waiting<T>[]): Promise<void> {
    try {
      await this.serve(some.map(({ item }) => item));
      for (const { resolve } of some) resolve();
    } catch (error) {
      if (some.length > 1 && this.mayBeOneOf(error)) await this.serveEach(some);
      else for (const { reject } of some) reject(error);
    }
  }

  private async serveEach(some: readonly Waiting<T>[]): Promise<void> {
    for (const [n, { item, resolve, reject }] of some.entries()) {
      try {
        await this.serve([item]);
        resolve();
      } catch (error) {
        reject(error);
        if (!this.mayBeOneOf(error)) return some.slice(n + 1).forEach((left) => left.reject(error));
      }
    }
  }
}
