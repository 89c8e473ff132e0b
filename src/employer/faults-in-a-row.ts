/** Faults in a row that may pass by themselves, where what is read is the best evidence there is. */
const PASSING_FAULTS = 4;

/** How often in a row the bank failed to answer a read, by its name, for a fault of its own. */
export class FaultsInARow {
  private readonly counts = new Map<string, number>();

  add(read: string): void {
    this.counts.set(read, this.of(read) + 1);
  }

  end(read: string): void {
    this.counts.delete(read);
  }

  of(read: string): number {
    return this.counts.get(read) ?? 0;
  }

  /** Whether it does not pass by itself any more. */
  isLasting(read: string): boolean {
    return this.of(read) > PASSING_FAULTS;
  }
}
