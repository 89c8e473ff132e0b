import type { Instruction } from '../pay-run/instruction.entity';

type Filled = Pick<Instruction, 'id' | 'payRunId'>;

interface Asked extends Filled {
  /** When it asked last; never again while it has its turn. */
  atMs: number;
}

/** Who waits asks every few seconds; who has not for so long is filled elsewhere, or given up. */
const GONE_AFTER_MS = 15_000;

/** Whose turn it is, of the instructions that this process fills one row at a time: they are filled in the order they came. */
export class OneByOne {
  /** By our id of the instruction. */
  private readonly inOrder = new Map<string, Asked>();

  /**
   * Asks for the turn, which is kept until `leave`, or for a place among those who wait, which is kept by asking again.
   * @param nowMs on a clock that only goes on
   * @returns whose turn it is, where it is another's
   */
  ask({ id, payRunId }: Filled, nowMs: number): Filled | undefined {
    for (const { id: waiting, atMs } of this.inOrder.values())
      if (nowMs - atMs > GONE_AFTER_MS) this.inOrder.delete(waiting);
    this.inOrder.set(id, { id, payRunId, atMs: nowMs });
    const [first] = this.inOrder.values();
    if (first?.id !== id) return first;
    first.atMs = Infinity;
    return undefined;
  }

  leave({ id }: Pick<Filled, 'id'>): void {
    this.inOrder.delete(id);
  }
}
