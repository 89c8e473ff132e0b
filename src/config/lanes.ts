/** Lets so many calls go on at once; the others wait their turn, in the order of asking. */
export class Lanes {
  private readonly queued: (() => void)[] = [];

  /** @param free how many calls may go on at once */
  constructor(private free: number) {}

  /** Makes one call when a lane is free, and gives the lane back whatever becomes of it. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.queued.push(resolve));
    try {
      return await call();
    } finally {
      const next = this.queued.shift();
      if (next) next();
      else this.free += 1;
    }
  }
}
