import type { BankInstruction, BankPayment } from '../../src/bank/records';
import type { BankReads } from '../../src/employer/bank-reads';
import type { InstructionAtBank } from '../../src/employer/instruction-at-bank';

/** From now on what a read shows of the payments of an instruction passes through this. */
export function passThrough(
  reads: BankReads,
  through: (found: BankPayment[], asked: InstructionAtBank) => BankPayment[] | Promise<BankPayment[]>,
): void {
  const { read } = reads;
  jest.spyOn(reads, 'read').mockImplementation(async function (this: BankReads, account, asked) {
    const shown = await read.call(this, account, asked);
    return { ...shown, found: await through(shown.found, asked) };
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
