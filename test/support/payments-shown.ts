import type { BankInstruction, BankPayment } from '../../src/bank/records';
import type { BankReads } from '../../src/employer/bank-reads';
import type { InstructionAtBank } from '../../src/employer/instruction-at-bank';

/** From now on what a read shows of the payments of an instruction, and all that it sees of them, passes through this. */
export function passThrough(
  reads: BankReads,
  through: (found: BankPayment[], asked: InstructionAtBank) => BankPayment[] | Promise<BankPayment[]>,
): void {
  const { read } = reads;
  jest.spyOn(reads, 'read').mockImplementation(async function (this: BankReads, account, asked) {
    const seen: BankPayment[] = [];
    const tell = (all: readonly BankPayment[]) => all.forEach((one) => asked.onSeen?.(one));
    try {
      const shown = await read.call(this, account, { ...asked, onSeen: (one) => seen.push(one) });
      const found = await through(shown.found, asked);
      tell(found);
      return { ...shown, found };
    } catch (error) {
      tell(await through(seen, asked));
      throw error;
    }
  });
}

/** From now on what a read shows of an instruction that was submitted is changed so. */
export function showsInstructions(reads: BankReads, change: () => Partial<BankInstruction>): void {
  const { instruction } = reads;
  jest.spyOn(reads, 'instruction').mockImplementation(async (...asked) => {
    const shown = await instruction.apply(reads, asked);
    return shown && shown.status !== 'INITIATED' ? { ...shown, ...change() } : shown;
  });
}
