/** The service's wall clock, injected so that tests can move a month in a second. Leases use the database's clock. */
export class Clock {
  now(): Date {
    return new Date();
  }

  /**
   * Answers, whenever it is asked, whether at most `ms` have passed since now: by this clock, which may be set back, and by
   * one that nobody sets, which stands still while the machine sleeps.
   */
  within(ms: number): () => boolean {
    const [setMs, monotonicMs] = [this.now().getTime(), performance.now()];
    return () => this.now().getTime() - setMs <= ms && performance.now() - monotonicMs <= ms;
  }
}
