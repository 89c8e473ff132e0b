/**
 * How long ago things were, by the clock of the database, which may be put right: what it dates ahead since then is as old as
 * this process has seen it dated so, and never lasts until a time that is far.
 */
export class Ages {
  /** By the clock that nobody sets, as `performance.now()`; of what is dated ahead only. */
  private readonly seenMs = new Map<string, number>();

  /** @param ms how long ago the database's clock has it; less than nothing where it is dated ahead */
  of(key: string, ms: number): number {
    if (ms >= 0) {
      this.seenMs.delete(key);
      return ms;
    }
    const nowMs = performance.now();
    const sinceMs = this.seenMs.get(key) ?? nowMs;
    this.seenMs.set(key, sinceMs);
    return nowMs - sinceMs;
  }
}
